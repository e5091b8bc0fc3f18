// Package filehistory keeps the bytes of everything an agent is about to
// change, and puts files back to any checkpoint. It knows nothing of agents or
// of their protocols.
//
// # How it works
//
// The history is an undo log: a sequence of checkpoints and changes, where each
// change holds what stood at a path before it, and what it left there. The state
// at a checkpoint is, for each path, what stood there before its first change
// after it. Paths that were not changed have no part in it. A rewind appends its
// own changes, so it can itself be taken back, and nothing is ever forgotten.
//
// # On disk
//
//	lock          locked by the process that writes; its pid, for people
//	journal       what happened, one record a line
//	packs/<uuid>  saved contents up to 64 KiB, one after another; each process
//	              that writes begins a pack, and no other ever touches it
//	files/<hash>  larger saved contents, named by SHA-256
//	temp/         contents on their way to files
//	journal.new   a copy of the parent's journal, until the fork is whole
//
// Folders have mode 0700, files 0600. Contents are flushed before the records
// that speak of them, and both before [Store.Begin] returns.
//
// A line of the journal is the CRC-32C of its JSON in eight hex digits, a space,
// and the JSON: an object whose member r names the type of the record.
//
//	r           members
//	head        v: version of the format, 1; first line of each journal
//	opened      id: names a process that begins to write
//	checkpoint  id, label, t: Unix time in ms, which all records have
//	before      n: number of the change, p or p64: path (p64: base64 of one that
//	            is not UTF-8), s: state, by: who changes it, parent: a folder that
//	            is missing on the way, rewound: made by the rewind above it, up:
//	            its temporary file lies that many folders above
//	after       n, p or p64, s, parent, rewound: as left by change n
//	uncovered   what, why
//	rewind      id, to: where it goes, undo: the rewind that it takes back
//	rewound     id, done: how many paths that rewind changed
//	folder      p or p64, s: a folder on the way to paths is like that by now
//	alias       id, to: a checkpoint's id here and in the session that this one was forked from
//
// A state has k: absent, file, dir, link, special or lost (not captured; why),
// m: mode, z: size, h: SHA-256 (base64), pack and at: where the bytes lie (no
// pack: in files), link: target (base64), u and g: owner, x: extended attributes,
// and d, i, l, mt, ct: device, inode, links, times, to know the file again.
//
// A rewind stages new content as .takeback-<its id>-<n> beside its place, what is
// in the way goes to the same name with -old. [WriteFile] writes through
// .takeback-<process>-<part of the hash of the file's name>, one call at a time.
// All follow from records that are flushed first, so the next process that writes can remove
// what a dead one left, and needs to search for nothing.
package filehistory
