import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'

/**
 * Starts the Messages API on loopback.
 * @returns {Promise<{url: string, stop: () => Promise<void>}>}
 */
export async function startFakeAPI(bin) {
  const child = spawn(bin, { stdio: ['pipe', 'pipe', 'inherit'] }) // it serves until its stdin closes
  const exited = new Promise((resolve, reject) => {
    child.once('exit', resolve)
    child.once('error', reject)
  })
  const first = new Promise((resolve) => createInterface({ input: child.stdout }).once('line', resolve))
  const line = await Promise.race([first, exited.then((code) => Promise.reject(new Error(`${bin} exited with ${code}`)))])
  return {
    url: line.trim(),
    stop: async () => {
      child.stdin.end()
      await exited
    },
  }
}
