// Transcripts as Claude Code writes them, made by hand.
import { randomUUID } from 'node:crypto'
import fs from 'node:fs'
import path from 'node:path'

/** Lines of a session. Each hangs to the one before it, unless `parentUuid` says otherwise. */
export class Recording {
  constructor(ws, { cwd = ws.cwd, session = randomUUID() } = {}) {
    Object.assign(this, { ws, cwd, session, lines: [], last: null, seconds: 0 })
    this.file = path.join(ws.config, 'projects', cwd.replace(/[^A-Za-z0-9]/g, '-'), `${session}.jsonl`)
  }

  /** A line that is part of the tree of messages; gives its uuid. */
  add(type, fields) {
    const uuid = randomUUID()
    this.lines.push({
      parentUuid: this.last,
      isSidechain: false,
      userType: 'external',
      cwd: this.cwd,
      sessionId: this.session,
      version: '2.1.332',
      gitBranch: 'main',
      type,
      ...fields,
      uuid,
      timestamp: new Date(Date.UTC(2026, 0, 1, 12, 0, this.seconds++)).toISOString(),
    })
    this.last = uuid
    return uuid
  }

  /** A line beside that tree. */
  note(line) {
    this.lines.push(line)
  }

  prompt(content, more) {
    return this.add('user', { message: { role: 'user', content }, permissionMode: 'default', promptId: randomUUID(), ...more })
  }

  /** One block of an answer: Claude Code writes a line for each, with the id of the whole. */
  answer(id, block, more) {
    const usage = { input_tokens: 10, cache_creation_input_tokens: 0, cache_read_input_tokens: 0, output_tokens: 5, service_tier: 'standard' }
    const message = { model: 'claude-sonnet-4-5-20250929', id, type: 'message', role: 'assistant', content: [block], stop_reason: null, stop_sequence: null, usage }
    return this.add('assistant', { message, requestId: `req_${id}`, ...more })
  }

  text(id, text, more) {
    return this.answer(id, { type: 'text', text }, more)
  }

  call(id, tool, name, input, more) {
    return this.answer(id, { type: 'tool_use', id: tool, name, input }, more)
  }

  result(tool, content, more) {
    return this.add('user', { message: { role: 'user', content: [{ tool_use_id: tool, type: 'tool_result', content }] }, toolUseResult: { stdout: content }, ...more })
  }

  /** Writes the file; gives its content. */
  save() {
    const content = this.lines.map((line) => `${JSON.stringify(line)}\n`).join('')
    fs.mkdirSync(path.dirname(this.file), { recursive: true })
    fs.writeFileSync(this.file, content, { mode: 0o600 })
    return content
  }
}
