// The SDK's own session functions, on sessions that takeback wrote, at rest and at work.
import assert from 'node:assert/strict'
import fs from 'node:fs'
import path from 'node:path'
import {
  archiveSession, deleteSession, forkSession, getSessionInfo, getSessionMessages, importSessionToStore, InMemorySessionStore,
  listSessions, listSubagents, renameSession, tagSession, unarchiveSession,
} from '@anthropic-ai/claude-agent-sdk'
import { models, recipe } from '../harness.mjs'
import { refused, run } from '../commandline.mjs'
import { assertWentWell, heard, isInit, promptUUID, textOf } from '../frames.mjs'
import { echo, hang, say, script, write } from '../script.mjs'
import { filesBelow } from '../tree.mjs'

const spoken = (messages) => messages.filter((m) => m.type === 'user' || m.type === 'assistant').map(({ type, uuid, message }) => ({ type, uuid, message }))

/** Folders whose names the SDK turns into names of other folders. */
const folders = {
  'a plain name': 'plain',
  'blanks, dots and umlauts': 'Ünïcode & blanks/v1.2_final',
  'an emoji': 'emoji 😀 and 👩‍👩‍👧‍👦',
  'characters of the CJK languages': '漢字/公共 フォルダ',
  'decomposed accents': 'cafe\u0301/re\u0301sume\u0301',
  'more than 200 characters': `${'a long way down/'.repeat(20)}the end`,
  'more than 200 characters, emoji among them': `${'deep 😀/'.repeat(40)}the end`,
}

for (const [what, name] of Object.entries(folders)) {
  recipe(`functions: every one finds the session of a folder with ${what}`, async (ws) => {
    const dir = ws.path(name)
    fs.mkdirSync(dir, { recursive: true })
    const prompt = script(write('a.txt', 'a'), say('Written.'))
    const turn = await ws.ask(prompt, { cwd: dir })
    assertWentWell(turn)
    const session = turn.find(isInit).session_id
    const other = (await ws.ask('hello', { cwd: ws.home })).find(isInit).session_id

    for (const options of [{ dir }, {}]) {
      const infos = await listSessions(options)
      assert.deepEqual(infos.map((s) => s.sessionId).sort(), (options.dir ? [session] : [session, other]).sort(), 'each session once')
      const info = infos.find((s) => s.sessionId === session)
      assert.deepEqual([info.firstPrompt, info.summary, info.cwd, info.customTitle, info.tag], [prompt, prompt, dir, undefined, undefined])
      assert.deepEqual(await getSessionInfo(session, options), info)
      assert.deepEqual(spoken(await getSessionMessages(session, options)), spoken(turn))
    }
    await renameSession(session, 'Its name: 😀 "quoted"', { dir })
    await tagSession(session, 'tagged', { dir })
    const info = await getSessionInfo(session, { dir })
    assert.deepEqual([info.customTitle, info.summary, info.tag, info.firstPrompt], ['Its name: 😀 "quoted"', 'Its name: 😀 "quoted"', 'tagged', prompt])
    await tagSession(session, null)
    assert.equal((await getSessionInfo(session)).tag, undefined)

    const { sessionId: fork } = await forkSession(session, { dir })
    assert.deepEqual((await listSessions({ dir })).map((s) => s.sessionId).sort(), [session, fork].sort())
    assert.equal((await getSessionInfo(fork, { dir })).customTitle, 'Its name: 😀 "quoted" (fork)')

    // Resumed it is whole, whatever was written behind it.
    const c = ws.talk({ resume: session, cwd: dir })
    const told = heard(await c.turn(script(echo)))
    assert.deepEqual(told.map((m) => m.text ?? m.tools ?? m.results.length), [prompt, ['Write'], 1, 'Written.', script(echo)])
    await c.rewind(promptUUID(turn))
    assert.equal(fs.existsSync(path.join(dir, 'a.txt')), false)
    await c.end()

    await deleteSession(fork, { dir })
    await deleteSession(session, { dir })
    assert.deepEqual(await listSessions({ dir }), [])
    assert.equal(await getSessionInfo(session), undefined)
    assert.deepEqual(await getSessionMessages(session), [])
  }, [models.script])
}

recipe('functions: while takeback is at work they read what is there, and what they write is kept', async (ws) => {
  const c = ws.talk()
  const first = await c.turn(script(write('1.txt', '1'), say('one')))
  const session = first.find(isInit).session_id
  assert.deepEqual((await listSessions({ dir: ws.cwd })).map((s) => s.sessionId), [session])

  // In the middle of a turn.
  c.send(script(write('2.txt', '2'), say('two'), hang))
  await c.until((m) => m.type === 'user' && m.tool_use_result?.filePath === ws.path('2.txt'), 'the write')
  await renameSession(session, 'Renamed at work', { dir: ws.cwd })
  await tagSession(session, 'busy', { dir: ws.cwd })
  const half = spoken(await getSessionMessages(session, { dir: ws.cwd }))
  assert.deepEqual(half, spoken(c.messages).slice(0, half.length), 'as far as it has come')
  assert.equal(half.some((m) => m.type === 'user' && Array.isArray(m.message.content) && m.message.content[0].type === 'tool_result'), true)
  const { sessionId: fork } = await forkSession(session, { dir: ws.cwd })
  await c.call('interrupt')
  await c.result(2)

  // And between turns, again and again.
  for (let i = 3; i < 8; i++) {
    await Promise.all([
      c.turn(script(write(`${i}.txt`, `${i}`), say(`said ${i}`))),
      renameSession(session, `Name ${i}`, { dir: ws.cwd }),
      tagSession(session, `tag${i}`, { dir: ws.cwd }),
    ])
  }
  const info = await getSessionInfo(session, { dir: ws.cwd })
  assert.deepEqual([info.customTitle, info.tag], ['Name 7', 'tag7'])
  assert.deepEqual(spoken(await getSessionMessages(session, { dir: ws.cwd })), spoken(c.messages))
  assert.equal((await getSessionMessages(fork, { dir: ws.cwd })).length, half.length)
  await c.end()

  const [file] = filesBelow(path.join(ws.config, 'projects')).filter((name) => name.endsWith(`${session}.jsonl`))
  const lines = fs.readFileSync(file, 'utf8').split('\n')
  assert.equal(lines.pop(), '')
  for (const line of lines) JSON.parse(line) // none runs into another

  const again = ws.talk({ resume: session })
  const told = heard(await again.turn(script(echo)))
  const prompts = told.filter((m) => m.role === 'user' && m.text?.startsWith('[{')).map((m) => m.text)
  assert.deepEqual(prompts.length, 8)
  assert.deepEqual(told.filter((m) => m.role === 'assistant' && m.text?.startsWith('said')).map((m) => m.text), [3, 4, 5, 6, 7].map((i) => `said ${i}`))
  assert.equal((await getSessionInfo(session, { dir: ws.cwd })).customTitle, 'Name 7', 'the name outlives the next turn')
  await again.rewind(promptUUID(first))
  assert.deepEqual(ws.tree(), {})
  await again.end()
})

recipe('functions: a session that was deleted cannot be resumed, and says so', async (ws) => {
  const turn = await ws.ask(script(write('a.txt', 'a'), say('Written.')))
  const session = turn.find(isInit).session_id
  await ws.processesEnd()
  await deleteSession(session)
  const sentence = `No conversation found with session ID: ${session}`
  for (const more of [{}, { forkSession: true }, { persistSession: false }]) {
    ws.stderr = ''
    const messages = []
    await assert.rejects(
      async () => {
        for await (const m of ws.query('hello', { resume: session, ...more })) messages.push(m)
      },
      (err) => err.message.includes(sentence),
    )
    assert.deepEqual(messages.map((m) => [m.type, m.subtype, m.is_error, m.errors, m.num_turns]), [['result', 'error_during_execution', true, [sentence], 0]])
    assert.equal(ws.stderr, `Error: ${sentence}\n`)
  }
  ws.stderr = ''
  assert.deepEqual(run(ws, ['--resume', session, '--rewind-files', promptUUID(turn)]), refused(sentence))
  assert.equal(ws.bytes('a.txt').toString(), 'a')
  await assert.rejects(deleteSession(session))
}, [models.script])

recipe('functions: deleted while takeback is at work: the turn goes on, and so does the process', async (ws) => {
  const c = ws.talk()
  const turn = await c.turn(script(write('a.txt', 'a')))
  const session = turn.find(isInit).session_id
  await deleteSession(session, { dir: ws.cwd })
  assert.deepEqual(await listSessions({ dir: ws.cwd }), [])
  const next = await c.turn(script(write('b.txt', 'b'), echo))
  assertWentWell(next)
  await c.rewind(promptUUID(turn))
  assert.deepEqual(ws.tree(), {})
  await c.end()
  assert.deepEqual(await listSessions(), [], 'it does not come back')
})

recipe('functions: a long conversation: head and tail are found, and pages of it', async (ws) => {
  const c = ws.talk()
  const first = `The first prompt ${'😀 long '.repeat(100)}`
  await c.turn(first)
  for (let i = 0; i < 5; i++) await c.turn(script(say('x'.repeat(40_000))))
  const session = c.messages[0].session_id
  await renameSession(session, 'Long')
  await c.turn(script(say('the last word')))
  const info = await getSessionInfo(session, { dir: ws.cwd })
  assert.equal(info.customTitle, 'Long')
  assert.equal(info.firstPrompt.startsWith('The first prompt 😀 long'), true)
  assert.equal(info.firstPrompt.endsWith('…'), true)
  const all = await getSessionMessages(session, { dir: ws.cwd })
  assert.equal(all.length, 14)
  assert.deepEqual(await getSessionMessages(session, { dir: ws.cwd, limit: 3, offset: 5 }), all.slice(5, 8))
  assert.equal(textOf(all.at(-1).message.content), 'the last word')
  await c.end()
}, [models.script])

recipe('functions: sessions are listed newest first, page by page', async (ws) => {
  const made = []
  for (let i = 0; i < 4; i++) made.unshift((await ws.ask(script(say(`${i}`)))).find(isInit).session_id)
  const ids = async (options) => (await listSessions({ dir: ws.cwd, ...options })).map((s) => s.sessionId)
  assert.deepEqual(await ids(), made)
  assert.deepEqual(await ids({ limit: 2 }), made.slice(0, 2))
  assert.deepEqual(await ids({ limit: 2, offset: 2 }), made.slice(2))
  await ws.ask(script(say('again')), { resume: made[3] })
  assert.deepEqual(await ids(), [made[3], ...made.slice(0, 3)])
  // They are no user's at a terminal.
  assert.deepEqual(await ids({ includeProgrammatic: false }), [])
}, [models.script])

recipe('functions: archived and taken out again, copied to a store, and without subagents', async (ws) => {
  const turn = await ws.ask(script(write('a.txt', 'a'), say('Written.')))
  const session = turn.find(isInit).session_id
  await archiveSession(session)
  assert.equal((await getSessionInfo(session)).archived, true)
  assert.equal(heard(await ws.ask(script(echo), { resume: session })).length, 5)
  await unarchiveSession(session)
  assert.notEqual((await getSessionInfo(session)).archived, true)
  assert.deepEqual(await listSubagents(session), [])

  const sessionStore = new InMemorySessionStore()
  await importSessionToStore(session, sessionStore, { dir: ws.cwd })
  const messages = await getSessionMessages(session, { dir: ws.cwd })
  assert.equal(messages.length, 6)
  assert.deepEqual(await getSessionMessages(session, { dir: ws.cwd, sessionStore }), messages)
}, [models.script])
