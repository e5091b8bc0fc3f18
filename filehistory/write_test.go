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
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

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

// TestWriteFile_temporaryNamesAreKnown: a kill at any time leaves no name that the
// next process cannot tell, be it that two calls write one file at once.
func TestWriteFile_temporaryNamesAreKnown(t *testing.T) {
	h := newHistory(t)
	h.must(os.Mkdir(h.path("d"), 0o755))
	h.must(os.Symlink("d", h.path("alias")))
	h.put("d/a", "old")
	known := []string{"a", filepath.Base(writeTemporary(process(), "a"))}
	done := make(chan struct{})
	var wg sync.WaitGroup
	for _, spelling := range []string{"d/a", "d/a", "alias/a", "alias/a"} {
		wg.Go(func() {
			for range 200 {
				if err := WriteFile(h.path(spelling), []byte(strings.Repeat("x", 100_000)), 0o644); err != nil {
					t.Error(err)
				}
			}
		})
	}
	go func() { wg.Wait(); close(done) }()
	for running := true; running; {
		select {
		case <-done:
			running = false
		default:
		}
		entries, err := os.ReadDir(h.path("d"))
		h.must(err)
		if i := slices.IndexFunc(entries, func(e fs.DirEntry) bool { return !slices.Contains(known, e.Name()) }); i >= 0 {
			t.Errorf("a temporary file is named %s", entries[i].Name())
			<-done
			return
		}
	}
	h.put("d/"+known[1], "what could not be removed before")
	h.must(WriteFile(h.path("d/a"), []byte("new"), 0o644))
	h.holds("d/a", "new")
	h.noTemps()
}

// TestP7_folderSwappedForLink: a change writes where Begin saved what stands there, or
// nowhere, whatever somebody makes of the folders on the way in the meantime.
func TestP7_folderSwappedForLink(t *testing.T) {
	h := newHistory(t)
	h.put("p/q/a", "old")
	h.put("victim/q/a", "theirs")
	h.must(os.Symlink("p", h.path("alias")))
	h.checkpoint("u1")
	paths := []string{h.path("p/q/a"), h.path("alias/q/b"), h.path("p/new/c")}
	c, err := h.store.Begin(context.Background(), "test", paths...)
	h.must(err)
	var stop atomic.Bool
	var swapping sync.WaitGroup
	swapping.Go(func() {
		for !stop.Load() {
			_ = errors.Join(os.Rename(h.path("p"), h.path("away")), os.Symlink("victim", h.path("p")))
			for os.Rename(h.path("away"), h.path("p")) != nil {
				_ = os.RemoveAll(h.path("p")) // the link, or the folder that a call made anew
			}
		}
	})
	written := 0
	for start := time.Now(); time.Since(start) < time.Second/2 || written < 10; {
		for _, path := range paths {
			if c.WriteFile(path, []byte("agent's"), 0o644) == nil {
				written++
			}
		}
	}
	stop.Store(true)
	swapping.Wait()
	h.must(c.Done())
	victim, err := tree(h.path("victim"))
	h.must(err)
	if len(victim) != 1 || victim["q/a"] != "theirs" {
		t.Fatalf("%d writes, outside: %q", written, victim)
	}
	for _, path := range paths {
		h.must(c.WriteFile(path, []byte("agent's"), 0o644))
	}
	h.holds("p/q/b", "agent's")
	if err := c.WriteFile(h.path("other"), nil, 0o644); err == nil {
		t.Fatal("wrote what was not saved")
	}
	h.must(os.Rename(h.path("p"), h.path("away")))
	h.must(os.Symlink("victim", h.path("p")))
	for _, path := range paths {
		if err := c.WriteFile(path, []byte("agent's"), 0o644); err == nil {
			t.Fatal("followed a link")
		}
	}
}

// TestWriteFile_keeps what a file has: its mode, its attributes.
func TestWriteFile_keeps(t *testing.T) {
	h := newHistory(t)
	h.put("a", "old")
	h.must(os.Chmod(h.path("a"), 0o751))
	attr := unix.Setxattr(h.path("a"), "user.kept", []byte("v"), 0)
	h.must(WriteFile(h.path("a"), []byte("new"), 0o600))
	info, err := os.Stat(h.path("a"))
	h.must(err)
	if info.Mode() != 0o751 {
		t.Fatal(info.Mode())
	}
	b := make([]byte, 8)
	if n, err := unix.Getxattr(h.path("a"), "user.kept", b); attr == nil && (err != nil || string(b[:n]) != "v") {
		t.Fatal(b, err)
	}
}
