// n: going back to a session: at once, from elsewhere, after a crash, and where nothing was to be kept.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { listSessions } from '@anthropic-ai/claude-agent-sdk'
import { models, recipe } from '../harness.mjs'
import { assertWentWell, heard, isInit, isReplay, isToolResult, promptUUID, textOf } from '../frames.mjs'
import { bash, echo, edit, hang, read, say, script, write } from '../script.mjs'
import { filesBelow, listTree } from '../tree.mjs'

const prompt = script(read('a.txt'), edit('a.txt', 'v0', 'v1'), write('made/b.txt', 'b\n'), say('one'))

/** A session of one turn. */
async function oneTurn(ws, more) {
  ws.put('a.txt', 'v0\n')
  const before = ws.tree()
  const c = ws.talk(more)
  const turn = await c.turn(prompt)
  assertWentWell(turn)
  return { c, id: promptUUID(turn), session: turn.find(isInit).session_id, before, after: ws.tree() }
}

/** The words of the prompts that the model was sent. */
const promptsHeard = (turn) => heard(turn).filter((m) => m.role === 'user' && m.text).map((m) => m.text)

/** Runs takeback in our own hands, so that we know its pid. */
function ownProcess() {
  const own = {}
  own.spawnClaudeCodeProcess = ({ command, args, cwd, env, signal }) => {
    own.child = spawn(command, args, { cwd, env, signal, stdio: ['pipe', 'pipe', 'inherit'] })
    own.exit = new Promise((resolve) => own.child.once('exit', (code, sig) => resolve(sig ?? code)))
    return own.child
  }
  return own
}

for (const [how, leave] of Object.entries({
  'end of input': (c) => c.end(),
  close: async (c) => c.close(), // the SDK does not wait for the process
})) {
  recipe(`n: resumed at once, after ${how}`, async (ws) => {
    const { c, id, session, before, after } = await oneTurn(ws)
    await leave(c)
    const again = ws.talk({ resume: session })
    assert.equal((await again.rewind(id)).canRewind, true)
    assert.deepEqual(ws.tree(), before)
    await again.rewind('undo')
    assert.deepEqual(ws.tree(), after)
    const turn = await again.turn(script(read('a.txt'), edit('a.txt', 'v1', 'v2'), echo))
    assertWentWell(turn)
    assert.equal(turn.find(isInit).session_id, session)
    await leave(again)
    const third = ws.talk({ resume: session })
    assert.equal(promptsHeard(await third.turn(script(echo))).length, 3)
    await third.rewind(promptUUID(turn))
    assert.deepEqual(ws.tree(), after)
    await third.rewind(id)
    assert.deepEqual(ws.tree(), before)
    await third.end()
  })
}

recipe('n: resumed at once many times, nothing is lost in between', async (ws) => {
  const { c, session } = await oneTurn(ws)
  await c.end()
  const ids = []
  for (let i = 0; i < 10; i++) {
    const again = ws.talk({ resume: session })
    const turn = await again.turn(script(write(`${i}.txt`, `${i}`)))
    assertWentWell(turn)
    ids.push(promptUUID(turn))
    again.close()
  }
  const last = ws.talk({ resume: session })
  assert.equal(promptsHeard(await last.turn(script(echo))).length, 12)
  for (const [i, id] of [...ids.entries()].reverse()) {
    await last.rewind(id)
    assert.deepEqual(Object.keys(ws.tree()).filter((name) => /^\d/.test(name)), ids.slice(0, i).map((_, n) => `${n}.txt`))
  }
  await last.end()
}, [models.script])

recipe('n: resumed in another folder: relative paths mean that one, the checkpoints still mean theirs', async (ws) => {
  const { c, id, session, before } = await oneTurn(ws)
  await c.end()
  const again = ws.talk({ resume: session, cwd: ws.home })
  const turn = await again.turn(script(write('a.txt', 'of the home folder\n'), say('written')))
  assert.equal(turn.find(isInit).session_id, session)
  assert.equal(turn.find(isInit).cwd, ws.home)
  assert.equal(fs.readFileSync(path.join(ws.home, 'a.txt'), 'utf8'), 'of the home folder\n')
  assert.equal(ws.bytes('a.txt').toString(), 'v1\n')
  const plan = await again.rewind(id, { dryRun: true })
  assert.deepEqual(plan.filesChanged, [path.join(ws.home, 'a.txt'), ws.path('a.txt'), ws.path('made/b.txt')])
  await again.rewind(id)
  assert.deepEqual(ws.tree(), before)
  assert.deepEqual(fs.readdirSync(ws.home), [])
  await again.end()
  // It is one session still, and found where it was begun.
  assert.deepEqual((await listSessions({ dir: ws.cwd })).map((s) => s.sessionId), [session])
  assert.deepEqual(await listSessions({ dir: ws.home }), [])
})

recipe('n: killed in mid-turn: all that was done is known, and can be taken back', async (ws) => {
  ws.put('a.txt', 'v0\n')
  const before = ws.tree()
  const own = ownProcess()
  const c = ws.talk(own)
  c.send(script(read('a.txt'), edit('a.txt', 'v0', 'v1'), write('made/b.txt', 'b\n'), say('Now I hang.'), hang))
  await c.until((m) => isToolResult(m) && m.tool_use_result?.filePath === ws.path('made/b.txt'), 'the write')
  process.kill(own.child.pid, 'SIGKILL')
  assert.equal(await own.exit, 'SIGKILL')
  await assert.rejects(c.reading)
  const { session_id } = c.messages.find(isInit)
  const { uuid } = c.messages.find(isReplay)
  const killed = ws.tree()

  const again = ws.talk({ resume: session_id })
  const turn = await again.turn(script(echo))
  assertWentWell(turn)
  const told = heard(turn)
  assert.deepEqual(told[1].tools, ['Read', 'Edit', 'Write'])
  assert.equal(told[2].results.length, 3)
  await again.rewind(uuid)
  assert.deepEqual(ws.tree(), before)
  await again.rewind('undo')
  assert.deepEqual(ws.tree(), killed)
  await again.end()
})

recipe('n: killed while a command runs: the call has an answer when the session goes on', async (ws) => {
  const own = ownProcess()
  const c = ws.talk({ ...own, permissionMode: 'bypassPermissions', allowDangerouslySkipPermissions: true })
  c.send(script(write('a.txt', 'a'), bash('echo $$ > begun.tmp && mv begun.tmp begun && exec sleep 30'), write('c.txt', 'c')))
  await ws.appears('begun')
  const command = Number(ws.bytes('begun').toString())
  process.kill(own.child.pid, 'SIGKILL')
  await own.exit
  await assert.rejects(c.reading)
  try {
    process.kill(command, 'SIGKILL') // whoever kills takeback so leaves its commands
  } catch (err) {
    assert.equal(err.code, 'ESRCH')
  }
  const again = ws.talk({ resume: c.messages.find(isInit).session_id })
  const turn = await again.turn(script(echo))
  assertWentWell(turn)
  const told = heard(turn)
  assert.deepEqual(told[1].tools, ['Write', 'Bash', 'Write'])
  assert.equal(told[2].results.length, 3, 'the API refuses a call without a result')
  await again.rewind(c.messages.find(isReplay).uuid)
  assert.equal(ws.exists('a.txt'), false)
  assert.equal(ws.exists('c.txt'), false)
  await again.end()
})

recipe('n: killed before the first answer: the prompt is there, and a point', async (ws) => {
  const own = ownProcess()
  const c = ws.talk(own)
  c.send(script(hang))
  const { uuid, session_id } = await c.until(isReplay, 'the replay')
  process.kill(own.child.pid, 'SIGKILL')
  await own.exit
  await assert.rejects(c.reading)
  const again = ws.talk({ resume: session_id })
  assert.equal((await again.rewind(uuid)).canRewind, true)
  assertWentWell(await again.turn(script(say('And on.'))))
  await again.end()
}, [models.script])

recipe('n: continue takes the session of this folder that was last at work', async (ws) => {
  const first = await oneTurn(ws)
  await first.c.end()
  const second = await ws.ask(script(write('second.txt', '2')))
  assert.notEqual(second.find(isInit).session_id, first.session)
  await ws.ask(script(say('elsewhere')), { cwd: ws.home })

  const c = ws.talk({ continue: true })
  const turn = await c.turn(script(echo))
  assert.equal(turn.find(isInit).session_id, second.find(isInit).session_id)
  assert.deepEqual(promptsHeard(turn), [script(write('second.txt', '2')), script(echo)])
  await c.rewind(promptUUID(second))
  assert.equal(ws.exists('second.txt'), false)
  await c.end()
  // Once the first has been at work again, it is that one.
  await ws.ask(script(say('hello')), { resume: first.session })
  const again = ws.talk({ continue: true })
  assert.equal((await again.turn(script(say('which?')))).find(isInit).session_id, first.session)
  await again.end()
  // And with forkSession a branch of it.
  const forked = await ws.ask(script(echo), { continue: true, forkSession: true })
  assert.equal((await listSessions({ dir: ws.cwd })).length, 3)
  assert.deepEqual(promptsHeard(forked)[0], prompt)
})

recipe('n: continue where nothing was begun says so', async (ws) => {
  await ws.ask(script(say('elsewhere')), { cwd: ws.home })
  const sentence = 'No conversation found to continue'
  ws.expectedStderr = `Error: ${sentence}\n`
  const messages = []
  await assert.rejects(
    async () => {
      for await (const m of ws.query('hello', { continue: true })) messages.push(m)
    },
    (err) => err.message.includes(sentence),
  )
  assert.deepEqual(messages.map((m) => [m.type, m.subtype, m.errors]), [['result', 'error_during_execution', [sentence]]])
}, [models.script])

recipe('n: persistSession false: it works as any, and leaves nothing', async (ws) => {
  const { c, id, session, before, after } = await oneTurn(ws, { persistSession: false })
  await c.rewind(id)
  assert.deepEqual(ws.tree(), before)
  await c.rewind('undo')
  assert.deepEqual(ws.tree(), after)
  const turn = await c.turn(script(echo))
  const told = promptsHeard(turn)
  assert.deepEqual([told.length, told[0], told[1].endsWith(script(echo))], [2, prompt, true])
  await c.end()
  await ws.processesEnd()
  assert.deepEqual(filesBelow(ws.config), [])
  assert.deepEqual(await listSessions(), [])
  ws.expectedStderr = `Error: No conversation found with session ID: ${session}\n`
  await assert.rejects(ws.ask('hello', { resume: session }), (err) => err.message.includes(`No conversation found with session ID: ${session}`))
})

recipe('n: persistSession false on a session that is kept: that one stays as it was', async (ws) => {
  const { c, id, session, before, after } = await oneTurn(ws)
  await c.end()
  await ws.processesEnd()
  const kept = listTree(ws.config)
  const again = ws.talk({ resume: session, persistSession: false })
  const turn = await again.turn(script(read('a.txt'), edit('a.txt', 'v1', 'v2'), say('unkept')))
  assertWentWell(turn)
  await again.rewind(promptUUID(turn))
  assert.deepEqual(ws.tree(), after)
  await again.rewind(id)
  assert.deepEqual(ws.tree(), before)
  await again.end()
  await ws.processesEnd()
  assert.deepEqual(listTree(ws.config), kept)
  const third = ws.talk({ resume: session })
  assert.deepEqual(promptsHeard(await third.turn(script(echo))), [prompt, script(echo)])
  await third.end()
}, [models.script])

recipe('n: persistSession false on a fork: nothing of it is left', async (ws) => {
  const { c, id, session, before } = await oneTurn(ws)
  await c.end()
  await ws.processesEnd()
  const kept = listTree(ws.config)
  const fork = ws.talk({ resume: session, forkSession: true, persistSession: false })
  const turn = await fork.turn(script(write('c.txt', 'c')))
  assert.notEqual(turn.find(isInit).session_id, session)
  await fork.rewind(id)
  assert.deepEqual(ws.tree(), before)
  await fork.end()
  await ws.processesEnd()
  assert.deepEqual(listTree(ws.config), kept)
}, [models.script])

recipe('n: what a closed session did not finish is not begun again', async (ws) => {
  const { c, session } = await oneTurn(ws)
  c.send(script(write('second.txt', '2'), hang))
  await c.until((m) => isToolResult(m) && m.tool_use_result?.filePath === ws.path('second.txt'), 'the write')
  c.close()
  const second = c.messages.filter(isReplay)[1].uuid
  const again = ws.talk({ resume: session })
  const turn = await again.turn(script(echo))
  assertWentWell(turn)
  assert.equal(promptsHeard(turn)[0], prompt)
  assert.deepEqual(turn.filter(isReplay).map((m) => textOf(m.message.content)), [script(echo)])
  await again.rewind(second)
  assert.equal(ws.exists('second.txt'), false)
  await again.end()
}, [models.script])
