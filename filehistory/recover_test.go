//go:build unix

package filehistory

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
)

// standing tells what stands in the workspace, folders and modes too.
func (h *history) standing() map[string]string {
	h.Helper()
	files, err := tree(h.work)
	h.must(err)
	h.must(filepath.WalkDir(h.work, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == h.work {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		name, err := filepath.Rel(h.work, path)
		files[name] += " " + info.Mode().String()
		return err
	}))
	return files
}

func (h *history) stands(what string, want map[string]string) {
	h.Helper()
	if got := h.standing(); !maps.Equal(got, want) {
		h.Fatalf("%s: these differ: %q\ngot %q\nwant %q", what, differences(got, want), got, want)
	}
}

// turns makes two states to go between, of files and of folders in folders.
func (h *history) turns() (states map[string]map[string]string) {
	h.Helper()
	h.put("a", "a0")
	h.put("gone/x", "x0")
	h.must(os.Symlink("a", h.path("link")))
	states = map[string]map[string]string{"u1": h.standing()}
	h.checkpoint("u1")
	h.write("a", "a1")
	h.write("n/m/q", "q")
	h.write("n/o/r", "r")
	h.change(func() { h.must(os.RemoveAll(h.path("gone"))) }, "gone", "gone/x")
	h.remove("link")
	h.change(func() { h.must(os.Chmod(h.path("n/o"), 0o750)) }, "n/o")
	h.write("n/o/s", "s")
	h.checkpoint("u2")
	states["u2"] = h.standing()
	return states
}

// breaking runs a rewind in which the n-th operation and, if all is set, those
// after it fail. It says whether there were that many.
func (h *history) breaking(n int, id string, all bool) (*Report, error, bool) {
	h.onOperation(func(op, path string) error {
		if n--; n == -1 || n < -1 && all {
			return syscall.EIO
		}
		return nil
	})
	r, err := h.store.Rewind(context.Background(), id, RewindOptions{})
	h.store.fs.Fail = nil
	return r, err, n < 0
}

var between = []struct{ from, to string }{{"u2", "u1"}, {"u1", "u2"}}

// TestP6_askingAgainAfterDeath kills a rewind at its n-th operation, for each n. The
// next process gets to either state, says nothing but success, and back again.
func TestP6_askingAgainAfterDeath(t *testing.T) {
	for _, way := range between {
		for n, more := 0, true; more; n++ {
			h := newHistory(t)
			states := h.turns()
			h.clean(way.from)
			_, _, more = h.breaking(n, way.to, true)
			h.crashed()
			middle := h.standing()
			maps.DeleteFunc(middle, func(name, _ string) bool {
				temp, _ := filepath.Match(".takeback-*", filepath.Base(name))
				return temp
			})
			next := []string{"u1", "u2"}[n%2]
			r := h.clean(next)
			h.stands(next, states[next])
			if r.UndoID != "" {
				h.clean(r.UndoID)
				h.stands("undone", middle)
			}
			for _, id := range []string{"u2", "u1"} {
				h.clean(id)
				h.stands(id, states[id])
			}
		}
	}
}

// TestP6_askingAgainAfterFailure: one operation fails. Where the rewind then said
// success it was one, and asking again, in this process or the next, finishes it.
func TestP6_askingAgainAfterFailure(t *testing.T) {
	for _, way := range between {
		for n, more := 0, true; more; n++ {
			h := newHistory(t)
			states := h.turns()
			h.clean(way.from)
			var r *Report
			var err error
			r, err, more = h.breaking(n, way.to, false)
			if err == nil && len(r.Problems)+len(r.SkippedLinks) == 0 {
				h.stands(way.to, states[way.to])
			}
			if n%2 == 0 {
				h.restart()
			}
			for _, id := range []string{way.to, way.from} {
				h.clean(id)
				h.stands(id, states[id])
			}
		}
	}
}

// TestP6_failedFlushForgetsNothing: a rewind that could not be announced did nothing.
// Folders that the session made stay its own.
func TestP6_failedFlushForgetsNothing(t *testing.T) {
	h := newHistory(t)
	states := h.turns()
	h.onOperation(func(op, path string) error {
		if op == "sync" && path == h.store.journalPath() {
			return syscall.ENOSPC
		}
		return nil
	})
	if _, err := h.store.Rewind(context.Background(), "u1", RewindOptions{}); !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
	h.store.fs.Fail = nil
	h.stands("after the failure", states["u2"])
	h.restart()
	for _, c := range h.store.index.changes {
		if c.rewind != nil && (c.after == nil || !unchanged(c.before, *c.after)) {
			t.Errorf("%s counts as changed", c.path)
		}
	}
	h.clean("u1")
	h.stands("u1", states["u1"])
}

// TestDone_withoutRoom: what a change left is known, though the disk had no room for
// it then, and is recorded as soon as there is.
func TestDone_withoutRoom(t *testing.T) {
	for _, restart := range []bool{false, true} {
		h := newHistory(t)
		h.checkpoint("u1")
		c, err := h.store.Begin(context.Background(), "test", h.path("d/a"))
		h.must(err)
		h.must(WriteFile(h.path("d/a"), []byte("a1"), 0o644))
		h.onOperation(func(string, string) error { return syscall.ENOSPC })
		if err := c.Done(); !errors.Is(err, syscall.ENOSPC) {
			t.Fatal(err)
		}
		h.store.fs.Fail = nil
		if restart {
			h.restart()
		}
		h.put("d/a", "theirs")
		if r := h.plan("u1"); len(r.Conflicts) != 1 {
			t.Fatalf("%+v", r)
		}
	}
}

// TestRecover_laterChange: a rewind whose end could not be recorded is not judged by
// what a later change left.
func TestRecover_laterChange(t *testing.T) {
	h := newHistory(t)
	h.put("a", "a0")
	h.checkpoint("u1")
	h.write("a", "a1")
	h.checkpoint("u2")
	fails := false
	h.onOperation(func(op, path string) error {
		if fails = fails || op == "rename"; fails && op != "rename" {
			return syscall.EIO
		}
		return nil
	})
	r := h.rewind("u1")
	h.store.fs.Fail = nil
	h.store.owed = nil // and the process dies before it can make up for it
	h.write("a", "a1")
	h.crashed()
	if r.UndoID == "" || !slices.ContainsFunc(r.Problems, func(p Problem) bool { return p.Path == h.store.journalPath() }) {
		t.Fatalf("%+v", r)
	}
	h.clean("u1")
	h.holds("a", "a0")
	h.clean(r.UndoID)
	h.holds("a", "a1")
}
