package filehistory

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"takeback/filehistory/internal/journal"
)

// fork opens a store that goes on from h's.
func (h *history) fork(aliases map[string]string) *history {
	h.Helper()
	opts := Options{Parent: h.dir, Aliases: aliases}
	f := &history{T: h.T, dir: filepath.Join(h.TempDir(), "fork"), work: h.work, opts: opts}
	f.open()
	h.Cleanup(func() { f.store.Close() })
	return f
}

// parent is a session with a checkpoint, and a file that it changed and one that it made.
func parent(t *testing.T) *history {
	h := newHistory(t)
	h.put("a", "v0")
	h.put("big", strings.Repeat("large", 100_000))
	h.checkpoint("U1")
	h.write("a", "v1")
	h.write("big", "small")
	h.write("new", "n")
	return h
}

func TestFork_B22_parentMayGo(t *testing.T) {
	h := parent(t)
	f := h.fork(nil)
	h.wantFiles(f.plan("U1"), "restore a", "restore big", "remove new")
	f.absent(f.dir) // a plan makes no store
	f.checkpoint("U2")
	f.write("a", "v2")
	h.must(h.store.Close())
	h.must(os.RemoveAll(h.dir))
	f.restart()
	f.clean("U2")
	f.holds("a", "v1")
	f.clean("U1")
	f.holds("a", "v0")
	f.holds("big", strings.Repeat("large", 100_000))
	f.absent("new")
}

func TestFork_sharesBytes(t *testing.T) {
	h := parent(t)
	f := h.fork(nil)
	f.checkpoint("U2")
	for _, folder := range []string{"packs", "files"} {
		saved, err := os.ReadDir(filepath.Join(h.dir, folder))
		h.must(err)
		if len(saved) == 0 {
			t.Errorf("nothing in %s", folder)
		}
		for _, entry := range saved {
			ours, err := os.Stat(filepath.Join(f.dir, folder, entry.Name()))
			h.must(err)
			theirs, err := entry.Info()
			h.must(err)
			if !os.SameFile(ours, theirs) {
				t.Errorf("%s/%s is a copy", folder, entry.Name())
			}
		}
	}
}

// Both go on, and neither sees what the other does.
func TestFork_B06_apart(t *testing.T) {
	h := parent(t)
	f := h.fork(nil)
	f.checkpoint("F2")
	f.write("f", "fork")
	h.checkpoint("P2")
	h.write("p", "parent")
	f.wantFiles(f.plan("F2"), "remove f")
	h.wantFiles(h.plan("P2"), "remove p")
	if _, err := f.store.Plan(context.Background(), "P2", RewindOptions{}); !errors.Is(err, ErrNoCheckpoint) {
		t.Errorf("the fork knows the parent's later checkpoint: %v", err)
	}
	f.clean("F2")
	f.absent("f")
	f.holds("p", "parent")
}

// What the parent changed later counts as somebody else's.
func TestFork_P10_parentsLaterWorkIsAConflict(t *testing.T) {
	h := parent(t)
	f := h.fork(nil)
	f.checkpoint("F2")
	h.write("a", "the parent's later work")
	if r := f.plan("U1"); len(r.Conflicts) != 1 || r.Conflicts[0].Path != f.path("a") {
		t.Errorf("conflicts: %+v", r.Conflicts)
	}
}

// The parent is at work while the fork begins: its temporary files are not the fork's to remove.
func TestFork_parentInMidChange(t *testing.T) {
	h := parent(t)
	c, err := h.store.Begin(context.Background(), "test", h.path("a"))
	h.must(err)
	temp := writeTemporary(process(), h.path("a"))
	h.put(temp, "half written")
	f := h.fork(nil)
	f.checkpoint("F2")
	f.holds(temp, "half written")
	h.must(os.Remove(temp))
	h.must(WriteFile(h.path("a"), []byte("v2"), 0o644))
	h.must(c.Done())
	h.clean("U1")
	h.holds("a", "v0")
}

func TestFork_aliases(t *testing.T) {
	h := parent(t)
	f := h.fork(map[string]string{"V1": "U1", "V0": "unknown"})
	f.wantFiles(f.plan("V1"), "restore a", "restore big", "remove new")
	f.wantFiles(f.plan("U1"), "restore a", "restore big", "remove new")
	f.checkpoint("V2")
	f.write("a", "v2")
	f.opts = Options{} // it need not be told again
	f.restart()
	grandchild := f.fork(map[string]string{"W1": "V1"})
	grandchild.wantFiles(grandchild.plan("W1"), "restore a", "restore big", "remove new")
	grandchild.clean("W1")
	grandchild.holds("a", "v0")
	if got := grandchild.store.Checkpoints(); len(got) != 2 || got[0].ID != "W1" {
		t.Errorf("checkpoints: %+v", got)
	}
}

func TestFork_ofNothing(t *testing.T) {
	h := newHistory(t)
	f := h.fork(nil)
	f.checkpoint("U1")
	f.write("a", "1")
	f.clean("U1")
	f.absent("a")
}

// Whichever operation fails, the fork works once the disk does, and the parent never notices.
func TestFork_errorSweep(t *testing.T) {
	for n := 1; ; n++ {
		h := parent(t)
		f := h.fork(nil)
		count, failed := 0, false
		f.onOperation(func(op, path string) error {
			if count++; count == n && op != "link" { // a failed link is a copy
				failed = true
				return syscall.EIO
			}
			return nil
		})
		err := f.store.Checkpoint(context.Background(), "U2", "")
		if failed && err == nil {
			t.Errorf("operation %d failed unnoticed", n)
		}
		f.store.fs.Fail = nil
		f.restart()
		f.clean("U1")
		f.holds("a", "v0")
		f.holds("big", strings.Repeat("large", 100_000))
		f.must(f.store.Close())
		h.write("a", "v1")
		h.write("big", "small")
		h.write("new", "n")
		h.clean("U1")
		h.must(h.store.Close())
		if count < n {
			if n < 10 {
				t.Errorf("only %d operations", count)
			}
			return
		}
	}
}

// TestFork_killedAnywhere dies at the n-th operation, with hard links and without.
// The parent is in the middle of a change all the time.
func TestFork_killedAnywhere(t *testing.T) {
	for _, links := range []bool{true, false} {
		died := true
		for n := 0; died; n++ {
			h := parent(t)
			c, err := h.store.Begin(context.Background(), "test", h.path("a"))
			h.must(err)
			temp := writeTemporary(process(), h.path("a"))
			h.put(temp, "half written")
			f := h.fork(nil)
			died = false
			f.onOperation(func(op, _ string) error {
				if died = died || f.count(n); died || op == "link" && !links {
					return syscall.EPERM
				}
				return nil
			})
			err = f.store.Checkpoint(context.Background(), "U2", "")
			if died == (err == nil) {
				t.Errorf("operation %d: %v", n, err)
			}
			f.crashed()
			f.checkpoint("U2")
			f.holds(temp, "half written")
			h.must(os.Remove(temp))
			h.must(c.Done())
			h.must(h.store.Close())
			h.must(os.RemoveAll(h.dir))
			f.restart()
			f.clean("U1")
			f.holds("a", "v0")
			f.holds("big", strings.Repeat("large", 100_000))
			if !died && n < 10 {
				t.Errorf("only %d operations", n)
			}
		}
	}
}

// TestFork_parentRemovedMeanwhile removes the parent before the n-th operation. The
// fork can be worked with, and what it lost it says.
func TestFork_parentRemovedMeanwhile(t *testing.T) {
	for n := 0; ; n++ {
		h := parent(t)
		f := h.fork(nil)
		removed := n == 0
		if removed {
			h.must(os.RemoveAll(h.dir))
		}
		f.onOperation(func(string, string) error {
			if removed {
				return nil
			}
			if removed = f.count(n - 1); removed {
				h.must(os.RemoveAll(h.dir))
			}
			return nil
		})
		f.checkpoint("U2")
		f.store.fs.Fail = nil
		f.write("a", "v2")
		f.restart()
		f.clean("U2")
		f.holds("a", "v1")
		r, err := f.store.Rewind(context.Background(), "U1", RewindOptions{})
		if err == nil && len(r.Problems)+len(r.Files) != 3 || err != nil && !errors.Is(err, ErrNoCheckpoint) {
			t.Errorf("removed before operation %d: %+v, %v", n, r, err)
		}
		h.must(h.store.lock.Close())
		if !removed {
			return
		}
	}
}

func TestFork_parentOfAnotherVersion(t *testing.T) {
	h := parent(t)
	h.must(h.store.Close())
	text := `{"r":"head","v":2}`
	line := fmt.Sprintf("%08x %s\n", crc32.Checksum([]byte(text), crc32.MakeTable(crc32.Castagnoli)), text)
	h.must(os.WriteFile(h.store.journalPath(), []byte(line), 0o600))
	_, err := Open(filepath.Join(t.TempDir(), "fork"), Options{Parent: h.dir})
	if !errors.Is(err, journal.ErrVersion) || !strings.Contains(err.Error(), h.dir) {
		t.Fatal(err)
	}
}

func TestFork_withoutLinks(t *testing.T) {
	h := parent(t)
	f := h.fork(nil)
	f.onOperation(func(op, path string) error {
		if op == "link" {
			return syscall.EPERM
		}
		return nil
	})
	f.checkpoint("U2")
	f.store.fs.Fail = nil
	h.must(h.store.Close())
	h.must(os.RemoveAll(h.dir))
	f.clean("U1")
	f.holds("a", "v0")
}
