// Every byte, every mode, every name.
import assert from 'node:assert/strict'
import fs from 'node:fs'
import { recipe } from '../harness.mjs'
import { assertWentWell, promptUUID, toolResults } from '../frames.mjs'
import { edit, read, script, write } from '../script.mjs'

const utf16 = (text, bom) => {
  const little = Buffer.from(`\ufeff${text}`, 'utf16le')
  return bom === 'le' ? little : little.swap16()
}

// What stands on disk, what the agent does to it, and what must stand there then.
const contents = {
  'crlf.txt': ['one\r\ntwo\r\n', (f) => edit(f, 'one', 'uno'), 'uno\r\ntwo\r\n'],
  'mixed endings.txt': ['a\r\nb\nc\rd', (f) => write(f, 'x\n'), 'x\n'],
  'no final newline.txt': ['last', (f) => edit(f, 'last', 'end'), 'end'],
  'utf8 bom.txt': ['\ufeffhello\n', (f) => edit(f, 'hello', 'bye'), '\ufeffbye\n'],
  'utf16le.txt': [utf16('hello €\r\n', 'le'), (f) => edit(f, 'hello', 'bye'), utf16('bye €\r\n', 'le')],
  'utf16be.txt': [utf16('hello €\n', 'be'), (f) => edit(f, 'hello', 'bye'), utf16('bye €\n', 'be')],
  'empty.py': ['', (f) => write(f, 'pass\n'), 'pass\n'],
  'emptied.py': ['pass\n', (f) => write(f, ''), ''],
  'controls.txt': ['\x01\x02\x1b[31m\u2028\u2029\u0085\v\f\n', (f) => edit(f, '[31m', '[0m'), '\x01\x02\x1b[0m\u2028\u2029\u0085\v\f\n'],
  'astral.txt': ['😀𐍈\n', (f) => edit(f, '𐍈', '漢'), '😀漢\n'],
}

recipe('g: contents of every kind are edited as they are and come back as they were', async (ws) => {
  for (const [name, [before]] of Object.entries(contents)) ws.put(name, before)
  const original = ws.tree()
  const c = ws.talk()
  const steps = Object.entries(contents).flatMap(([name, [, change]]) => [read(name), change(name)])
  // One call after the other: a read and the edit that needs it are not to run side by side.
  const messages = await c.turn(script(...steps))
  assertWentWell(messages)
  for (const [name, [, , after]] of Object.entries(contents)) {
    assert.equal(ws.bytes(name).toString('hex'), Buffer.from(after).toString('hex'), name)
  }
  await c.rewind(promptUUID(messages))
  assert.deepEqual(ws.tree(), original)
  await c.end()
})

recipe('g: a file that is not text is never converted, and comes back if it was overwritten', async (ws) => {
  const binary = Buffer.from(Array.from({ length: 4096 }, (_, i) => (i * 31 + (i >> 8)) & 0xff))
  ws.put('data.bin', binary, 0o600)
  const before = ws.treeWithTimes()
  const c = ws.talk()
  const refused = await c.turn(script(edit('data.bin', 'a', 'b'), write('data.bin', 'text'), read('data.bin'), edit('data.bin', 'a', 'b')))
  assert.deepEqual(toolResults(refused).map((r) => r.is_error ?? false), [true, true, true, true])
  assert.deepEqual(ws.treeWithTimes(), before)

  // Now that the session has looked at it, to write over it is meant.
  const overwritten = await c.turn(script(write('data.bin', 'text')))
  assertWentWell(overwritten)
  assert.equal(ws.bytes('data.bin').toString(), 'text')
  assert.equal(ws.tree()['data.bin'].mode, '600')
  await c.rewind(promptUUID(overwritten))
  assert.equal(ws.bytes('data.bin').equals(binary), true)
  assert.equal(ws.tree()['data.bin'].mode, '600')
  await c.end()
})

recipe('g: modes are kept by an edit and put back by a rewind', async (ws) => {
  const modes = { 'run.sh': 0o755, '.env': 0o600, 'odd.txt': 0o640 }
  for (const [name, mode] of Object.entries(modes)) ws.put(name, 'v0\n', mode)
  const original = ws.tree()
  const c = ws.talk()
  const messages = await c.turn(script(...Object.keys(modes).flatMap((f) => [read(f), edit(f, 'v0', 'v1')])))
  assertWentWell(messages)
  for (const [name, mode] of Object.entries(modes)) {
    assert.equal(ws.tree()[name].mode, mode.toString(8), name)
    assert.equal(ws.bytes(name).toString(), 'v1\n')
  }
  fs.chmodSync(ws.path('run.sh'), 0o644)
  await c.rewind(promptUUID(messages))
  assert.deepEqual(ws.tree(), original)
  await c.end()
})

const names = [
  'with space.txt',
  ' led and trailed ',
  'new\nline.txt',
  'tab\tand\rreturn.txt',
  '漢字/公共.cpp',
  'emoji 😀.txt',
  'caf\u00e9 nfc.txt',
  'cafe\u0301 nfd.txt',
  '-rf',
  `quotes "'\`.txt`,
  'back\\slash.txt',
  '$HOME *?[a].txt',
  '.hidden/.deep/file',
  `${'n'.repeat(251)}.txt`,
]

recipe('g: names of every kind: edited and put back', async (ws) => {
  for (const name of names) ws.put(name, `in ${name}\n`)
  const original = ws.tree()
  const c = ws.talk()
  const messages = await c.turn(script(...names.flatMap((f) => [read(f), edit(f, 'in ', 'was in ')])))
  assertWentWell(messages)
  for (const name of names) assert.equal(ws.bytes(name).toString(), `was in ${name}\n`)
  const plan = await c.rewind(promptUUID(messages), { dryRun: true })
  assert.deepEqual(plan.filesChanged, names.map((name) => ws.path(name)).sort(byBytes))
  assert.equal(plan.insertions, names.length)
  assert.equal(plan.deletions, names.length)
  await c.rewind(promptUUID(messages))
  assert.deepEqual(ws.tree(), original)
  await c.end()
})

recipe('g: names of every kind: created and gone again, folders too', async (ws) => {
  ws.put('stays.txt', 'stays\n')
  const original = ws.tree()
  const c = ws.talk()
  const messages = await c.turn(script(...names.map((f) => write(`new/${f}`, `in ${f}\n`))))
  assertWentWell(messages)
  for (const name of names) assert.equal(ws.bytes(`new/${name}`).toString(), `in ${name}\n`)
  await c.rewind(promptUUID(messages))
  assert.deepEqual(ws.tree(), original)
  await c.rewind('undo')
  for (const name of names) assert.equal(ws.bytes(`new/${name}`).toString(), `in ${name}\n`)
  await c.end()
})

recipe('g: a folder made for a file stays if somebody else put something in it', async (ws) => {
  const c = ws.talk()
  const messages = await c.turn(script(write('made/deep/file.txt', 'a')))
  ws.put('made/mine.txt', 'mine\n')
  await c.rewind(promptUUID(messages))
  assert.deepEqual(Object.keys(ws.tree()), ['made', 'made/mine.txt'])
  await c.end()
})

recipe('g: the content of a prompt arrives whole, whatever its characters and its size', async (ws) => {
  const c = ws.talk()
  const content = `${'漢字😀\u2028\u0085\r\n'.repeat(150_000)}end`
  assertWentWell(await c.turn(script(write('big.txt', content))))
  assert.equal(ws.bytes('big.txt').equals(Buffer.from(content)), true)
  await c.rewind(promptUUID(c.messages))
  assert.deepEqual(ws.tree(), {})
  await c.end()
})

function byBytes(a, b) {
  return Buffer.compare(Buffer.from(a), Buffer.from(b))
}
