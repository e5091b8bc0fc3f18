//go:build unix

package filehistory

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
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
