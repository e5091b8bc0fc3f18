// A model that fails: the SDK is told in words that help, and the session lives on.
import assert from 'node:assert/strict'
import net from 'node:net'
import { models, recipe } from '../harness.mjs'
import { assertWentWell, isInit, isReplay, isResult, promptUUID, saidBy, toolResults } from '../frames.mjs'
import { cut, echo, fail, hang, say, script, tool, write } from '../script.mjs'

/** A failed turn as the SDKs expect it: an assistant's words with `error`, then a success that is an error. */
function assertFailed(turn, { kind, status, reason = 'api_error' }) {
  const result = turn.at(-1)
  assert.equal(result.type, 'result')
  assert.equal(result.subtype, 'success')
  assert.equal(result.is_error, true)
  assert.equal(result.terminal_reason, reason)
  assert.equal(result.api_error_status, status)
  const told = turn.filter((m) => m.type === 'assistant').at(-1)
  assert.equal(told.error, kind)
  assert.equal(told.message.content.length, 1)
  assert.equal(told.message.content[0].text, result.result)
  assert.notEqual(result.result, '')
  return result.result
}

const statuses = [
  { status: 400, kind: 'invalid_request' },
  { status: 401, kind: 'authentication_failed' },
  { status: 402, kind: 'billing_error' },
  { status: 403, kind: 'authentication_failed' },
  { status: 404, kind: 'model_not_found' },
]

recipe('4xx: told at once, and the next turn works', async (ws) => {
  const c = ws.talk()
  for (const { status, kind } of statuses) {
    const message = `the reason for ${status}`
    const text = assertFailed(await c.turn(script(fail(status, { message }))), { kind, status })
    assert.ok(text.includes(message), text)
  }
  const next = await c.turn(script(echo))
  assertWentWell(next)
  await c.end()
})

recipe('a conversation that does not fit: told as what it is', async (ws) => {
  const c = ws.talk()
  const tooLong = { kind: 'invalid_request', reason: 'prompt_too_long' }
  assertFailed(await c.turn(script(fail(413))), { status: 413, ...tooLong })
  assertFailed(await c.turn(script(fail(400, { message: 'prompt is too long: 2 > 1' }))), { status: 400, ...tooLong })
  assertWentWell(await c.turn(script(say('And on.'))))
  await c.end()
}, [models.fakeapi])

const busy = [
  { status: 429, kind: 'rate_limit' },
  { status: 500, kind: 'server_error' },
  { status: 529, kind: 'overloaded' },
]

for (const { status, kind } of busy) {
  recipe(`${status}: told when trying again did not help, and the next turn works`, async (ws) => {
    const c = ws.talk()
    const text = assertFailed(await c.turn(script(fail(status, { retry_after: 0 }))), { kind, status })
    assert.equal(text.includes('(Tried 11 times.)'), ws.model === models.fakeapi, text)
    assertWentWell(await c.turn(script(say('Better.'))))
    await c.end()
  })
}

recipe('a server that is busy once is asked again, and nobody hears of it', async (ws) => {
  const c = ws.talk()
  for (const { status } of busy) {
    const turn = await c.turn(script(fail(status, { times: 1, retry_after: 0 }), say('At last.')))
    assertWentWell(turn)
    assert.deepEqual(saidBy(turn), ['At last.'])
  }
  await c.end()
}, [models.fakeapi])

recipe('a stream that is cut in the middle of a text', async (ws) => {
  const c = ws.talk()
  const turn = await c.turn(script(say('This sentence has no '), cut))
  assertFailed(turn, { kind: 'server_error', status: undefined })
  assertWentWell(await c.turn(script(say('And on.'))))
  await c.end()
})

recipe('a stream that is cut in the middle of a call: the call is not made', async (ws) => {
  const c = ws.talk()
  const input = { file_path: 'a.txt', content: 'long '.repeat(200) }
  const turn = await c.turn(script({ ...tool('Write', input), cut: true }))
  assertFailed(turn, { kind: 'server_error', status: undefined })
  assert.deepEqual(ws.tree(), {})
  assert.equal(toolResults(turn).length, 0)
  assertWentWell(await c.turn(script(write('b.txt', 'b'))))
  await c.end()
})

recipe('a failure behind work that was done: the work stands, and can be taken back', async (ws) => {
  const c = ws.talk()
  const turn = await c.turn(script(write('a.txt', 'a'), fail(400)))
  assertFailed(turn, { kind: 'invalid_request', status: 400 })
  assert.equal(ws.bytes('a.txt').toString(), 'a')
  await c.rewind(promptUUID(turn))
  assert.deepEqual(ws.tree(), {})
  const next = await c.turn(script(say('And on.')))
  assertWentWell(next)
  assert.deepEqual(saidBy(next), ['And on.'])
  await c.end()
})

recipe('a server that never answers can be interrupted', async (ws) => {
  const c = ws.talk()
  c.send(script(hang))
  await c.until(isReplay, 'the replay')
  await c.call('interrupt')
  assert.equal((await c.result(1)).subtype, 'error_during_execution')
  assertWentWell(await c.turn(script(say('And on.'))))
  await c.end()
})

recipe('no key: the answer says what to set, and the session lives', async (ws) => {
  const c = ws.talk({ env: { ANTHROPIC_API_KEY: undefined } })
  const text = assertFailed(await c.turn('hello'), { kind: 'authentication_failed', status: undefined })
  assert.ok(text.includes('ANTHROPIC_API_KEY'), text)
  assert.ok(text.includes('Please run /login'), text) // what the ACP adapter looks for
  assertFailed(await c.turn('hello again'), { kind: 'authentication_failed', status: undefined })
  await assert.rejects(c.end(), { message: `Claude Code returned an error result: ${text}` })
}, [models.fakeapi])

recipe('nobody listens: trying again can be interrupted', async (ws) => {
  const c = ws.talk({ env: { ANTHROPIC_BASE_URL: `http://${await unusedAddress()}` } })
  c.send('hello')
  await c.until(isReplay, 'the replay')
  await c.call('interrupt')
  assert.equal((await c.result(1)).subtype, 'error_during_execution')
  await assert.rejects(c.end(), { message: 'Claude Code returned an error result: Request interrupted by user' })
}, [models.fakeapi])

recipe('one question that fails: the SDK throws what the model said', async (ws) => {
  const messages = []
  await assert.rejects(
    async () => {
      for await (const m of ws.query(script(fail(400, { message: 'no such thing' })))) messages.push(m)
    },
    (err) => err.message.startsWith('Claude Code returned an error result: ') && err.message.includes('no such thing'),
  )
  assert.equal(messages.filter(isResult).length, 1)
  assert.equal(messages.filter(isInit).length, 1)
})

recipe('a prompt that is meant as a script and is none is refused with the reason', async (ws) => {
  const c = ws.talk()
  const text = assertFailed(await c.turn('[{"tool": 3}]'), { kind: 'invalid_request', status: 400 })
  assert.ok(text.includes('step 1'), text)
  assertWentWell(await c.turn(script(say('And on.'))))
  await c.end()
})

/** An address on which nothing listens: one that was free a moment ago. */
function unusedAddress() {
  return new Promise((resolve) => {
    const server = net.createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address()
      server.close(() => resolve(`127.0.0.1:${port}`))
    })
  })
}
