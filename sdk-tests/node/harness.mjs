// What all tests here share: a workspace of its own for each test, run once with the
// scripted model and once against the fake Messages API, and an account of everything
// that went between SDK and test, printed when the test fails.
import assert from 'node:assert/strict'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { after, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { query } from '@anthropic-ai/claude-agent-sdk'
import { Conversation } from './conversation.mjs'
import { startFakeAPI } from './fakeapi.mjs'
import { childrenNamed, hasEnded } from './processes.mjs'
import { filesBelow, listTree } from './tree.mjs'

const bin = (variable, file) =>
  process.env[variable] ?? fileURLToPath(new URL(`../../.bin/${file}`, import.meta.url))

export const TAKEBACK = bin('TAKEBACK_BIN', 'takeback')
assert.ok(fs.existsSync(TAKEBACK), `${TAKEBACK} is missing: run "make build"`)

let fakeAPI
after(() => fakeAPI?.then((server) => server.stop()))

/** The two ways to answer a prompt. Both play the script that the prompt holds. */
export const models = {
  script: { name: 'script', options: { model: 'script' }, env: async () => ({}) },
  fakeapi: {
    name: 'fakeapi',
    options: {},
    env: async () => {
      fakeAPI ??= startFakeAPI(bin('FAKEAPI_BIN', 'fakeapi'))
      return { ANTHROPIC_BASE_URL: (await fakeAPI).url, ANTHROPIC_API_KEY: 'test' }
    },
  },
}

/**
 * Registers a test for each model. Whatever it does, it must leave stderr silent and no process behind.
 * @param {string} name
 * @param {(ws: Workspace) => Promise<void>} body
 * @param {{model: object}[]} only the models to run it with
 * @param {{todo?: string}} options of the test; `todo` says why it must fail as yet
 */
export function recipe(name, body, only = Object.values(models), options = {}) {
  for (const model of only) {
    test(`${name} [${model.name}]`, { timeout: 120_000, ...options }, async () => {
      const ws = new Workspace(model, await model.env())
      try {
        await body(ws)
        for (const c of ws.conversations) c.close()
        await ws.processesEnd()
        assert.equal(ws.stderr, ws.expectedStderr, 'stderr')
      } catch (err) {
        if (!options.todo) console.error(`--- ${name} [${model.name}]: what went over the wire\n${ws.account()}\n---`)
        throw err
      } finally {
        for (const c of ws.conversations) c.close()
        ws.remove()
      }
    })
  }
}

/** A temporary project, and the Claude configuration and home that go with it. */
export class Workspace {
  constructor(model, env) {
    this.model = model
    // The real path: what takeback reports is compared with it, and macOS has /tmp behind a link.
    this.root = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), 'takeback-node-')))
    this.cwd = path.join(this.root, 'project')
    this.config = path.join(this.root, 'config')
    this.home = path.join(this.root, 'home')
    for (const dir of [this.cwd, this.config, this.home]) fs.mkdirSync(dir)
    this.env = { PATH: process.env.PATH, HOME: this.home, CLAUDE_CONFIG_DIR: this.config, ...env }
    this.stderr = ''
    this.expectedStderr = ''
    this.log = []
    this.started = performance.now()
    this.conversations = []
    // The SDK's session functions read this one.
    process.env.CLAUDE_CONFIG_DIR = this.config
  }

  /** Options as the documentation of file checkpointing gives them, and `more`. */
  options(more = {}) {
    return {
      cwd: this.cwd,
      pathToClaudeCodeExecutable: TAKEBACK,
      enableFileCheckpointing: true,
      permissionMode: 'acceptEdits',
      extraArgs: { 'replay-user-messages': null },
      settingSources: [],
      stderr: (text) => {
        this.stderr += text
        this.note('stderr', text)
      },
      ...this.model.options,
      ...more,
      env: { ...this.env, ...more.env },
    }
  }

  /** The SDK's own query, with its messages noted. */
  query(prompt, more) {
    this.note('prompt', prompt)
    const q = query({ prompt, options: this.options(more) })
    const iterate = q[Symbol.asyncIterator].bind(q)
    const note = this.note.bind(this)
    q[Symbol.asyncIterator] = async function* () {
      for await (const message of iterate()) {
        note('message', message)
        yield message
      }
      note('end of stream', '')
    }
    return q
  }

  /** All that one prompt brings, read to the end. */
  async ask(prompt, more) {
    const messages = []
    for await (const message of this.query(prompt, more)) messages.push(message)
    return messages
  }

  /** A session that takes prompt after prompt. */
  talk(more) {
    const c = new Conversation(this, more)
    this.conversations.push(c)
    return c
  }

  path(name) {
    return path.join(this.cwd, name)
  }

  put(name, content, mode = 0o644) {
    fs.mkdirSync(path.dirname(this.path(name)), { recursive: true })
    fs.writeFileSync(this.path(name), content)
    fs.chmodSync(this.path(name), mode)
  }

  bytes(name) {
    return fs.readFileSync(this.path(name))
  }

  exists(name) {
    return fs.lstatSync(this.path(name), { throwIfNoEntry: false }) !== undefined
  }

  /** Waits until a file is there: the sign that a command has come so far. */
  async appears(name) {
    const deadline = performance.now() + 30_000
    while (!this.exists(name)) {
      assert.ok(performance.now() < deadline, `${name} did not appear within 30 s`)
      await sleep(5)
    }
  }

  /** Every entry of the project: kind, mode and bytes. */
  tree() {
    return listTree(this.cwd)
  }

  /** The same and the time of the last change: what must not move unless something is restored. */
  treeWithTimes() {
    return listTree(this.cwd, { times: true })
  }

  /** Overwrites saved bytes in the file history, wherever they lie, as a bad disk would. */
  garbleStore(saved) {
    let found = 0
    for (const file of filesBelow(path.join(this.config, 'takeback'))) {
      const content = fs.readFileSync(file)
      const at = content.indexOf(saved)
      if (at < 0) continue
      const fd = fs.openSync(file, 'r+') // in place: the inode that takeback may hold open
      fs.writeSync(fd, '#'.repeat(Buffer.byteLength(saved)), at)
      fs.closeSync(fd)
      found++
    }
    assert.notEqual(found, 0, 'the saved bytes are not in the store')
  }

  /** Waits until every takeback that this test started has gone, not even a zombie left. */
  async processesEnd() {
    await hasEnded(() => this.processes())
  }

  /** Each takeback that we started and that is there still, as "pid state". */
  processes() {
    return childrenNamed(path.basename(TAKEBACK))
  }

  note(what, value) {
    const ms = (performance.now() - this.started).toFixed(0).padStart(6)
    this.log.push(`${ms} ms  ${what}: ${typeof value === 'string' ? value : JSON.stringify(value)}`)
  }

  account() {
    return this.log.map((line) => (line.length > 2000 ? `${line.slice(0, 2000)}… (${line.length})` : line)).join('\n')
  }

  remove() {
    fs.rmSync(this.root, { recursive: true, force: true })
  }
}
