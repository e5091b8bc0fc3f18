package filehistory

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"takeback/filehistory/internal/blob"
	"takeback/filehistory/internal/disk"
	"takeback/filehistory/internal/journal"
)

var (
	// ErrNoCheckpoint says that an id names neither a checkpoint nor a rewind.
	ErrNoCheckpoint = errors.New("no checkpoint has this id")
	// ErrNothingToUndo says that no rewind is left that the word "undo" could mean.
	ErrNothingToUndo = errors.New("no rewind to undo")

	errClosed = errors.New("the file history is closed")
)

// Undo stands in the place of an id and means: the state before the newest
// rewind that is neither undone nor itself an undo.
const Undo = "undo"

// LockedError says that another process holds the store.
type LockedError struct{ PID int }

func (e *LockedError) Error() string {
	return fmt.Sprintf("the file history is in use by process %d", e.PID)
}

// UndoRefusedError says that the session changed Paths since the rewind that
// [Undo] would take back. Naming ID instead of the word undoes it all the same.
type UndoRefusedError struct {
	ID    string
	Paths []string
}

func (e *UndoRefusedError) Error() string {
	return fmt.Sprintf("%d paths changed since rewind %s", len(e.Paths), e.ID)
}

// Options of a store. The zero value works.
type Options struct {
	Log *slog.Logger // nothing is logged if nil

	// A store that does not exist yet goes on from the one in Parent, if that is set: its checkpoints can
	// be rewound to, by their ids there and by those that Aliases maps to them.
	Parent  string
	Aliases map[string]string
}

// How long a lock is waited for. A rewind often meets the process that it
// resumes, which is about to end; a turn can wait for longer.
const (
	rewindPatience = 4 * time.Second
	changePatience = 10 * time.Second
)

// A Store is one session's history. Its methods may be called from several
// goroutines. A nil *Store records nothing and knows no checkpoint: file
// checkpointing is off.
type Store struct {
	dir     string // behind no link, as the paths that it records
	parent  string // "" if there is none
	aliases map[string]string
	log     *slog.Logger
	fs      *disk.FS
	blobs   *blob.Store

	// A change in progress holds one, a rewind all. Waiters are served in their
	// order, so a rewind waits for the changes that began before it, no others.
	progress *semaphore.Weighted
	locking  *semaphore.Weighted // held while the lock is waited for
	// Inodes that a rewind replaced are freed behind the reply, under this.
	freeing sync.WaitGroup

	mu      sync.Mutex
	index   *index
	size    int64 // of the journal, when it was last read
	whole   int64 // of it, lines that end
	lock    *os.File
	journal *journal.Writer // nil until the lock is held
	owed    []*journal.Record
	closed  bool

	rewindPatience, changePatience time.Duration
}

const everything = 1 << 30

// Open reads the store in dir. It creates, locks and changes nothing: a store
// that does not exist yet is empty, and its folder appears with the first checkpoint.
func Open(dir string, opts Options) (*Store, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("open file history: %w", err)
	}
	home, err := newResolver().find(abs)
	if err != nil {
		return nil, fmt.Errorf("open file history: %w", err)
	}
	s := &Store{
		dir:            home.real,
		parent:         opts.Parent,
		aliases:        opts.Aliases,
		log:            opts.Log,
		fs:             &disk.FS{},
		progress:       semaphore.NewWeighted(everything),
		locking:        semaphore.NewWeighted(1),
		rewindPatience: rewindPatience,
		changePatience: changePatience,
	}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	if err := s.load(); err != nil {
		return nil, fmt.Errorf("open file history: %w", err)
	}
	return s, nil
}

func (s *Store) journalPath() string { return filepath.Join(s.dir, "journal") }

func (s *Store) load() error {
	x := newIndex()
	source := s.source()
	blobs := blob.New(s.fs, source)
	whole, size, err := journal.Read(filepath.Join(source, "journal"), func(r *journal.Record) {
		x.apply(r)
		if r != nil && r.Type == journal.Before && r.State.Kind == journal.File {
			blobs.Know(refOf(r.State))
		}
	})
	if err != nil {
		return err
	}
	// A plan may be at work on the old ones.
	s.index, s.blobs, s.whole, s.size = x, blobs, whole, size
	if source != s.dir {
		for _, alias := range s.aliasRecords() {
			s.index.apply(alias)
		}
	}
	return nil
}

// refresh reads the journal again if another process wrote to it, or removed it.
func (s *Store) refresh() error {
	info, err := disk.Lstat(filepath.Join(s.source(), "journal"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if info.Size == s.size {
		return nil
	}
	return s.load()
}

// ready makes the index tell what the journal does, for reading.
func (s *Store) ready() error {
	switch {
	case s.journal != nil:
		return s.stillThere(s.journal)
	case s.closed:
		return nil
	}
	return s.refresh()
}

func (s *Store) stillThere(w *journal.Writer) error {
	if err := w.StillThere(); err != nil {
		return fmt.Errorf("the file history %s is gone: %w", s.dir, err)
	}
	return nil
}

// acquire takes the lock and makes the store ready for writing.
func (s *Store) acquire(ctx context.Context, patience time.Duration) error {
	if err := s.locking.Acquire(ctx, 1); err != nil {
		return err
	}
	defer s.locking.Release(1)
	s.mu.Lock()
	held, closed := s.journal, s.closed
	s.mu.Unlock()
	if closed {
		return errClosed
	}
	if held != nil {
		return s.stillThere(held)
	}
	if err := s.fs.MkdirPrivate(s.dir); err != nil {
		return fmt.Errorf("make file history: %w", err)
	}
	lock, err := s.waitForLock(ctx, patience)
	if err != nil {
		return fmt.Errorf("lock file history: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.takeOver(); err != nil {
		lock.Close()
		return fmt.Errorf("make file history ready: %w", err)
	}
	s.lock = lock
	return nil
}

const lockPoll = 10 * time.Millisecond

func (s *Store) waitForLock(ctx context.Context, patience time.Duration) (*os.File, error) {
	f, err := s.fs.OpenPrivate(filepath.Join(s.dir, "lock"))
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, patience, errPatience)
	defer cancel()
	poll := time.NewTicker(lockPoll)
	defer poll.Stop()
	for {
		ok, err := disk.TryLock(f)
		if ok {
			err = s.signLock(f)
		}
		if err != nil {
			return nil, errors.Join(err, f.Close())
		}
		if ok {
			return f, nil
		}
		select {
		case <-poll.C:
		case <-ctx.Done():
			err := context.Cause(ctx)
			if errors.Is(err, errPatience) {
				err = &LockedError{PID: lockHolder(f)}
			}
			return nil, errors.Join(err, f.Close())
		}
	}
}

var errPatience = errors.New("waited long enough")

func (s *Store) signLock(f *os.File) error {
	if err := s.fs.Truncate(f, 0); err != nil {
		return err
	}
	return s.fs.Write(f, fmt.Appendln(nil, os.Getpid()), 0)
}

func lockHolder(f *os.File) int {
	text := make([]byte, 32)
	n, _ := f.ReadAt(text, 0)
	pid, _ := strconv.Atoi(strings.TrimSpace(string(text[:n])))
	return pid
}

func (s *Store) takeOver() error {
	if err := s.refresh(); err != nil {
		return err
	}
	if s.source() != s.dir {
		if err := errors.Join(s.inherit(), s.load()); err != nil {
			return fmt.Errorf("go on from %s: %w", s.parent, err)
		}
	}
	if err := s.blobs.Prepare(); err != nil {
		return err
	}
	w, err := journal.Append(s.fs, s.journalPath(), s.whole, s.size)
	if err != nil {
		return err
	}
	s.journal = w
	opened := &journal.Record{Type: journal.Opened, ID: process()}
	if err := errors.Join(s.fs.SyncDir(s.dir), s.recover(s.removeTemporary), s.record(opened)); err != nil {
		s.journal = nil
		return errors.Join(err, w.Close())
	}
	return nil
}

// record appends to the journal and, once that worked, to the index.
func (s *Store) record(records ...*journal.Record) error {
	if s.journal == nil {
		return errClosed
	}
	now := time.Now().UnixMilli()
	next := s.index.nextChange
	for _, r := range records {
		r.Time = now
		if r.Type == journal.Before {
			r.Change = next
			next++
		}
	}
	if err := s.journal.Add(slices.Concat(s.owed, records)...); err != nil {
		return err
	}
	s.owed = nil
	for _, r := range records {
		s.index.apply(r)
	}
	return nil
}

// conclude records what has happened already, whether or not the disk has room to
// say so: what the journal does not take goes before its next record.
func (s *Store) conclude(records ...*journal.Record) error {
	err := s.record(records...)
	if err != nil && s.journal != nil {
		s.owed = append(s.owed, records...)
		for _, r := range records {
			s.index.apply(r)
		}
	}
	return err
}

// Checkpoints lists the checkpoints, oldest first.
func (s *Store) Checkpoints() []CheckpointInfo {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]CheckpointInfo(nil), s.index.checkpoints...)
}

// Close flushes and unlocks the store.
func (s *Store) Close() error {
	if s == nil {
		return nil
	}
	s.freeing.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	err := s.blobs.Close()
	if s.journal != nil {
		err = errors.Join(err, s.record(), s.journal.Close(), s.lock.Close())
		s.journal = nil
	}
	return err
}
