package tools

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestWrite_create(t *testing.T) {
	b := newBench(t, nil)
	var report writeReport
	b.report("Write", args{"file_path": "a/b/new", "content": "one\n"}, &report)
	b.holds("a/b/new", "one\n")
	if report.Type != "create" || report.OriginalFile != nil || report.StructuredPatch == nil ||
		report.FilePath != b.path("a/b/new") || report.Content != "one\n" {
		t.Errorf("report %+v", report)
	}
	// What was just written is known.
	b.report("Write", args{"file_path": "a/b/new", "content": "two\n"}, &report)
	if report.Type != "update" || *report.OriginalFile != "one\n" || len(report.StructuredPatch) != 1 {
		t.Errorf("report %+v", report)
	}
}

func TestWrite_readFirst(t *testing.T) {
	b := newBench(t, nil)
	b.put("a", "old\n")
	b.fails("Write", args{"file_path": "a", "content": "new\n"}, b.path("a"), "Read it first")
	b.ok("Read", args{"file_path": "a"})
	b.put("a", "abc\n") // same size, and perhaps the same mtime
	b.fails("Write", args{"file_path": "a", "content": "new\n"}, b.path("a"), "has changed", "Read it again")
	b.holds("a", "abc\n")
	b.ok("Read", args{"file_path": "a"})
	b.ok("Write", args{"file_path": "a", "content": "new\n"})
	b.holds("a", "new\n")

	b.set.Forget([]string{b.path("a")})
	b.fails("Write", args{"file_path": "a", "content": "newer\n"}, "Read it first")
}

func TestWrite_partlyRead(t *testing.T) {
	b := newBench(t, nil)
	b.put("a", "1\n2\n3\n")
	b.ok("Read", args{"file_path": "a", "offset": 3})
	b.ok("Write", args{"file_path": "a", "content": "new\n"})
	b.holds("a", "new\n")
}

func TestWrite_keepsTheFormat(t *testing.T) {
	b := newBench(t, nil)
	for _, c := range []struct{ name, old, content, want string }{
		{"UTF-8", "old", "\uFEFFné", "\uFEFFné"},
		{"UTF-8 with mark", "\xEF\xBB\xBFold", "né", "\xEF\xBB\xBFné"},
		{"mark repeated", "\xEF\xBB\xBFold", "\uFEFFné", "\xEF\xBB\xBFné"},
		{"UTF-16 LE", "\xFF\xFEo\x00", "n😀", "\xFF\xFEn\x00\x3D\xD8\x00\xDE"},
		{"UTF-16 BE", "\xFE\xFF\x00o", "n", "\xFE\xFF\x00n"},
		{"line ends as given", "a\r\nb\r\n", "a\nb\n", "a\nb\n"},
	} {
		b.put(c.name, c.old)
		b.ok("Read", args{"file_path": c.name})
		b.ok("Write", args{"file_path": c.name, "content": c.content})
		b.holds(c.name, c.want)
	}
}

// A file that is no text cannot be shown, but a Write over it is possible once
// the model has tried to read it: then it is meant.
func TestWrite_overBinary(t *testing.T) {
	b := newBench(t, nil)
	for name, old := range map[string]string{"png": "\x89PNG\r\n\x1a\n\x00\x00", "like UTF-16": "\xFF\xFE\x00\x00\x00"} {
		b.put(name, old)
		b.fails("Write", args{"file_path": name, "content": "text"}, "Read it first")
		b.fails("Read", args{"file_path": name}, "cannot be shown")
		var report writeReport
		b.report("Write", args{"file_path": name, "content": "text"}, &report)
		b.holds(name, "text")
		if report.Type != "update" || report.OriginalFile != nil || len(report.StructuredPatch) != 0 {
			t.Errorf("%s: report %+v", name, report)
		}
	}
}

func TestWrite_bigOriginal(t *testing.T) {
	b := newBench(t, nil)
	b.put("big", "\xFF\xFE"+strings.Repeat("x\x00\n\x00", maxReported))
	b.ok("Read", args{"file_path": "big"})
	result := b.run(t.Context(), "Write", args{"file_path": "big", "content": "a"})
	b.holds("big", "\xFF\xFEa\x00")
	if len(result.Report) > 1000 || !strings.Contains(string(result.Report), `"originalFile":null,`) {
		t.Errorf("report of %d bytes: %s", len(result.Report), shorten(string(result.Report)))
	}
}

func TestWrite_refused(t *testing.T) {
	b := newBench(t, nil)
	b.put("file", "x")
	for name, to := range map[string]string{"link": "file", "dangling": "nowhere"} {
		if err := os.Symlink(to, b.path(name)); err != nil {
			t.Fatal(err)
		}
	}
	for path, want := range map[string]string{
		"link":     "symbolic link to " + b.path("file"),
		"dangling": "symbolic link to nowhere",
		".":        "is a folder",
		"file/x":   "a file stands where",
	} {
		b.fails("Write", args{"file_path": path, "content": "new"}, want, path)
		b.fails("Edit", args{"file_path": path, "old_string": "", "new_string": "new"}, want, path)
	}
	b.holds("file", "x")
	b.missing("nowhere")
}

func TestWrite_keepsModeAndOtherNames(t *testing.T) {
	b := newBench(t, nil)
	for name, mode := range map[string]os.FileMode{"x.sh": 0o755, ".env": 0o600, "ro": 0o444} {
		b.put(name, "old\n")
		if err := os.Chmod(b.path(name), mode); err != nil {
			t.Fatal(err)
		}
		if err := os.Link(b.path(name), b.path(name+".link")); err != nil {
			t.Fatal(err)
		}
		b.ok("Read", args{"file_path": name})
		b.ok("Edit", args{"file_path": name, "old_string": "old", "new_string": "new"})
		b.ok("Write", args{"file_path": name, "content": "newer\n"})
		b.holds(name, "newer\n")
		b.holds(name+".link", "old\n")
		if info, err := os.Stat(b.path(name)); err != nil || info.Mode().Perm() != mode {
			t.Errorf("%s: mode %v, %v", name, info.Mode(), err)
		}
	}
	left, _ := filepath.Glob(b.path("*tmp*"))
	if len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// What another program does between a tool's look and its write is not overwritten.
func TestWrite_raced(t *testing.T) {
	b := newBench(t, nil)
	b.put("a", "theirs")
	seen := digestOf([]byte("seen"))
	for name, want := range map[string]*digest{"a": nil, "b": &seen} {
		if err := b.set.write(t.Context(), "Write 1", b.path(name), want, []byte("ours")); err == nil || !strings.Contains(err.Error(), "at this moment") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := b.set.write(t.Context(), "Write 1", b.path("a"), &seen, []byte("ours")); err == nil {
		t.Error("written over another content")
	}
	b.holds("a", "theirs")
	b.missing("b")
}
