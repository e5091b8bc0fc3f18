//go:build unix

package filehistory

import (
	"context"
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"takeback/filehistory/internal/blob"
)

func TestB02_missingBackupIsNotAbsence(t *testing.T) {
	for _, content := range []string{"small", strings.Repeat("large", blob.SmallSize)} {
		h := newHistory(t)
		h.put("a", content)
		h.checkpoint("u1")
		h.write("a", "edited")
		h.must(h.store.Close())
		h.must(os.RemoveAll(filepath.Join(h.dir, "packs")))
		h.must(os.RemoveAll(filepath.Join(h.dir, "files")))
		h.open()
		r := h.rewind("u1")
		if len(r.Problems) != 1 || r.Problems[0].Path != h.path("a") || r.UndoID != "" {
			t.Fatalf("%+v", r)
		}
		h.holds("a", "edited")
	}
}

func TestB03_largeFileComesBackExactly(t *testing.T) {
	h := newHistory(t)
	big := strings.Repeat("0123456789abcde\n", 1<<20)
	h.put("big", big)
	h.checkpoint("u1")
	h.write("big", big[:len(big)/2]+"changed\n"+big[len(big)/2:])
	h.write("big", "")
	r := h.clean("u1")
	h.wantFiles(r, "restore big")
	if r.Files[0].Insertions != 1<<20 || r.Files[0].Deletions != 0 {
		t.Fatalf("%+v", r.Files)
	}
	h.holds("big", big)
}

func TestB04_failedCaptureIsNeverOlderContent(t *testing.T) {
	h := newHistory(t)
	h.put("a", "v1")
	h.checkpoint("u1")
	h.write("a", "v2")
	h.checkpoint("u2")
	h.onOperation(func(string, string) error { return syscall.EACCES })
	if _, err := h.store.Begin(context.Background(), "test", h.path("a")); !errors.Is(err, fs.ErrPermission) {
		t.Fatal(err)
	}
	h.store.fs.Fail = nil
	h.put("a", "v3") // whoever writes all the same
	h.checkpoint("u3")
	h.write("a", "v4")
	h.rewind("u3")
	h.holds("a", "v3")
}

func TestB05_humanEditIsUndoable(t *testing.T) {
	h := newHistory(t)
	h.put("a", "A")
	h.checkpoint("u1")
	h.write("a", "B")
	h.put("a", "C")
	if r := h.plan("u1"); len(r.Conflicts) != 1 {
		t.Fatalf("%+v", r)
	}
	h.rewind("u1")
	h.holds("a", "A")
	h.clean(Undo)
	h.holds("a", "C")
}

func TestB06_anotherSessionsWorkStays(t *testing.T) {
	h := newHistory(t)
	h.put("y", "y0")
	h.checkpoint("u1")
	h.write("x", "x1")
	h.write("y", "y1")
	other, err := Open(filepath.Join(t.TempDir(), "other"), Options{})
	h.must(err)
	defer other.Close()
	h.must(other.Checkpoint(context.Background(), "o1", ""))
	r, err := other.Rewind(context.Background(), "o1", RewindOptions{})
	h.must(err)
	if len(r.Files) > 0 || r.UndoID != "" {
		t.Fatalf("%+v", r)
	}
	h.holds("x", "x1")
	h.holds("y", "y1")
	if _, err := other.Rewind(context.Background(), "u1", RewindOptions{}); !errors.Is(err, ErrNoCheckpoint) {
		t.Fatal(err)
	}
}

func TestB09_B10_B56_bytesInBytesOut(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	contents := map[string]string{
		"random": randomText(random, 4096), "utf16": "\xff\xfea\x00", "bom": "\xef\xbb\xbfx", "gb": "\xc4\xe3\xba\xc3",
		"crlf": "a\r\nb\nc\r", "no feed": "x", "feed": "\n",
	}
	h := newHistory(t)
	for name, content := range contents {
		h.put(name, content)
	}
	h.checkpoint("u1")
	for name := range contents {
		h.write(name, "text\n")
	}
	h.clean("u1")
	for name, content := range contents {
		h.holds(name, content)
	}
}

func TestB12_removalsComeLast(t *testing.T) {
	h := newHistory(t)
	h.put("ro/x", "x0")
	h.checkpoint("u1")
	h.write("new1", "n")
	h.write("ro/x", "x1")
	failed := false
	h.onOperation(func(op, path string) error {
		switch {
		case op == "create" && filepath.Dir(path) == h.path("ro"):
			failed = true
			return syscall.ENOSPC
		case op == "remove" && path == h.path("new1") && !failed:
			t.Error("removed before the replacements were staged")
		}
		return nil
	})
	r := h.rewind("u1")
	h.wantFiles(r, "remove new1")
	if len(r.Problems) != 1 || r.Problems[0].Path != h.path("ro/x") {
		t.Fatalf("%+v", r)
	}
	h.store.fs.Fail = nil
	h.clean("u1")
	h.holds("ro/x", "x0")
	h.clean(Undo)
	h.clean(r.UndoID)
	h.holds("new1", "n")
	h.holds("ro/x", "x1")
}

func TestB15_movedAwayByTheShell(t *testing.T) {
	h := newHistory(t)
	h.put("a", "a0")
	h.checkpoint("u1")
	h.write("a", "a1")
	h.must(os.Rename(h.path("a"), h.path("b")))
	h.must(h.store.Uncovered(context.Background(), "mv a b", "commands are not watched"))
	h.checkpoint("u2")
	h.absent("a")
	r := h.rewind("u1")
	h.holds("a", "a0")
	h.holds("b", "a1")
	if len(r.Uncovered) != 1 || r.Uncovered[0].What != "mv a b" {
		t.Fatalf("%+v", r)
	}
	if r := h.plan("u2"); len(r.Uncovered) != 0 {
		t.Fatalf("%+v", r)
	}
}

func TestB18_firstEditInALaterTurn(t *testing.T) {
	h := newHistory(t)
	h.put("a", "original")
	h.checkpoint("u1")
	h.checkpoint("u2")
	h.write("a", "edited")
	h.clean("u2")
	h.holds("a", "original")
	h.clean(Undo)
	h.clean("u1")
	h.holds("a", "original")
}

func TestB19_everyFileOfATurn(t *testing.T) {
	h := newHistory(t)
	h.put("a", "a0")
	h.put("b", "b0")
	h.checkpoint("u1")
	h.write("a", "a1")
	h.checkpoint("u2")
	h.write("b", "b1")
	h.checkpoint("u3")
	h.write("a", "a2")
	h.write("c", "c1")
	h.clean("u1")
	h.holds("a", "a0")
	h.holds("b", "b0")
	h.absent("c")
	h.clean("u2")
	h.holds("a", "a1")
	h.holds("b", "b0")
}

func TestB20_B21_firstCallAndRestart(t *testing.T) {
	h := newHistory(t)
	h.put("a", "original")
	h.checkpoint("u1")
	h.write("a", "a1")
	h.checkpoint("u2")
	h.restart()
	h.write("a", "a2")
	h.write("b", "b")
	h.restart()
	h.clean("u2")
	h.holds("a", "a1")
	h.absent("b")
	h.restart()
	h.clean("u1")
	h.holds("a", "original")
}

func TestB23_rewindKeepsLaterCheckpoints(t *testing.T) {
	h := newHistory(t)
	h.put("a", "v0")
	for i, id := range []string{"u1", "u2", "u3"} {
		h.checkpoint(id)
		h.write("a", "v"+string(rune('1'+i)))
	}
	for _, step := range []struct{ id, want string }{{"u1", "v0"}, {"u3", "v2"}, {"u2", "v1"}, {"u1", "v0"}} {
		h.clean(step.id)
		h.holds("a", step.want)
	}
}

func TestB24_unknownID(t *testing.T) {
	h := newHistory(t)
	for _, id := range []string{"", "0000", "../x"} {
		if _, err := h.store.Rewind(context.Background(), id, RewindOptions{}); !errors.Is(err, ErrNoCheckpoint) {
			t.Errorf("%q: %v", id, err)
		}
	}
	if _, err := os.Stat(h.dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a failed rewind made a store: %v", err)
	}
}

func TestB35_counts(t *testing.T) {
	h := newHistory(t)
	h.put("a", "1\n2\n3\n")
	h.checkpoint("u1")
	h.write("a", "1\n3\n4\n5\n")
	h.write("empty", "")
	r := h.clean("u1")
	want := []FileChange{{h.path("a"), 0, Restore, 1, 2}, {h.path("empty"), 0, Remove, 0, 0}}
	if !slices.Equal(r.Files, want) {
		t.Fatalf("%+v", r.Files)
	}
}

func randomText(r *rand.Rand, n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(r.IntN(256))
	}
	return string(b)
}
