// Interrupts, queues and the end of input.
import assert from 'node:assert/strict'
import { models, recipe } from '../harness.mjs'
import { assertWentWell, isInit, isReplay, isResult, promptUUID, saidBy, textOf, toolResults } from '../frames.mjs'
import { hasEnded } from '../processes.mjs'
import { bash, hang, read, say, script, write } from '../script.mjs'

const anything = { permissionMode: 'bypassPermissions', allowDangerouslySkipPermissions: true }

/** A command that runs until the file `go` is there, and says when it has begun. */
const waitForGo = bash('echo $$ > begun.tmp && mv begun.tmp begun && until [ -e go ]; do sleep 0.01; done')

/** A command that never ends, and neither does the process that it started. */
const endless = bash('sleep 1000 & echo $$ > begun.tmp && mv begun.tmp begun && wait')

recipe('h: interrupt while a tool runs', async (ws) => {
  const c = ws.talk(anything)
  c.send(script(write('a.txt', 'a'), endless, say('never said')))
  await ws.appears('begun')
  assert.deepEqual(await c.call('interrupt'), { still_queued: [] })
  const result = await c.result(1)
  assert.equal(result.subtype, 'error_during_execution')
  assert.equal(Array.isArray(result.errors), true)
  assert.deepEqual(saidBy(c.messages), [])

  // Both calls have an answer, and the conversation says what happened.
  assert.equal(toolResults(c.messages).length, 2)
  assert.equal(toolResults(c.messages)[1].is_error, true)
  const notes = c.messages.filter((m) => m.type === 'user').map((m) => textOf(m.message.content))
  assert.equal(notes.filter((text) => text.startsWith('[Request interrupted by user')).length, 1, JSON.stringify(notes))

  // The command has gone, with all that it started.
  const pid = Number(ws.bytes('begun').toString())
  await hasEnded(() => groupOf(pid))

  // The session goes on, and the interrupted turn is a point like any other.
  assertWentWell(await c.turn(script(say('And on.'))))
  await c.rewind(c.messages.find(isReplay).uuid)
  assert.equal(ws.exists('a.txt'), false)
  await c.end()
})

recipe('h: interrupt while the model speaks', async (ws) => {
  const c = ws.talk({ includePartialMessages: true })
  c.send(script(say('A thought that is never '), hang))
  await c.until((m) => m.type === 'stream_event' && m.event.type === 'content_block_delta', 'the first words')
  await c.call('interrupt')
  const result = await c.result(1)
  assert.equal(result.subtype, 'error_during_execution')
  assert.equal(Array.isArray(result.errors), true)
  const next = await c.turn(script(say('And on.')))
  assertWentWell(next)
  assert.deepEqual(saidBy(next), ['And on.'])
  await c.end()
})

recipe('h: interrupt with nothing to stop', async (ws) => {
  const c = ws.talk()
  assertWentWell(await c.turn(script(say('Done.'))))
  assert.deepEqual(await c.call('interrupt'), { still_queued: [] })
  assertWentWell(await c.turn(script(say('And on.'))))
  assert.equal(c.results.length, 2)
  await c.end()
})

recipe('h: two messages sent while one runs: three replays, three points, three results', async (ws) => {
  const c = ws.talk(anything)
  c.send(script(write('1.txt', '1'), waitForGo, say('one')))
  await ws.appears('begun')
  c.send(script(write('2.txt', '2'), say('two')))
  c.send(script(write('3.txt', '3'), say('three')))
  await c.arrived()
  assert.equal(c.messages.filter(isReplay).length, 1, 'a prompt is replayed when its turn starts')
  ws.put('go', '')
  await c.result(3)
  await c.end()

  const turns = [[]]
  for (const m of c.messages) {
    turns.at(-1).push(m)
    if (isResult(m)) turns.push([])
  }
  assert.deepEqual(turns.pop(), [], 'nothing follows the last result')
  assert.equal(turns.length, 3)
  for (const [i, turn] of turns.entries()) {
    assertWentWell(turn)
    assert.deepEqual(saidBy(turn), [['one', 'two', 'three'][i]])
    const kinds = turn.map((m) => (isInit(m) ? 'init' : isReplay(m) ? 'replay' : m.type))
    assert.deepEqual(kinds.slice(0, 2), ['init', 'replay'])
    assert.equal(kinds.filter((k) => k === 'replay').length, 1)
  }

  const ids = turns.map(promptUUID)
  assert.equal(new Set(ids).size, 3)
  const again = ws.talk({ resume: turns[0][0].session_id })
  const left = () => Object.keys(ws.tree()).filter((f) => /^\d/.test(f))
  await again.rewind(ids[2])
  assert.deepEqual(left(), ['1.txt', '2.txt'])
  await again.rewind(ids[1])
  assert.deepEqual(left(), ['1.txt'])
  await again.rewind(ids[0])
  assert.deepEqual(left(), [])
  await again.end()
})

recipe('h: an interrupt stops what runs; what waits behind it is named, and runs', async (ws) => {
  const c = ws.talk(anything)
  c.send(script(waitForGo))
  await ws.appears('begun')
  const uuid = '0f0e0d0c-0b0a-4908-8706-050403020102'
  c.send(script(say('two')), { uuid })
  await c.arrived()
  assert.deepEqual(await c.call('interrupt'), { still_queued: [uuid] })
  assert.equal((await c.result(1)).subtype, 'error_during_execution')
  assert.equal((await c.result(2)).subtype, 'success')
  assert.deepEqual(saidBy(c.messages), ['two'])
  assert.deepEqual(c.messages.filter(isReplay).map((m) => m.uuid).slice(1), [uuid])
  await c.end()
})

recipe('h: the end of input right behind the prompts: every turn still finishes', async (ws) => {
  async function* prompts() {
    for (const n of [1, 2, 3]) {
      const content = script(write(`${n}.txt`, `${n}`), say(`said ${n}`))
      yield { type: 'user', message: { role: 'user', content }, parent_tool_use_id: null }
    }
  }
  const messages = await ws.ask(prompts())
  assert.deepEqual(messages.filter(isResult).map((m) => m.subtype), ['success', 'success', 'success'])
  assert.deepEqual(saidBy(messages), ['said 1', 'said 2', 'said 3'])
  assert.deepEqual(Object.keys(ws.tree()), ['1.txt', '2.txt', '3.txt'])
  assert.equal(messages.filter(isReplay).length, 3)
})

recipe('h: calls in a row run, each with its own answer, in order', async (ws) => {
  ws.put('a.txt', 'A\n')
  ws.put('b.txt', 'B\n')
  const c = ws.talk()
  const messages = await c.turn(script(read('a.txt'), read('b.txt'), read('none.txt'), say('read')))
  const calls = messages.filter((m) => m.type === 'assistant').flatMap((m) => m.message.content).filter((b) => b.type === 'tool_use')
  const results = toolResults(messages)
  assert.deepEqual(results.map((r) => r.tool_use_id), calls.map((b) => b.id))
  assert.deepEqual(results.map((r) => r.is_error ?? false), [false, false, true])
  assert.equal(textOf(results[0].content).includes('A'), true)
  assert.equal(textOf(results[1].content).includes('B'), true)
  await c.end()
}, [models.script])

/** The processes of a group that are still there. */
function groupOf(pid) {
  try {
    process.kill(-pid, 0)
    return [`group ${pid}`]
  } catch (err) {
    assert.equal(err.code, 'ESRCH')
    return []
  }
}
