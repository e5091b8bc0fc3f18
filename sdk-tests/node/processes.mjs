import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import fs from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'

/** Our children of that name, as "pid state": zombies too, which is why the SDK's word for it does not do. */
export function childrenNamed(name) {
  return (process.platform === 'linux' ? fromProc() : fromPS())
    .filter((p) => p.parent === process.pid && p.name.slice(0, 15) === name.slice(0, 15)) // Linux keeps 15 bytes of a name
    .map((p) => `${p.pid} ${p.state}`)
}

function fromProc() {
  return fs
    .readdirSync('/proc')
    .filter((entry) => /^\d+$/.test(entry))
    .flatMap((pid) => {
      let stat
      try {
        stat = fs.readFileSync(`/proc/${pid}/stat`, 'utf8')
      } catch {
        return [] // it ended in the meantime
      }
      // pid (name) state parent …; the name may hold anything, even ")".
      const close = stat.lastIndexOf(')')
      const [state, parent] = stat.slice(close + 2).split(' ')
      return [{ pid, name: stat.slice(stat.indexOf('(') + 1, close), state, parent: Number(parent) }]
    })
}

function fromPS() {
  return execFileSync('ps', ['-A', '-o', 'pid=,ppid=,state=,comm='], { encoding: 'utf8' })
    .split('\n')
    .map((line) => line.trim().split(/\s+/))
    .filter((fields) => fields.length >= 4)
    .map(([pid, parent, state, ...comm]) => ({ pid, state, parent: Number(parent), name: comm.join(' ').split('/').pop() }))
}

/** Waits until `list` is empty. There is no event for the end of another's child, so it looks again and again. */
export async function hasEnded(list) {
  const deadline = performance.now() + 10_000
  for (;;) {
    const left = list()
    if (left.length === 0) return
    assert.ok(performance.now() < deadline, `still there after 10 s: ${left.join(', ')}`)
    await sleep(5)
  }
}
