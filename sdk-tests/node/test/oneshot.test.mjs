// i: going back from the command line, in sessions that the SDK made.
import assert from 'node:assert/strict'
import fs from 'node:fs'
import path from 'node:path'
import { models, recipe } from '../harness.mjs'
import { refused, rewound, run, undone } from '../commandline.mjs'
import { assertWentWell, heard, isInit, isToolResult, promptUUID } from '../frames.mjs'
import { echo, edit, read, say, script, write } from '../script.mjs'
import { filesBelow } from '../tree.mjs'

const nobody = '11111111-2222-4333-8444-555555555555'

/** A session of two turns. Its states are the project before, between and after. */
async function twoTurns(ws) {
  ws.put('a.txt', 'v0\r\nno newline', 0o640)
  ws.put('data/bytes.bin', Buffer.from([0, 255, 254, 10, 13, 0]))
  const c = ws.talk()
  const states = [ws.tree()]
  const ids = []
  for (const prompt of [
    script(read('a.txt'), edit('a.txt', 'v0', 'v1'), write('made/deep/b.txt', 'b\n')),
    script(edit('a.txt', 'v1', 'v2'), read('data/bytes.bin'), write('data/bytes.bin', 'text')),
  ]) {
    const turn = await c.turn(prompt)
    assert.equal(turn.at(-1).subtype, 'success') // to Read what is no text is an error, but counts as a look at it
    ids.push(promptUUID(turn))
    states.push(ws.tree())
  }
  assert.equal(ws.bytes('a.txt').toString(), 'v2\r\nno newline')
  assert.equal(ws.bytes('data/bytes.bin').toString(), 'text')
  await c.end()
  await ws.processesEnd()
  return { session: c.messages.find(isInit).session_id, ids, states, messages: c.messages }
}

const transcript = (ws, session) => filesBelow(path.join(ws.config, 'projects')).find((file) => path.basename(file) === `${session}.jsonl`)

recipe('i: back, further back, and each undone, one command each', async (ws) => {
  const { session, ids, states } = await twoTurns(ws)
  const recorded = fs.readFileSync(transcript(ws, session))
  const go = (id) => run(ws, ['--resume', session, '--rewind-files', id])
  assert.deepEqual(go(ids[1]), rewound(ids[1]))
  assert.deepEqual(ws.tree(), states[1])
  assert.deepEqual(go(ids[0]), rewound(ids[0]))
  assert.deepEqual(ws.tree(), states[0])
  assert.deepEqual(go('undo'), undone)
  assert.deepEqual(ws.tree(), states[1])
  assert.deepEqual(go('undo'), undone)
  assert.deepEqual(ws.tree(), states[2])
  const before = ws.treeWithTimes()
  assert.deepEqual(go('undo'), refused('There is no rewind to undo in this session.'))
  assert.deepEqual(ws.treeWithTimes(), before)
  assert.deepEqual(fs.readFileSync(transcript(ws, session)), recorded, 'the conversation is another matter')
})

recipe('i: the ways to write the command', async (ws) => {
  const { session, ids, states } = await twoTurns(ws)
  for (const words of [
    ['--resume', session],
    ['-p', '--resume', session],
    ['--print', '-r', session],
    ['-p', '', `--resume=${session}`],
    ['-p', '--output-format', 'json', '--verbose', '--resume', session],
    ['--model', 'script', '--permission-mode=plan', '--resume', session],
  ]) {
    assert.deepEqual(run(ws, [...words, '--rewind-files', ids[0]]), rewound(ids[0]), words.join(' '))
    assert.deepEqual(ws.tree(), states[0])
    assert.deepEqual(run(ws, [...words, '--rewind-files=undo']), undone, words.join(' '))
    assert.deepEqual(ws.tree(), states[2])
  }
  // The session knows where its files are.
  assert.deepEqual(run(ws, ['--resume', session, '--rewind-files', ids[0]], { cwd: ws.home }), rewound(ids[0]))
  assert.deepEqual(ws.tree(), states[0])
  assert.deepEqual(fs.readdirSync(ws.home), [])
  // To be there already is no error.
  const before = ws.treeWithTimes()
  assert.deepEqual(run(ws, ['--resume', session, '--rewind-files', ids[0]]), rewound(ids[0]))
  assert.deepEqual(ws.treeWithTimes(), before)
}, [models.script])

recipe('i: what cannot be done is said in one sentence, and nothing is touched', async (ws) => {
  const { session, ids, messages } = await twoTurns(ws)
  const before = ws.treeWithTimes()
  const stored = filesBelow(ws.config).map((file) => [file, fs.readFileSync(file, 'hex')])
  const alone = '--rewind-files is a standalone operation and cannot be used with a prompt'
  const notAMessage = (id) => `--rewind-files requires a user message UUID, but ${id} is not a user message in this session`
  const toolResult = messages.find(isToolResult).uuid
  const assistant = messages.find((m) => m.type === 'assistant').uuid
  for (const [args, sentence, env] of [
    [['--rewind-files', ids[0]], '--rewind-files requires --resume'],
    [['--continue', '--rewind-files', ids[0]], '--rewind-files requires --resume'],
    [['-p', 'hello', '--resume', session, '--rewind-files', ids[0]], alone],
    [['--resume', session, '--rewind-files', ids[0], '--', 'hello'], alone],
    [['--input-format', 'stream-json', '--output-format', 'stream-json', '--verbose', '--resume', session, '--rewind-files', ids[0]], alone],
    [['--resume', session, '--rewind-files', nobody], notAMessage(nobody)],
    [['--resume', session, '--rewind-files', assistant], notAMessage(assistant)],
    [['--resume', session, '--rewind-files', 'not a uuid'], notAMessage('not a uuid')],
    [['--resume', session, '--rewind-files', toolResult], 'No file checkpoint found for this message.'],
    [['--resume', session, '--rewind-files', 'undo'], 'There is no rewind to undo in this session.'],
    [['--resume', nobody, '--rewind-files', ids[0]], `No conversation found with session ID: ${nobody}`],
    [['--resume', session, '--rewind-files', ids[0]], 'File rewinding is not enabled.', { CLAUDE_CODE_ENABLE_SDK_FILE_CHECKPOINTING: '' }],
    [['--resume', session, '--rewind-files', ids[0]], 'File rewinding is not enabled.', { CLAUDE_CODE_DISABLE_FILE_CHECKPOINTING: '1' }],
  ]) {
    assert.deepEqual(run(ws, args, { env }), refused(sentence), args.join(' '))
    assert.deepEqual(ws.treeWithTimes(), before, args.join(' '))
  }
  assert.deepEqual(filesBelow(ws.config).map((file) => [file, fs.readFileSync(file, 'hex')]), stored)
}, [models.script])

recipe('i: saved bytes that went bad are named, the others come back, and the exit code says so', async (ws) => {
  const { session, ids, states } = await twoTurns(ws)
  ws.garbleStore('v0\r\nno newline')
  const { code, stdout, stderr } = run(ws, ['--resume', session, '--rewind-files', ids[0]])
  assert.deepEqual([code, stdout], [1, ''])
  assert.match(stderr, /^Error: Restored \d+ of \d+ paths\. Not restored: [^\n]*\n$/)
  assert.ok(stderr.includes(ws.path('a.txt')) && !stderr.includes(ws.path('data/bytes.bin')), stderr)
  const { 'a.txt': damaged, ...others } = ws.tree()
  assert.equal(Buffer.from(damaged.bytes, 'hex').toString(), 'v2\r\nno newline')
  const { 'a.txt': _, ...wanted } = states[0]
  assert.deepEqual(others, wanted)
}, [models.script])

recipe('i: the SDK goes on where the command line was, and takes that back', async (ws) => {
  const { session, ids, states } = await twoTurns(ws)
  assert.deepEqual(run(ws, ['-p', '--resume', session, '--rewind-files', ids[0]]), rewound(ids[0]))
  const c = ws.talk({ resume: session })
  const turn = await c.turn(script(echo))
  assertWentWell(turn)
  assert.equal(heard(turn).filter((m) => m.role === 'user' && m.text?.startsWith('[{"tool"')).length, 2, 'both prompts are still there')
  assert.equal((await c.rewind('undo')).canRewind, true)
  assert.deepEqual(ws.tree(), states[2])
  await c.end()
})

recipe('i: a session without a file history: its messages are there, checkpoints are not', async (ws) => {
  const c = ws.talk({ enableFileCheckpointing: false })
  const turn = await c.turn(script(write('a.txt', 'a'), say('Written.')))
  await c.end()
  const id = promptUUID(turn)
  assert.deepEqual(run(ws, ['--resume', turn[0].session_id, '--rewind-files', id]), refused('No file checkpoint found for this message.'))
  assert.equal(ws.bytes('a.txt').toString(), 'a')
}, [models.script])

recipe('i: a session that is open elsewhere is left to that process', async (ws) => {
  ws.put('a.txt', 'v0\n')
  const c = ws.talk()
  const turn = await c.turn(script(read('a.txt'), edit('a.txt', 'v0', 'v1')))
  const id = promptUUID(turn)
  const before = ws.treeWithTimes()
  const { code, stdout, stderr } = run(ws, ['--resume', turn.find(isInit).session_id, '--rewind-files', id])
  assert.deepEqual([code, stdout], [1, ''])
  const [pid] = ws.processes()[0].split(' ')
  assert.equal(stderr, `Error: The files were not rewound: another process (pid ${pid}) is using this session's file history. Close it, then try again.\n`)
  assert.deepEqual(ws.treeWithTimes(), before)
  assert.equal((await c.rewind(id)).canRewind, true)
  assert.equal(ws.bytes('a.txt').toString(), 'v0\n')
  await c.end()
}, [models.script])
