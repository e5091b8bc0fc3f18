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
			return syscall.EACCES
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

func TestWriteFile(t *testing.T) {
	h := newHistory(t)
	h.must(syscall.Mkfifo(h.path("pipe"), 0o600))
	h.must(os.Symlink("pipe", h.path("link")))
	for _, name := range []string{"pipe", "link", "."} {
		if err := WriteFile(h.path(name), []byte("x"), 0o644); !errors.Is(err, ErrNotRegular) {
			t.Errorf("%s: %v", name, err)
		}
	}
	long := strings.Repeat("l", 255)
	h.must(WriteFile(h.path("deep/er/"+long), []byte("x"), 0o640))
	h.holds("deep/er/"+long, "x")
	info, err := os.Stat(h.path("deep/er/" + long))
	h.must(err)
	if info.Mode() != 0o640 {
		t.Fatal(info.Mode())
	}
	if err := WriteFile(h.path("pipe/x"), nil, 0o644); err == nil {
		t.Fatal("wrote below a pipe")
	}
	h.noTemps()
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
	if _, err := s.ReadFile(ctx, "u", "/x"); !errors.Is(err, ErrNoCheckpoint) {
		t.Fatal(err)
	}
	if s.Checkpoints() != nil {
		t.Fatal()
	}
}

func TestReadFile(t *testing.T) {
	h := newHistory(t)
	h.put("a", "a0")
	h.put("same", "s")
	h.checkpoint("u1")
	h.write("a", "a1")
	h.checkpoint("u2")
	h.write("a", "a2")
	h.write("new", "n")
	for _, c := range []struct{ id, name, want string }{{"u1", "a", "a0"}, {"u2", "a", "a1"}, {"u1", "same", "s"}} {
		b, err := h.store.ReadFile(context.Background(), c.id, h.path(c.name))
		if err != nil || string(b) != c.want {
			t.Errorf("%+v: %q, %v", c, b, err)
		}
	}
	if _, err := h.store.ReadFile(context.Background(), "u1", h.path("new")); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	if _, err := h.store.ReadFile(context.Background(), "u9", h.path("a")); !errors.Is(err, ErrNoCheckpoint) {
		t.Error(err)
	}
}
