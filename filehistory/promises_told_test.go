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
	"time"

	"takeback/filehistory/internal/blob"
	"takeback/filehistory/internal/disk"
)

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

// TestP13_costFollowsChange does the same in a new session and in one with many
// files and checkpoints: as many operations, as many bytes.
func TestP13_costFollowsChange(t *testing.T) {
	few, many := costs(t, 1), costs(t, 500)
	for action, cost := range few {
		if got := many[action]; !slices.Equal(got.operations, cost.operations) {
			t.Errorf("%s: %q, with much history %q", action, cost.operations, got.operations)
		}
		const digits = 40 // by which numbers are longer
		if got := many[action]; got.bytes > cost.bytes+digits {
			t.Errorf("%s: %d bytes, with much history %d", action, cost.bytes, got.bytes)
		}
	}
}

type cost struct {
	operations []string
	bytes      int64 // by which the store grows
}

// costs measures in a session that has that many files and checkpoints.
func costs(t *testing.T, history int) map[string]cost {
	h := newHistory(t)
	for i := range history {
		h.checkpoint(fmt.Sprintf("turn %03d", i))
		h.write(fmt.Sprintf("f%03d", i), "x")
	}
	h.put("tracked", "old")
	h.write("tracked", "x")
	size := func() (sum int64) {
		h.must(filepath.WalkDir(h.dir, func(_ string, d fs.DirEntry, err error) error {
			if info, ierr := d.Info(); ierr == nil && !d.IsDir() {
				sum += info.Size()
			}
			return err
		}))
		return sum
	}
	costs := make(map[string]cost)
	measure := func(action string, do func()) {
		before := size()
		var ops []string
		for _, op := range h.operations(do) {
			ops = append(ops, strings.Fields(op)[0])
		}
		costs[action] = cost{ops, size() - before}
	}
	measure("checkpoint", func() { h.checkpoint("last") })
	measure("change", func() { h.write("tracked", strings.Repeat("y", 1000)) })
	measure("plan", func() { h.wantFiles(h.plan("last"), "restore tracked") })
	measure("rewind", func() { h.wantFiles(h.clean("last"), "restore tracked") })
	measure("undo", func() { h.wantFiles(h.clean(Undo), "restore tracked") })
	return costs
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
	h.crashed()
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

func TestP12_ownerAndAttributes(t *testing.T) {
	h := newHistory(t)
	h.put("a", "a0")
	if os.Getuid() != 0 {
		t.Skip("only root can give files away")
	}
	const uid, gid = 1234, 4321
	h.must(os.Mkdir(h.path("d"), 0o755))
	h.must(os.Symlink("a", h.path("l")))
	for _, name := range []string{"d", "l"} {
		h.must(os.Lchown(h.path(name), uid, gid))
	}
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
	h.remove("d")
	h.remove("l")
	h.restart()
	h.clean("u1")
	for _, name := range []string{"d", "l"} {
		if state, err := look(h.path(name)); err != nil || state.UID != uid || state.GID != gid {
			t.Fatalf("%s: %+v, %v", name, state, err)
		}
	}
	h.holds("a", "a0")
	check()

	h.write("a", "a1")
	h.onOperation(func(op, _ string) error {
		if op == "chown" {
			return syscall.EPERM
		}
		return nil
	})
	h.wantFiles(h.clean("u1"), "restore a") // in place, where the owner is
	h.holds("a", "a0")
	check()
	h.remove("a")
	plan := h.plan("u1")
	r := h.rewind("u1")
	h.holds("a", "a0")
	if len(r.Problems) != 1 || !errors.Is(r.Problems[0].Err, fs.ErrPermission) || !r.Problems[0].Restored || r.UndoID == "" {
		t.Fatalf("a lost owner must be told: %+v", r)
	}
	if !slices.Equal(r.Files, plan.Files) {
		t.Fatalf("%+v is not what was announced: %+v", r.Files, plan.Files)
	}
}
