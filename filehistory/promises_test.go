//go:build unix

package filehistory

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"takeback/filehistory/internal/blob"
)

// operations records what is done to the disk.
func (h *history) operations(do func()) []string {
	var ops []string
	h.onOperation(func(op, path string) error {
		ops = append(ops, op+" "+filepath.Base(filepath.Dir(path))+"/"+filepath.Base(path))
		return nil
	})
	defer func() { h.store.fs.Fail = nil }()
	do()
	return ops
}

func TestP1_savedFirst(t *testing.T) {
	h := newHistory(t)
	h.checkpoint("u1")
	var paths []string
	for i := range 100 {
		name := fmt.Sprint(i)
		h.put(name, "old "+name)
		paths = append(paths, h.path(name))
	}
	h.put("big", strings.Repeat("big", blob.SmallSize))
	h.change(func() {}, "0") // begins the pack
	var c *Change
	ops := h.operations(func() {
		var err error
		c, err = h.store.Begin(context.Background(), "test", paths...)
		h.must(err)
	})
	var kinds []string
	for _, op := range ops {
		kinds = append(kinds, strings.Fields(op)[0]+" "+strings.Split(strings.Fields(op)[1], "/")[0])
	}
	want := []string{"write packs", "sync packs", "write store", "sync store"}
	if !slices.Equal(kinds, want) {
		t.Fatalf("operations %q, want %q: contents, then records, one flush each", ops, want)
	}
	// A kill right now: what another process reads is what is in the files.
	for _, path := range paths {
		h.must(os.WriteFile(path, []byte("new"), 0o644))
	}
	other, err := Open(h.dir, Options{})
	h.must(err)
	defer other.Close()
	r, err := other.Plan(context.Background(), "u1", RewindOptions{})
	h.must(err)
	if len(r.Files) != 100 || len(r.Problems) > 0 {
		t.Fatalf("%+v", r)
	}
	h.must(c.Done())
	for _, op := range []string{"write", "sync"} {
		h.onOperation(func(o, _ string) error {
			if o == op {
				return syscall.ENOSPC
			}
			return nil
		})
		if _, err := h.store.Begin(context.Background(), "test", h.path("1"), h.path("big")); !errors.Is(err, syscall.ENOSPC) {
			t.Fatalf("Begin with failing %s: %v", op, err)
		}
		h.store.fs.Fail = nil
	}
	h.write("1", "newest")
	h.restart()
	h.clean("u1")
	h.holds("1", "old 1")
}

func TestP2_threeStates(t *testing.T) {
	h := newHistory(t)
	h.put("empty", "")
	h.put("full", "x")
	h.must(syscall.Mkfifo(h.path("pipe"), 0o600))
	h.checkpoint("u1")
	h.write("empty", "no more")
	h.write("full", "")
	h.write("new", "")
	h.change(func() { h.must(os.Remove(h.path("pipe"))) }, "pipe")
	h.put("pipe", "a file now")
	h.restart()
	r := h.rewind("u1")
	h.wantFiles(r, "restore empty", "restore full", "remove new")
	if len(r.Problems) != 1 || r.Problems[0].Path != h.path("pipe") {
		t.Fatalf("a pipe cannot be kept, and that must be said: %+v", r.Problems)
	}
	h.holds("empty", "")
	h.holds("full", "x")
	h.holds("pipe", "a file now")
	h.absent("new")
}

func TestP3_framed(t *testing.T) {
	h := newHistory(t)
	h.put("a", "a0")
	h.put("b", "b0")
	h.checkpoint("u1")
	h.write("a", "a1")
	h.checkpoint("u2")
	h.write("b", "b1")
	h.checkpoint("u3")
	h.write("a", "a2")
	h.must(h.store.Close())
	text, err := os.ReadFile(h.store.journalPath())
	h.must(err)
	lines := strings.SplitAfter(string(text), "\n")
	hit := slices.IndexFunc(lines, func(l string) bool { return strings.Contains(l, `"before"`) && strings.Contains(l, "/b\"") })
	lines[hit] = strings.Replace(lines[hit], "before", "befOre", 1)
	torn := strings.Join(lines, "") + `12345678 {"r":"bef`
	h.must(os.WriteFile(h.store.journalPath(), []byte(torn), 0o600))
	h.open()

	r := h.clean("u3") // the damage lies before
	h.wantFiles(r, "restore a")
	h.holds("a", "a1")
	r = h.rewind("u2")
	if len(r.Problems) != 1 || r.Problems[0].Path != h.path("b") || len(r.Uncovered) != 1 {
		t.Fatalf("a rewind across a damaged record: %+v", r)
	}
	h.holds("b", "b1")
	r = h.rewind("u1")
	h.holds("a", "a0")
	if len(r.Problems) != 1 || len(r.Uncovered) != 1 {
		t.Fatalf("%+v", r)
	}
}

// TestP3_tornHead: the process that made the journal died in its first line.
func TestP3_tornHead(t *testing.T) {
	h := newHistory(t)
	h.must(os.MkdirAll(h.dir, 0o700))
	h.must(os.WriteFile(h.store.journalPath(), []byte(`12345678 {"r":"he`), 0o600))
	h.restart()
	h.put("a", "a0")
	h.checkpoint("u1")
	h.write("a", "a1")
	h.restart()
	h.clean("u1")
	h.holds("a", "a0")
}

func TestP4_contentDecides(t *testing.T) {
	for _, size := range []int{100, blob.SmallSize + 100} {
		h := newHistory(t)
		old := strings.Repeat("o", size)
		h.put("a", old)
		h.put("b", "b0")
		h.checkpoint("u1")
		h.write("a", "new")
		h.write("b", "b1")
		h.corrupt(func(b []byte) { b[50] ^= 1 })
		plan, r := h.plan("u1"), h.rewind("u1")
		for _, r := range []*Report{plan, r} {
			h.wantFiles(r, "restore b")
			if len(r.Problems) != 1 || !errors.Is(r.Problems[0].Err, blob.ErrCorrupt) {
				t.Fatalf("%d bytes: %+v", size, r)
			}
		}
		h.holds("a", "new")
		h.holds("b", "b0")
		// The same content saved again is not taken for the damaged copy.
		h.put("a", old)
		h.checkpoint("u2")
		h.write("a", "newer")
		h.restart()
		h.clean("u2")
		h.holds("a", old)
	}
}

// corrupt changes the first saved content.
func (h *history) corrupt(how func([]byte)) {
	h.Helper()
	var first string
	h.must(filepath.WalkDir(h.dir, func(path string, d fs.DirEntry, err error) error {
		dir := filepath.Base(filepath.Dir(path))
		if err == nil && !d.IsDir() && (dir == "files" || dir == "packs" && first == "") {
			first = path
			if dir == "files" {
				return filepath.SkipAll
			}
		}
		return err
	}))
	b, err := os.ReadFile(first)
	h.must(err)
	how(b)
	h.must(os.WriteFile(first, b, 0o600))
}

func TestP5_takeBackTheTakeback(t *testing.T) {
	h := newHistory(t)
	h.put("a", "v0")
	h.checkpoint("u1")
	h.write("a", "v1")
	h.write("dir/new", "n")
	h.checkpoint("u2")
	h.write("a", "v2")
	h.put("a", "somebody else's")
	r1 := h.rewind("u1")
	h.holds("a", "v0")
	h.restart()
	h.clean(r1.UndoID)
	h.holds("a", "somebody else's")
	h.holds("dir/new", "n")
	if r := h.clean(r1.UndoID); r.UndoID != "" || len(r.Files) > 0 {
		t.Fatalf("a rewind that changes nothing has an id: %+v", r)
	}
	if _, err := h.store.Rewind(context.Background(), Undo, RewindOptions{}); !errors.Is(err, ErrNothingToUndo) {
		t.Fatalf("the only rewind is undone: %v", err)
	}
	h.clean("u2")
	h.holds("a", "v1")
	h.clean("u1")
	h.holds("a", "v0")
	h.absent("dir")
	plan := h.plan(Undo)
	r := h.clean(Undo)
	if plan.ID != r.ID || r.ID == Undo {
		t.Fatal(plan.ID, r.ID)
	}
	h.holds("a", "v1")
	h.holds("dir/new", "n")
	h.clean(Undo)
	h.holds("a", "somebody else's")
	if _, err := h.store.Plan(context.Background(), Undo, RewindOptions{}); !errors.Is(err, ErrNothingToUndo) {
		t.Fatal(err)
	}

	h.clean("u2")
	h.write("unrelated", "x")
	h.clean(Undo)
	h.holds("a", "somebody else's")
	h.absent("unrelated") // the whole state before the rewind
	r2 := h.clean("u2")
	h.write("a", "on top")
	var refused *UndoRefusedError
	if _, err := h.store.Rewind(context.Background(), Undo, RewindOptions{}); !errors.As(err, &refused) {
		t.Fatal(err)
	}
	if refused.ID != r2.UndoID || !slices.Equal(refused.Paths, []string{h.path("a")}) {
		t.Fatalf("%+v", refused)
	}
	h.clean(refused.ID)
	h.holds("a", "somebody else's")
}

func TestP5_undoOfAnUndo(t *testing.T) {
	h := newHistory(t)
	h.put("a", "v0")
	h.checkpoint("u1")
	h.write("a", "v1")
	first := h.clean("u1")
	undo := h.clean(Undo)
	h.holds("a", "v1")
	h.clean(undo.UndoID)
	h.holds("a", "v0")
	if r := h.clean(Undo); r.ID != first.UndoID {
		t.Fatalf("undid %s, want the rewind that stands again, %s", r.ID, first.UndoID)
	}
	h.holds("a", "v1")
}

// TestP5_whatAnUndoTookBack is no reason to refuse the undo before it.
func TestP5_whatAnUndoTookBack(t *testing.T) {
	h := newHistory(t)
	h.put("a", "v0")
	h.checkpoint("u1")
	h.write("a", "v1")
	h.checkpoint("u2")
	h.write("a", "v2")
	h.clean("u2")
	second := h.clean("u1")
	h.write("a", "x")
	h.clean(second.UndoID)
	h.holds("a", "v1")
	h.clean(Undo)
	h.holds("a", "v2")
}

func TestP6_wholeOrTold(t *testing.T) {
	h := newHistory(t)
	for i := range 5 {
		h.put(fmt.Sprint(i), "old")
	}
	h.checkpoint("u1")
	for i := range 5 {
		h.write(fmt.Sprint(i), "new")
	}
	h.write("made", "m")
	h.onOperation(func(op, path string) error {
		if op == "rename" && path == h.path("3") || op == "remove" && path == h.path("made") {
			return syscall.EIO
		}
		return nil
	})
	r := h.rewind("u1")
	h.store.fs.Fail = nil
	h.wantFiles(r, "restore 0", "restore 1", "restore 2", "restore 4")
	if len(r.Problems) != 2 || !errors.Is(r.Problems[0].Err, syscall.EIO) || r.Problems[0].Path != h.path("3") {
		t.Fatalf("%+v", r.Problems)
	}
	h.noTemps()
	h.holds("3", "new")
	r = h.clean("u1")
	h.wantFiles(r, "restore 3", "remove made")
	h.holds("3", "old")
	h.absent("made")
}

// TestP6_folderModesComeLast: a mode may forbid what is still to be done in the
// folder, and what a file needs is done before that.
func TestP6_folderModesComeLast(t *testing.T) {
	h := newHistory(t)
	h.put("d/a", "a0")
	h.put("d/mode", "m")
	h.must(os.Chmod(h.path("d"), 0o555))
	h.checkpoint("u1")
	h.change(func() { h.must(os.Chmod(h.path("d"), 0o755)) }, "d")
	h.change(func() { h.must(os.Chmod(h.path("d/mode"), 0o600)) }, "d/mode")
	h.write("d/a", "a1")
	h.write("d/new", "n")
	var ours []string
	for _, op := range h.operations(func() { h.clean("u1") }) {
		if strings.HasPrefix(op, "chmod") || strings.HasPrefix(op, "rename") || strings.HasPrefix(op, "remove") {
			ours = append(ours, op)
		}
	}
	ours = ours[1:] // the staged file gets its mode
	if want := []string{"chmod d/mode", "rename d/a", "remove d/new", "chmod " + filepath.Base(h.work) + "/d"}; !slices.Equal(ours, want) {
		t.Fatalf("%q, want %q", ours, want)
	}
}

// TestP5_changedMeanwhile changes files between the saving and the replacing:
// what was not saved is not overwritten.
func TestP5_changedMeanwhile(t *testing.T) {
	h := newHistory(t)
	for _, name := range []string{"a", "b", "c", "d/e"} {
		h.put(name, "old")
	}
	h.put("elsewhere/e", "other")
	h.checkpoint("u1")
	for _, name := range []string{"a", "b", "c", "d/e", "made"} {
		h.write(name, "new")
	}
	h.onOperation(func(op, _ string) error {
		if op != "syncfs" {
			return nil
		}
		h.store.fs.Fail = nil
		h.put("a", "written meanwhile")
		h.must(os.Remove(h.path("b")))
		h.must(os.Symlink("elsewhere/e", h.path("b")))
		h.put("made", "written meanwhile")
		h.must(os.Rename(h.path("d"), h.path("d2")))
		return os.Symlink("elsewhere", h.path("d"))
	})
	r := h.rewind("u1")
	h.wantFiles(r, "restore c")
	if len(r.Problems) != 4 {
		t.Fatalf("%+v", r.Problems)
	}
	h.holds("a", "written meanwhile")
	h.holds("made", "written meanwhile")
	h.holds("elsewhere/e", "other")
	if to, err := os.Readlink(h.path("b")); to != "elsewhere/e" {
		t.Fatal(to, err)
	}
}
