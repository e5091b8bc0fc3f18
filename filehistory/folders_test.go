//go:build unix

package filehistory

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestP7_kindsSwapped: a file in the place of the session's folder is somebody else's,
// as a folder in the place of its file is. Both are left alone, and told.
func TestP7_kindsSwapped(t *testing.T) {
	h := newHistory(t)
	h.checkpoint("u1")
	h.write("d/a", "a1")
	h.write("f", "f1")
	h.change(func() { h.must(os.Mkdir(h.path("e"), 0o755)) }, "e")
	for _, name := range []string{"d", "e", "f"} {
		h.must(os.RemoveAll(h.path(name)))
	}
	h.put("d", "theirs")
	h.put("e", "theirs")
	h.must(os.Mkdir(h.path("f"), 0o755))
	for range 2 {
		r := h.rewind("u1")
		if !slices.Equal(r.SkippedLinks, []string{h.path("d"), h.path("e"), h.path("f")}) || r.UndoID != "" {
			t.Fatalf("%+v", r)
		}
		h.holds("d", "theirs")
		h.holds("e", "theirs")
		if info, err := os.Stat(h.path("f")); err != nil || !info.IsDir() {
			t.Fatal(info, err)
		}
		h.restart()
	}
}

// TestP9_folderMadeAnew: an empty folder is the session's, unless it was made after the
// session's own had gone.
func TestP9_folderMadeAnew(t *testing.T) {
	const tick = 20 * time.Millisecond // of the clock that tells when a folder was made
	h := newHistory(t)
	h.checkpoint("u1")
	h.write("own/a", "a")
	h.write("theirs/a", "a")
	h.write("again/a", "a")
	h.must(os.Remove(h.path("own/a")))
	h.must(os.RemoveAll(h.path("theirs")))
	h.must(os.RemoveAll(h.path("again")))
	time.Sleep(tick)
	h.must(os.Mkdir(h.path("theirs"), 0o755))
	h.must(os.Mkdir(h.path("again"), 0o755))
	h.write("again/a", "a2")
	h.wantFiles(h.clean("u1"), "remove own", "remove again", "remove again/a")
	if info, err := os.Stat(h.path("theirs")); err != nil || !info.IsDir() {
		t.Fatal(info, err)
	}
	if r := h.clean("u1"); len(r.Files) > 0 || r.UndoID != "" {
		t.Fatalf("%+v", r)
	}
}

// TestP12_folderOnTheWay: a folder that somebody removed gets its mode back, and is never
// more open than it was.
func TestP12_folderOnTheWay(t *testing.T) {
	modes := map[string]os.FileMode{"p": 0o751, "p/q": 0o700, "p/q/r": 0o770 | os.ModeSticky}
	h := newHistory(t)
	h.put("p/q/r/a", "a0")
	for name, mode := range modes {
		h.must(os.Chmod(h.path(name), mode))
	}
	h.checkpoint("u1")
	h.write("p/q/r/a", "a1")
	h.must(os.RemoveAll(h.path("p")))
	h.restart()
	h.rewind("u1") // and says that they were removed
	h.holds("p/q/r/a", "a0")
	for name, mode := range modes {
		if info, err := os.Stat(h.path(name)); err != nil || info.Mode()&modeBits != mode {
			t.Errorf("%s: %v, %v", name, info.Mode(), err)
		}
	}

	h.must(os.RemoveAll(h.path("p")))
	clear(h.store.index.folders)
	h.rewind("u1")
	for name := range modes {
		if info, err := os.Stat(h.path(name)); err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("%s, of which nothing is known: %v, %v", name, info.Mode(), err)
		}
	}
}

// TestP13_foldersAreNotedOnce: a folder costs a record when it is first met, and when it
// is another one.
func TestP13_foldersAreNotedOnce(t *testing.T) {
	h := newHistory(t)
	h.must(os.MkdirAll(h.path("d/e"), 0o755))
	h.checkpoint("u1")
	noted := func() int {
		journal, err := os.ReadFile(h.store.journalPath())
		h.must(err)
		return strings.Count(string(journal), `"r":"folder"`)
	}
	h.write("d/e/0", "")
	first := noted()
	if first < 2 {
		t.Fatal(first)
	}
	for i := range 5 {
		c, err := h.store.Begin(context.Background(), "test", h.path("d/e/a"), h.path("d/b"), h.path(fmt.Sprint("d/e/", i)))
		h.must(err)
		h.must(c.Done())
		h.restart()
	}
	if noted() != first {
		t.Fatal(noted(), first)
	}
	h.must(os.Chmod(h.path("d"), 0o700))
	h.write("d/e/0", "1")
	if noted() != first+1 {
		t.Fatal(noted(), first)
	}
}
