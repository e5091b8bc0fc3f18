//go:build unix

package filehistory

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"
)

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

// TestP9_ownStore: the store's own files are not the session's, whichever way leads to them.
func TestP9_ownStore(t *testing.T) {
	h := newHistory(t)
	home, link := h.path("home"), h.path("link")
	h.must(os.Mkdir(home, 0o700))
	h.must(os.Symlink(home, link))
	h.dir = filepath.Join(link, "takeback", "session")
	h.restart()
	h.checkpoint("u1")
	h.write("a", "a1")
	for _, spelling := range []string{home, link} {
		name := filepath.Join(spelling, "takeback", "session", "notes")
		h.change(func() { h.put(name, "by a tool") }, name)
	}
	h.restart()
	h.wantFiles(h.clean("u1"), "remove a")
	h.holds("home/takeback/session/notes", "by a tool")
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

// TestP7_rewindFollowsNoLateLink: a folder on the way becomes a link after the rewind
// looked, in the moment before it acts.
func TestP7_rewindFollowsNoLateLink(t *testing.T) {
	for _, late := range []string{"rename", "remove", "mkdir"} {
		h := newHistory(t)
		h.put("p/old", "old")
		h.put("p/gone/x", "x")
		h.put("victim/old", "theirs")
		h.put("victim/made", "theirs")
		h.checkpoint("u1")
		h.write("p/old", "new")
		h.write("p/made", "m")
		h.change(func() { h.must(os.RemoveAll(h.path("p/gone"))) }, "p/gone", "p/gone/x")
		before, err := tree(h.path("victim"))
		h.must(err)
		swapped := false
		h.onOperation(func(op, path string) error {
			if op == late && filepath.Dir(path) == h.path("p") && !swapped {
				swapped = true
				return errors.Join(os.Rename(h.path("p"), h.path("away")), os.Symlink("victim", h.path("p")))
			}
			return nil
		})
		r := h.rewind("u1")
		h.store.fs.Fail = nil
		after, err := tree(h.path("victim"))
		h.must(err)
		if _, err := os.Lstat(h.path("victim/gone")); err == nil || len(differences(after, before)) > 0 || !swapped {
			t.Fatalf("%s: %q, %v", late, after, err)
		}
		if len(r.Problems) == 0 {
			t.Fatalf("%s: %+v", late, r)
		}
		h.must(errors.Join(os.Remove(h.path("p")), os.Rename(h.path("away"), h.path("p"))))
		h.restart()
		h.rewind("u1")
		h.holds("p/old", "old")
		h.holds("p/gone/x", "x")
		h.absent("p/made")
	}
}
