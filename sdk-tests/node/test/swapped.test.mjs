// k: what the session changed has become something else since. It is left alone, and counted.
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import fs from 'node:fs'
import net from 'node:net'
import path from 'node:path'
import { models, recipe } from '../harness.mjs'
import { rewound, run } from '../commandline.mjs'
import { assertWentWell, isInit, promptUUID, toolResults } from '../frames.mjs'
import { edit, read, script, write } from '../script.mjs'
import { listTree } from '../tree.mjs'

const DEADLINE_MS = 5_000

/** What `promise` brings, in time: the tightest client waits so long. */
async function inTime(promise, what) {
  let timer
  const late = new Promise((_, reject) => (timer = setTimeout(() => reject(new Error(`${what} took more than ${DEADLINE_MS} ms`)), DEADLINE_MS)))
  try {
    return await Promise.race([promise, late])
  } finally {
    clearTimeout(timer)
  }
}

/** What may stand where a file stood. Each is made at `file`; `outside` is a folder of somebody else's. */
const swaps = {
  'a link to a file': (file, outside) => fs.symlinkSync(path.join(outside, 'precious.txt'), file),
  'a link to nothing': (file, outside) => fs.symlinkSync(path.join(outside, 'nothing'), file),
  'a link to a folder': (file, outside) => fs.symlinkSync(outside, file),
  'a link to itself': (file) => fs.symlinkSync(path.basename(file), file),
  'a hard link': (file, outside) => fs.linkSync(path.join(outside, 'precious.txt'), file),
  'a FIFO': (file) => execFileSync('mkfifo', ['-m', '600', file]),
  'an empty folder': (file) => fs.mkdirSync(file),
  'a folder with something in it': (file) => {
    fs.mkdirSync(file)
    fs.writeFileSync(path.join(file, 'inside.txt'), 'inside\n')
  },
}

/** The session changes `name`, makes `made`, and changes and makes two more files that stay files. */
async function changed(ws) {
  ws.put('swapped.txt', 'v0\n')
  ws.put('stays.txt', 'stays v0\n')
  const outside = path.join(ws.root, 'outside')
  fs.mkdirSync(outside)
  fs.writeFileSync(path.join(outside, 'precious.txt'), 'precious\n')
  const c = ws.talk()
  const turn = await c.turn(script(
    read('swapped.txt'), edit('swapped.txt', 'v0', 'v1'),
    read('stays.txt'), edit('stays.txt', 'v0', 'v1'),
    write('swapped too.txt', 'made by the session\n'), write('gone.txt', 'gone\n'),
  ))
  assertWentWell(turn)
  return { c, id: promptUUID(turn), outside, session: turn.find(isInit).session_id }
}

for (const [what, swap] of Object.entries(swaps)) {
  recipe(`k: ${what}`, async (ws) => {
    const { c, id, outside, session } = await changed(ws)
    for (const name of ['swapped.txt', 'swapped too.txt']) {
      fs.unlinkSync(ws.path(name))
      swap(ws.path(name), outside)
    }
    const { 'stays.txt': _, 'gone.txt': __, ...swapped } = ws.treeWithTimes()
    const theirs = listTree(outside, { times: true })
    const restored = [ws.path('gone.txt'), ws.path('stays.txt')]

    const plan = await inTime(c.rewind(id, { dryRun: true }), 'the dry run')
    assert.deepEqual([plan.canRewind, plan.filesChanged, plan.insertions, plan.deletions], [true, restored, 1, 2])
    const done = await inTime(c.rewind(id), 'the rewind')
    assert.equal(done.canRewind, true)
    assert.equal(done.skippedLinks, 2)
    assert.equal('problems' in done, false)
    assert.deepEqual([done.filesChanged, done.insertions, done.deletions], [restored, 1, 2])
    const { 'stays.txt': stays, ...left } = ws.treeWithTimes()
    assert.equal(ws.bytes('stays.txt').toString(), 'stays v0\n')
    assert.deepEqual(left, swapped, 'what was swapped in is not touched')
    assert.deepEqual(listTree(outside, { times: true }), theirs)

    // It stays so: undone, in another process, and from the command line.
    await inTime(c.rewind('undo'), 'the undo')
    assert.equal(ws.bytes('stays.txt').toString(), 'stays v1\n')
    await c.end()
    await ws.processesEnd()
    assert.deepEqual(run(ws, ['--resume', session, '--rewind-files', id]), rewound(id))
    assert.equal(ws.bytes('stays.txt').toString(), 'stays v0\n')
    const { 'stays.txt': ___, ...last } = ws.treeWithTimes()
    assert.deepEqual(last, swapped)
    assert.deepEqual(listTree(outside, { times: true }), theirs)
  }, [models.script])
}

recipe('k: all of them at once, and the files between them come back', async (ws) => {
  const kinds = Object.entries(swaps)
  const outside = path.join(ws.root, 'outside')
  fs.mkdirSync(outside)
  fs.writeFileSync(path.join(outside, 'precious.txt'), 'precious\n')
  for (const [i] of kinds.entries()) {
    ws.put(`${i} swapped.txt`, 'v0\n')
    ws.put(`${i} stays.txt`, 'v0\n')
  }
  const c = ws.talk()
  const turn = await c.turn(script(...Object.keys(ws.tree()).flatMap((name) => [read(name), edit(name, 'v0', 'v1')])))
  assertWentWell(turn)
  for (const [i, [, swap]] of kinds.entries()) {
    fs.unlinkSync(ws.path(`${i} swapped.txt`))
    swap(ws.path(`${i} swapped.txt`), outside)
  }
  const done = await inTime(c.rewind(promptUUID(turn)), 'the rewind')
  assert.equal(done.skippedLinks, kinds.length)
  assert.deepEqual(done.filesChanged, kinds.map((_, i) => ws.path(`${i} stays.txt`)))
  for (const [i] of kinds.entries()) assert.equal(ws.bytes(`${i} stays.txt`).toString(), 'v0\n')
  assert.equal(fs.readFileSync(path.join(outside, 'precious.txt'), 'utf8'), 'precious\n')
  await c.end()
})

recipe('k: a file that got a second name', async (ws) => {
  const { c, id } = await changed(ws)
  fs.linkSync(ws.path('swapped.txt'), path.join(ws.root, 'second name'))
  const before = ws.treeWithTimes()['swapped.txt']
  const done = await inTime(c.rewind(id), 'the rewind')
  assert.equal(done.skippedLinks, 1)
  assert.deepEqual(done.filesChanged, ['gone.txt', 'stays.txt', 'swapped too.txt'].map((name) => ws.path(name)))
  assert.deepEqual(ws.treeWithTimes()['swapped.txt'], before)
  assert.equal(fs.readFileSync(path.join(ws.root, 'second name'), 'utf8'), 'v1\n')
  await c.end()
}, [models.script])

recipe('k: a socket', async (ws) => {
  const { c, id } = await changed(ws)
  fs.unlinkSync(ws.path('swapped.txt'))
  const server = net.createServer()
  const cwd = process.cwd()
  process.chdir(ws.cwd) // a socket's whole path may be too long
  await new Promise((resolve) => server.listen('swapped.txt', resolve))
  process.chdir(cwd)
  try {
    const done = await inTime(c.rewind(id), 'the rewind')
    assert.equal(done.skippedLinks, 1)
    assert.equal(ws.bytes('stays.txt').toString(), 'stays v0\n')
    assert.equal(ws.tree()['swapped.txt'].kind, 'other')
  } finally {
    server.close()
  }
  await c.end()
}, [models.script])

/** Folders with files that the session changed, and one it made; `inner` lies two deep. */
async function changedInFolders(ws) {
  ws.put('folder/a.txt', 'v0\n')
  ws.put('folder/inner/b.txt', 'v0\n')
  ws.put('stays.txt', 'v0\n')
  const c = ws.talk()
  const turn = await c.turn(script(
    ...['folder/a.txt', 'folder/inner/b.txt', 'stays.txt'].flatMap((name) => [read(name), edit(name, 'v0', 'v1')]),
    write('folder/c.txt', 'c\n'),
  ))
  assertWentWell(turn)
  return { c, id: promptUUID(turn) }
}

for (const [what, target] of Object.entries({
  'somebody else’s folder with files of the same names': 'look-alike',
  'its own old place': 'moved',
  nothing: 'nothing',
})) {
  recipe(`k: a parent folder that is a link now, to ${what}`, async (ws) => {
    const { c, id } = await changedInFolders(ws)
    const elsewhere = path.join(ws.root, target)
    fs.renameSync(ws.path('folder'), path.join(ws.root, 'moved'))
    if (target === 'look-alike') {
      for (const name of ['a.txt', 'inner/b.txt', 'c.txt']) {
        fs.mkdirSync(path.dirname(path.join(elsewhere, name)), { recursive: true })
        fs.writeFileSync(path.join(elsewhere, name), 'precious\n')
      }
    }
    fs.symlinkSync(elsewhere, ws.path('folder'))
    const theirs = fs.existsSync(elsewhere) && listTree(elsewhere, { times: true })
    const link = ws.treeWithTimes().folder

    const plan = await inTime(c.rewind(id, { dryRun: true }), 'the dry run')
    assert.deepEqual(plan.filesChanged, [ws.path('stays.txt')])
    const done = await inTime(c.rewind(id), 'the rewind')
    assert.equal(done.skippedLinks, 3)
    assert.deepEqual(done.filesChanged, [ws.path('stays.txt')])
    assert.equal(ws.bytes('stays.txt').toString(), 'v0\n')
    assert.deepEqual(fs.existsSync(elsewhere) && listTree(elsewhere, { times: true }), theirs)
    assert.deepEqual(ws.treeWithTimes().folder, link)
    // Put right again, the rewind does what it left.
    fs.unlinkSync(ws.path('folder'))
    fs.renameSync(path.join(ws.root, 'moved'), ws.path('folder'))
    assert.equal((await inTime(c.rewind(id), 'the second rewind')).skippedLinks, 0)
    assert.deepEqual([ws.bytes('folder/a.txt').toString(), ws.bytes('folder/inner/b.txt').toString(), ws.exists('folder/c.txt')], ['v0\n', 'v0\n', false])
    await c.end()
  }, [models.script])
}

recipe('k: skippedLinks counts files: a folder that was made for one comes and goes with it', async (ws) => {
  ws.put('folder/a.txt', 'v0\n')
  const c = ws.talk()
  const turn = await c.turn(script(write('folder/made/here/c.txt', 'c\n')))
  fs.renameSync(ws.path('folder'), path.join(ws.root, 'moved'))
  fs.symlinkSync(path.join(ws.root, 'moved'), ws.path('folder'))
  const done = await inTime(c.rewind(promptUUID(turn)), 'the rewind')
  assert.deepEqual([done.filesChanged, done.skippedLinks], [[], 1])
  await c.end()
}, [models.script])

recipe('k: a parent folder that is gone is no obstacle: it comes back with its files', async (ws) => {
  const { c, id } = await changedInFolders(ws)
  fs.rmSync(ws.path('folder'), { recursive: true })
  const gone = ws.tree()
  const back = { 'folder/a.txt': 'v0\n', 'folder/inner/b.txt': 'v0\n', 'stays.txt': 'v0\n' }
  const files = () => Object.fromEntries(Object.entries(ws.tree()).filter(([, e]) => e.kind === 'file').map(([name, e]) => [name, Buffer.from(e.bytes, 'hex').toString()]))
  await inTime(c.rewind(id), 'the rewind')
  assert.deepEqual(files(), back)
  await inTime(c.rewind('undo'), 'the undo')
  assert.deepEqual(ws.tree(), gone)
  await inTime(c.rewind(id), 'the next rewind')
  assert.deepEqual(files(), back)
  await c.end()
}, [models.script])

for (const [history, before] of Object.entries({
  'at once': async () => {},
  'after a rewind and its undo': async (c, id) => {
    await c.rewind(id)
    await c.rewind('undo')
  },
})) {
  recipe(`k: a parent folder that is a file now, ${history}: the file is nobody’s to remove`, async (ws) => {
    const { c, id } = await changedInFolders(ws)
    fs.rmSync(ws.path('folder'), { recursive: true })
    await before(c, id)
    ws.put('folder', 'a file of the user\n')
    await inTime(assert.rejects(c.rewind(id), (err) => err.message.includes(ws.path('folder/a.txt')) && !err.message.includes(ws.path('stays.txt'))), 'the rewind')
    assert.deepEqual(Object.keys(ws.tree()), ['folder', 'stays.txt'])
    assert.equal(ws.bytes('folder').toString(), 'a file of the user\n')
    assert.equal(ws.bytes('stays.txt').toString(), 'v0\n')
    await c.end()
  }, [models.script])
}

recipe('k: links that were there from the start are no obstacle', async (ws) => {
  ws.put('a.txt', 'v0\n')
  ws.put('real/c.txt', 'v0\n')
  fs.symlinkSync('real', ws.path('link'))
  const cwd = path.join(ws.root, 'link to the project')
  fs.symlinkSync(ws.cwd, cwd)
  const before = ws.tree()
  const c = ws.talk({ cwd })
  const a = path.join(cwd, 'a.txt')
  const turn = await c.turn(script(
    read(a), edit(a, 'v0', 'v1'), write(path.join(cwd, 'made/b.txt'), 'b\n'),
    read('real/c.txt'), edit('link/c.txt', 'v0', 'v1'), edit('real/c.txt', 'v1', 'v2'), write('link/d.txt', 'd\n'),
  ))
  assertWentWell(turn)
  const done = await inTime(c.rewind(promptUUID(turn)), 'the rewind')
  assert.equal(done.skippedLinks, 0)
  assert.deepEqual(done.filesChanged, ['a.txt', 'made/b.txt', 'real/c.txt', 'real/d.txt'].map((name) => ws.path(name)))
  assert.deepEqual(ws.tree(), before)
  await c.end()
})

recipe('k: a project that was moved, and a link in its place', async (ws) => {
  ws.put('a.txt', 'v0\n')
  const first = await ws.ask(script(read('a.txt'), edit('a.txt', 'v0', 'v1')))
  fs.renameSync(ws.cwd, path.join(ws.root, 'moved'))
  fs.symlinkSync(path.join(ws.root, 'moved'), ws.cwd)
  const c = ws.talk({ resume: first.find(isInit).session_id })
  const done = await inTime(c.rewind(promptUUID(first)), 'the rewind')
  assert.deepEqual([done.skippedLinks, done.filesChanged, ws.bytes('a.txt').toString()], [1, [], 'v1\n'])
  await c.end()
}, [models.script])

recipe('k: the tools do not hang on them either, nor follow a link', async (ws) => {
  const outside = path.join(ws.root, 'outside')
  fs.mkdirSync(outside)
  fs.writeFileSync(path.join(outside, 'precious.txt'), 'precious\n')
  for (const [i, [, swap]] of Object.entries(swaps).entries()) swap(ws.path(`${i}`), outside)
  const before = ws.treeWithTimes()
  const theirs = listTree(outside, { times: true })
  const names = Object.keys(swaps).map((_, i) => `${i}`).filter((i) => Object.keys(swaps)[i] !== 'a hard link')
  const c = ws.talk()
  const turn = await inTime(c.turn(script(...names.flatMap((name) => [write(name, 'x'), edit(name, 'precious', 'x')]))), 'the turn')
  assert.deepEqual(toolResults(turn).map((r) => r.is_error), names.flatMap(() => [true, true]))
  await inTime(c.turn(script(...names.map(read))), 'to read them')
  assert.deepEqual(ws.treeWithTimes(), before)
  assert.deepEqual(listTree(outside, { times: true }), theirs)
  await c.end()
}, [models.script])
