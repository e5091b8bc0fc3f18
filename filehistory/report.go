package filehistory

import (
	"io/fs"
	"strings"
	"time"
)

// RewindOptions of Plan and Rewind. The zero value works.
type RewindOptions struct{}

// A Report says what a rewind did, or a plan would do, path by path.
type Report struct {
	ID           string       // the checkpoint, also where the word "undo" was given
	Files        []FileChange // paths changed, sorted
	SkippedLinks []string     // left alone: links, and what lies behind them
	Conflicts    []Conflict   // changed by somebody else since
	Uncovered    []Uncovered
	Problems     []Problem // not restored, or not wholly, and why
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
// direction of the rewind; -1 for what has no lines (folders, links, binary
// content, which UTF-16 is here).
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
	Path     string
	Err      error // one line
	Restored bool  // but not wholly, as without its owner; Files has it too
}

// oneLine is an error whose text has one line, be it of several errors.
type oneLine struct{ error }

func (e oneLine) Error() string { return strings.ReplaceAll(e.error.Error(), "\n", "; ") }

func (e oneLine) Unwrap() error { return e.error }

// CheckpointInfo describes one checkpoint.
type CheckpointInfo struct {
	ID, Label string
	Time      time.Time
}
