// Package filehistory keeps the bytes of everything an agent is about to
// change, and puts files back to any checkpoint. It knows nothing of agents or
// of their protocols.
package filehistory

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"time"
)

var (
	// ErrNoCheckpoint says that an id names neither a checkpoint nor a rewind.
	ErrNoCheckpoint = errors.New("no checkpoint has this id")
	// ErrNothingToUndo says that no rewind is left that the word "undo" could mean.
	ErrNothingToUndo = errors.New("no rewind to undo")
)

// Undo stands in the place of an id and means: the state before the newest
// rewind that is neither undone nor itself an undo.
const Undo = "undo"

// LockedError says that another process holds the store.
type LockedError struct{ PID int }

func (e *LockedError) Error() string {
	return fmt.Sprintf("the history is in use by process %d", e.PID)
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
}

// A Store is one session's history. Its methods may be called from several
// goroutines. A nil *Store records nothing and knows no checkpoint: file
// checkpointing is off.
type Store struct{}

// Open reads the store in dir. It creates, locks and changes nothing: a store
// that does not exist yet is empty, and its folder appears with the first checkpoint.
func Open(dir string, opts Options) (*Store, error) { return &Store{}, nil }

// Checkpoint marks the point that Plan and Rewind go back to under id: all
// changes from here on come after it. label is for people (the start of the prompt).
// A repeated id is not an error and moves nothing.
func (s *Store) Checkpoint(ctx context.Context, id, label string) error { return nil }

// Begin saves what stands at each path and returns once that is safe on disk.
// A path's missing parent folders are recorded with it. by names who changes
// it (a tool and its call). Nothing may be written before Begin has returned;
// the caller ends the change with [Change.Done], also when the write failed.
func (s *Store) Begin(ctx context.Context, by string, paths ...string) (*Change, error) {
	return &Change{}, nil
}

// A Change is a write in progress. A rewind waits for it.
type Change struct{}

// Done records what the change left behind.
func (c *Change) Done() error { return nil }

// Uncovered records that something ran whose changes the store cannot see: a
// shell command, say. Plans and rewinds across it say so.
func (s *Store) Uncovered(ctx context.Context, what, reason string) error { return nil }

// RewindOptions of Plan and Rewind. The zero value works.
type RewindOptions struct{}

// Plan tells what Rewind would do, and touches nothing.
func (s *Store) Plan(ctx context.Context, id string, opts RewindOptions) (*Report, error) {
	return nil, ErrNoCheckpoint
}

// Rewind puts every path that was changed after id back to what stood there
// just before its first change after id. id is a checkpoint, the UndoID of an
// earlier rewind, or [Undo]. The error is non-nil only if nothing was done;
// what could not be done for single paths is in the report.
func (s *Store) Rewind(ctx context.Context, id string, opts RewindOptions) (*Report, error) {
	return nil, ErrNoCheckpoint
}

// A Report says what a rewind did, or a plan would do, path by path.
type Report struct {
	ID           string       // the checkpoint, also where the word "undo" was given
	Files        []FileChange // paths changed, sorted; without those in Problems and Skipped
	SkippedLinks []string     // left alone, by promise P7
	Conflicts    []Conflict   // changed by somebody else since
	Uncovered    []Uncovered
	Problems     []Problem // not restored, and why
	UndoID       string    // names the state before this rewind; empty if it changed nothing
}

// Action is what a rewind does to one path.
type Action string

const (
	Restore Action = "restore" // what stood there comes back
	Remove  Action = "remove"  // nothing stood there
	Chmod   Action = "chmod"   // only mode bits differ
)

// FileChange is one path that a rewind changes. Lines are counted in the
// direction of the rewind; -1 for what has no lines (folders, binary content).
type FileChange struct {
	Path                  string
	Kind                  fs.FileMode // type bits of what is restored or removed
	Action                Action
	Insertions, Deletions int
}

// Conflict is a path that held neither what the session left nor the target.
type Conflict struct{ Path, Reason string }

// Uncovered is something that ran after the checkpoint and may have changed
// files that the store does not know.
type Uncovered struct{ What, Reason string }

// Problem is a path that could not be restored.
type Problem struct {
	Path string
	Err  error
}

// CheckpointInfo describes one checkpoint.
type CheckpointInfo struct {
	ID, Label string
	Time      time.Time
}

// Checkpoints lists the checkpoints, oldest first.
func (s *Store) Checkpoints() []CheckpointInfo { return nil }

// Close flushes and unlocks the store.
func (s *Store) Close() error { return nil }

// WriteFile makes path hold content, wholly or not at all: a temporary file
// beside it is renamed over it. Mode, owner and extended attributes of a file
// that stood there are kept; a new file gets perm less the umask. Missing
// parents are made. A path that is not a regular file is refused.
func WriteFile(path string, content []byte, perm fs.FileMode) error { return nil }

// ReadFile gives the bytes that stood at path when the checkpoint was made, for
// showing a diff. It fails with [ErrNoCheckpoint], or fs.ErrNotExist where
// nothing stood there.
func (s *Store) ReadFile(ctx context.Context, id, path string) ([]byte, error) {
	return nil, ErrNoCheckpoint
}
