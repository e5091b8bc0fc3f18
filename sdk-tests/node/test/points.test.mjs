// Many points in one session: back, further back, forward again, and undoing all that.
import assert from 'node:assert/strict'
import { recipe } from '../harness.mjs'
import { assertWentWell, isInit, promptUUID, UUID } from '../frames.mjs'
import { edit, read, script, write } from '../script.mjs'

/** Turn 1 refactors, turn 2 writes tests. Returns the uuids and the project before, between and after. */
async function twoTurns(ws, c) {
  ws.put('lib.js', 'var x = 1\n')
  const states = [ws.tree()]
  const ids = []
  for (const prompt of [
    script(read('lib.js'), edit('lib.js', 'var', 'const'), write('src/util.js', 'export {}\n')),
    script(write('tests/unit/lib.test.js', 'test()\n'), edit('lib.js', 'x = 1', 'x = 2')),
  ]) {
    const messages = await c.turn(prompt)
    assertWentWell(messages)
    ids.push(promptUUID(messages))
    states.push(ws.tree())
  }
  return { ids, states }
}

recipe('e: take back turn 2, then turn 1, then forward again, then undo', async (ws) => {
  const c = ws.talk()
  const { ids, states } = await twoTurns(ws, c)

  const back2 = await c.rewind(ids[1])
  assert.equal(back2.canRewind, true)
  assert.deepEqual(ws.tree(), states[1])

  const back1 = await c.rewind(ids[0])
  assert.equal(back1.canRewind, true)
  assert.deepEqual(ws.tree(), states[0])

  const forward = await c.rewind(ids[1])
  assert.equal(forward.canRewind, true)
  assert.deepEqual(ws.tree(), states[1])

  for (const answer of [back2, back1, forward]) assert.match(answer.undo_id, UUID)
  assert.equal(new Set([...ids, back2.undo_id, back1.undo_id, forward.undo_id]).size, 5)

  // Each undo id is the state before its rewind, whatever happened since.
  assert.equal((await c.rewind(forward.undo_id)).canRewind, true)
  assert.deepEqual(ws.tree(), states[0])
  assert.equal((await c.rewind(back2.undo_id)).canRewind, true)
  assert.deepEqual(ws.tree(), states[2])
  assert.equal((await c.rewind(back1.undo_id)).canRewind, true)
  assert.deepEqual(ws.tree(), states[1])
  await c.end()
})

recipe('e: the word undo takes back the newest rewind, then the one before', async (ws) => {
  const c = ws.talk()
  const { ids, states } = await twoTurns(ws, c)
  await c.rewind(ids[1])
  await c.rewind(ids[0])
  assert.deepEqual(ws.tree(), states[0])

  const plan = await c.rewind('undo', { dryRun: true })
  assert.deepEqual(ws.tree(), states[0])
  const first = await c.rewind('undo')
  assert.equal(first.canRewind, true)
  assert.deepEqual(ws.tree(), states[1])
  assert.deepEqual(plan.filesChanged, first.filesChanged)
  assert.deepEqual([plan.insertions, plan.deletions], [first.insertions, first.deletions])

  assert.equal((await c.rewind('undo')).canRewind, true)
  assert.deepEqual(ws.tree(), states[2])
  await assert.rejects(c.rewind('undo'), Error, 'nothing is left to undo')
  assert.deepEqual(ws.tree(), states[2])
  await c.end()
})

recipe('e: the word undo is refused when the session changed those files since, and names the id', async (ws) => {
  const c = ws.talk()
  const { ids } = await twoTurns(ws, c)
  const { undo_id } = await c.rewind(ids[0])
  assertWentWell(await c.turn(script(read('lib.js'), edit('lib.js', 'var', 'let'))))
  const now = ws.tree()
  await assert.rejects(c.rewind('undo'), (err) => err.message.includes(undo_id))
  assert.deepEqual(ws.tree(), now)
  await c.end()
})

recipe('e: a rewind that changes nothing has no undo id', async (ws) => {
  const c = ws.talk()
  const { ids, states } = await twoTurns(ws, c)
  await c.rewind(ids[0])
  const nothing = await c.rewind(ids[0])
  assert.equal(nothing.canRewind, true)
  assert.equal('undo_id' in nothing, false)
  assert.deepEqual(ws.tree(), states[0])
  await c.end()
})

recipe('e: points and undo outlive the process', async (ws) => {
  const c = ws.talk()
  const { ids, states } = await twoTurns(ws, c)
  const resume = c.messages.find(isInit).session_id
  await c.end()

  const second = ws.talk({ resume })
  const { undo_id } = await second.rewind(ids[1])
  assert.deepEqual(ws.tree(), states[1])
  await second.end()

  const third = ws.talk({ resume })
  await third.rewind(ids[0])
  assert.deepEqual(ws.tree(), states[0])
  await third.rewind(undo_id)
  assert.deepEqual(ws.tree(), states[2])
  await third.end()
})

recipe('e: turns after a rewind are points of their own', async (ws) => {
  const c = ws.talk()
  const { ids, states } = await twoTurns(ws, c)
  await c.rewind(ids[0])
  const third = await c.turn(script(read('lib.js'), edit('lib.js', 'var', 'let')))
  assertWentWell(third)
  assert.equal(ws.bytes('lib.js').toString(), 'let x = 1\n')
  await c.rewind(promptUUID(third))
  assert.deepEqual(ws.tree(), states[0])
  await c.rewind(ids[1])
  assert.deepEqual(ws.tree(), states[1])
  await c.end()
})

recipe('e: what others change is theirs, and is told when a rewind goes over it', async (ws) => {
  const c = ws.talk()
  const { ids, states } = await twoTurns(ws, c)
  ws.put('lib.js', 'edited by hand\n')
  ws.put('notes.txt', 'mine\n')
  const plan = await c.rewind(ids[0], { dryRun: true })
  assert.deepEqual(plan.conflicts?.map((note) => note.path), [ws.path('lib.js')])
  const done = await c.rewind(ids[0])
  assert.deepEqual(done.conflicts, plan.conflicts)
  assert.equal(ws.bytes('lib.js').toString(), 'var x = 1\n')
  assert.equal(ws.bytes('notes.txt').toString(), 'mine\n')
  await c.rewind('undo')
  assert.equal(ws.bytes('lib.js').toString(), 'edited by hand\n')
  assert.equal(ws.bytes('tests/unit/lib.test.js').toString(), 'test()\n')
  assert.notDeepEqual(ws.tree(), states[2])
  await c.end()
})
