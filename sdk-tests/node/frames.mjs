// Reading the SDK's messages.
import assert from 'node:assert/strict'

export const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/

export const isInit = (m) => m.type === 'system' && m.subtype === 'init'
export const isReplay = (m) => m.type === 'user' && m.isReplay === true
export const isResult = (m) => m.type === 'result'
export const isToolResult = (m) => m.type === 'user' && !m.isReplay && Array.isArray(m.message.content) && m.message.content[0]?.type === 'tool_result'
export const isState = (m) => m.type === 'system' && m.subtype === 'session_state_changed'

/** The uuid of the only prompt in messages. */
export function promptUUID(messages) {
  const replays = messages.filter(isReplay)
  assert.equal(replays.length, 1, 'one prompt is replayed')
  assert.match(replays[0].uuid, UUID)
  return replays[0].uuid
}

/** The text of a message's content, of a string or of blocks. */
export function textOf(content) {
  return typeof content === 'string' ? content : content.filter((b) => b.type === 'text').map((b) => b.text).join('')
}

/** What the model said, block by block, text only. */
export function saidBy(messages) {
  return messages.filter((m) => m.type === 'assistant').flatMap((m) => m.message.content.filter((b) => b.type === 'text').map((b) => b.text))
}

/** The blocks of all tool results. */
export function toolResults(messages) {
  return messages.filter(isToolResult).flatMap((m) => m.message.content)
}

/** Fails unless every tool call went well and the turn ended in success. */
export function assertWentWell(messages) {
  for (const block of toolResults(messages)) {
    assert.ok(!block.is_error, `a tool failed: ${JSON.stringify(block)}`)
  }
  const result = messages.find(isResult)
  assert.equal(result?.subtype, 'success', JSON.stringify(result))
  assert.equal(result.is_error, false)
}

/** What the model was sent, of a turn that echoes it: a message {role, text?, tools?, results?} each. */
export function heard(messages) {
  return JSON.parse(saidBy(messages).join(''))
}
