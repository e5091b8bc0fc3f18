//go:build unix

package filehistory

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"takeback/filehistory/internal/blob"
)

// refusing are the ways in which a system lets a file be written to, but not replaced.
func refusing(h *history) map[string]func(op, path string) error {
	return map[string]func(op, path string) error{
		"a mount of its own": func(op, path string) error {
			if op == "rename" && path == h.path("d/a") {
				return syscall.EBUSY
			}
			return nil
		},
		"a folder that takes no files": func(op, path string) error {
			if op == "create" && filepath.Dir(path) == h.path("d") {
				return syscall.EACCES
			}
			return nil
		},
		"a file system that takes no files": func(op, path string) error {
			if op == "create" && filepath.Dir(path) == h.path("d") {
				return syscall.EROFS
			}
			return nil
		},
	}
}

// TestP6_rewindWritesInPlace: what WriteFile can change, a rewind can take back.
func TestP6_rewindWritesInPlace(t *testing.T) {
	for name := range refusing(newHistory(t)) {
		for _, old := range []string{"a0\n", "", strings.Repeat("large\n", blob.SmallSize/6+1)} {
			h := newHistory(t)
			h.put("d/a", old)
			h.must(os.Chmod(h.path("d/a"), 0o604))
			h.checkpoint("u1")
			h.write("d/a", "a1\nlonger\n")
			before, err := look(h.path("d/a"))
			h.must(err)
			h.onOperation(refusing(h)[name])
			plan := h.plan("u1")
			r := h.clean("u1")
			h.holds("d/a", old)
			if after, err := look(h.path("d/a")); err != nil || after.Ino != before.Ino || after.Mode != 0o604 {
				t.Fatalf("%s: %+v, %v", name, after, err)
			}
			if len(plan.Files) != 1 || plan.Files[0] != r.Files[0] {
				t.Fatalf("%s: %+v, %+v", name, plan, r)
			}
			h.clean(Undo)
			h.holds("d/a", "a1\nlonger\n")
			if left, err := os.ReadDir(filepath.Join(h.dir, "temp")); err != nil || len(left) > 0 {
				t.Fatal(left, err)
			}
		}
	}
}

// TestP6_halfWrittenIsTold: a file that could only be written in place may be torn. It
// is told, what stood there can be had, and asking again finishes the job.
func TestP6_halfWrittenIsTold(t *testing.T) {
	for _, restart := range []bool{false, true} {
		h := newHistory(t)
		h.put("d/a", "a0")
		h.checkpoint("u1")
		h.write("d/a", "a1")
		refuse := refusing(h)["a mount of its own"]
		h.onOperation(func(op, path string) error {
			if op == "overwrite" {
				return syscall.ENOSPC
			}
			return refuse(op, path)
		})
		r := h.rewind("u1")
		if len(r.Problems) != 1 || !errors.Is(r.Problems[0].Err, syscall.ENOSPC) || r.Problems[0].Restored || len(r.Files) > 0 {
			t.Fatalf("%+v", r)
		}
		h.noTemps()
		h.onOperation(refuse)
		if restart {
			h.restart()
		}
		h.clean("u1")
		h.holds("d/a", "a0")
		h.clean(r.UndoID)
		h.holds("d/a", "a1")
	}
}

// TestProblemsAreLines: several reasons are told in one line.
func TestProblemsAreLines(t *testing.T) {
	h := newHistory(t)
	h.put("a", "a0")
	h.checkpoint("u1")
	h.write("a", "a1")
	h.onOperation(func(op, _ string) error {
		if op == "create" {
			return errors.Join(syscall.EIO, syscall.ENOSPC)
		}
		return nil
	})
	r := h.rewind("u1")
	if len(r.Problems) != 1 || strings.Contains(r.Problems[0].Err.Error(), "\n") || !errors.Is(r.Problems[0].Err, syscall.ENOSPC) {
		t.Fatalf("%+v", r.Problems)
	}
}
