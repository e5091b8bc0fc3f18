// l: notebooks cell by cell, and back to the byte. And the tools that look for files.
import assert from 'node:assert/strict'
import { models, recipe } from '../harness.mjs'
import { assertWentWell, promptUUID, textOf, toolResults } from '../frames.mjs'
import { read, script, tool, write } from '../script.mjs'

const change = (notebook_path, input) => tool('NotebookEdit', { notebook_path, ...input })
const reports = (turn) => turn.map((m) => m.tool_use_result).filter((r) => r?.edit_mode)

const code = (id, source, outputs = [], execution_count = null) => ({ cell_type: 'code', execution_count, ...(id && { id }), metadata: {}, outputs, source })
const markdown = (id, source) => ({ cell_type: 'markdown', ...(id && { id }), metadata: {}, source })
const notebook = (cells, minor = 5) => ({
  cells,
  metadata: { kernelspec: { display_name: 'Python 3', language: 'python', name: 'python3' }, language_info: { name: 'python', version: '3.11.0' } },
  nbformat: 4,
  nbformat_minor: minor,
})
/** As Jupyter writes it. */
const text = (book) => `${JSON.stringify(book, null, 1)}\n`

const output = { name: 'stdout', output_type: 'stream', text: ['1.50\n'] }
const cells = () => [
  markdown('intro', ['# Café 😀\n', 'second line']),
  code('first', ['x = 1.50\n', 'print(x)'], [output], 3),
  code('second', ['y = 2'], [], 4),
]

recipe('l: cells edited, inserted and deleted are what Jupyter would write, and every point comes back to the byte', async (ws) => {
  const book = notebook(cells())
  ws.put('n.ipynb', text(book), 0o640)
  const states = [ws.tree()]
  const ids = []
  const c = ws.talk()
  /** Plays the steps, and notes the point. */
  const turn = async (...steps) => {
    const messages = await c.turn(script(...steps))
    assertWentWell(messages)
    ids.push(promptUUID(messages))
    states.push(ws.tree())
    return reports(messages)
  }
  const isWritten = () => assert.equal(ws.bytes('n.ipynb').toString(), text(book))

  const source = 'x = 2.50\nprint(x)\n# "é"'
  const [edited] = await turn(read('n.ipynb'), change('n.ipynb', { cell_id: 'first', new_source: source }))
  book.cells[1] = code('first', ['x = 2.50\n', 'print(x)\n', '# "é"'])
  isWritten()
  assert.deepEqual([edited.edit_mode, edited.cell_id, edited.cell_type, edited.language, edited.new_source], ['replace', 'first', 'code', 'python', source])
  assert.equal(edited.error ?? '', '')

  const before = text(book)
  const [inserted] = await turn(change('n.ipynb', { cell_id: 'first', edit_mode: 'insert', cell_type: 'markdown', new_source: 'between' }))
  assert.match(inserted.cell_id, /^[A-Za-z0-9_-]{1,64}$/)
  book.cells.splice(2, 0, markdown(inserted.cell_id, ['between'])) // its id is random
  isWritten()
  assert.deepEqual([inserted.original_file, inserted.updated_file], [before, text(book)])

  await turn(change('n.ipynb', { cell_id: 'intro', edit_mode: 'delete' }))
  book.cells.splice(0, 1)
  isWritten()

  await turn(change('n.ipynb', { cell_id: 'second', cell_type: 'markdown', new_source: 'y is *2*' }))
  book.cells[2] = markdown('second', ['y is *2*'])
  isWritten()

  assert.equal(states.length, 5)
  for (const i of [3, 2, 1, 0, 2, 3, 1]) {
    const answer = await c.rewind(ids[i])
    assert.equal(answer.canRewind, true)
    assert.deepEqual(ws.tree(), states[i], `point ${i}`)
  }
  await c.rewind(ids[0])
  for (const _ of Array(8)) await c.rewind('undo')
  assert.deepEqual(ws.tree(), states[4])
  await c.end()
})

recipe('l: a notebook without ids, in a layout of its own: only the cell changes', async (ws) => {
  const original = [
    '{ "nbformat": 4, "nbformat_minor": 2,\r',
    '\t"metadata": {"x": 1.0, "big": 12345678901234567890, "e": 1E5},\r',
    '\t"cells": [\r',
    '\t\t{"cell_type": "markdown", "metadata": {}, "source": "one \\u00e9"},\r',
    '\t\t{"cell_type": "raw", "metadata": {"format": "a"},\t"source": "two"},\r',
    '\t\t{"cell_type": "markdown", "source": "three", "metadata": {}}\r',
    '\t]\r',
    '}',
  ].join('\n')
  ws.put('odd.ipynb', original)
  const before = ws.tree()
  const c = ws.talk()
  const turn = await c.turn(script(read('odd.ipynb'), change('odd.ipynb', { cell_id: 'cell-1', new_source: 'zwei' }), change('odd.ipynb', { cell_id: 'cell-2', edit_mode: 'delete' })))
  assertWentWell(turn)
  assert.equal(
    ws.bytes('odd.ipynb').toString(),
    original.replace('"two"', '"zwei"').replace(/,\r\n\t\t\{"cell_type": "markdown", "source": "three", "metadata": \{\}\}/, ''),
  )
  const { insertions, deletions } = await c.rewind(promptUUID(turn))
  assert.deepEqual([insertions, deletions], [2, 1])
  assert.deepEqual(ws.tree(), before)
  await c.end()
}, [models.script])

recipe('l: a notebook that the agent made is gone again, with its folder', async (ws) => {
  const c = ws.talk()
  const turn = await c.turn(script(write('made/n.ipynb', text(notebook([], 4))), change('made/n.ipynb', { edit_mode: 'insert', cell_type: 'code', new_source: 'x = 1' })))
  assertWentWell(turn)
  assert.deepEqual(JSON.parse(ws.bytes('made/n.ipynb')), notebook([code(undefined, ['x = 1'])], 4))
  await c.rewind(promptUUID(turn))
  assert.deepEqual(ws.tree(), {})
  await c.end()
})

recipe('l: what cannot be done to a notebook is an error that says why, and nothing is written', async (ws) => {
  ws.put('n.ipynb', text(notebook(cells())))
  ws.put('broken.ipynb', '{"cells": [')
  ws.put('plain.txt', 'plain\n')
  const before = ws.treeWithTimes()
  const c = ws.talk()
  const unread = await c.turn(script(change('n.ipynb', { cell_id: 'first', new_source: 'x' })))
  assert.deepEqual(toolResults(unread).map((r) => [r.is_error, textOf(r.content).includes(ws.path('n.ipynb'))]), [[true, true]])
  const turn = await c.turn(script(
    read('n.ipynb'), read('broken.ipynb'), read('plain.txt'),
    change('n.ipynb', { cell_id: 'nowhere', new_source: 'x' }),
    change('n.ipynb', { cell_id: 'first' }),
    change('n.ipynb', { edit_mode: 'delete' }),
    change('n.ipynb', { edit_mode: 'insert', new_source: 'x' }),
    change('n.ipynb', { cell_id: 'first', edit_mode: 'upsert', new_source: 'x' }),
    change('broken.ipynb', { cell_id: 'first', new_source: 'x' }),
    change('plain.txt', { cell_id: 'first', new_source: 'x' }),
    change('none.ipynb', { cell_id: 'first', new_source: 'x' }),
  ))
  const results = toolResults(turn).slice(3)
  assert.deepEqual(results.map((r) => r.is_error), Array(8).fill(true))
  assert.equal(textOf(results[0].content).includes('nowhere'), true)
  assert.deepEqual(ws.treeWithTimes(), before)
  assert.deepEqual((await c.rewind(promptUUID(turn), { dryRun: true })).filesChanged, [])
  await c.end()
}, [models.script])

recipe('l: reading a notebook shows its cells with their ids, and their outputs', async (ws) => {
  ws.put('n.ipynb', text(notebook(cells())))
  const c = ws.talk()
  const [result] = toolResults(await c.turn(script(read('n.ipynb'))))
  const shown = textOf(result.content)
  for (const part of ['intro', '# Café 😀', 'first', 'x = 1.50', '1.50', 'second', 'y = 2']) assert.ok(shown.includes(part), part)
  await c.end()
})

recipe('Glob and Grep find what is there, and what they say is told to the host', async (ws) => {
  ws.put('src/a.js', 'const needle = 1\nlet other\n')
  ws.put('src/deep/b.js', 'other\nNEEDLE\nneedle again\n')
  ws.put('src/c.txt', 'needle\n')
  ws.put('built/d.js', 'needle\n')
  ws.put('.gitignore', 'built/\n')
  const before = ws.treeWithTimes()
  const c = ws.talk({ permissionMode: 'default' }) // they only read
  const turn = await c.turn(script(
    tool('Glob', { pattern: '**/*.js' }),
    tool('Grep', { pattern: 'needle' }),
    tool('Grep', { pattern: 'needle', output_mode: 'content', '-n': true, '-i': true, glob: '*.js' }),
    tool('Grep', { pattern: 'needle', output_mode: 'count', path: 'src' }),
    tool('Grep', { pattern: 'no such thing' }),
  ))
  assertWentWell(turn)
  const [glob, files, content, count, none] = turn.map((m) => m.tool_use_result).filter(Boolean)
  assert.deepEqual(glob.filenames.map((name) => name.replace(`${ws.cwd}/`, '')).filter((name) => !name.startsWith('built')).sort(), ['src/a.js', 'src/deep/b.js'])
  assert.equal(glob.numFiles, glob.filenames.length)
  assert.deepEqual(files.filenames.map((name) => name.replace(`${ws.cwd}/`, '')).sort(), ['src/a.js', 'src/c.txt', 'src/deep/b.js'], 'not what git ignores')
  assert.equal(files.numFiles, 3)
  assert.deepEqual(content.content.split('\n').map((line) => line.replace(`${ws.cwd}/`, '')).sort(), ['src/a.js:1:const needle = 1', 'src/deep/b.js:2:NEEDLE', 'src/deep/b.js:3:needle again'])
  assert.equal(content.numLines, 3)
  assert.deepEqual([count.mode, count.numMatches, count.numFiles], ['count', 3, 3])
  assert.deepEqual([none.filenames, none.numFiles], [[], 0])
  for (const result of toolResults(turn).slice(0, 2)) assert.ok(textOf(result.content).includes('src/a.js'))
  assert.deepEqual(ws.treeWithTimes(), before)
  assert.deepEqual((await c.rewind(promptUUID(turn), { dryRun: true })).filesChanged, [])
  await c.end()
})
