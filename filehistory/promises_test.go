//go:build unix

package filehistory

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"takeback/filehistory/internal/blob"
	"takeback/filehistory/internal/disk"
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
		if _, err := h.store.ReadFile(context.Background(), "u1", h.path("a")); !errors.Is(err, blob.ErrCorrupt) {
			t.Fatal(err)
		}
		// The same content saved again is not taken for the damaged copy.
		h.put("a", old)
		h.checkpoint("u2")
		h.write("a", "newer")
		if size <= blob.SmallSize {
			h.rewind("u2")
			h.holds("a", old)
		}
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

	r2 := h.clean("u2")
	h.write("unrelated", "x")
	h.clean(Undo)
	h.holds("a", "somebody else's")
	h.absent("unrelated") // the whole state before the rewind
	r2 = h.clean("u2")
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
			return syscall.EPERM
		}
		return nil
	})
	r := h.rewind("u1")
	h.store.fs.Fail = nil
	h.wantFiles(r, "restore 0", "restore 1", "restore 2", "restore 4")
	if len(r.Problems) != 2 || !errors.Is(r.Problems[0].Err, syscall.EPERM) || r.Problems[0].Path != h.path("3") {
		t.Fatalf("%+v", r.Problems)
	}
	h.noTemps()
	h.holds("3", "new")
	r = h.clean("u1")
	h.wantFiles(r, "restore 3", "remove made")
	h.holds("3", "old")
	h.absent("made")
}

func TestP7_noGuess(t *testing.T) {
	h := newHistory(t)
	for _, name := range []string{"link", "hard", "pipe", "dir", "d/behind", "fine"} {
		h.put(name, "old")
	}
	h.put("victim", "victim")
	h.checkpoint("u1")
	for _, name := range []string{"link", "hard", "pipe", "dir", "d/behind", "fine", "new", "gone"} {
		h.write(name, "new")
	}
	replace := func(name string, by func() error) {
		h.must(os.Remove(h.path(name)))
		h.must(by())
	}
	replace("link", func() error { return os.Symlink(h.path("victim"), h.path("link")) })
	replace("new", func() error { return os.Symlink(h.path("victim"), h.path("new")) })
	replace("pipe", func() error { return syscall.Mkfifo(h.path("pipe"), 0o600) })
	replace("dir", func() error { return os.Mkdir(h.path("dir"), 0o755) })
	h.must(os.Link(h.path("hard"), h.path("second name")))
	h.must(os.Rename(h.path("d"), h.path("d2")))
	h.must(os.Symlink("d2", h.path("d")))
	plan, r := h.plan("u1"), h.rewind("u1")
	for _, r := range []*Report{plan, r} {
		h.wantFiles(r, "restore fine", "remove gone")
		want := []string{h.path("d/behind"), h.path("dir"), h.path("hard"), h.path("link"), h.path("new"), h.path("pipe")}
		if !slices.Equal(r.SkippedLinks, want) || len(r.Problems) > 0 {
			t.Fatalf("skipped %q, want %q; %+v", r.SkippedLinks, want, r.Problems)
		}
	}
	h.holds("victim", "victim")
	h.holds("second name", "new")
	h.holds("d2/behind", "new")
}

func TestP7_linksOfTheSessionAreReplaced(t *testing.T) {
	h := newHistory(t)
	h.put("a", "a0")
	h.put("d/x", "x0")
	h.put("elsewhere/x", "other")
	h.must(os.Symlink("a", h.path("l")))
	h.checkpoint("u1")
	h.change(func() {
		h.must(os.Remove(h.path("a")))
		h.must(os.Symlink("elsewhere/x", h.path("a")))
		h.must(os.Symlink("elsewhere", h.path("made")))
	}, "a", "made")
	h.change(func() {
		h.must(os.RemoveAll(h.path("d")))
		h.must(os.Symlink("elsewhere", h.path("d")))
	}, "d", "d/x")
	h.change(func() {
		h.must(os.Remove(h.path("l")))
		h.must(os.Mkdir(h.path("l"), 0o755))
	}, "l")
	h.write("l/deep/f", "")
	h.restart()
	plan := h.plan("u1")
	r := h.clean("u1")
	h.wantFiles(r, "restore a", "restore d", "restore d/x", "restore l", "remove made", "remove l/deep", "remove l/deep/f")
	h.wantFiles(plan, h.files(r)...)
	h.holds("a", "a0")
	h.holds("d/x", "x0")
	h.holds("elsewhere/x", "other")
	if to, err := os.Readlink(h.path("l")); to != "a" {
		t.Fatal(to, err)
	}
	h.clean(Undo)
	if to, err := os.Readlink(h.path("d")); to != "elsewhere" {
		t.Fatal(to, err)
	}
	h.holds("l/deep/f", "")
	h.holds("elsewhere/x", "other")
	h.clean("u1")
	h.holds("d/x", "x0")
}

func TestP8_untouched(t *testing.T) {
	h := newHistory(t)
	h.put("a", "a0")
	h.put("b", "b0")
	h.checkpoint("u1")
	h.write("a", "a1")
	h.write("b", "b1")
	h.write("b", "b0")
	before, err := look(h.path("b"))
	h.must(err)
	start := time.Now()
	r := h.clean("u1")
	h.wantFiles(r, "restore a")
	after, err := look(h.path("b"))
	h.must(err)
	if !sameFile(before, after) {
		t.Fatalf("%+v became %+v", before, after)
	}
	info, err := os.Stat(h.path("a"))
	h.must(err)
	const tick = 20 * time.Millisecond // a kernel's clock for files may lag by one
	if info.ModTime().Before(start.Add(-tick)) {
		t.Fatalf("restored with the old time %s", info.ModTime())
	}
}

func TestP9_onlyOurs(t *testing.T) {
	h := newHistory(t)
	h.put("a", "a0")
	h.put(".git/HEAD", "ref")
	h.put(".gitignore", "out/\n")
	h.put("out/result", "1 GB")
	h.checkpoint("u1")
	h.write("a", "a1")
	h.write("d/new", "n")
	h.write("out/result", "ours")
	h.write(".git/HEAD", "changed by a tool")
	h.put("d/theirs", "t")
	h.put("new.log", "log")
	r := h.rewind("u1")
	h.wantFiles(r, "restore a", "remove d/new", "restore out/result")
	if len(r.Uncovered) != 1 || r.Uncovered[0].What != h.path(".git/HEAD") {
		t.Fatalf("%+v", r.Uncovered)
	}
	h.holds(".git/HEAD", "changed by a tool")
	h.holds("d/theirs", "t")
	h.holds("new.log", "log")
	h.holds("out/result", "1 GB")

	inner := filepath.Join(h.dir, "journal")
	c, err := h.store.Begin(context.Background(), "test", inner)
	h.must(err)
	h.must(c.Done())
	if r := h.plan("u1"); len(r.Files) > 0 {
		t.Fatalf("the store tracks itself: %+v", r)
	}
}

func TestP10_driftTold(t *testing.T) {
	h := newHistory(t)
	for _, name := range []string{"edited", "removed", "touched", "quiet", "back", "big"} {
		h.put(name, "old")
	}
	big := strings.Repeat("x", 2*blob.SmallSize)
	h.checkpoint("u1")
	for _, name := range []string{"edited", "removed", "touched", "quiet", "back"} {
		h.write(name, "new")
	}
	h.write("big", big)
	h.write("made", "m")
	h.must(os.Remove(h.path("removed")))
	h.put("edited", "theirs")
	h.put("back", "old")
	h.put("made", "theirs too")
	h.put("big", big[1:])
	h.must(os.Chtimes(h.path("touched"), time.Now(), time.Now()))
	plan, r := h.plan("u1"), h.rewind("u1")
	for _, r := range []*Report{plan, r} {
		var paths []string
		for _, c := range r.Conflicts {
			paths = append(paths, filepath.Base(c.Path))
		}
		if want := []string{"big", "edited", "made", "removed"}; !slices.Equal(paths, want) {
			t.Fatalf("conflicts %+v, want %q", r.Conflicts, want)
		}
	}
	h.holds("edited", "old")
	h.clean(Undo)
	h.holds("edited", "theirs")
	h.holds("made", "theirs too")
	h.absent("removed")
}

func TestP11_previewIsPlan(t *testing.T) {
	h := newHistory(t)
	var crlf strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&crlf, "line %d\r\n", i)
	}
	h.put("crlf", crlf.String())
	h.put("binary", "\x00\x01")
	h.put("mode", "m")
	h.put("same", "s")
	h.checkpoint("u1")
	h.write("crlf", strings.Replace(crlf.String(), "line 70\r", "LINE 70\r", 1))
	h.write("binary", "text\n")
	h.write("made", "1\n2\n3")
	h.write("same", "s")
	h.remove("same")
	h.change(func() { h.must(os.Chmod(h.path("mode"), 0o755)) }, "mode")
	plan, r := h.plan("u1"), h.rewind("u1")
	if !slices.Equal(plan.Files, r.Files) {
		t.Fatalf("plan %+v\nrewind %+v", plan.Files, r.Files)
	}
	want := []FileChange{
		{h.path("binary"), 0, Restore, -1, -1},
		{h.path("crlf"), 0, Restore, 1, 1},
		{h.path("made"), 0, Remove, 0, 3},
		{h.path("mode"), 0, Chmod, 0, 0},
		{h.path("same"), 0, Restore, 1, 0},
	}
	if !slices.Equal(r.Files, want) {
		t.Fatalf("%+v\nwant %+v", r.Files, want)
	}
	if again := h.plan("u1"); len(again.Files) > 0 {
		t.Fatalf("%+v", again)
	}
}

func TestP12_private(t *testing.T) {
	old := syscall.Umask(0)
	defer syscall.Umask(old)
	h := newHistory(t)
	h.put("secret", "s0")
	h.must(os.Chmod(h.path("secret"), 0o600))
	h.put("big", strings.Repeat("x", blob.SmallSize+1))
	h.checkpoint("u1")
	h.write("secret", "s1")
	h.write("big", "b")
	info, err := os.Stat(h.path("secret"))
	h.must(err)
	if info.Mode() != 0o600 {
		t.Fatalf("an edit widened it to %s", info.Mode())
	}
	seen := false
	h.onOperation(func(op, path string) error {
		temps, err := filepath.Glob(h.path(".takeback-*"))
		for _, temp := range temps {
			info, err := os.Stat(temp)
			if err == nil && info.Mode().Perm()&0o077 != 0 && info.Size() != blob.SmallSize+1 {
				t.Errorf("before %s: %s has mode %s", op, temp, info.Mode())
			}
			seen = true
		}
		return err
	})
	h.clean("u1")
	h.store.fs.Fail = nil
	if !seen {
		t.Fatal("saw no temporary file")
	}
	h.must(filepath.WalkDir(h.dir, func(path string, d fs.DirEntry, err error) error {
		info, ierr := d.Info()
		h.must(ierr)
		want := fs.FileMode(0o600)
		if d.IsDir() {
			want = 0o700
		}
		if info.Mode().Perm() != want {
			t.Errorf("%s has mode %s", path, info.Mode())
		}
		return err
	}))
}

func TestP13_costFollowsChange(t *testing.T) {
	h := newHistory(t)
	size := func() int64 {
		info, err := os.Stat(h.store.journalPath())
		h.must(err)
		return info.Size()
	}
	h.checkpoint("u0")
	for i := range 500 {
		h.write(fmt.Sprint("f", i), "x")
	}
	h.checkpoint("turn 00")
	start := size()
	h.checkpoint("turn 01")
	one := size() - start
	for i := range 98 {
		h.checkpoint(fmt.Sprintf("turn %02d", i+2))
	}
	if grew := size() - start; grew > 99*one+99 {
		t.Fatalf("99 checkpoints of %d bytes each took %d", one, grew)
	}
	h.write("f7", "y")
	if r := h.plan("turn 00"); len(r.Files) != 1 {
		t.Fatalf("%+v", r)
	}
}

func TestP14_passive(t *testing.T) {
	h := newHistory(t)
	h.put("a", "a0")
	h.checkpoint("u1")
	h.write("a", "a1")
	h.put(".takeback-unrelated", "theirs")
	h.put("a", "theirs")
	before, err := look(h.path("a"))
	h.must(err)
	dir, err := look(h.work)
	h.must(err)
	h.restart()
	h.plan("u1")
	h.checkpoint("u2")
	h.must(h.store.Uncovered(context.Background(), "cmd", "not watched"))
	h.restart()
	after, err := look(h.path("a"))
	h.must(err)
	dirAfter, err := look(h.work)
	h.must(err)
	if !sameFile(before, after) || !sameFile(dir, dirAfter) {
		t.Fatal("the workspace was touched")
	}
	h.holds(".takeback-unrelated", "theirs")
}

// crash runs do, and from its n-th operation on lets nothing reach the disk, as
// if the process had died there.
func (h *history) crash(n int, do func()) (died bool) {
	h.onOperation(func(string, string) error {
		if n--; n < 0 {
			died = true
			return errors.New("dead")
		}
		return nil
	})
	do()
	if h.store.lock != nil {
		h.store.lock.Close()
	}
	h.open()
	return died
}

func TestP14_deadRewindsTempsGo(t *testing.T) {
	for n := 0; ; n++ {
		h := newHistory(t)
		h.put("a", "a0")
		h.must(os.Symlink("a0", h.path("link")))
		h.put("d/sub/x", "x0")
		h.checkpoint("u1")
		h.write("a", "a1")
		h.change(func() {
			h.must(os.Remove(h.path("link")))
			h.must(os.RemoveAll(h.path("d")))
			h.must(os.Symlink("nowhere", h.path("d")))
			h.must(os.Mkdir(h.path("link"), 0o700))
		}, "link", "d", "d/sub", "d/sub/x")
		h.write("m/new", "new")
		h.put(".takeback-theirs-1", "theirs")
		died := h.crash(n, func() { h.store.Rewind(context.Background(), "u1", RewindOptions{}) })
		h.checkpoint("u2") // takes the lock
		h.holds(".takeback-theirs-1", "theirs")
		h.must(os.Remove(h.path(".takeback-theirs-1")))
		h.noTemps()
		r := h.rewind("u1")
		if len(r.Problems)+len(r.SkippedLinks) > 0 {
			t.Fatalf("died at operation %d: %+v", n, r)
		}
		h.holds("a", "a0")
		h.holds("d/sub/x", "x0")
		h.absent("m")
		if to, _ := os.Readlink(h.path("link")); to != "a0" {
			t.Fatal(to)
		}
		if !died {
			if n < 20 {
				t.Fatalf("only %d operations", n)
			}
			return
		}
	}
}

func randomText(r *rand.Rand, n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(r.IntN(256))
	}
	return string(b)
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

func TestP12_ownerAndAttributes(t *testing.T) {
	h := newHistory(t)
	h.put("a", "a0")
	if os.Getuid() != 0 {
		t.Skip("only root can give files away")
	}
	const uid, gid = 1234, 4321
	h.must(os.Chown(h.path("a"), uid, gid))
	attrs := map[string][]byte{"user.note": []byte("\x00kept")}
	if err := h.store.fs.SetXattrs(h.path("a"), attrs); err != nil {
		t.Skip(err)
	}
	check := func() {
		t.Helper()
		state, err := look(h.path("a"))
		h.must(err)
		got, err := disk.Xattrs(h.path("a"))
		h.must(err)
		if state.UID != uid || state.GID != gid || string(got["user.note"]) != "\x00kept" {
			t.Fatalf("%+v, %q", state, got)
		}
	}
	h.checkpoint("u1")
	h.write("a", "a1")
	check()
	h.remove("a")
	h.restart()
	h.clean("u1")
	h.holds("a", "a0")
	check()

	h.write("a", "a1")
	h.onOperation(func(op, _ string) error {
		if op == "chown" {
			return syscall.EPERM
		}
		return nil
	})
	r := h.rewind("u1")
	h.holds("a", "a0")
	if len(r.Problems) != 1 || !errors.Is(r.Problems[0].Err, fs.ErrPermission) || r.UndoID == "" {
		t.Fatalf("a lost owner must be told: %+v", r)
	}
}
