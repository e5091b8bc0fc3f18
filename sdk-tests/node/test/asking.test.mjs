// m: canUseTool. The host says what may run, and with what.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { models, recipe } from '../harness.mjs'
import { assertWentWell, heard, isInit, isResult, isState, promptUUID, saidBy, textOf, toolResults } from '../frames.mjs'
import { bash, echo, edit, read, say, script, tool, write } from '../script.mjs'

/** A conversation whose host is asked: each question comes to `asked`, and `answer` says what to do with it. */
function host(ws, answer, more = {}) {
  const asked = []
  const c = ws.talk({
    permissionMode: 'default',
    ...more,
    canUseTool: async (name, input, options) => {
      const question = { name, input, options }
      ws.note('asked', { name, input, suggestions: options.suggestions, blockedPath: options.blockedPath })
      asked.push(question)
      const said = await answer(question, asked.length)
      ws.note('the host says', said)
      return said
    },
  })
  return { c, asked }
}

const allow = (more) => ({ behavior: 'allow', ...more })
const deny = (message, more) => ({ behavior: 'deny', message, ...more })

/** A promise and what resolves it. */
function promised() {
  let resolve
  const promise = new Promise((r) => (resolve = r))
  return { promise, resolve }
}

const resultsOf = (messages) => toolResults(messages).map((r) => [textOf(r.content), r.is_error ?? false])
const deniedIn = (messages) => messages.find(isResult).permission_denials

recipe('m: allow: it runs as the model wanted, and a rewind takes it back', async (ws) => {
  ws.put('a.txt', 'v0\n')
  const before = ws.tree()
  const { c, asked } = host(ws, ({ input }) => allow({ updatedInput: input }))
  const turn = await c.turn(script(read('a.txt'), edit('a.txt', 'v0', 'v1'), bash('printf b > b.txt')))
  assertWentWell(turn)
  // What only reads in the project is not asked.
  assert.deepEqual(asked.map((q) => [q.name, q.input]), [
    ['Edit', { file_path: 'a.txt', old_string: 'v0', new_string: 'v1' }],
    ['Bash', { command: 'printf b > b.txt' }],
  ])
  const calls = turn.filter((m) => m.type === 'assistant').flatMap((m) => m.message.content).filter((b) => b.type === 'tool_use')
  assert.deepEqual(asked.map((q) => q.options.toolUseID), calls.slice(1).map((call) => call.id))
  for (const q of asked) {
    assert.equal(q.options.signal.aborted, false)
    assert.equal(typeof q.options.decisionReason, 'string')
    assert.equal(q.options.blockedPath, undefined)
  }
  assert.deepEqual([ws.bytes('a.txt').toString(), ws.bytes('b.txt').toString()], ['v1\n', 'b'])
  assert.deepEqual(deniedIn(turn), [])
  fs.unlinkSync(ws.path('b.txt'))
  await c.rewind(promptUUID(turn))
  assert.deepEqual(ws.tree(), before)
  await c.end()
})

recipe('m: allow without an input is the input as it was', async (ws) => {
  const { c } = host(ws, () => allow())
  assertWentWell(await c.turn(script(write('a.txt', 'a'))))
  assert.equal(ws.bytes('a.txt').toString(), 'a')
  await c.end()
})

recipe('m: a query of one prompt is asked as well', async (ws) => {
  const asked = []
  const messages = await ws.ask(script(write('a.txt', 'a'), write('b.txt', 'b')), {
    permissionMode: 'default',
    canUseTool: async (name, input) => {
      asked.push(input.file_path)
      return allow()
    },
  })
  assertWentWell(messages)
  assert.deepEqual([asked, Object.keys(ws.tree())], [['a.txt', 'b.txt'], ['a.txt', 'b.txt']])
})

recipe('m: allow with changed input: that runs, is recorded and is taken back', async (ws) => {
  ws.put('b.txt', 'v0\n')
  const before = ws.tree()
  const { c, asked } = host(ws, () => allow({ updatedInput: { file_path: 'c.txt', content: 'as the host wants' } }))
  const turn = await c.turn(script(write('a.txt', 'as the model wants')))
  assertWentWell(turn)
  assert.equal(asked.length, 1)
  assert.deepEqual(Object.keys(ws.tree()), ['b.txt', 'c.txt'])
  assert.equal(ws.bytes('c.txt').toString(), 'as the host wants')
  const report = turn.find((m) => m.tool_use_result).tool_use_result
  assert.deepEqual([report.filePath, report.content], [ws.path('c.txt'), 'as the host wants'])
  assert.deepEqual((await c.rewind(promptUUID(turn))).filesChanged, [ws.path('c.txt')])
  assert.deepEqual(ws.tree(), before)
  await c.end()
})

recipe('m: a changed input that is wrong is an error of the tool, and nothing runs', async (ws) => {
  const { c } = host(ws, () => allow({ updatedInput: { file_path: 7, content: 'x' } }))
  const turn = await c.turn(script(write('a.txt', 'x'), say('noted')))
  const [[text, isError]] = resultsOf(turn)
  assert.equal(isError, true)
  assert.ok(text.includes('file_path') && text.includes('Write'), text)
  assert.equal(turn.at(-1).result, 'noted')
  assert.deepEqual(ws.tree(), {})
  await c.end()
}, [models.script])

recipe('m: deny: the model reads the host’s words, the turn goes on, the result lists it', async (ws) => {
  const words = 'Not on my watch: 😀 "quoted"\nsecond line'
  const { c, asked } = host(ws, ({ name }) => (name === 'Write' ? deny(words) : allow()))
  const turn = await c.turn(script(write('a.txt', 'a'), bash('printf b > b.txt'), say('noted'), echo))
  assert.deepEqual(resultsOf(turn)[0], [words, true])
  assert.equal(resultsOf(turn)[1][1], false)
  assert.deepEqual(Object.keys(ws.tree()), ['b.txt'])
  const result = turn.at(-1)
  assert.deepEqual([result.subtype, result.is_error], ['success', false])
  assert.deepEqual(deniedIn(turn), [{ tool_name: 'Write', tool_use_id: asked[0].options.toolUseID, tool_input: { file_path: 'a.txt', content: 'a' } }])
  // The next turn starts with a clean list, and the model still knows.
  const next = await c.turn(script(echo))
  assert.deepEqual(deniedIn(next), [])
  assert.equal(heard(next).flatMap((m) => m.results ?? [])[0], words)
  // What was denied is nothing to take back.
  assert.deepEqual((await c.rewind(promptUUID(turn), { dryRun: true })).filesChanged, [])
  await c.end()
})

recipe('m: deny with interrupt: the turn ends, what came behind it did not run', async (ws) => {
  const { c, asked } = host(ws, ({ name }) => (name === 'Write' ? deny('Stop it.', { interrupt: true }) : allow()))
  c.send(script(bash('printf b > b.txt'), write('a.txt', 'a'), write('c.txt', 'c'), say('never said')))
  const result = await c.result(1)
  assert.deepEqual([result.subtype, result.is_error], ['error_during_execution', true])
  assert.equal(asked.length, 2)
  assert.equal(toolResults(c.messages).length, 3)
  assert.deepEqual(resultsOf(c.messages)[1], ['Stop it.', true])
  assert.equal(resultsOf(c.messages)[2][1], true)
  assert.deepEqual(saidBy(c.messages), [])
  assert.deepEqual(result.permission_denials.map((d) => [d.tool_name, d.tool_input.file_path]), [['Write', 'a.txt']])
  assert.deepEqual(Object.keys(ws.tree()), ['b.txt'])
  const next = await c.turn(script(say('And on.')))
  assertWentWell(next)
  assert.deepEqual(saidBy(next), ['And on.'])
  await c.end()
})

recipe('m: interrupt while a question is open: the signal is aborted, a late yes comes too late', async (ws) => {
  const open = promised()
  const late = promised()
  const { c } = host(ws, (question, n) => {
    if (n > 1) return allow()
    open.resolve(question)
    return late.promise
  }, { env: { CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS: '1' } })
  c.send(script(write('a.txt', 'a'), say('never said')))
  const { options: { signal } } = await open.promise
  assert.equal(signal.aborted, false)
  const aborted = new Promise((resolve) => signal.addEventListener('abort', resolve))
  await c.until((m) => isState(m) && m.state === 'requires_action', 'requires_action')
  assert.deepEqual(await c.call('interrupt'), { still_queued: [] })
  await aborted
  const result = await c.result(1)
  assert.equal(result.subtype, 'error_during_execution')
  assert.equal(result.terminal_reason, 'aborted_tools')
  assert.deepEqual(result.permission_denials, [], 'nobody denied it')
  assert.equal(toolResults(c.messages).length, 1)
  assert.equal(toolResults(c.messages)[0].is_error, true)
  const notes = c.messages.filter((m) => m.type === 'user').map((m) => textOf(m.message.content))
  assert.deepEqual(notes.filter((text) => text.startsWith('[Request interrupted')), ['[Request interrupted by user for tool use]'])

  late.resolve(allow())
  const next = await c.turn(script(write('b.txt', 'b'), say('And on.')))
  assertWentWell(next)
  assert.deepEqual(Object.keys(ws.tree()), ['b.txt'])
  await c.end()
})

recipe('m: while a question is open, requests are answered, a rewind too', async (ws) => {
  ws.put('a.txt', 'v0\n')
  const open = promised()
  const answer = promised()
  const { c } = host(ws, ({ name }) => {
    if (name !== 'Bash') return allow()
    open.resolve()
    return answer.promise
  })
  c.send(script(read('a.txt'), edit('a.txt', 'v0', 'v1'), bash('cat a.txt > seen.txt')))
  await open.promise
  const id = promptUUID(c.messages)
  assert.equal(ws.bytes('a.txt').toString(), 'v1\n')
  assert.deepEqual((await c.rewind(id, { dryRun: true })).filesChanged, [ws.path('a.txt')])
  assert.equal((await c.rewind(id)).canRewind, true)
  assert.equal(ws.bytes('a.txt').toString(), 'v0\n')
  answer.resolve(allow())
  assertWentWell(await c.result(1).then(() => c.messages))
  assert.equal(ws.bytes('seen.txt').toString(), 'v0\n')
  await c.end()
})

/** Calls that are asked, and others of their kind that are not once the suggestions were accepted. */
const kinds = {
  'an edit': {
    calls: (ws) => [write('a.txt', '1'), write('b.txt', '2')],
    suggestions: (ws) => [{ type: 'setMode', mode: 'acceptEdits', destination: 'session' }],
  },
  'a command': {
    calls: (ws) => [bash('printf 1 >> a.txt'), bash('printf 1 >> a.txt')],
    suggestions: (ws) => [{ type: 'addRules', rules: [{ toolName: 'Bash', ruleContent: 'printf 1 >> a.txt' }], behavior: 'allow', destination: 'session' }],
    stillAsked: bash('printf 2 >> a.txt'),
  },
  'a file elsewhere': {
    calls: (ws) => [read(path.join(ws.home, 'a.txt')), read(path.join(ws.home, 'b.txt'))],
    suggestions: (ws) => [{ type: 'addDirectories', directories: [ws.home], destination: 'session' }],
    blockedPath: (ws) => path.join(ws.home, 'a.txt'),
    stillAsked: read('/etc/passwd'),
  },
  'an edit elsewhere': {
    calls: (ws) => [write(path.join(ws.home, 'c.txt'), '1'), write(path.join(ws.home, 'd.txt'), '2')],
    suggestions: (ws) => [
      { type: 'addDirectories', directories: [ws.home], destination: 'session' },
      { type: 'setMode', mode: 'acceptEdits', destination: 'session' },
    ],
    blockedPath: (ws) => path.join(ws.home, 'c.txt'),
  },
}

for (const [what, kind] of Object.entries(kinds)) {
  recipe(`m: suggestions sent back: ${what} is not asked again, in this turn and the next`, async (ws) => {
    fs.writeFileSync(path.join(ws.home, 'a.txt'), 'a\n')
    fs.writeFileSync(path.join(ws.home, 'b.txt'), 'b\n')
    const { c, asked } = host(ws, ({ options }, n) => (n === 1 ? allow({ updatedPermissions: options.suggestions }) : deny('asked again')))
    const [first, second] = kind.calls(ws)
    assertWentWell(await c.turn(script(first, second)))
    assert.equal(asked.length, 1)
    assert.deepEqual(asked[0].options.suggestions, kind.suggestions(ws))
    assert.equal(asked[0].options.blockedPath, kind.blockedPath?.(ws))
    assertWentWell(await c.turn(script(second.tool === 'Write' ? read(second.input.file_path) : second)))
    assert.equal(asked.length, 1)
    if (kind.stillAsked) {
      const turn = await c.turn(script(kind.stillAsked))
      assert.equal(asked.length, 2)
      assert.deepEqual(resultsOf(turn), [['asked again', true]])
    }
    await c.end()
  })
}

recipe('m: what the host allows for the session ends with the process', async (ws) => {
  const { c } = host(ws, ({ options }) => allow({ updatedPermissions: options.suggestions }))
  const turn = await c.turn(script(write('a.txt', '1')))
  const status = c.messages.find((m) => m.type === 'system' && m.subtype === 'status' && m.permissionMode)
  assert.equal(status.permissionMode, 'acceptEdits')
  assert.equal((await c.turn(script(say('next')))).find(isInit).permissionMode, 'acceptEdits')
  await c.end()
  const again = host(ws, () => deny('asked'), { resume: turn[0].session_id })
  const next = await again.c.turn(script(write('b.txt', '2')))
  assert.equal(next.find(isInit).permissionMode, 'default')
  assert.deepEqual(resultsOf(next), [['asked', true]])
  await again.c.end()
}, [models.script])

recipe('m: rules that the host makes itself: allow, deny, and taken away again', async (ws) => {
  const rule = (type, behavior, ruleContent) => ({ type, behavior, rules: [{ toolName: 'Bash', ...(ruleContent && { ruleContent }) }], destination: 'session' })
  let updates = [rule('addRules', 'allow')]
  const { c, asked } = host(ws, () => allow({ updatedPermissions: updates }))
  assertWentWell(await c.turn(script(bash('printf 1 > 1'), bash('printf 2 > 2'))))
  assert.equal(asked.length, 1)
  // A rule that forbids is above the host's own yes.
  updates = [rule('addRules', 'deny', 'printf 3 > 3')]
  assertWentWell(await c.turn(script(write('a.txt', 'a'))))
  const forbidden = await c.turn(script(bash('printf 3 > 3'), bash('printf 4 > 4')))
  assert.equal(asked.length, 2)
  assert.deepEqual(toolResults(forbidden).map((r) => r.is_error ?? false), [true, false])
  updates = [rule('removeRules', 'allow'), rule('removeRules', 'deny', 'printf 3 > 3')]
  assertWentWell(await c.turn(script(write('b.txt', 'b'))))
  assertWentWell(await c.turn(script(bash('printf 3 > 3'))))
  assert.deepEqual(asked.map((q) => q.name), ['Bash', 'Write', 'Write', 'Bash'])
  assert.deepEqual(Object.keys(ws.tree()), ['1', '2', '3', '4', 'a.txt', 'b.txt'])
  await c.end()
}, [models.script])

recipe('m: a callback that throws means no, with its words, and the session goes on', async (ws) => {
  const { c } = host(ws, (_, n) => {
    if (n === 1) throw new Error('the dialog is broken')
    return allow()
  })
  const turn = await c.turn(script(write('a.txt', 'a'), say('noted')))
  assert.deepEqual(resultsOf(turn), [['Tool permission request failed: the dialog is broken', true]])
  assert.deepEqual([turn.at(-1).subtype, turn.at(-1).result], ['success', 'noted'])
  assert.deepEqual(deniedIn(turn).map((d) => d.tool_name), ['Write'])
  assert.deepEqual(ws.tree(), {})
  assertWentWell(await c.turn(script(write('a.txt', 'a'))))
  await c.end()
})

recipe('m: an answer that makes no sense means no', async (ws) => {
  // Not null: that is how the SDK says that the answer comes later, by other means.
  const senseless = [undefined, 'allow', {}, { behavior: 'maybe' }, { behavior: true }]
  const { c } = host(ws, (_, n) => senseless[n - 1])
  for (const _ of senseless) {
    const turn = await c.turn(script(write('a.txt', 'a'), say('noted')))
    assert.deepEqual(toolResults(turn).map((r) => r.is_error), [true])
    assert.equal(turn.at(-1).result, 'noted')
  }
  assert.deepEqual(ws.tree(), {})
  await c.end()
}, [models.script])

recipe('m: calls in a row are asked one after the other, in their order', async (ws) => {
  let open = 0
  const { c, asked } = host(ws, async ({ input }) => {
    assert.equal(++open, 1, 'one question at a time')
    await new Promise(setImmediate)
    open--
    return input.content === 'no' ? deny('no') : allow()
  })
  const turn = await c.turn(script(write('1.txt', 'yes'), write('2.txt', 'no'), write('3.txt', 'yes'), write('4.txt', 'no')))
  assert.deepEqual(asked.map((q) => q.input.file_path), ['1.txt', '2.txt', '3.txt', '4.txt'])
  assert.deepEqual(resultsOf(turn).map(([, isError]) => isError), [false, true, false, true])
  assert.deepEqual(deniedIn(turn).map((d) => d.tool_input.file_path), ['2.txt', '4.txt'])
  assert.deepEqual(Object.keys(ws.tree()), ['1.txt', '3.txt'])
  await c.end()
})

recipe('m: the end of input while a question is open: it means no, and the turn goes on to its end', async (ws) => {
  let child, exit
  const open = promised()
  const { c } = host(ws, () => {
    open.resolve()
    return new Promise(() => {})
  }, {
    spawnClaudeCodeProcess: ({ command, args, cwd, env, signal }) => {
      child = spawn(command, args, { cwd, env, signal, stdio: ['pipe', 'pipe', 'inherit'] })
      exit = new Promise((resolve) => child.once('exit', (code, sig) => resolve(sig ?? code)))
      return child
    },
  })
  c.send(script(write('a.txt', 'a'), say('went on')))
  await open.promise
  child.stdin.end()
  const result = await c.result(1)
  assert.deepEqual([result.subtype, result.result], ['success', 'went on'])
  const [[text, isError]] = resultsOf(c.messages)
  assert.equal(isError, true)
  assert.ok(text.startsWith('Tool permission request failed: '), text)
  assert.deepEqual(result.permission_denials.map((d) => d.tool_name), ['Write'])
  assert.equal(await exit, 0)
  assert.deepEqual(ws.tree(), {})
})

recipe('m: close while a question is open ends the process, and nothing ran', async (ws) => {
  const open = promised()
  const { c } = host(ws, () => {
    open.resolve()
    return new Promise(() => {})
  })
  c.send(script(write('a.txt', 'a'), say('went on')))
  await open.promise
  c.close()
  await ws.processesEnd()
  assert.deepEqual(ws.tree(), {})
})

recipe('m: who is allowed by the options is not asked, who is forbidden neither', async (ws) => {
  const { c, asked } = host(ws, () => deny('asked'), { allowedTools: ['Write', 'Bash(printf 1 > 1)'], disallowedTools: ['Edit', 'Bash(printf 2 > 2)'] })
  const turn = await c.turn(script(write('a.txt', 'a'), bash('printf 1 > 1'), bash('printf 2 > 2'), edit('a.txt', 'a', 'b'), bash('printf 3 > 3')))
  assert.deepEqual(asked.map((q) => q.input.command), ['printf 3 > 3'])
  assert.deepEqual(toolResults(turn).map((r) => r.is_error ?? false), [false, false, true, true, true])
  assert.equal(turn.find(isInit).tools.includes('Edit'), false)
  assert.deepEqual(Object.keys(ws.tree()), ['1', 'a.txt'])
  await c.end()
}, [models.script])

recipe('m: modes: plan changes nothing and dontAsk asks nobody; bypassPermissions neither', async (ws) => {
  for (const [permissionMode, works] of [['plan', false], ['dontAsk', false], ['bypassPermissions', true]]) {
    const { c, asked } = host(ws, () => allow(), { permissionMode, allowDangerouslySkipPermissions: permissionMode === 'bypassPermissions' })
    const turn = await c.turn(script(write(`${permissionMode}.txt`, 'a'), bash('true'), tool('Glob', { pattern: '*' })))
    assert.deepEqual(toolResults(turn).map((r) => r.is_error ?? false), [!works, !works, false], permissionMode)
    assert.equal(asked.length, 0, permissionMode)
    assert.equal(ws.exists(`${permissionMode}.txt`), works)
    await c.end()
  }
}, [models.script])
