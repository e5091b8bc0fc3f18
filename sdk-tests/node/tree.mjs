import fs from 'node:fs'
import path from 'node:path'

/**
 * Every entry below `dir`, by its path from there.
 * @param {{times?: boolean}} options with times, also what changes when an entry is written or replaced
 */
export function listTree(dir, { times = false } = {}) {
  const tree = {}
  for (const name of walk(dir, '')) {
    const full = path.join(dir, name)
    const stat = fs.lstatSync(full, { bigint: true })
    tree[name] = {
      kind: stat.isFile() ? 'file' : stat.isDirectory() ? 'directory' : stat.isSymbolicLink() ? 'link' : 'other',
      mode: (Number(stat.mode) & 0o7777).toString(8),
      ...(stat.isFile() && { bytes: fs.readFileSync(full).toString('hex') }),
      ...(stat.isSymbolicLink() && { target: fs.readlinkSync(full) }),
      ...(times && { mtime: stat.mtimeNs, ctime: stat.ctimeNs, inode: stat.ino }),
    }
  }
  return tree
}

/** The full paths of all files below `dir`. */
export function filesBelow(dir) {
  return [...walk(dir, '')].map((name) => path.join(dir, name)).filter((file) => fs.lstatSync(file).isFile())
}

function* walk(dir, below) {
  for (const entry of fs.readdirSync(path.join(dir, below), { withFileTypes: true }).sort((a, b) => (a.name < b.name ? -1 : 1))) {
    const name = path.join(below, entry.name)
    yield name
    if (entry.isDirectory()) yield* walk(dir, name)
  }
}
