//go:build unix

package filehistory

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestB40_newIsNotEmpty(t *testing.T) {
	h := newHistory(t)
	h.put("__init__.py", "")
	h.checkpoint("u1")
	h.write("__init__.py", "x")
	h.write("new", "x")
	h.write("new2", "")
	h.clean("u1")
	h.holds("__init__.py", "")
	h.absent("new", "new2")
}

func TestB41_deletedUnseenAndMadeAgain(t *testing.T) {
	h := newHistory(t)
	h.put("a", "v0")
	h.checkpoint("u1")
	h.write("a", "v1")
	h.must(os.Remove(h.path("a")))
	h.checkpoint("u2")
	h.write("a", "v2")
	h.clean("u2")
	h.absent("a")
	h.clean("u1")
	h.holds("a", "v0")
}

func TestB42_moves(t *testing.T) {
	h := newHistory(t)
	h.put("a", "original")
	h.checkpoint("u1")
	move := func(from, to string) {
		h.change(func() { h.must(os.Rename(h.path(from), h.path(to))) }, from, to)
	}
	move("a", "b")
	move("b", "c")
	h.write("c", "edited")
	h.clean("u1")
	h.holds("a", "original")
	h.absent("b", "c")
}

func TestB43_folders(t *testing.T) {
	h := newHistory(t)
	h.put("x/y/a", "a0")
	h.must(os.Mkdir(h.path("empty"), 0o750))
	h.checkpoint("u1")
	h.write("d1/d2/new", "n")
	h.write("e1/e2/new", "n")
	h.put("e1/theirs", "t")
	h.write("x/y/a", "a1")
	h.must(os.RemoveAll(h.path("x")))
	h.change(func() { h.must(os.Remove(h.path("empty"))) }, "empty")
	r := h.rewind("u1")
	h.wantFiles(r, "remove d1", "remove d1/d2", "remove d1/d2/new", "remove e1/e2", "remove e1/e2/new",
		"restore empty", "restore x/y/a")
	h.absent("d1", "e1/e2")
	h.holds("e1/theirs", "t")
	h.holds("x/y/a", "a0")
	info, err := os.Stat(h.path("empty"))
	h.must(err)
	if info.Mode().Perm() != 0o750 {
		t.Fatal(info.Mode())
	}
	h.clean(Undo)
	h.absent("x", "empty")
	h.holds("d1/d2/new", "n")
}

// TestB43_folderMadeAnew: somebody removed a folder, a later change made it again.
// Before that change it was absent, yet something comes back to it.
func TestB43_folderMadeAnew(t *testing.T) {
	h := newHistory(t)
	h.put("d/a", "a0")
	h.checkpoint("u1")
	h.write("d/a", "a1")
	h.must(os.RemoveAll(h.path("d")))
	h.write("d/b", "b1")
	r := h.rewind("u1")
	h.wantFiles(r, "restore d/a", "remove d/b")
	if len(r.Problems) > 0 {
		t.Fatalf("%+v", r)
	}
	h.holds("d/a", "a0")
	h.absent("d/b")
}

// TestB43_folderOfADeadProcess: nothing tells whether the change made the folder,
// so it most probably did. It goes when it is empty.
func TestB43_folderOfADeadProcess(t *testing.T) {
	h := newHistory(t)
	h.checkpoint("u1")
	_, err := h.store.Begin(context.Background(), "test", h.path("d/e/x"), h.path("full/x"), h.path("never/x"))
	h.must(err)
	h.must(os.MkdirAll(h.path("d/e"), 0o755))
	h.put("full/theirs", "t")
	h.crashed()
	h.checkpoint("u2")
	h.wantFiles(h.clean("u1"), "remove d", "remove d/e")
	h.absent("d")
	h.holds("full/theirs", "t")
	h.clean(Undo)
	if info, err := os.Stat(h.path("d/e")); err != nil || info.Mode().Perm() != 0o755 {
		t.Fatal(info, err)
	}
}

// TestB43_folderMadeBySomebodyElse: a rewind removed the session's folder, and
// somebody made it again. It is theirs, and no link that is left out.
func TestB43_folderMadeBySomebodyElse(t *testing.T) {
	h := newHistory(t)
	h.checkpoint("u1")
	h.write("d/e/a", "a1")
	h.clean("u1")
	h.put("d/e/a", "theirs")
	h.write("b", "b1")
	r := h.rewind("u1")
	h.wantFiles(r, "remove b", "remove d/e/a")
	if len(r.SkippedLinks)+len(r.Problems) > 0 || len(r.Conflicts) != 1 {
		t.Fatalf("%+v", r)
	}
	if _, err := os.Stat(h.path("d/e")); err != nil {
		t.Fatal(err)
	}
}

func TestB44_B45_onePathPerFile(t *testing.T) {
	h := newHistory(t)
	h.put("a", "a0")
	h.put("top", "t0")
	h.must(os.MkdirAll(h.path("sub/dir"), 0o755))
	h.must(os.Symlink(h.work, h.path("sub/alias")))
	h.checkpoint("u1")
	t.Chdir(h.path("sub"))
	edit := func(spelling, content string) {
		c, err := h.store.Begin(context.Background(), "test", spelling)
		h.must(err)
		h.must(WriteFile(spelling, []byte(content), 0o644))
		h.must(c.Done())
	}
	edit("../top", "t1")
	edit("./../a", "a1")
	edit("dir/../../a", "a2")
	edit(h.path("a"), "a3")
	edit("alias/a", "a4")
	t.Chdir("/")
	h.restart()
	r := h.clean("u1")
	h.wantFiles(r, "restore a", "restore top")
	h.holds("a", "a0")
	h.holds("top", "t0")
}

func TestB47_longTurn(t *testing.T) {
	h := newHistory(t)
	h.put("a", "v0")
	h.checkpoint("u1")
	for i := range 120 {
		h.write("a", strings.Repeat("v", i+2))
	}
	for i := range 150 {
		h.checkpoint("later" + strings.Repeat("x", i))
	}
	h.clean("u1")
	h.holds("a", "v0")
}

func TestB48_editAfterRewind(t *testing.T) {
	h := newHistory(t)
	h.put("a", "v0")
	h.checkpoint("u1")
	h.write("a", "v1")
	h.checkpoint("u2")
	h.write("a", "v2")
	r := h.clean("u1")
	h.write("a", "v1'")
	var refused *UndoRefusedError
	if _, err := h.store.Rewind(context.Background(), Undo, RewindOptions{}); !errors.As(err, &refused) || refused.ID != r.UndoID {
		t.Fatal(err)
	}
	h.holds("a", "v1'")
}

func TestB53_folderReplacedByLink(t *testing.T) {
	h := newHistory(t)
	h.put("d/a", "a0")
	h.put("z", "z0")
	h.checkpoint("u1")
	h.write("d/a", "a1")
	h.write("z", "z1")
	h.must(os.Rename(h.path("d"), h.path("d2")))
	h.must(os.Symlink("d2", h.path("d")))
	h.checkpoint("u2")
	h.write("z", "z2")
	h.clean("u2")
	h.holds("z", "z1")
	r := h.rewind("u1")
	h.holds("z", "z0")
	h.holds("d2/a", "a1")
	if !slices.Equal(r.SkippedLinks, []string{h.path("d/a")}) {
		t.Fatalf("%+v", r)
	}
}

func TestB54_B59_modes(t *testing.T) {
	h := newHistory(t)
	modes := map[string]fs.FileMode{"x.sh": 0o755, "ro": 0o444, "env": 0o600, "suid": 0o755 | fs.ModeSetuid}
	for name, mode := range modes {
		h.put(name, name)
		h.must(os.Chmod(h.path(name), mode))
	}
	h.checkpoint("u1")
	for name := range modes {
		h.write(name, "edited")
		h.change(func() { h.must(os.Chmod(h.path(name), 0o640)) }, name)
	}
	h.put("x.sh", "x.sh")
	if r := h.plan("u1"); len(r.Files) != 4 || r.Files[3].Action != Chmod {
		t.Fatalf("%+v", r.Files)
	}
	h.rewind("u1")
	for name, mode := range modes {
		info, err := os.Stat(h.path(name))
		h.must(err)
		if info.Mode() != mode {
			t.Errorf("%s: %s, want %s", name, info.Mode(), mode)
		}
		h.holds(name, name)
	}
}

func TestB57_names(t *testing.T) {
	names := []string{
		"公共.cpp", "\u00e9", "e\u0301", "😀", " lead", "trail ", "qu'o\"te", "tab\t", "line\nfeed", `back\slash`, "-rf",
		"\xff\xfe invalid", "\x80", strings.Repeat("n", 255), strings.Repeat("名", 85), "{\"r\":1}",
	}
	h := newHistory(t)
	for _, name := range names {
		h.put(name, name)
	}
	h.checkpoint("u1")
	for _, name := range names {
		h.write(name, "edited")
		h.write("new "+name[:min(len(name), 200)]+"/"+name, "n")
	}
	h.restart()
	if r := h.clean("u1"); len(r.Files) != 3*len(names) {
		t.Fatalf("%d files: %q", len(r.Files), h.files(r))
	}
	for _, name := range names {
		h.holds(name, name)
		h.absent("new " + name[:min(len(name), 200)])
	}
}

func TestB61_storeHoldsEachContentOnce(t *testing.T) {
	h := newHistory(t)
	contents := []string{strings.Repeat("a", 1<<20), strings.Repeat("b", 1<<20)}
	h.checkpoint("u1")
	for i := range 20 {
		h.write("big", contents[i%2])
		h.write("small", contents[i%2][:100])
	}
	var size int64
	h.must(filepath.WalkDir(h.dir, func(_ string, d fs.DirEntry, err error) error {
		if info, ierr := d.Info(); ierr == nil && !d.IsDir() {
			size += info.Size()
		}
		return err
	}))
	if size > 2<<20+64<<10 {
		t.Fatalf("the store takes %d bytes", size)
	}
}

func TestNilStore(t *testing.T) {
	var s *Store
	ctx := context.Background()
	c, err := s.Begin(ctx, "test", "/x")
	if err := errors.Join(err, c.Done(), s.Checkpoint(ctx, "u", ""), s.Uncovered(ctx, "x", ""), s.Close()); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Plan(ctx, "u", RewindOptions{}); !errors.Is(err, ErrNoCheckpoint) {
		t.Fatal(err)
	}
	if _, err := s.Rewind(ctx, Undo, RewindOptions{}); !errors.Is(err, ErrNoCheckpoint) {
		t.Fatal(err)
	}
	if s.Checkpoints() != nil {
		t.Fatal()
	}
}

// A rewind made a folder that somebody had removed, and its undo took it away again. What somebody then
// puts there is no folder of the session's.
func TestB43_fileInPlaceOfAFolderThatARewindMade(t *testing.T) {
	h := newHistory(t)
	h.put("folder/a", "v0")
	h.checkpoint("U1")
	h.write("folder/a", "v1")
	h.must(os.RemoveAll(h.path("folder")))
	h.rewind("U1")
	h.rewind(Undo)
	h.absent("folder")
	h.put("folder", "somebody's")
	r := h.rewind("U1")
	if len(r.Problems) != 1 || r.Problems[0].Path != h.path("folder/a") {
		t.Errorf("problems: %+v", r.Problems)
	}
	h.holds("folder", "somebody's")
}
