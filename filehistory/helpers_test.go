package filehistory

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
)

// history is a store and a workspace for a test.
type history struct {
	*testing.T
	store *Store
	dir   string // of the store
	work  string // a resolved folder to work in
	opts  Options
	calls int // of count
}

func newHistory(t *testing.T) *history {
	t.Helper()
	work, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	h := &history{T: t, dir: filepath.Join(t.TempDir(), "store"), work: work}
	h.open()
	t.Cleanup(func() { h.store.Close() })
	return h
}

func (h *history) open() {
	h.Helper()
	s, err := Open(h.dir, h.opts)
	h.must(err)
	h.store = s
}

// restart ends the process, as far as the store can tell.
func (h *history) restart() {
	h.Helper()
	h.must(h.store.Close())
	h.open()
}

func (h *history) must(err error) {
	h.Helper()
	if err != nil {
		h.Fatal(err)
	}
}

func (h *history) path(name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(h.work, name)
}

func (h *history) checkpoint(id string) {
	h.Helper()
	h.must(h.store.Checkpoint(context.Background(), id, "prompt of "+id))
}

// change lets the session do something to paths.
func (h *history) change(do func(), names ...string) {
	h.Helper()
	paths := make([]string, len(names))
	for i, name := range names {
		paths[i] = h.path(name)
	}
	c, err := h.store.Begin(context.Background(), "test", paths...)
	h.must(err)
	do()
	h.must(c.Done())
}

// write is what the Write tool does.
func (h *history) write(name, content string) {
	h.Helper()
	h.change(func() { h.must(WriteFile(h.path(name), []byte(content), 0o644)) }, name)
}

func (h *history) remove(name string) {
	h.Helper()
	h.change(func() { h.must(os.Remove(h.path(name))) }, name)
}

// put is what somebody else does.
func (h *history) put(name, content string) {
	h.Helper()
	h.must(os.MkdirAll(filepath.Dir(h.path(name)), 0o755))
	h.must(os.WriteFile(h.path(name), []byte(content), 0o644))
}

func (h *history) plan(id string) *Report {
	h.Helper()
	r, err := h.store.Plan(context.Background(), id, RewindOptions{})
	h.must(err)
	return r
}

func (h *history) rewind(id string) *Report {
	h.Helper()
	r, err := h.store.Rewind(context.Background(), id, RewindOptions{})
	h.must(err)
	return r
}

// clean rewinds, and expects nothing but changed files.
func (h *history) clean(id string) *Report {
	h.Helper()
	r := h.rewind(id)
	if len(r.Problems)+len(r.SkippedLinks)+len(r.Conflicts)+len(r.Uncovered) > 0 {
		h.Fatalf("rewind to %s: %+v", id, r)
	}
	h.noTemps()
	return r
}

func (h *history) holds(name, content string) {
	h.Helper()
	b, err := os.ReadFile(h.path(name))
	if err != nil || string(b) != content {
		h.Fatalf("%s holds %.40q, %v; want %.40q", name, b, err, content)
	}
}

func (h *history) absent(names ...string) {
	h.Helper()
	for _, name := range names {
		if _, err := os.Lstat(h.path(name)); !errors.Is(err, fs.ErrNotExist) {
			h.Fatalf("%s is there (%v)", name, err)
		}
	}
}

// onOperation lets hook fail operations on the disk, one at a time.
func (h *history) onOperation(hook func(op, path string) error) {
	var mu sync.Mutex
	h.store.fs.Fail = func(op, path string) error {
		mu.Lock()
		defer mu.Unlock()
		return hook(op, path)
	}
}

// count counts its calls, and says when there have been n before.
func (h *history) count(n int) bool {
	h.calls++
	return h.calls == n+1
}

// crashed ends the process as a kill does: the lock goes, nothing else happens.
func (h *history) crashed() {
	h.Helper()
	if h.store.lock != nil {
		h.must(h.store.lock.Close())
	}
	h.open()
}

func (h *history) noTemps() {
	h.Helper()
	h.must(filepath.WalkDir(h.work, func(path string, d fs.DirEntry, err error) error {
		if ok, _ := filepath.Match(".takeback-*", d.Name()); ok {
			h.Errorf("left behind: %s", path)
		}
		return err
	}))
}

func (h *history) files(r *Report) []string {
	var names []string
	for _, f := range r.Files {
		name, err := filepath.Rel(h.work, f.Path)
		h.must(err)
		names = append(names, string(f.Action)+" "+name)
	}
	slices.Sort(names)
	return names
}

func (h *history) wantFiles(r *Report, want ...string) {
	h.Helper()
	slices.Sort(want)
	if got := h.files(r); !slices.Equal(got, want) {
		h.Fatalf("files: %q, want %q (%+v)", got, want, r)
	}
}
