package tools

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"takeback/filehistory"
)

const point = "11111111-1111-4111-8111-111111111111"

// newHistory is a bench whose history has one checkpoint, point.
func newHistory(t *testing.T) (*bench, *filehistory.Store) {
	t.Helper()
	store, err := filehistory.Open(filepath.Join(t.TempDir(), "history"), filehistory.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	if err := store.Checkpoint(t.Context(), point, "the prompt"); err != nil {
		t.Fatal(err)
	}
	return newBench(t, store), store
}

func (b *bench) rewind(store *filehistory.Store) *filehistory.Report {
	b.t.Helper()
	report, err := store.Rewind(b.t.Context(), point, filehistory.RewindOptions{})
	if err != nil {
		b.t.Fatal(err)
	}
	if len(report.Problems) > 0 || len(report.Conflicts) > 0 || len(report.SkippedLinks) > 0 {
		b.t.Errorf("rewind: %+v", report)
	}
	return report
}

// B9, B10, B20, B54, B55, B56: whatever the tools made of a file, its bytes and mode come back.
func TestRewind_restores(t *testing.T) {
	b, store := newHistory(t)
	bytes := strings.Repeat("\x89PNG\r\n\x00\xFF", 500)
	files := []struct {
		name, content string
		mode          os.FileMode
	}{
		{"binary", bytes, 0o644},
		{"legacy", "caf\xE9\n", 0o644},
		{"CRLF", "a\r\nb\r\n", 0o644},
		{"mixed", "a\r\nb\nc", 0o644},
		{"UTF-16", "\xFF\xFEa\x00\n\x00", 0o644},
		{"UTF-8 mark", "\xEF\xBB\xBFa\n", 0o644},
		{"script", "#!/bin/sh\na\n", 0o755},
		{"private", "a=secret\n", 0o600},
		{"read-only", "a\n", 0o444},
		{"__init__.py", "", 0o644},
	}
	for _, f := range files {
		b.put(f.name, f.content)
		if err := os.Chmod(b.path(f.name), f.mode); err != nil {
			t.Fatal(err)
		}
		b.run(t.Context(), "Read", args{"file_path": f.name})
		if result := b.run(t.Context(), "Edit", args{"file_path": f.name, "old_string": "a", "new_string": "A\nB"}); result.IsError {
			b.ok("Write", args{"file_path": f.name, "content": "text\n"})
		}
	}
	if report := b.rewind(store); len(report.Files) != len(files) {
		t.Errorf("%d files restored, want %d", len(report.Files), len(files))
	}
	for _, f := range files {
		b.holds(f.name, f.content)
		if info, err := os.Stat(b.path(f.name)); err != nil || info.Mode().Perm() != f.mode {
			t.Errorf("%s: %v, %v", f.name, info.Mode(), err)
		}
	}
}

// B40, B43, B57: what the tools made goes, with the folders that it needed.
func TestRewind_removes(t *testing.T) {
	b, store := newHistory(t)
	for _, name := range oddNames {
		b.ok("Write", args{"file_path": name, "content": "x"})
		b.ok("Edit", args{"file_path": "d1/d2/" + name, "old_string": "", "new_string": "x"})
	}
	b.rewind(store)
	if entries, err := os.ReadDir(b.dir); err != nil || len(entries) > 0 {
		t.Errorf("left: %v (%v)", entries, err)
	}
}

// B45: one file, however it is spelled.
func TestRewind_spellings(t *testing.T) {
	b, store := newHistory(t)
	if err := os.Mkdir(b.path("d"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("d", b.path("link")); err != nil {
		t.Fatal(err)
	}
	b.put("d/a", "1\n")
	b.ok("Read", args{"file_path": "d/a"})
	for i, path := range []string{"./d/a", "d/../d/a", b.path("d/a"), "link/a"} {
		b.ok("Edit", args{"file_path": path, "old_string": string(rune('1' + i)), "new_string": string(rune('2' + i))})
	}
	b.holds("d/a", "5\n")
	if report := b.rewind(store); len(report.Files) != 1 {
		t.Errorf("restored %+v", report.Files)
	}
	b.holds("d/a", "1\n")
}

func TestRewind_failedCalls(t *testing.T) {
	b, store := newHistory(t)
	b.put("a", "old\n")
	b.fails("Write", args{"file_path": "a", "content": "x"})
	b.fails("Edit", args{"file_path": "a", "old_string": "x", "new_string": "y"})
	if report := b.rewind(store); len(report.Files) != 0 {
		t.Errorf("restored %+v", report.Files)
	}
}

// P1: nothing is written that was not saved, and nothing runs that was not noted.
func TestHistoryBroken(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "folder")
	store, err := filehistory.Open(filepath.Join(folder, "history"), filehistory.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	if err := os.WriteFile(folder, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	b := newBench(t, store)
	b.put("a", "old\n")
	b.ok("Read", args{"file_path": "a"})
	b.fails("Write", args{"file_path": "a", "content": "new\n"}, b.path("a"), "was not written", "could not be saved")
	b.fails("Edit", args{"file_path": "a", "old_string": "old", "new_string": "new"}, b.path("a"), "was not written")
	b.fails("Write", args{"file_path": "new", "content": ""}, "was not written")
	b.holds("a", "old\n")
	b.missing("new")
	b.fails("Bash", args{"command": "touch ran"}, "was not run", "file history")
	b.missing("ran")
}
