// Sessions that Claude Code began, resumed here: what the model is sent, and what becomes of the file.
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import fs from 'node:fs'
import { forkSession, getSessionInfo, getSessionMessages } from '@anthropic-ai/claude-agent-sdk'
import { recipe } from '../harness.mjs'
import { Recording } from '../claudecode.mjs'
import { assertWentWell, heard, isInit, isReplay, promptUUID, textOf } from '../frames.mjs'
import { echo, script, write } from '../script.mjs'

const ECHO = { role: 'user', text: script(echo) }
const user = (text) => ({ role: 'user', text })
const results = (...list) => ({ role: 'user', results: list })
const said = (text, ...tools) => ({ role: 'assistant', ...(text && { text }), ...(tools.length > 0 && { tools }) })

/** Resumes what was recorded, and gives what the model is sent with the next prompt. */
async function resumed(ws, recording, more) {
  const content = recording.save()
  const c = ws.talk({ resume: recording.session, ...more })
  const turn = await c.turn(script(echo))
  assertWentWell(turn)
  assert.equal(turn.find(isInit).session_id, recording.session)
  await c.end()
  assert.equal(fs.readFileSync(recording.file, 'utf8').startsWith(content), true, 'what was there is not touched')
  return heard(turn)
}

/** A prompt, its answer and a few calls, with all that Claude Code writes between the lines. */
function ordinary(r) {
  r.note({ type: 'queue-operation', operation: 'enqueue', sessionId: r.session, timestamp: '2026-01-01T12:00:00.000Z', content: 'first' })
  r.note({ type: 'mode', mode: 'default', sessionId: r.session })
  const first = r.prompt('first prompt')
  r.note({ type: 'file-history-snapshot', messageId: first, snapshot: { messageId: first, trackedFileBackups: {}, timestamp: '2026-01-01T12:00:00.000Z' }, isSnapshotUpdate: false })
  r.add('attachment', { attachment: { type: 'todo_reminder', content: [], itemCount: 0 } })
  r.answer('msg_1', { type: 'thinking', thinking: 'Hm.', signature: 'c2ln' })
  r.text('msg_1', 'I look.')
  const call = r.call('msg_1', 'toolu_1', 'Read', { file_path: 'a.txt' })
  r.note({ type: 'file-history-delta', messageId: call, snapshotMessageId: first, trackingPath: 'a.txt', backup: { backupFileName: null, version: 1, backupTime: '2026-01-01T12:00:00.000Z' }, timestamp: '2026-01-01T12:00:00.000Z' })
  r.add('progress', { data: { type: 'hook_progress', hookEvent: 'PreToolUse', hookName: 'x', command: 'x' }, toolUseID: 'toolu_1', parentToolUseID: 'toolu_1' })
  r.result('toolu_1', 'content of a', { sourceToolAssistantUUID: call })
  r.text('msg_2', 'It is done.')
  r.add('system', { subtype: 'stop_hook_summary', hookCount: 1, hookInfos: [], hookErrors: [], preventedContinuation: false, level: 'suggestion' })
  r.add('system', { subtype: 'turn_duration', durationMs: 1234, isMeta: false })
  r.note({ type: 'summary', summary: 'What it was about', leafUuid: r.last })
  r.note({ type: 'ai-title', aiTitle: 'Looking at a', sessionId: r.session })
  r.note({ type: 'last-prompt', lastPrompt: 'first prompt', sessionId: r.session })
  r.note({ type: 'type of the future', uuid: randomUUID(), parentUuid: null, anything: [1, { x: null }] })
  return first
}
const ORDINARY = [user('first prompt'), said('I look.', 'Read'), results('content of a'), said('It is done.')]

recipe('foreign: the lines between the messages are nobody’s words', async (ws) => {
  const r = new Recording(ws)
  ordinary(r)
  r.prompt([{ type: 'text', text: 'second ' }, { type: 'text', text: 'prompt' }])
  r.text('msg_3', 'And this.')
  assert.deepEqual(await resumed(ws, r), [...ORDINARY, user('second prompt'), said('And this.'), ECHO])
})

recipe('foreign: it goes on, is found by the SDK’s functions, and what takeback does can be taken back', async (ws) => {
  const r = new Recording(ws)
  ordinary(r)
  const content = r.save()
  const c = ws.talk({ resume: r.session })
  const turn = await c.turn(script(write('a.txt', 'a'), { text: 'Written.' }))
  assertWentWell(turn)
  assert.deepEqual((await getSessionInfo(r.session, { dir: ws.cwd })).firstPrompt, 'first prompt')
  const messages = await getSessionMessages(r.session, { dir: ws.cwd })
  assert.deepEqual(messages.map((m) => m.uuid).slice(-4), turn.filter((m) => m.type === 'user' || m.type === 'assistant').map((m) => m.uuid))
  assert.equal(textOf(messages[0].message.content), 'first prompt')
  assert.equal(fs.readFileSync(r.file, 'utf8').startsWith(content), true)
  await c.rewind(promptUUID(turn))
  assert.deepEqual(ws.tree(), {})
  await c.end()
  const forked = await ws.ask(script(echo), { resume: r.session, forkSession: true })
  assert.deepEqual(heard(forked).slice(0, 4), ORDINARY)
  const { sessionId } = await forkSession(r.session, { dir: ws.cwd })
  assert.deepEqual(heard(await ws.ask(script(echo), { resume: sessionId })).slice(0, 4), ORDINARY)
})

/** How the lines of three calls, made at once, may lie: the order of writing, and what each hangs to. */
const layouts = {
  'calls first, results in order': (r, call, result) => {
    const a = [call(1), call(2), call(3)]
    result(1, a[0])
    result(2, a[1])
    result(3, a[2])
  },
  'each result behind its call': (r, call, result) => {
    let parent
    for (const n of [1, 2, 3]) {
      parent = call(n, parent)
      result(n, parent)
    }
  },
  'results in the order in which they came: the first call’s last': (r, call, result) => {
    const a = [call(1), call(2), call(3)]
    result(3, a[2])
    result(2, a[1])
    result(1, a[0])
  },
  'results in the order in which they came: the second call’s last': (r, call, result) => {
    const a = [call(1), call(2), call(3)]
    result(3, a[2])
    result(1, a[0])
    result(2, a[1])
  },
}

for (const [layout, lay] of Object.entries(layouts)) {
  for (const next of ['the answer', 'nothing more']) {
    recipe(`foreign: calls made at once, ${layout}; then ${next}`, async (ws) => {
      const r = new Recording(ws)
      r.prompt('three at once')
      r.text('msg_1', 'Three.')
      lay(
        r,
        (n, parentUuid = r.last) => r.call('msg_1', `toolu_${n}`, ['Read', 'Glob', 'Grep'][n - 1], {}, { parentUuid }),
        (n, parentUuid) => r.result(`toolu_${n}`, `result ${n}`, { parentUuid, sourceToolAssistantUUID: parentUuid }),
      )
      if (next === 'the answer') r.text('msg_2', 'All three.')
      const told = await resumed(ws, r)
      for (const m of told) m.results?.sort() // the API takes them in any order
      assert.deepEqual(told.slice(0, 3), [user('three at once'), said('Three.', 'Read', 'Glob', 'Grep'), results('result 1', 'result 2', 'result 3')])
      assert.deepEqual(told.slice(3), next === 'the answer' ? [said('All three.'), ECHO] : [ECHO])
    })
  }
}

for (const way of ['option', 'function']) {
  recipe(`foreign: calls made at once are all there in a fork by ${way}, and in the next process too`, async (ws) => {
    const r = new Recording(ws)
    r.prompt('two at once')
    const calls = [r.call('msg_1', 'toolu_1', 'Read', {}), r.call('msg_1', 'toolu_2', 'Glob', {})]
    for (const [i, parentUuid] of calls.entries()) r.result(`toolu_${i + 1}`, `result ${i + 1}`, { parentUuid })
    r.text('msg_2', 'Both.')
    r.save()
    const more = way === 'option' ? { resume: r.session, forkSession: true } : { resume: (await forkSession(r.session, { dir: ws.cwd })).sessionId }
    const first = await ws.ask(script(echo), more)
    const second = await ws.ask(script(echo), { resume: first.find(isInit).session_id })
    for (const turn of [first, second]) {
      const told = heard(turn).slice(0, 4)
      told[2].results.sort()
      assert.deepEqual(told, [user('two at once'), said('', 'Read', 'Glob'), results('result 1', 'result 2'), said('Both.')])
    }
  })
}

recipe('foreign: a compacted conversation begins with its summary', async (ws) => {
  const r = new Recording(ws)
  ordinary(r)
  r.add('system', {
    parentUuid: null, logicalParentUuid: r.last, subtype: 'compact_boundary', content: 'Conversation compacted', isMeta: false, level: 'info',
    compactMetadata: { trigger: 'auto', preTokens: 150_000 },
  })
  r.prompt('This session is being continued from a previous conversation. The summary: they looked at a.', { isCompactSummary: true, isVisibleInTranscriptOnly: true })
  r.prompt('after it')
  r.text('msg_9', 'Yes.')
  const told = await resumed(ws, r)
  assert.deepEqual(told.slice(-2), [said('Yes.'), ECHO])
  // Summary and prompt may be one message or two.
  assert.equal(told.slice(0, -2).map((m) => m.text).join(''), 'This session is being continued from a previous conversation. The summary: they looked at a.after it')
  assert.equal(told.every((m) => !m.text.includes('first prompt')), true)
})

recipe('foreign: the words of subagents are not part of it', async (ws) => {
  const r = new Recording(ws)
  r.prompt('delegate')
  const call = r.call('msg_1', 'toolu_1', 'Task', { prompt: 'sub' })
  const side = { isSidechain: true, agentId: 'a1b2c3' }
  r.add('user', { ...side, parentUuid: null, message: { role: 'user', content: 'sub' } })
  r.call('msg_s1', 'toolu_s1', 'Read', {}, side)
  r.result('toolu_s1', 'sub result', side)
  r.text('msg_s2', 'sub answer', side)
  r.result('toolu_1', 'the report', { parentUuid: call })
  r.text('msg_2', 'Delegated.')
  const late = { ...side, parentUuid: null }
  r.add('user', { ...late, message: { role: 'user', content: 'one more, and nobody waits for it' } })
  assert.deepEqual(await resumed(ws, r), [user('delegate'), said('', 'Task'), results('the report'), said('Delegated.'), ECHO])
})

recipe('foreign: what was said in the user’s place is sent, but is no message of its own', async (ws) => {
  const r = new Recording(ws)
  r.prompt('<local-command-caveat>Caveat: not for you.</local-command-caveat>', { isMeta: true })
  r.prompt('the prompt')
  r.text('msg_1', 'Yes.')
  r.prompt('<system-reminder>Hooks said so.</system-reminder>', { isMeta: true })
  r.prompt('the next')
  r.text('msg_2', 'Again.')
  const told = await resumed(ws, r)
  assert.deepEqual(told.map((m) => m.role), ['user', 'assistant', 'user', 'assistant', 'user'])
  assert.equal(told[0].text.endsWith('the prompt'), true)
  assert.equal(told[2].text.endsWith('the next'), true)
})

recipe('foreign: only the branch that ends last counts', async (ws) => {
  const r = new Recording(ws)
  r.prompt('kept')
  const branching = r.text('msg_1', 'Kept.')
  r.prompt('given up')
  r.text('msg_2', 'Given up.')
  r.prompt('instead', { parentUuid: branching })
  r.text('msg_3', 'Instead.')
  assert.deepEqual(await resumed(ws, r), [user('kept'), said('Kept.'), user('instead'), said('Instead.'), ECHO])
})

recipe('foreign: an answer that was an error of the API is not sent again', async (ws) => {
  const r = new Recording(ws)
  r.prompt('one')
  r.text('msg_1', 'API Error: 529 overloaded', { isApiErrorMessage: true, error: 'overloaded' })
  r.prompt('two')
  r.text('msg_2', 'Better.')
  const told = await resumed(ws, r)
  assert.deepEqual(told.slice(-2), [said('Better.'), ECHO])
  assert.equal(told.slice(0, -2).map((m) => m.text).join(), 'one,two')
})

for (const [what, tail] of Object.entries({
  'calls without results': (r) => r.call('msg_1', 'toolu_2', 'Bash', { command: 'sleep 1000' }),
  'a line that was cut short': (r) => r.note(null),
  'an interrupt': (r) => r.prompt([{ type: 'text', text: '[Request interrupted by user for tool use]' }]),
})) {
  recipe(`foreign: it ends in ${what}`, async (ws) => {
    const r = new Recording(ws)
    r.prompt('work')
    r.call('msg_1', 'toolu_1', 'Read', {})
    tail(r)
    const cutShort = r.lines.at(-1) === null
    if (cutShort) r.lines.pop()
    let content = r.save()
    if (cutShort) fs.appendFileSync(r.file, (content = '{"parentUuid":"x","type":"assistant","message":{"role":"assi'))
    const c = ws.talk({ resume: r.session })
    const turn = await c.turn(script(echo))
    assertWentWell(turn)
    const told = heard(turn)
    const calls = told[1].tools
    assert.deepEqual(calls, what === 'calls without results' ? ['Read', 'Bash'] : ['Read'])
    assert.equal(told[2].results.length, calls.length)
    assert.equal(told.at(-1).text.endsWith(script(echo)), true)
    await c.end()
    // A line that was cut short stays alone: the next begins on its own.
    assert.equal(fs.readFileSync(r.file, 'utf8').includes(`${content.trimEnd()}\n`), true)
    // Nor does the next process see it otherwise.
    const again = heard(await ws.ask(script(echo), { resume: r.session }))
    assert.deepEqual([again.slice(0, 2), again[2].results], [told.slice(0, 2), told[2].results])
  })
}

recipe('foreign: a file without a message, and one that is not JSON at all, begin anew', async (ws) => {
  for (const content of ['{"type":"summary","summary":"x","leafUuid":"y"}\n', 'no JSON\n\n\u0000\n', '{"type":"user"}\n[1]\nnull\n']) {
    const r = new Recording(ws)
    r.save()
    fs.writeFileSync(r.file, content)
    const turn = await ws.ask(script(echo), { resume: r.session })
    assertWentWell(turn)
    assert.deepEqual(heard(turn), [ECHO])
    assert.equal(turn.find(isReplay).session_id, r.session)
    assert.equal(fs.readFileSync(r.file, 'utf8').startsWith(content), true)
  }
})
