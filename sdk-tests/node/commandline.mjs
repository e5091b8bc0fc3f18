// takeback as a command, without an SDK.
import { spawnSync } from 'node:child_process'
import { TAKEBACK } from './harness.mjs'

/** Runs it to its end. Its input is at its end already. */
export function run(ws, args, { cwd = ws.cwd, env = {} } = {}) {
  const { status, signal, stdout, stderr, error } = spawnSync(TAKEBACK, args, {
    cwd,
    env: { ...ws.env, CLAUDE_CODE_ENABLE_SDK_FILE_CHECKPOINTING: 'true', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    encoding: 'utf8',
    timeout: 30_000,
  })
  if (error) throw error
  const ended = { code: signal ?? status, stdout, stderr }
  ws.note(`takeback ${args.join(' ')}`, ended)
  return ended
}

export const rewound = (id) => ({ code: 0, stdout: `Files rewound to state at message ${id}\n`, stderr: '' })
export const undone = { code: 0, stdout: 'The last rewind is undone\n', stderr: '' }
export const refused = (sentence) => ({ code: 1, stdout: '', stderr: `Error: ${sentence}\n` })
