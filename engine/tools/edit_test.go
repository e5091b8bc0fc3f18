package tools

import (
	"reflect"
	"strings"
	"testing"
)

func TestEdit(t *testing.T) {
	b := newBench(t, nil)
	b.put("a", "one\ntwo\nthree\n")
	b.fails("Edit", args{"file_path": "a", "old_string": "two", "new_string": "2"}, b.path("a"), "Read it first")
	b.ok("Read", args{"file_path": "a"})
	var report editReport
	b.report("Edit", args{"file_path": "a", "old_string": "two", "new_string": "2"}, &report)
	b.holds("a", "one\n2\nthree\n")
	original := "one\ntwo\nthree\n"
	if want := (editReport{
		FilePath: b.path("a"), OldString: "two", NewString: "2", OriginalFile: &original,
		StructuredPatch: []hunk{{1, 3, 1, 3, []string{" one", "-two", "+2", " three"}}},
	}); !reflect.DeepEqual(report, want) {
		t.Errorf("report %+v", report)
	}
	b.ok("Edit", args{"file_path": "a", "old_string": "e\n", "new_string": "E\n", "replace_all": true})
	b.holds("a", "onE\n2\nthreE\n")
}

func TestEdit_refused(t *testing.T) {
	b := newBench(t, nil)
	b.put("a", "x x\n")
	b.put("zeros", "x\x00")
	b.put("legacy", "caf\xE9 x")
	b.put("half", "\xFF\xFEx\x00\x3D\xD8")
	for _, c := range []struct{ name, old, new, want string }{
		{"a", "x", "x", "are the same"},
		{"a", "", "y", "old_string is empty"},
		{"a", "y", "z", "does not occur"},
		{"a", "x", "z", "occurs 2 times"},
		{"missing", "x", "z", "does not exist"},
		{"zeros", "x", "z", "NUL"},
		{"legacy", "x", "z", "not valid UTF-8"},
		{"half", "x", "z", "not valid UTF-16"},
	} {
		b.run(t.Context(), "Read", args{"file_path": c.name})
		b.fails("Edit", args{"file_path": c.name, "old_string": c.old, "new_string": c.new}, b.path(c.name), c.want)
	}
	b.holds("a", "x x\n")
	b.holds("legacy", "caf\xE9 x")
}

func TestEdit_create(t *testing.T) {
	b := newBench(t, nil)
	var report editReport
	b.report("Edit", args{"file_path": "d/new", "old_string": "", "new_string": "a\n"}, &report)
	b.holds("d/new", "a\n")
	if report.OriginalFile != nil || len(report.StructuredPatch) != 1 {
		t.Errorf("report %+v", report)
	}
	b.ok("Edit", args{"file_path": "d/new", "old_string": "a", "new_string": "b"})
	b.holds("d/new", "b\n")

	b.put("empty", "")
	b.report("Edit", args{"file_path": "empty", "old_string": "", "new_string": "a"}, &report)
	b.holds("empty", "a")
	if report.OriginalFile == nil || *report.OriginalFile != "" {
		t.Errorf("report %+v", report)
	}
}

func TestEdit_changedSinceRead(t *testing.T) {
	b := newBench(t, nil)
	b.put("a", "one\ntwo\n")
	b.ok("Read", args{"file_path": "a"})
	b.put("a", "one\ntwo\nthree\n")
	text := b.ok("Edit", args{"file_path": "a", "old_string": "two", "new_string": "2"})
	if !strings.Contains(text, "had changed") {
		t.Errorf("text %q", text)
	}
	b.holds("a", "one\n2\nthree\n")
	b.fails("Edit", args{"file_path": "a", "old_string": "two", "new_string": "2"}, "does not occur", "has changed", "Read it again")
	// The model has still not seen line three.
	b.fails("Write", args{"file_path": "a", "content": "x"}, "has changed")
}

// B10, B56: all that an edit does not touch stays, byte for byte.
func TestEdit_keepsBytes(t *testing.T) {
	b := newBench(t, nil)
	for _, c := range []struct{ name, content, old, new, want string }{
		{"CRLF", "a\r\nb\r\nc", "a\nb", "a\nB\nB", "a\r\nB\r\nB\r\nc"},
		{"mixed", "a\r\nb\nc\r\n", "b", "B", "a\r\nB\nc\r\n"},
		{"lone CR", "a\rb\rc", "b", "B", "a\rB\rc"},
		{"no final newline", "a\nb", "b", "B", "a\nB"},
		{"UTF-8 mark", "\xEF\xBB\xBFa\r\nb", "a", "é", "\xEF\xBB\xBFé\r\nb"},
		{"UTF-16 LE", "\xFF\xFEa\x00\r\x00\n\x00b\x00", "a", "é\n😀", "\xFF\xFE\xE9\x00\r\x00\n\x00\x3D\xD8\x00\xDE\r\x00\n\x00b\x00"},
		{"UTF-16 BE", "\xFE\xFF\x00a\xFE\xFF", "a", "b", "\xFE\xFF\x00b\xFE\xFF"},
	} {
		b.put(c.name, c.content)
		b.ok("Read", args{"file_path": c.name})
		b.ok("Edit", args{"file_path": c.name, "old_string": c.old, "new_string": c.new})
		b.holds(c.name, c.want)
	}
}

func TestEdit_bigFile(t *testing.T) {
	b := newBench(t, nil)
	half := strings.Repeat("0123456\n", 100_000)
	b.put("big", half+"here\n"+half)
	b.ok("Read", args{"file_path": "big", "limit": 1})
	var report editReport
	b.report("Edit", args{"file_path": "big", "old_string": "here", "new_string": "there"}, &report)
	b.holds("big", half+"there\n"+half)
	if report.OriginalFile != nil || len(report.StructuredPatch) != 1 || report.StructuredPatch[0].OldStart != 99_998 {
		t.Errorf("report %+v", report)
	}

	b.put("huge", strings.Repeat(half, maxEdited/len(half)+1))
	b.ok("Read", args{"file_path": "huge", "limit": 1})
	b.fails("Edit", args{"file_path": "huge", "old_string": "0123456", "new_string": "x", "replace_all": true}, "too big")
}
