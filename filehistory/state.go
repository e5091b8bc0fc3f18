package filehistory

import (
	"crypto/sha256"
	"errors"
	"io/fs"
	"os"

	"takeback/filehistory/internal/blob"
	"takeback/filehistory/internal/disk"
	"takeback/filehistory/internal/journal"
)

// look tells what stands at path, without its content.
func look(path string) (journal.State, error) {
	info, err := disk.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return journal.State{Kind: journal.Absent}, nil
	}
	if err != nil {
		return journal.State{}, err
	}
	state := stateOf(info)
	if state.Kind == journal.Link {
		to, err := os.Readlink(path)
		if err != nil {
			return journal.State{}, err
		}
		state.Link = []byte(to)
	}
	return state, nil
}

const modeBits = fs.ModePerm | fs.ModeSetuid | fs.ModeSetgid | fs.ModeSticky

func stateOf(info disk.Info) journal.State {
	state := journal.State{
		Kind: journal.Special, Mode: info.Mode & modeBits, UID: info.UID, GID: info.GID,
		Dev: info.Dev, Ino: info.Ino, Links: info.Links, Mtime: info.Mtime, Ctime: info.Ctime,
	}
	switch info.Mode.Type() {
	case 0:
		state.Kind, state.Size = journal.File, info.Size
	case fs.ModeDir:
		state.Kind = journal.Dir
	case fs.ModeSymlink:
		state.Kind = journal.Link
	}
	return state
}

func typeBits(kind journal.Kind) fs.FileMode {
	switch kind {
	case journal.Dir:
		return fs.ModeDir
	case journal.Link:
		return fs.ModeSymlink
	}
	return 0
}

func refOf(state journal.State) blob.Ref {
	return blob.Ref{Hash: blob.Hash(state.Hash), Size: state.Size, Pack: state.Pack, Offset: state.Offset}
}

// save adds what stands at path to batch.
func save(batch *blob.Batch, path string) (journal.State, error) {
	state, err := look(path)
	if err != nil {
		return state, err
	}
	switch state.Kind {
	case journal.File:
		return saveFile(batch, path)
	case journal.Dir:
		state.Xattrs, err = disk.Xattrs(path)
	}
	return state, err
}

func saveFile(batch *blob.Batch, path string) (journal.State, error) {
	r, err := openReading(path)
	if err != nil {
		return journal.State{}, err
	}
	defer r.close()
	if err := r.saveTo(batch); err != nil {
		return journal.State{}, err
	}
	r.state.Xattrs, err = disk.Xattrs(path)
	return r.state, err
}

// reading is a regular file being looked at. Small content is held in memory, and
// then there is no file.
type reading struct {
	file    *os.File
	state   journal.State
	small   bool
	content []byte
}

// openReading reads what look found to be a regular file.
func openReading(path string) (*reading, error) {
	content, f, info, err := disk.ReadRegular(path, blob.SmallSize)
	if err != nil {
		return nil, err
	}
	r := &reading{file: f, state: stateOf(info), small: f == nil, content: content}
	if r.small {
		r.state.Size, r.state.Hash = int64(len(content)), sha256.Sum256(content)
	}
	return r, nil
}

func (r *reading) close() {
	if r.file != nil {
		r.file.Close()
	}
}

func (r *reading) hash() error {
	if r.state.Hash.Known() {
		return nil
	}
	hash, size, err := blob.HashFile(r.file)
	r.state.Hash, r.state.Size = hash, size
	return err
}

func (r *reading) saveTo(batch *blob.Batch) error {
	var ref blob.Ref
	var err error
	if r.small {
		ref, err = batch.Put(blob.Hash(r.state.Hash), r.content)
	} else {
		ref, err = batch.PutFile(r.file)
	}
	if err != nil {
		return err
	}
	r.state.Hash, r.state.Size = ref.Hash, ref.Size
	r.state.Pack, r.state.Offset = ref.Pack, ref.Offset
	return nil
}

// leave tells what a change left at path. The hash of large content is not
// worth its time: the signature tells most drift, and a rewind hashes anyway.
func leave(r *resolver, path string, before journal.State) journal.State {
	if real, _, err := r.resolve(path); err == nil && real != path {
		// The change made a link of a folder on the way. What lies behind that is
		// another path.
		return journal.State{Kind: journal.Absent}
	}
	state, err := look(path)
	if err != nil {
		return journal.State{Kind: journal.Lost, Why: err.Error()}
	}
	if state.Kind != journal.File {
		return state
	}
	if sameFile(before, state) {
		state.Hash = before.Hash
		return state
	}
	if state.Size > blob.SmallSize {
		return state
	}
	now, err := openReading(path)
	if err != nil {
		return state
	}
	now.close()
	return now.state
}

// sameFile compares signatures: one file, not written to since.
func sameFile(a, b journal.State) bool {
	return a.Kind == b.Kind && a.Dev == b.Dev && a.Ino == b.Ino && a.Size == b.Size &&
		a.Mtime == b.Mtime && a.Ctime == b.Ctime && a.Mode == b.Mode
}

// unchanged says that a change changed nothing, as a write that failed.
func unchanged(before, after journal.State) bool {
	if before.Kind == journal.Lost || before.Kind != after.Kind {
		return false
	}
	return alike(before, after)
}

// alike compares what a rewind restores: kind, content, mode. Content whose hash
// is not known is compared by the file's signature.
func alike(a, b journal.State) bool {
	if a.Kind != b.Kind {
		return false
	}
	switch a.Kind {
	case journal.Absent, journal.Special:
		return true
	case journal.Link:
		return string(a.Link) == string(b.Link)
	case journal.Dir:
		return a.Mode == b.Mode
	case journal.File:
		if a.Mode != b.Mode {
			return false
		}
		if a.Hash.Known() && b.Hash.Known() {
			return a.Hash == b.Hash && a.Size == b.Size
		}
		return a.Dev == b.Dev && a.Ino == b.Ino && a.Size == b.Size && a.Mtime == b.Mtime
	}
	return false
}
