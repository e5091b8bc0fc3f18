// The main job as the documentation of file checkpointing tells it.
import assert from 'node:assert/strict'
import { recipe } from '../harness.mjs'
import { assertWentWell, heard, isInit, isReplay, isResult, promptUUID, saidBy, UUID } from '../frames.mjs'
import { echo, edit, read, say, script, write } from '../script.mjs'

const before = 'export const add = (a, b) => a + b\n'
const after = 'export const sum = (a, b) => a + b\n'

/** A turn that changes one file, makes another in new folders, and overwrites a third. */
const refactor = script(
  say('Refactoring.'),
  read('math.js'),
  edit('math.js', 'add', 'sum'),
  write('docs/api/math.md', '# sum\n'),
  read('old.txt'),
  write('old.txt', 'new\nlines\n'),
  say('Done refactoring.'),
)

function project(ws) {
  ws.put('math.js', before, 0o755)
  ws.put('old.txt', 'one\ntwo\nthree\n')
  ws.put('untouched.txt', 'mine\n')
}

recipe('a: the prompt’s uuid and the session id are learned from the stream', async (ws) => {
  project(ws)
  const messages = await ws.ask(refactor)
  assertWentWell(messages)
  assert.equal(ws.bytes('math.js').toString(), after)
  assert.equal(ws.bytes('docs/api/math.md').toString(), '# sum\n')
  assert.equal(ws.bytes('old.txt').toString(), 'new\nlines\n')

  const id = promptUUID(messages)
  const replay = messages.find(isReplay)
  assert.deepEqual(replay.message, { role: 'user', content: [{ type: 'text', text: refactor }] })
  assert.equal(replay.parent_tool_use_id, null)
  const init = messages.find(isInit)
  assert.match(init.session_id, UUID)
  assert.notEqual(id, init.session_id)
  for (const m of messages) assert.equal(m.session_id, init.session_id, JSON.stringify(m))

  // The replay stands before all that the turn brings.
  const order = messages.map((m) => (isInit(m) ? 'init' : isReplay(m) ? 'replay' : m.type))
  assert.equal(order.indexOf('init') < order.indexOf('replay'), true, order.join(' '))
  assert.equal(order.indexOf('replay') < order.indexOf('assistant'), true, order.join(' '))
  assert.equal(order.at(-1), 'result')
  assert.equal(order.filter((o) => o === 'result').length, 1)
})

recipe('a: the uuid that the host gave its message is the one replayed', async (ws) => {
  const c = ws.talk()
  const uuid = '0f0e0d0c-0b0a-4908-8706-050403020100'
  const messages = await c.turn(script(write('a.txt', 'a')), { uuid })
  assertWentWell(messages)
  assert.equal(promptUUID(messages), uuid)
  assert.equal((await c.rewind(uuid)).canRewind, true)
  assert.deepEqual(ws.tree(), {})
  await c.end()
})

recipe('a: a uuid sent twice is replayed twice and run once', async (ws) => {
  const c = ws.talk()
  const uuid = '0f0e0d0c-0b0a-4908-8706-050403020101'
  assertWentWell(await c.turn(script(write('a.txt', 'a')), { uuid }))
  c.send(script(write('b.txt', 'b')), { uuid })
  const last = await c.turn(script(write('c.txt', 'c')))
  assertWentWell(last)
  await c.end()
  const replayed = c.messages.filter(isReplay).map((m) => m.uuid)
  assert.deepEqual(replayed.slice(0, 2), [uuid, uuid])
  assert.equal(replayed.length, 3)
  assert.equal(c.results.length, 2)
  assert.deepEqual(Object.keys(ws.tree()), ['a.txt', 'c.txt'])
})

recipe('b: after the stream ended, resume with an empty prompt and rewind', async (ws) => {
  project(ws)
  const original = ws.tree()
  const first = await ws.ask(refactor)
  assertWentWell(first)
  const id = promptUUID(first)
  const resume = first.find(isInit).session_id
  assert.notDeepEqual(ws.tree(), original)

  const rewinder = ws.query('', { resume })
  let answer
  for await (const message of rewinder) {
    assert.equal(message.session_id, resume)
    answer = await rewinder.rewindFiles(id)
    ws.note('rewindFiles answers', answer)
    break
  }
  assert.equal(answer.canRewind, true)
  assert.equal(answer.skippedLinks, 0)
  assert.deepEqual(ws.tree(), original)
  await ws.processesEnd()

  // The conversation is whole, and holds nothing of the empty prompt.
  const next = await ws.ask(script(echo), { resume })
  assertWentWell(next)
  assert.equal(next.find(isInit).session_id, resume)
  assertKnowsRefactoring(heard(next))
})

recipe('b: the turn after a rewind knows the whole conversation, and that files were put back', async (ws) => {
  project(ws)
  const first = await ws.ask(refactor)
  const c = ws.talk({ resume: first.find(isInit).session_id })
  c.send('')
  await c.until(isInit, 'the first frame')
  await c.rewind(promptUUID(first))
  await c.result(1)
  const next = await c.turn(script(echo))
  assertKnowsRefactoring(heard(next))
  assertToldOfRewind(heard(next))
  // It is told once.
  const later = heard(await c.turn(script(echo)))
  assert.equal(later.at(-1).text, script(echo))
  await c.end()
})

recipe('b: the model is told of a rewind also when the process has ended in between', async (ws) => {
  project(ws)
  const first = await ws.ask(refactor)
  const resume = first.find(isInit).session_id
  const rewinder = ws.talk({ resume })
  await rewinder.rewind(promptUUID(first))
  await rewinder.end()
  assertToldOfRewind(heard(await ws.ask(script(echo), { resume })))
})

function assertKnowsRefactoring(messages) {
  const texts = messages.map(({ role, text, tools }) => [role, text, tools])
  assert.deepEqual(texts.slice(0, 4), [
    ['user', refactor, undefined],
    ['assistant', 'Refactoring.', ['Read', 'Edit', 'Write', 'Read', 'Write']],
    ['user', undefined, undefined],
    ['assistant', 'Done refactoring.', undefined],
  ])
  assert.equal(messages[2].results.length, 5)
  assert.equal(messages.length, 5)
  assert.equal(messages[4].role, 'user')
  assert.equal(messages[4].text.endsWith(script(echo)), true, messages[4].text)
}

function assertToldOfRewind(messages) {
  for (const name of ['math.js', 'docs/api/math.md', 'old.txt']) {
    assert.ok(messages.at(-1).text.includes(name), messages.at(-1).text)
  }
}

recipe('b: the empty prompt runs no turn and ends by itself', async (ws) => {
  project(ws)
  const first = await ws.ask(refactor)
  const id = promptUUID(first)
  const resume = first.find(isInit).session_id

  // Nothing is broken off here: the rewind is sent at the first message, and the stream is read to its end.
  const messages = []
  const q = ws.query('', { resume })
  let answer
  for await (const message of q) {
    messages.push(message)
    answer ??= await q.rewindFiles(id)
  }
  assert.equal(answer.canRewind, true)
  assert.equal(ws.bytes('math.js').toString(), before)
  assert.equal(ws.exists('docs'), false)
  assert.equal(messages.filter((m) => m.type === 'assistant').length, 0)
  const result = messages.find(isResult)
  assert.equal(result.subtype, 'success')
  assert.equal(result.num_turns, 0)
})

recipe('c: a dry run says what the rewind then does, and moves nothing', async (ws) => {
  project(ws)
  const original = ws.tree()
  const c = ws.talk()
  const id = promptUUID(await c.turn(refactor))
  const changed = ws.treeWithTimes()

  const plan = await c.rewind(id, { dryRun: true })
  assert.deepEqual(ws.treeWithTimes(), changed, 'a dry run moves nothing')
  // Back to the old state: math.js one line for one; old.txt loses 2 and regains 3; math.md loses its line.
  assert.deepEqual(plan, {
    canRewind: true,
    filesChanged: [ws.path('docs/api/math.md'), ws.path('math.js'), ws.path('old.txt')],
    insertions: 4,
    deletions: 4,
  })

  const done = await c.rewind(id)
  assert.equal(done.canRewind, true)
  assert.equal(done.skippedLinks, 0)
  assert.deepEqual(ws.tree(), original)
  assert.deepEqual(done.filesChanged, plan.filesChanged)
  assert.equal(done.insertions, plan.insertions)
  assert.equal(done.deletions, plan.deletions)

  // And now there is nothing left to do.
  assert.deepEqual(await c.rewind(id, { dryRun: true }), { canRewind: true, filesChanged: [], insertions: 0, deletions: 0 })
  await c.end()
})

recipe('c: what the rewind leaves alone keeps inode and times; what it restores is fresh', async (ws) => {
  project(ws)
  const c = ws.talk()
  const id = promptUUID(await c.turn(refactor))
  const changed = ws.treeWithTimes()
  assert.equal((await c.rewind(id)).canRewind, true)
  const now = ws.treeWithTimes()
  assert.deepEqual(now['untouched.txt'], changed['untouched.txt'])
  assert.ok(now['math.js'].mtime > changed['math.js'].mtime, 'a restored file has a new mtime')
  await c.end()
})

recipe('d: one uuid is overwritten each turn, and the stream is broken off after a rewind in its middle', async (ws) => {
  ws.put('app.js', 'v0\n')
  let safe
  let answer
  const prompts = [
    script(read('app.js'), edit('app.js', 'v0', 'v1')),
    script(edit('app.js', 'v1', 'v2'), write('junk/broken.js', 'oops'), say('Something is wrong.'), edit('app.js', 'v2', 'v3')),
  ]
  async function* stream() {
    for (const prompt of prompts) {
      yield { type: 'user', message: { role: 'user', content: prompt }, parent_tool_use_id: null }
    }
    await new Promise(() => {}) // stay open: it is the break below that ends this
  }
  const q = ws.query(stream())
  const safePoints = []
  for await (const message of q) {
    if (isReplay(message)) {
      safe = message.uuid
      safePoints.push(safe)
    }
    if (message.type === 'assistant' && saidBy([message]).includes('Something is wrong.')) {
      answer = await q.rewindFiles(safe)
      break
    }
  }
  assert.equal(safePoints.length, 2)
  assert.equal(answer.canRewind, true)
  await ws.processesEnd()
  // The session was cut off in the middle of turn 2. The text and the second edit are one message of
  // the model, so the edit may have run after the rewind: then it found v1, and failed.
  assert.deepEqual(Object.keys(ws.tree()), ['app.js'])
  assert.equal(ws.bytes('app.js').toString(), 'v1\n')
})

recipe('d: a rewind while a turn goes on takes effect at once, and the turn ends', async (ws) => {
  ws.put('app.js', 'v0\n')
  const c = ws.talk()
  c.send(script(read('app.js'), edit('app.js', 'v0', 'v1'), write('new.js', 'x'), say('Half way.'), { hang: true }))
  await c.until((m) => m.type === 'user' && m.tool_use_result?.type === 'create', 'the file to be created')
  const id = promptUUID(c.messages)
  assert.equal((await c.rewind(id)).canRewind, true)
  assert.deepEqual(Object.keys(ws.tree()), ['app.js'])
  assert.equal(ws.bytes('app.js').toString(), 'v0\n')
  assert.equal(c.results.length, 0, 'the turn is still running')
  await c.call('interrupt')
  await c.result(1)
  assertWentWell(await c.turn(script(say('Still here.'))))
  await c.end()
})
