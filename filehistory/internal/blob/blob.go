// Package blob keeps saved bytes, named by their SHA-256. Equal content is kept
// once, and what no longer has its hash is never given out.
package blob

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"

	"github.com/google/uuid"

	"takeback/filehistory/internal/disk"
)

// SmallSize bounds what goes into a pack. Below it, a file of its own costs
// more than its bytes: an inode, a name and a flush each, about 0.8 ms against
// one flush for a whole batch. Above it, cloning blocks starts to win, and
// holding the content in memory starts to hurt.
const SmallSize = 64 << 10

// bufferSize bounds what a batch holds in memory before it is written.
const bufferSize = 1 << 20

// ErrCorrupt says that saved bytes are missing or not what was saved.
var ErrCorrupt = errors.New("the saved content is missing or damaged")

// Hash is the SHA-256 of some content.
type Hash = [sha256.Size]byte

// Ref says where content lies: at Offset of a pack, or, if Pack is empty, in a
// file named by its hash.
type Ref struct {
	Hash   Hash
	Size   int64
	Pack   string
	Offset int64
}

// Store is a folder of saved bytes. It may be used from several goroutines.
type Store struct {
	fs  *disk.FS
	dir string

	mu      sync.Mutex
	known   map[Hash]Ref
	epoch   int // counts failed flushes
	packs   map[string]*os.File
	pack    string // the pack of this process; empty before the first small content
	size    int64  // written to it
	buffer  []byte // not yet written to it
	unsaved []Ref  // not yet flushed
}

// New makes the store in dir, which need not exist yet.
func New(d *disk.FS, dir string) *Store {
	return &Store{fs: d, dir: dir, known: make(map[Hash]Ref), packs: make(map[string]*os.File)}
}

// Prepare makes the folders, and removes what a killed writer left half-written.
func (s *Store) Prepare() error {
	for _, dir := range []string{s.packDir(), s.fileDir(), s.tempDir()} {
		if err := s.fs.MkdirPrivate(dir); err != nil {
			return err
		}
	}
	temps, err := os.ReadDir(s.tempDir())
	for _, temp := range temps {
		err = errors.Join(err, s.fs.Remove(filepath.Join(s.tempDir(), temp.Name())))
	}
	return err
}

func (s *Store) packDir() string { return filepath.Join(s.dir, "packs") }
func (s *Store) fileDir() string { return filepath.Join(s.dir, "files") }
func (s *Store) tempDir() string { return filepath.Join(s.dir, "temp") }

// Temporary is a place for a file that the next [Store.Prepare] removes.
func (s *Store) Temporary(name string) string { return filepath.Join(s.tempDir(), name) }

func (s *Store) path(ref Ref) string {
	if ref.Pack != "" {
		return filepath.Join(s.packDir(), ref.Pack)
	}
	return filepath.Join(s.fileDir(), hex.EncodeToString(ref.Hash[:]))
}

// Know tells of content that was saved earlier.
func (s *Store) Know(ref Ref) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.known[ref.Hash] = ref
}

// Batch is contents that are flushed together.
type Batch struct {
	s     *Store
	epoch int
}

// Batch begins one.
func (s *Store) Batch() *Batch {
	s.mu.Lock()
	defer s.mu.Unlock()
	return &Batch{s: s, epoch: s.epoch}
}

// Put saves small content that has this hash.
func (b *Batch) Put(hash Hash, content []byte) (Ref, error) {
	ref := Ref{Hash: hash, Size: int64(len(content))}
	s := b.s
	s.mu.Lock()
	defer s.mu.Unlock()
	if old, ok := s.known[ref.Hash]; ok && s.holds(old, content) {
		return old, nil
	}
	if err := s.openPack(); err != nil {
		return Ref{}, fmt.Errorf("begin a pack: %w", err)
	}
	if len(s.buffer)+len(content) > bufferSize {
		if err := s.writeBuffer(); err != nil {
			return Ref{}, err
		}
	}
	ref.Pack, ref.Offset = s.pack, s.size+int64(len(s.buffer))
	s.buffer = append(s.buffer, content...)
	s.remember(ref)
	return ref, nil
}

// holds checks that a saved copy is still good before it stands for another
// one: damage done to it must not spread to what is saved later.
func (s *Store) holds(ref Ref, content []byte) bool {
	if ref.Pack == "" {
		return s.intact(ref)
	}
	if ref.Pack == s.pack && ref.Offset >= s.size {
		return true
	}
	saved, err := s.readPack(ref)
	return err == nil && bytes.Equal(saved, content)
}

func (s *Store) remember(ref Ref) {
	s.known[ref.Hash] = ref
	s.unsaved = append(s.unsaved, ref)
}

func (s *Store) openPack() error {
	if s.pack != "" {
		return nil
	}
	name := uuid.NewString()
	f, err := s.fs.OpenPrivate(filepath.Join(s.packDir(), name))
	if err != nil {
		return err
	}
	if err := s.fs.SyncDir(s.packDir()); err != nil {
		return errors.Join(err, f.Close())
	}
	s.packs[name], s.pack, s.size = f, name, 0
	return nil
}

func (s *Store) writeBuffer() error {
	if len(s.buffer) == 0 {
		return nil
	}
	if err := s.fs.Write(s.packs[s.pack], s.buffer, s.size); err != nil {
		s.giveUp()
		return fmt.Errorf("write pack: %w", err)
	}
	s.size += int64(len(s.buffer))
	s.buffer = s.buffer[:0]
	return nil
}

// giveUp forgets everything since the last good flush. The pack is left as it
// is, and another one begun: after a failed flush nobody knows what is in it.
func (s *Store) giveUp() {
	for _, ref := range s.unsaved {
		delete(s.known, ref.Hash)
	}
	s.epoch++
	s.unsaved, s.buffer, s.pack = nil, nil, ""
}

// PutFile saves what src holds, without holding it in memory.
func (b *Batch) PutFile(src *os.File) (Ref, error) {
	s := b.s
	temp, err := s.fs.Create(filepath.Join(s.tempDir(), uuid.NewString()))
	if err != nil {
		return Ref{}, fmt.Errorf("save content: %w", err)
	}
	ref, err := s.adopt(temp, src)
	if cerr := temp.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		_ = s.fs.Remove(temp.Name()) // else the next process removes it
		return Ref{}, fmt.Errorf("save content: %w", err)
	}
	return ref, nil
}

// adopt hashes the copy, not the source: what is saved is what the hash names,
// even if somebody writes to the source at the same time.
func (s *Store) adopt(temp, src *os.File) (Ref, error) {
	if err := errors.Join(temp.Chmod(0o600), s.fs.Copy(temp, src)); err != nil {
		return Ref{}, err
	}
	hash, size, err := HashFile(temp)
	if err != nil {
		return Ref{}, err
	}
	ref := Ref{Hash: hash, Size: size}
	s.mu.Lock()
	old, ok := s.known[hash]
	s.mu.Unlock()
	if ok && s.intact(old) {
		return old, s.fs.Remove(temp.Name())
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.fs.Rename(temp.Name(), s.path(ref)); err != nil {
		return Ref{}, err
	}
	s.remember(ref)
	return ref, nil
}

// intact reads all of it: a copy that was damaged keeps its name and its size.
func (s *Store) intact(ref Ref) bool {
	c, err := s.Open(ref)
	if err != nil {
		return false
	}
	return c.Close() == nil
}

// HashFile reads f from its beginning.
func HashFile(f *os.File) (Hash, int64, error) {
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return Hash{}, 0, err
	}
	h := sha256.New()
	size, err := io.Copy(h, f)
	return Hash(h.Sum(nil)), size, err
}

// Sync returns once all that was put into the batch is safe. Batches that wait
// for each other share a flush.
func (b *Batch) Sync() error {
	s := b.s
	s.mu.Lock()
	defer s.mu.Unlock()
	if b.epoch != s.epoch {
		return errors.New("saved content was lost by a failed flush")
	}
	if len(s.unsaved) == 0 {
		return nil
	}
	if err := s.writeBuffer(); err != nil {
		return err
	}
	if err := s.flush(); err != nil {
		s.giveUp()
		return fmt.Errorf("flush saved content: %w", err)
	}
	s.unsaved = s.unsaved[:0]
	return nil
}

func (s *Store) flush() error {
	var files []string
	packed := false
	for _, ref := range s.unsaved {
		if ref.Pack == "" {
			files = append(files, s.path(ref))
		}
		packed = packed || ref.Pack != ""
	}
	if packed {
		f := s.packs[s.pack]
		if err := errors.Join(s.fs.Sync(f), disk.StillThere(f)); err != nil {
			return err
		}
	}
	return s.fs.SyncTogether(files)
}

// Close closes the packs.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var err error
	for name, f := range s.packs {
		err = errors.Join(err, f.Close())
		delete(s.packs, name)
	}
	return err
}

// maxPacks bounds the packs held open: each process that wrote left one.
const maxPacks = 16

func (s *Store) readPack(ref Ref) ([]byte, error) {
	f := s.packs[ref.Pack]
	if f == nil {
		var err error
		if f, err = s.openSaved(ref); err != nil {
			return nil, err
		}
		for name, other := range s.packs {
			if len(s.packs) >= maxPacks && name != s.pack {
				other.Close()
				delete(s.packs, name)
			}
		}
		s.packs[ref.Pack] = f
	}
	b := make([]byte, ref.Size)
	if n, err := f.ReadAt(b, ref.Offset); err != nil && n < len(b) {
		return nil, fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	return b, nil
}
