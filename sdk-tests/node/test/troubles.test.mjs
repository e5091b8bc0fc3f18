// The troubles that people report.
import assert from 'node:assert/strict'
import fs from 'node:fs'
import path from 'node:path'
import { models, recipe } from '../harness.mjs'
import { assertWentWell, isReplay, promptUUID, toolResults } from '../frames.mjs'
import { bash, edit, read, say, script, write } from '../script.mjs'

const UNKNOWN = 'No file checkpoint found for this message.'
const OFF = 'File rewinding is not enabled.'
const nobody = '11111111-2222-4333-8444-555555555555'

recipe('f: without the replay flag no prompt comes back, so there is no uuid to rewind to', async (ws) => {
  const messages = await ws.ask(script(write('a.txt', 'a')), { extraArgs: {} })
  assertWentWell(messages)
  assert.equal(messages.filter(isReplay).length, 0)
  // The only user message is the tool result, and its uuid is no point to rewind to.
  const users = messages.filter((m) => m.type === 'user')
  assert.equal(users.length, 1)
  assert.equal(users[0].message.content[0].type, 'tool_result')
  const c = ws.talk({ resume: users[0].session_id })
  await assert.rejects(c.rewind(users[0].uuid), { message: UNKNOWN })
  await c.end()
})

recipe('f: without checkpointing, rewinding is not enabled and nothing is stored', async (ws) => {
  const c = ws.talk({ enableFileCheckpointing: false })
  const messages = await c.turn(script(write('a.txt', 'a')))
  assertWentWell(messages)
  const id = promptUUID(messages)
  await assert.rejects(c.rewind(id), { message: OFF })
  assert.deepEqual(await c.rewind(id, { dryRun: true }), { canRewind: false, error: OFF })
  // The gate comes first: it does not matter what is asked for.
  await assert.rejects(c.rewind(nobody), { message: OFF })
  assert.equal(ws.bytes('a.txt').toString(), 'a')
  assert.equal(fs.existsSync(path.join(ws.config, 'takeback')), false)
  await c.end()
})

recipe('f: the off switch wins', async (ws) => {
  const c = ws.talk({ env: { CLAUDE_CODE_DISABLE_FILE_CHECKPOINTING: '1' } })
  const id = promptUUID(await c.turn(script(write('a.txt', 'a'))))
  await assert.rejects(c.rewind(id), { message: OFF })
  assert.equal(fs.existsSync(path.join(ws.config, 'takeback')), false)
  await c.end()
})

recipe('f: an unknown id is an error for a rewind and an answer for a dry run', async (ws) => {
  const c = ws.talk()
  const messages = await c.turn(script(write('a.txt', 'a')))
  assertWentWell(messages)
  const ofAssistant = messages.find((m) => m.type === 'assistant').uuid
  const ofToolResult = messages.find((m) => m.type === 'user' && !m.isReplay).uuid
  for (const id of [nobody, '', 'not a uuid', ofAssistant, ofToolResult]) {
    await assert.rejects(c.rewind(id), { message: UNKNOWN }, JSON.stringify(id))
    assert.deepEqual(await c.rewind(id, { dryRun: true }), { canRewind: false, error: UNKNOWN }, JSON.stringify(id))
  }
  assert.equal(ws.bytes('a.txt').toString(), 'a')
  // None of it hurt the session.
  assert.equal((await c.rewind(promptUUID(messages))).canRewind, true)
  assert.deepEqual(ws.tree(), {})
  await c.end()
})

recipe('f: a rewind before any prompt is an unknown id too', async (ws) => {
  const c = ws.talk()
  await assert.rejects(c.rewind(nobody), { message: UNKNOWN })
  assertWentWell(await c.turn(script(write('a.txt', 'a'))))
  await c.end()
})

recipe('f: another session’s uuid is unknown here, and its files stay', async (ws) => {
  const one = promptUUID(await ws.ask(script(write('a.txt', 'a'))))
  const c = ws.talk()
  await c.turn(script(write('b.txt', 'b')))
  await assert.rejects(c.rewind(one), { message: UNKNOWN })
  assert.deepEqual(Object.keys(ws.tree()), ['a.txt', 'b.txt'])
  await c.end()
})

recipe('f: what a command may have changed is named, never a bare "no changes"', async (ws) => {
  ws.put('a.txt', 'old\n')
  const c = ws.talk({ permissionMode: 'bypassPermissions', allowDangerouslySkipPermissions: true })
  const command = 'echo new > a.txt && echo b > b.txt'
  const messages = await c.turn(script(bash(command)))
  assertWentWell(messages)
  const id = promptUUID(messages)
  const plan = await c.rewind(id, { dryRun: true })
  assert.equal(plan.canRewind, true)
  assert.equal(plan.uncovered?.length, 1, JSON.stringify(plan))
  assert.ok(plan.uncovered[0].what.includes(command), plan.uncovered[0].what)
  assert.notEqual(plan.uncovered[0].reason, '')
  assert.deepEqual((await c.rewind(id)).uncovered, plan.uncovered)
  await c.end()
})

recipe('f: Edit and Write refuse a file that the session has not read', async (ws) => {
  ws.put('a.txt', 'precious\n')
  const before = ws.treeWithTimes()
  const c = ws.talk()
  const messages = await c.turn(script(edit('a.txt', 'precious', 'x'), write('a.txt', 'x')))
  const results = toolResults(messages)
  assert.deepEqual(results.map((r) => r.is_error), [true, true])
  assert.deepEqual(ws.treeWithTimes(), before)
  const plan = await c.rewind(promptUUID(messages), { dryRun: true })
  assert.equal(plan.canRewind, true)
  assert.deepEqual(plan.filesChanged ?? [], [])
  await c.end()
})

recipe('f: after a rewind the file must be read again before it is edited', async (ws) => {
  ws.put('a.txt', 'v0\n')
  const c = ws.talk()
  const id = promptUUID(await c.turn(script(read('a.txt'), edit('a.txt', 'v0', 'v1'))))
  await c.rewind(id)
  const refused = toolResults(await c.turn(script(edit('a.txt', 'v0', 'v2'))))
  assert.equal(refused[0].is_error, true)
  assert.equal(ws.bytes('a.txt').toString(), 'v0\n')
  assertWentWell(await c.turn(script(read('a.txt'), edit('a.txt', 'v0', 'v2'))))
  assert.equal(ws.bytes('a.txt').toString(), 'v2\n')
  await c.end()
})

recipe('f: saved bytes that went bad are an error that names the file; the others are restored', async (ws) => {
  const saved = 'the bytes that go bad\n'
  ws.put('bad.txt', saved)
  ws.put('good.txt', 'v0\n')
  const c = ws.talk()
  const messages = await c.turn(script(read('bad.txt'), edit('bad.txt', 'the bytes', 'those bytes'), read('good.txt'), edit('good.txt', 'v0', 'v1')))
  assertWentWell(messages)
  ws.garbleStore(saved)
  await assert.rejects(c.rewind(promptUUID(messages)), (err) => {
    return err.message.includes(ws.path('bad.txt')) && !err.message.includes(ws.path('good.txt'))
  })
  assert.equal(ws.bytes('good.txt').toString(), 'v0\n')
  assert.equal(ws.bytes('bad.txt').toString(), 'those bytes that go bad\n')
  assertWentWell(await c.turn(script(say('Still here.'))))
  await c.end()
})

recipe('f: a path that is now a link is left alone, and counted', async (ws) => {
  const victim = path.join(ws.root, 'victim.txt')
  fs.writeFileSync(victim, 'precious\n')
  ws.put('a.txt', 'v0\n')
  const c = ws.talk()
  const messages = await c.turn(script(read('a.txt'), edit('a.txt', 'v0', 'v1'), write('new.txt', 'new'), write('gone.txt', 'gone')))
  for (const name of ['a.txt', 'new.txt']) {
    fs.unlinkSync(ws.path(name))
    fs.symlinkSync(victim, ws.path(name))
  }
  const answer = await c.rewind(promptUUID(messages))
  assert.equal(answer.skippedLinks, 2)
  assert.deepEqual(answer.filesChanged, [ws.path('gone.txt')])
  assert.equal(fs.readFileSync(victim, 'utf8'), 'precious\n')
  assert.deepEqual(Object.entries(ws.tree()).map(([name, { kind }]) => [name, kind]), [['a.txt', 'link'], ['new.txt', 'link']])
  await c.end()
})

recipe('f: a rewind is told to who asks', async (ws) => {
  const c = ws.talk({ env: { TAKEBACK_REWIND_EVENTS: '1' } })
  const id = promptUUID(await c.turn(script(write('a.txt', '1\n2\n'))))
  const answer = await c.rewind(id)
  const frame = await c.until((m) => m.type === 'system' && m.subtype === 'files_rewound', 'the frame')
  const { type, subtype, uuid, session_id, user_message_id, ...told } = frame
  assert.equal(user_message_id, id)
  assert.deepEqual(told, answer)
  await c.end()
})

recipe('f: in default mode what would ask is denied, and the turn goes on', async (ws) => {
  const c = ws.talk({ permissionMode: 'default' })
  const messages = await c.turn(script(write('a.txt', 'a')))
  const [denied] = toolResults(messages)
  assert.equal(denied.is_error, true)
  const result = messages.at(-1)
  assert.equal(result.subtype, 'success')
  assert.deepEqual(
    result.permission_denials.map(({ tool_name, tool_input }) => ({ tool_name, tool_input })),
    [{ tool_name: 'Write', tool_input: { file_path: 'a.txt', content: 'a' } }],
  )
  assert.deepEqual(ws.tree(), {})
  await c.end()
}, [models.script])

recipe('f: acceptEdits does not reach outside the project', async (ws) => {
  const outside = path.join(ws.root, 'outside.txt')
  const c = ws.talk()
  const messages = await c.turn(script(write(outside, 'a'), bash('echo b > b.txt')))
  assert.deepEqual(toolResults(messages).map((r) => r.is_error), [true, true])
  assert.deepEqual(messages.at(-1).permission_denials.map((d) => d.tool_name), ['Write', 'Bash'])
  assert.equal(fs.existsSync(outside), false)
  assert.deepEqual(ws.tree(), {})
  await c.end()
}, [models.script])
