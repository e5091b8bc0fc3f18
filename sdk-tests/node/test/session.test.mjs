// What the SDK is told of a session, where it finds its record, and how it ends.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { getSessionMessages, listSessions } from '@anthropic-ai/claude-agent-sdk'
import { models, recipe, TAKEBACK } from '../harness.mjs'
import { assertWentWell, heard, isInit, isReplay, isResult, isState, promptUUID, saidBy, textOf, UUID } from '../frames.mjs'
import { echo, fail, hang, read, say, script, think, tool, write } from '../script.mjs'

recipe('every turn opens with system/init', async (ws) => {
  const c = ws.talk()
  for (const turn of [await c.turn(script({ echo: 'tools' })), await c.turn(script({ echo: 'tools' }))]) {
    assert.equal(turn.filter(isInit).length, 1)
    const init = turn[0]
    assert.equal(isInit(init), true)
    assert.equal(init.cwd, ws.cwd)
    // The tools that the model is told of, and no others.
    assert.deepEqual(init.tools, heard(turn))
    for (const name of ['Bash', 'Edit', 'Read', 'Write']) assert.equal(init.tools.filter((tool) => tool === name).length, 1, name)
    assert.equal(init.permissionMode, 'acceptEdits')
    // The name of the model itself, not an alias of ours.
    assert.equal(init.model, turn.find((m) => m.type === 'assistant').message.model)
    assert.equal(typeof init.apiKeySource, 'string')
    assert.match(init.claude_code_version, /^2\.1\.332/)
    assert.equal(typeof init.output_style, 'string')
    for (const list of ['mcp_servers', 'slash_commands', 'agents', 'skills', 'plugins']) assert.deepEqual(init[list], [], list)
    assert.match(init.uuid, UUID)
    assert.match(init.session_id, UUID)
  }
  await c.end()
})

recipe('nothing is said before the first prompt, yet requests are answered', async (ws) => {
  const c = ws.talk()
  const info = await c.call('initializationResult')
  assert.deepEqual(c.messages, [])
  assert.deepEqual(info.commands, [])
  assert.deepEqual(info.agents, [])
  assert.equal(typeof info.output_style, 'string')
  assert.deepEqual(info.available_output_styles.includes(info.output_style), true)
  assert.deepEqual(await c.call('supportedCommands'), [])
  assert.deepEqual(await c.call('supportedAgents'), [])

  const list = await c.call('supportedModels')
  assert.notEqual(list.length, 0)
  for (const model of list) {
    for (const field of ['value', 'displayName', 'description']) {
      assert.equal(typeof model[field], 'string', field)
      assert.notEqual(model[field], '', field)
    }
  }
  const account = await c.call('accountInfo')
  assert.equal(typeof account, 'object')
  assert.notEqual(account, null)
  assert.equal(ws.model === models.fakeapi ? account.apiKeySource : 'ANTHROPIC_API_KEY', 'ANTHROPIC_API_KEY')
  await c.end()
  assert.deepEqual(c.messages, [])
  assert.deepEqual(fs.readdirSync(ws.config), [], 'a session that was told nothing leaves nothing')
})

recipe('a request that takeback does not know is refused, and the session goes on', async (ws) => {
  const c = ws.talk()
  await assert.rejects(c.call('reconnectMcpServer', 'x'), { message: 'Unsupported control request subtype: mcp_reconnect' })
  assertWentWell(await c.turn(script(say('Still here.'))))
  await c.end()
}, [models.script])

recipe('the result counts', async (ws) => {
  ws.put('a.txt', 'a\n')
  const c = ws.talk()
  const [result] = (await c.turn(script(read('a.txt'), { usage: { input_tokens: 7, output_tokens: 3 } }, say('Read.'), { usage: { input_tokens: 20, output_tokens: 5 } }))).slice(-1)
  assert.equal(result.type, 'result')
  assert.equal(result.subtype, 'success')
  assert.equal(result.is_error, false)
  assert.equal(result.result, 'Read.')
  assert.equal(result.num_turns, 2)
  assert.equal(result.stop_reason, 'end_turn')
  assert.deepEqual(result.permission_denials, [])
  for (const field of ['duration_ms', 'duration_api_ms', 'total_cost_usd']) assert.equal(result[field] >= 0, true, field)
  for (const field of ['input_tokens', 'output_tokens', 'cache_read_input_tokens', 'cache_creation_input_tokens']) {
    assert.equal(Number.isInteger(result.usage[field]), true, field)
  }
  const [usage] = Object.values(result.modelUsage)
  assert.equal(Object.keys(result.modelUsage).length, 1)
  assert.equal(usage.contextWindow > 0, true)
  assert.equal(usage.inputTokens, result.usage.input_tokens)
  assert.equal(usage.outputTokens, result.usage.output_tokens)
  await c.end()
})

recipe('a prompt that is no script is answered with its own words', async (ws) => {
  const messages = await ws.ask('Hello there')
  assertWentWell(messages)
  assert.equal(saidBy(messages).length, 1)
  assert.ok(saidBy(messages)[0].includes('Hello there'))
  assert.equal(messages.at(-1).result, saidBy(messages)[0])
})

recipe('the model is told the system prompt that the host gives', async (ws) => {
  const system = (systemPrompt) => ws.ask(script({ echo: 'system' }), { systemPrompt }).then((m) => saidBy(m).join(''))
  assert.ok((await system('You are a parrot.')).includes('You are a parrot.'))
  const preset = await system({ type: 'preset', preset: 'claude_code', append: 'Speak softly.' })
  assert.ok(preset.includes('Speak softly.'))
  assert.ok(preset.includes(ws.cwd), 'the preset names the working directory')
})

recipe('partial messages: the stream as it comes, and it adds up', async (ws) => {
  const c = ws.talk({ includePartialMessages: true })
  const text = 'A sentence that is long enough to come in more than one piece, I hope.'
  const input = { file_path: 'a.txt', content: 'some content\n' }
  const turn = await c.turn(script(think('Hm, let me see.', 'c2ln'), say(text), tool('Write', input), say('Done.')))
  assertWentWell(turn)
  const events = turn.filter((m) => m.type === 'stream_event')
  for (const e of events) {
    assert.equal(e.parent_tool_use_id, null)
    assert.match(e.uuid, UUID)
    assert.match(e.session_id, UUID)
  }
  assert.deepEqual(
    events.map((m) => m.event.type).filter((t, i, all) => t !== all[i - 1] && t !== 'ping'),
    [
      'message_start',
      ...Array(3).fill(['content_block_start', 'content_block_delta', 'content_block_stop']).flat(),
      'message_delta', 'message_stop',
      'message_start',
      'content_block_start', 'content_block_delta', 'content_block_stop',
      'message_delta', 'message_stop',
    ],
  )
  const second = events.findLastIndex((m) => m.event.type === 'message_start')
  const deltas = events.slice(0, second).map((m) => m.event.delta).filter(Boolean)
  const joined = (type, field) => deltas.filter((d) => d.type === type).map((d) => d[field]).join('')
  assert.equal(joined('thinking_delta', 'thinking'), 'Hm, let me see.')
  assert.equal(joined('signature_delta', 'signature'), 'c2ln')
  assert.equal(joined('text_delta', 'text'), text)
  assert.deepEqual(JSON.parse(joined('input_json_delta', 'partial_json')), input)
  assert.ok(deltas.filter((d) => d.type === 'text_delta').length > 1, 'text comes in pieces')

  // Whole blocks come one a frame, and the replay before anything of the turn.
  const blocks = turn.filter((m) => m.type === 'assistant').map((m) => m.message.content)
  assert.deepEqual(blocks.map((b) => b.length), [1, 1, 1, 1])
  assert.deepEqual(blocks.map(([b]) => b.type), ['thinking', 'text', 'tool_use', 'text'])
  assert.deepEqual(blocks[0][0], { type: 'thinking', thinking: 'Hm, let me see.', signature: 'c2ln' })
  assert.ok(turn.findIndex(isReplay) < turn.findIndex((m) => m.type === 'stream_event'))
  await c.end()
})

recipe('without the flag no part of a message comes', async (ws) => {
  const messages = await ws.ask(script(say('whole')))
  assert.equal(messages.filter((m) => m.type === 'stream_event').length, 0)
})

recipe('session_state_changed frames: around each turn for who asks, to the SDK alone for others', async (ws) => {
  const c = ws.talk({ env: { CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS: '1' } })
  await c.turn(script(say('one')))
  await c.until((m) => isState(m) && m.state === 'idle', 'idle')
  await c.turn(script(say('two')))
  await c.end()
  const order = c.messages.map((m) => (isState(m) ? m.state : isInit(m) ? 'init' : isReplay(m) ? 'replay' : m.type))
  const turn = ['running', 'init', 'replay', 'assistant', 'result', 'idle']
  assert.deepEqual(order, [...turn, ...turn])
  for (const m of c.messages.filter(isState)) {
    assert.equal('sdk_host_only' in m, false)
    assert.match(m.session_id, UUID)
  }
  const plain = await ws.ask(script(say('three')))
  assert.equal(plain.filter(isState).length, 0)
})

recipe('the permission mode can be changed, and the change is told', async (ws) => {
  const c = ws.talk({ permissionMode: 'default' })
  const denied = await c.turn(script(write('a.txt', 'a')))
  assert.equal(denied.at(-1).permission_denials.length, 1)
  assert.deepEqual(await c.call('setPermissionMode', 'acceptEdits'), { mode: 'acceptEdits' })
  const status = await c.until((m) => m.type === 'system' && m.subtype === 'status' && m.permissionMode, 'the status frame')
  assert.equal(status.permissionMode, 'acceptEdits')
  const allowed = await c.turn(script(write('a.txt', 'a')))
  assertWentWell(allowed)
  assert.equal(allowed.find(isInit).permissionMode, 'acceptEdits')
  await assert.rejects(c.call('setPermissionMode', 'bypassPermissions'), {
    message: 'Cannot set permission mode to bypassPermissions because the session was not launched with --dangerously-skip-permissions',
  })
  await assert.rejects(c.call('setPermissionMode', 'yolo'), {
    message: 'Cannot set permission mode: must be one of acceptEdits, auto, bypassPermissions, default, dontAsk, plan',
  })
  await c.end()
})

recipe('bypassPermissions can be switched to where the launch allowed it', async (ws) => {
  const c = ws.talk({ allowDangerouslySkipPermissions: true })
  assert.deepEqual(await c.call('setPermissionMode', 'bypassPermissions'), { mode: 'bypassPermissions' })
  assertWentWell(await c.turn(script(tool('Bash', { command: 'echo hi > hi.txt' }))))
  assert.equal(ws.bytes('hi.txt').toString(), 'hi\n')
  await c.end()
})

recipe('the model can be changed from one turn to the next', async (ws) => {
  const c = ws.talk()
  const before = (await c.turn(script(say('one')))).find(isInit).model
  await c.call('setModel', 'claude-of-tomorrow-7')
  const turn = await c.turn(script(say('two')))
  assert.equal(turn.find(isInit).model, 'claude-of-tomorrow-7')
  assert.equal(turn.find((m) => m.type === 'assistant').message.model, 'claude-of-tomorrow-7')
  await c.call('setModel')
  assert.equal((await c.turn(script(say('three')))).find(isInit).model, before)
  await c.end()
}, [models.fakeapi])

recipe('the SDK finds the session and its messages', async (ws) => {
  const c = ws.talk()
  const prompt = script(write('a.txt', 'a'), say('Written.'))
  const turn = await c.turn(prompt)
  const { session_id } = turn.find(isInit)
  await c.end()

  const sessions = await listSessions({ dir: ws.cwd })
  assert.deepEqual(sessions.map((s) => s.sessionId), [session_id])
  assert.equal(sessions[0].cwd, ws.cwd)
  assert.equal(sessions[0].firstPrompt, prompt)

  const recorded = await getSessionMessages(session_id, { dir: ws.cwd })
  const told = turn.filter((m) => m.type === 'user' || m.type === 'assistant')
  assert.deepEqual(recorded.map(({ type, uuid, message }) => ({ type, uuid, message })), told.map(({ type, uuid, message }) => ({ type, uuid, message })))
  assert.deepEqual([...new Set(recorded.map((m) => m.session_id))], [session_id])
})

recipe('the host chooses the session id, and resumes by it from anywhere', async (ws) => {
  const sessionId = '0f0e0d0c-0b0a-4908-8706-050403020103'
  const first = await ws.ask(script(write('a.txt', 'a')), { sessionId })
  assert.equal(first.find(isInit).session_id, sessionId)
  const c = ws.talk({ resume: sessionId, cwd: ws.home })
  const next = await c.turn(script(echo))
  assert.equal(next.find(isInit).session_id, sessionId)
  assert.equal(heard(next)[0].text, script(write('a.txt', 'a')))
  // The point knows where its files are, wherever we are now.
  await c.rewind(promptUUID(first))
  assert.deepEqual(ws.tree(), {})
  await c.end()
})

recipe('the SDK finds the session whatever the folder is called', async (ws) => {
  for (const name of ['emoji 😀 漢字', 'cafe\u0301', `${'deep/'.repeat(60)}long`]) {
    const cwd = ws.path(name)
    fs.mkdirSync(cwd, { recursive: true })
    const messages = await ws.ask('hello', { cwd })
    const sessions = await listSessions({ dir: cwd })
    assert.deepEqual(sessions.map((s) => s.sessionId), [messages.find(isInit).session_id], name)
  }
}, [models.script])

recipe('a session inside a session, with a stale PWD: neither matters', async (ws) => {
  const messages = await ws.ask('hello', { env: { CLAUDECODE: '1', PWD: ws.home } })
  assertWentWell(messages)
  assert.equal(messages.find(isInit).cwd, ws.cwd)
}, [models.script])

recipe('maxTurns ends a turn that goes on for too long, and the session lives', async (ws) => {
  const c = ws.talk({ maxTurns: 2 })
  const turn = await c.turn(script(write('1.txt', ''), say('again'), write('2.txt', ''), say('again'), write('3.txt', '')))
  const result = turn.at(-1)
  assert.equal(result.subtype, 'error_max_turns')
  assert.equal(result.is_error, true)
  assert.deepEqual(result.errors, ['Reached maximum number of turns (2)'])
  assert.equal(result.num_turns, 2)
  assert.deepEqual(Object.keys(ws.tree()), ['1.txt', '2.txt'])
  const next = await c.turn(script(say('And on.')))
  assertWentWell(next)
  assert.deepEqual(saidBy(next), ['And on.'])
  await c.end()
})

recipe('what only joins the conversation starts no turn', async (ws) => {
  const c = ws.talk()
  c.send('Remember: blue.', { shouldQuery: false })
  const turn = await c.turn(script(echo))
  assertWentWell(turn)
  assert.equal(c.results.length, 1)
  assert.deepEqual(heard(turn), [{ role: 'user', text: 'Remember: blue.' }, { role: 'user', text: script(echo) }])
  await c.end()
})

recipe('what the host says in the user’s place is no point to rewind to', async (ws) => {
  const c = ws.talk()
  const id = promptUUID(await c.turn(script(write('1.txt', '1')), { isSynthetic: true }))
  assert.deepEqual(await c.rewind(id, { dryRun: true }), { canRewind: false, error: 'No file checkpoint found for this message.' })
  await c.end()
})

recipe('a prompt with priority runs next', async (ws) => {
  const c = ws.talk({ permissionMode: 'bypassPermissions', allowDangerouslySkipPermissions: true })
  c.send(script(tool('Bash', { command: 'touch begun; until [ -e go ]; do sleep 0.01; done' }), say('first')))
  await ws.appears('begun')
  c.send(script(say('third')))
  c.send(script(say('second')), { priority: 'now' })
  await c.arrived()
  ws.put('go', '')
  await c.result(3)
  assert.deepEqual(saidBy(c.messages), ['first', 'second', 'third'])
  await c.end()
}, [models.script])

recipe('commands keep their folder from call to call', async (ws) => {
  const c = ws.talk({ permissionMode: 'bypassPermissions', allowDangerouslySkipPermissions: true })
  assertWentWell(await c.turn(script(tool('Bash', { command: 'mkdir sub && cd sub' }), tool('Bash', { command: 'echo here > here.txt' }))))
  assertWentWell(await c.turn(script(tool('Bash', { command: 'echo there > there.txt' }))))
  assert.deepEqual(Object.keys(ws.tree()), ['sub', 'sub/here.txt', 'sub/there.txt'])
  await c.end()
}, [models.script])

recipe('to resume what is not there is an error result that says so', async (ws) => {
  const nobody = '11111111-2222-4333-8444-555555555555'
  const sentence = `No conversation found with session ID: ${nobody}`
  ws.expectedStderr = `Error: ${sentence}\n`
  const messages = []
  await assert.rejects(
    async () => {
      for await (const m of ws.query('hello', { resume: nobody })) messages.push(m)
    },
    (err) => err.message.includes(sentence),
  )
  assert.deepEqual(messages.map((m) => [m.type, m.subtype, m.is_error, m.errors]), [['result', 'error_during_execution', true, [sentence]]])
}, [models.script])

recipe('close ends the process, in the middle of a turn too', async (ws) => {
  const c = ws.talk()
  c.send(script(write('a.txt', 'a'), hang))
  await c.until((m) => m.type === 'user' && !m.isReplay, 'the tool result')
  assert.equal(ws.processes().length, 1)
  c.close()
  await ws.processesEnd()
  // What was done before is recorded, and can be taken back.
  const { session_id } = c.messages.find(isInit)
  const again = ws.talk({ resume: session_id })
  await again.rewind(c.messages.find(isReplay).uuid)
  assert.deepEqual(ws.tree(), {})
  await again.end()
})

recipe('at the end of input the process exits with 0, and with 1 if the last result was an error', async (ws) => {
  for (const [prompt, want] of [[script(say('fine')), 0], [script(fail(400)), 1], [null, 0]]) {
    let exit
    const q = ws.query(
      (async function* () {
        if (prompt) yield { type: 'user', message: { role: 'user', content: prompt }, parent_tool_use_id: null }
      })(),
      {
        spawnClaudeCodeProcess: ({ command, args, cwd, env, signal }) => {
          assert.equal(command, TAKEBACK)
          const child = spawn(command, args, { cwd, env, signal, stdio: ['pipe', 'pipe', 'inherit'] })
          exit = new Promise((resolve) => child.once('exit', (code, sig) => resolve(sig ?? code)))
          return child
        },
      },
    )
    const results = []
    const reading = (async () => {
      for await (const m of q) if (isResult(m)) results.push(m)
    })()
    if (want === 0) await reading
    else await assert.rejects(reading, (err) => err.message.startsWith('Claude Code returned an error result: '))
    assert.equal(await exit, want)
    assert.equal(results.length, prompt ? 1 : 0)
  }
}, [models.script])

recipe('the store and the transcripts are nobody else’s to read', async (ws) => {
  await ws.ask(script(write('a.txt', 'a')))
  const modes = []
  const walk = (dir) => {
    for (const entry of fs.readdirSync(dir, { withFileTypes: true })) {
      const full = path.join(dir, entry.name)
      modes.push(entry.isDirectory() ? 'folder' : 'file', (fs.statSync(full).mode & 0o077).toString(8))
      if (entry.isDirectory()) walk(full)
    }
  }
  walk(ws.config)
  assert.ok(modes.includes('folder') && modes.includes('file'))
  assert.deepEqual([...new Set(modes)].sort(), ['0', 'file', 'folder'])
}, [models.script])

recipe('a huge result does not end the session', async (ws) => {
  const line = `${'x'.repeat(1999)}\n`
  ws.put('huge.txt', line.repeat(1500))
  const c = ws.talk()
  const turn = await c.turn(script(read('huge.txt'), write('huge.txt', line.repeat(1501))))
  assertWentWell(turn)
  assert.equal(ws.bytes('huge.txt').toString(), line.repeat(1501))
  assert.equal(textOf(turn.find(isReplay).message.content).length > 3_000_000, true)
  await c.rewind(promptUUID(turn))
  assert.equal(ws.bytes('huge.txt').toString(), line.repeat(1500))
  await c.end()
})
