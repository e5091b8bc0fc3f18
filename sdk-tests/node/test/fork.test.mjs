// j: a fork branches the conversation. The files are one, and each branch can take them back.
import assert from 'node:assert/strict'
import fs from 'node:fs'
import path from 'node:path'
import { forkSession, getSessionMessages, listSessions } from '@anthropic-ai/claude-agent-sdk'
import { models, recipe } from '../harness.mjs'
import { rewound, run, undone } from '../commandline.mjs'
import { assertWentWell, heard, isInit, isReplay, promptUUID, textOf, UUID } from '../frames.mjs'
import { echo, edit, hang, read, say, script, write } from '../script.mjs'
import { filesBelow } from '../tree.mjs'

const UNKNOWN = 'No file checkpoint found for this message.'

const prompts = [
  script(read('a.txt'), edit('a.txt', 'v0', 'v1'), write('made/b.txt', 'b\n'), say('one')),
  script(edit('a.txt', 'v1', 'v2'), say('two')),
]

/** Two turns of a session that stays open. */
async function parentOf(ws) {
  ws.put('a.txt', 'v0\n')
  const c = ws.talk()
  const states = [ws.tree()]
  const ids = []
  for (const prompt of prompts) {
    const turn = await c.turn(prompt)
    assertWentWell(turn)
    ids.push(promptUUID(turn))
    states.push(ws.tree())
  }
  return { c, session: c.messages.find(isInit).session_id, ids, states }
}

const store = (ws, session) => path.join(ws.config, 'takeback', session)

/** Every file of a session, the conversation and the history. */
const recordOf = (ws, session) =>
  filesBelow(ws.config)
    .filter((file) => file.includes(session))
    .map((file) => [path.relative(ws.config, file), fs.readFileSync(file, 'hex')])

/** The ways to fork. Each gives the fork's id, its options, and what the prompts of its parent are called in it. */
const ways = {
  option: async (ws, session, ids) => ({ more: { resume: session, forkSession: true }, ids }),
  function: async (ws, session, ids) => {
    const { sessionId } = await forkSession(session, { dir: ws.cwd })
    assert.match(sessionId, UUID)
    assert.notEqual(sessionId, session)
    return { more: { resume: sessionId }, sessionId, ids: await promptsOf(ws, sessionId, ids.length) }
  },
}

/** The uuids of the first n prompts of a session, as the SDK reads them. */
async function promptsOf(ws, session, n) {
  const messages = await getSessionMessages(session, { dir: ws.cwd })
  const asked = messages.filter((m) => m.type === 'user' && textOf(m.message.content).startsWith('[{"tool"'))
  assert.deepEqual(asked.slice(0, n).map((m) => textOf(m.message.content)), prompts.slice(0, n))
  return asked.slice(0, n).map((m) => m.uuid)
}

for (const [way, fork] of Object.entries(ways)) {
  recipe(`j: fork by ${way}: the conversation branches, the files do not`, async (ws) => {
    const parent = await parentOf(ws)
    await parent.c.end()
    const before = ws.treeWithTimes()
    const record = recordOf(ws, parent.session)
    const { more, ids, sessionId } = await fork(ws, parent.session, parent.ids)
    if (way === 'function') for (const id of ids) assert.equal(parent.ids.includes(id), false)
    const c = ws.talk(more)
    const turn = await c.turn(script(echo))
    const forked = turn.find(isInit).session_id
    assert.notEqual(forked, parent.session)
    if (sessionId) assert.equal(forked, sessionId)
    assert.deepEqual(heard(turn).filter((m) => m.role === 'user' && m.text).map((m) => m.text), [...prompts, script(echo)])
    assert.deepEqual(heard(turn).filter((m) => m.text && m.role === 'assistant').map((m) => m.text), ['one', 'two'])
    assert.deepEqual(ws.treeWithTimes(), before)

    const own = await c.turn(script(read('a.txt'), edit('a.txt', 'v2', 'forked'), write('c.txt', 'c\n')))
    assertWentWell(own)
    assert.deepEqual(recordOf(ws, parent.session), record, 'the parent is not written to')

    // Its own point, those of its parent, and back by undo.
    const after = ws.tree()
    await c.rewind(promptUUID(own))
    assert.deepEqual(ws.tree(), parent.states[2])
    assert.equal((await c.rewind(ids[1])).canRewind, true)
    assert.deepEqual(ws.tree(), parent.states[1])
    const plan = await c.rewind(ids[0], { dryRun: true })
    assert.deepEqual(plan.filesChanged, [ws.path('a.txt'), ws.path('made/b.txt')])
    const done = await c.rewind(ids[0])
    assert.deepEqual([done.filesChanged, done.insertions, done.deletions], [plan.filesChanged, plan.insertions, plan.deletions])
    assert.deepEqual(ws.tree(), parent.states[0])
    for (const _ of [1, 2, 3]) await c.rewind('undo')
    assert.deepEqual(ws.tree(), after)
    await c.end()

    assert.deepEqual(recordOf(ws, parent.session), record, 'nor by a rewind')
    assert.deepEqual((await listSessions({ dir: ws.cwd })).map((s) => s.sessionId).sort(), [parent.session, forked].sort())

    // The parent knows nothing of what came behind the fork.
    const again = ws.talk({ resume: parent.session })
    await assert.rejects(again.rewind(promptUUID(own)), { message: UNKNOWN })
    const remembered = heard(await again.turn(script(echo)))
    assert.deepEqual(remembered.filter((m) => m.role === 'user' && m.text).map((m) => m.text), [...prompts, script(echo)])
    await again.rewind(parent.ids[1])
    assert.equal(ws.bytes('a.txt').toString(), 'v1\n')
    await again.end()
  })

  for (const worked of ['a rewind', 'a turn']) {
    recipe(`j: fork by ${way}: after ${worked} the parent may be deleted, store and all`, async (ws) => {
      const parent = await parentOf(ws)
      await parent.c.end()
      const { more, ids } = await fork(ws, parent.session, parent.ids)
      const c = ws.talk(more)
      if (worked === 'a rewind') await c.rewind(ids[1])
      const turn = await c.turn(script(say('working')))
      const { session_id } = turn.find(isInit)
      await c.end()
      await ws.processesEnd()
      fs.rmSync(store(ws, parent.session), { recursive: true })
      for (const file of filesBelow(ws.config).filter((file) => file.endsWith(`${parent.session}.jsonl`))) fs.unlinkSync(file)

      const again = ws.talk({ resume: session_id })
      await again.rewind(ids[0])
      assert.deepEqual(ws.tree(), parent.states[0])
      await again.rewind(ids[1])
      assert.deepEqual(ws.tree(), parent.states[1])
      await again.rewind('undo')
      await again.rewind('undo')
      assert.deepEqual(ws.tree(), worked === 'a rewind' ? parent.states[1] : parent.states[2])
      await again.end()
    }, [models.script])
  }

  recipe(`j: fork by ${way}: a parent that is at work goes on`, async (ws) => {
    const parent = await parentOf(ws)
    parent.c.send(script(write('third.txt', '3'), hang))
    await parent.c.until((m) => m.type === 'user' && m.tool_use_result?.filePath === ws.path('third.txt'), 'the third turn')
    const { more, ids } = await fork(ws, parent.session, parent.ids)
    const c = ws.talk(more)
    const turn = await c.turn(script(write('of the fork.txt', 'f')))
    assertWentWell(turn)
    await c.rewind(ids[1])
    assert.deepEqual([ws.bytes('a.txt').toString(), ws.exists('of the fork.txt')], ['v1\n', false])
    await c.rewind('undo')
    await c.end()

    // The parent has lost nothing, and got nothing.
    await parent.c.call('interrupt')
    assert.equal((await parent.c.result(3)).subtype, 'error_during_execution')
    const third = parent.c.messages.filter(isReplay)[2].uuid
    await parent.c.rewind(third)
    assert.equal(ws.exists('third.txt'), false)
    assert.equal(ws.exists('of the fork.txt'), true)
    await assert.rejects(parent.c.rewind(promptUUID(turn)), { message: UNKNOWN })
    assertWentWell(await parent.c.turn(script(say('And on.'))))
    await parent.c.rewind(parent.ids[0])
    assert.deepEqual(Object.keys(ws.tree()), ['a.txt', 'of the fork.txt'])
    assert.equal(ws.bytes('a.txt').toString(), 'v0\n')
    await parent.c.end()
  })

  for (const [then, again] of Object.entries(ways)) {
    recipe(`j: fork by ${way}, and that fork by ${then}: the first points still work`, async (ws) => {
      const parent = await parentOf(ws)
      await parent.c.end()
      const first = await fork(ws, parent.session, parent.ids)
      let middle = first.sessionId
      if (!middle) {
        // By the option there is a fork once it has been told something.
        const messages = await ws.ask(script(say('in the fork')), first.more)
        middle = messages.find(isInit).session_id
      }
      const { more, ids } = await again(ws, middle, first.ids)
      const c = ws.talk(more)
      const turn = await c.turn(script(echo))
      assert.equal([parent.session, middle].includes(turn.find(isInit).session_id), false)
      assert.deepEqual(heard(turn).filter((m) => m.role === 'user' && m.text).slice(0, 2).map((m) => m.text), prompts)
      await c.rewind(ids[1])
      assert.deepEqual(ws.tree(), parent.states[1])
      await c.rewind(ids[0])
      assert.deepEqual(ws.tree(), parent.states[0])
      await c.rewind('undo')
      await c.rewind('undo')
      assert.deepEqual(ws.tree(), parent.states[2])
      await c.end()
    }, [models.script])
  }
}

recipe('j: the SDK forks up to a message: the model hears no more than that, and its points are there', async (ws) => {
  const parent = await parentOf(ws)
  await parent.c.end()
  const spoken = await getSessionMessages(parent.session, { dir: ws.cwd })
  const endOfFirst = spoken[spoken.findIndex((m) => m.uuid === parent.ids[1]) - 1]
  const { sessionId } = await forkSession(parent.session, { dir: ws.cwd, upToMessageId: endOfFirst.uuid, title: 'Up to one' })
  const c = ws.talk({ resume: sessionId })
  const told = heard(await c.turn(script(echo)))
  assert.deepEqual(told.filter((m) => m.role === 'user' && m.text).map((m) => m.text), [prompts[0], script(echo)])
  const [first] = await promptsOf(ws, sessionId, 1)
  await c.rewind(first)
  assert.deepEqual(ws.tree(), parent.states[0])
  await c.end()
  assert.equal((await listSessions({ dir: ws.cwd })).find((s) => s.sessionId === sessionId).customTitle, 'Up to one')
})

recipe('j: a fork by the SDK goes back from the command line, first thing', async (ws) => {
  const parent = await parentOf(ws)
  await parent.c.end()
  const { sessionId } = await forkSession(parent.session)
  const ids = await promptsOf(ws, sessionId, 2)
  assert.deepEqual(run(ws, ['--resume', sessionId, '--rewind-files', ids[0]]), rewound(ids[0]))
  assert.deepEqual(ws.tree(), parent.states[0])
  assert.deepEqual(run(ws, ['-p', '--resume', sessionId, '--rewind-files', 'undo']), undone)
  assert.deepEqual(ws.tree(), parent.states[2])
  fs.rmSync(store(ws, parent.session), { recursive: true })
  assert.deepEqual(run(ws, ['--resume', sessionId, '--rewind-files', ids[1]]), rewound(ids[1]))
  assert.deepEqual(ws.tree(), parent.states[1])
}, [models.script])

recipe('j: two forks of one session, each with its own', async (ws) => {
  const parent = await parentOf(ws)
  await parent.c.end()
  const left = ws.talk({ resume: parent.session, forkSession: true })
  const right = ws.talk({ resume: parent.session, forkSession: true, sessionId: '0f0e0d0c-0b0a-4908-8706-050403020104' })
  const [l, r] = await Promise.all([left.turn(script(write('l.txt', 'l'))), right.turn(script(write('r.txt', 'r')))])
  assert.equal(r.find(isInit).session_id, '0f0e0d0c-0b0a-4908-8706-050403020104')
  await assert.rejects(left.rewind(promptUUID(r)), { message: UNKNOWN })
  await assert.rejects(right.rewind(promptUUID(l)), { message: UNKNOWN })
  await left.rewind(promptUUID(l))
  await right.rewind(promptUUID(r))
  assert.deepEqual(ws.tree(), parent.states[2])
  await Promise.all([left.end(), right.end()])
}, [models.script])
