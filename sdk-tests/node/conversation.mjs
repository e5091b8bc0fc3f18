import assert from 'node:assert/strict'

const DEADLINE_MS = 30_000

/** One open query: prompts go in one by one, its messages are kept, and any of them can be waited for. */
export class Conversation {
  constructor(ws, more) {
    this.ws = ws
    this.messages = []
    this.results = []
    this.queue = []
    this.open = true
    this.wake = new Set()
    this.q = ws.query(this.#prompts(), more)
    this.reading = this.#read()
    // Whoever waits gets the error; nobody waiting is no reason to end the test run.
    this.reading.catch(() => {})
  }

  async *#prompts() {
    for (;;) {
      while (this.queue.length > 0) yield this.queue.shift()
      if (!this.open) return
      await new Promise((resolve) => (this.wakePrompts = resolve))
    }
  }

  async #read() {
    try {
      for await (const message of this.q) {
        this.messages.push(message)
        if (message.type === 'result') this.results.push(message)
        this.#changed()
      }
    } finally {
      this.ended = true
      this.#changed()
    }
  }

  #changed() {
    for (const resolve of this.wake) resolve()
    this.wake.clear()
  }

  /** Sends a prompt; `fields` are members of the SDKUserMessage beside it. */
  send(text, fields = {}) {
    const message = {
      type: 'user',
      message: { role: 'user', content: [{ type: 'text', text }] },
      parent_tool_use_id: null,
      ...fields,
    }
    this.ws.note('send', message)
    this.queue.push(message)
    this.wakePrompts?.()
  }

  /**
   * The first message for which `match` holds.
   * @param {(m: any) => boolean} match
   * @param {string} what for the error
   */
  async until(match, what) {
    let lookedAt = 0
    return this.#wait(() => {
      for (; lookedAt < this.messages.length; lookedAt++) {
        if (match(this.messages[lookedAt])) return this.messages[lookedAt]
      }
    }, what)
  }

  /** The result number `n` (from 1) of the session. */
  async result(n) {
    return this.#wait(() => this.results[n - 1], `result ${n}`)
  }

  async #wait(found, what) {
    let late = false
    const timer = setTimeout(() => {
      late = true
      this.#changed()
    }, DEADLINE_MS)
    try {
      for (;;) {
        const value = found()
        if (value !== undefined) return value
        if (this.ended) await this.reading
        assert.ok(!this.ended, `the stream ended before ${what}`)
        assert.ok(!late, `no ${what} within ${DEADLINE_MS} ms`)
        await new Promise((resolve) => this.wake.add(resolve))
      }
    } finally {
      clearTimeout(timer)
    }
  }

  /** Resolves when takeback has read all that was sent: it answers a request that came behind. */
  async arrived() {
    while (this.queue.length > 0) await new Promise(setImmediate)
    await this.rewind('none', { dryRun: true })
  }

  /** Sends a prompt and returns the messages of its turn; nothing else may be running. */
  async turn(text, fields) {
    const from = this.messages.length
    const results = this.results.length
    this.send(text, fields)
    await this.result(results + 1)
    return this.messages.slice(from)
  }

  /** A control request by the name of its method, noted. */
  async call(method, ...args) {
    this.ws.note(`call ${method}`, args)
    try {
      const answer = await this.q[method](...args)
      this.ws.note(`${method} answers`, answer)
      return answer
    } catch (err) {
      this.ws.note(`${method} fails`, err.message)
      throw err
    }
  }

  rewind(id, options) {
    return this.call('rewindFiles', id, options)
  }

  /** No more prompts: stdin closes. Resolves when the stream has ended by itself. */
  async end() {
    this.open = false
    this.wakePrompts?.()
    await this.reading
  }

  close() {
    this.open = false
    this.wakePrompts?.()
    this.q.close()
  }
}
