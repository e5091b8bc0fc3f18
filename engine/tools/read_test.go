package tools

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// textReport is the report of a Read of text.
type textReport struct {
	Type string   `json:"type"`
	File textFile `json:"file"`
}

func TestRead(t *testing.T) {
	b := newBench(t, nil)
	for _, c := range []struct {
		name, content string
		in            args
		text          string
		file          textFile
	}{
		{"whole", "one\ntwo\n", nil, "1\tone\n2\ttwo\n", textFile{Content: "one\ntwo\n", NumLines: 2, StartLine: 1, TotalLines: 2}},
		{"no line end", "one\ntwo", nil, "1\tone\n2\ttwo\n", textFile{Content: "one\ntwo", NumLines: 2, StartLine: 1, TotalLines: 2}},
		{"CRLF", "one\r\n\r\n", nil, "1\tone\n2\t\n", textFile{Content: "one\n\n", NumLines: 2, StartLine: 1, TotalLines: 2}},
		{"part", "1\n2\n3\n4\n", args{"offset": 2, "limit": 2.0},
			"2\t2\n3\t3\n\n[These are lines 2 to 3 of 4. To read on, give offset 4.]",
			textFile{Content: "2\n3\n", NumLines: 2, StartLine: 2, TotalLines: 4}},
		{"end", "1\n2\n3\n", args{"offset": 3, "limit": 10}, "3\t3\n", textFile{Content: "3\n", NumLines: 1, StartLine: 3, TotalLines: 3}},
		{"offset 0", "1\n", args{"offset": 0}, "1\t1\n", textFile{Content: "1\n", NumLines: 1, StartLine: 1, TotalLines: 1}},
		{"empty", "", nil, "PATH is empty.", textFile{StartLine: 1}},
		{"mark alone", "\xEF\xBB\xBF", nil, "PATH is empty.", textFile{StartLine: 1}},
		{"UTF-16", "\xFF\xFEa\x00\n\x00\xE9\x00", nil, "1\ta\n2\té\n", textFile{Content: "a\né", NumLines: 2, StartLine: 1, TotalLines: 2}},
	} {
		t.Run(c.name, func(t *testing.T) {
			b.t = t
			b.put("f", c.content)
			in := args{"file_path": "f"}
			for k, v := range c.in {
				in[k] = v
			}
			if text := b.ok("Read", in); text != strings.Replace(c.text, "PATH", b.path("f"), 1) {
				t.Errorf("text %q", text)
			}
			var report textReport
			b.report("Read", in, &report)
			c.file.FilePath = b.path("f")
			if report.File != c.file || report.Type != "text" {
				t.Errorf("report %+v", report)
			}
		})
	}
}

func TestRead_refused(t *testing.T) {
	b := newBench(t, nil)
	b.put("file", "1\n2\n")
	b.put("zeros", "a\x00b")
	b.put("late", strings.Repeat("text\n", 100_000)+"\xFF")
	b.put("legacy", "caf\xE9")
	if err := os.Symlink("nowhere", b.path("dangling")); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"missing":   "does not exist",
		"dangling":  "does not exist",
		"file/x":    "a file stands where",
		".":         "is a folder",
		"/dev/null": "is a device",
		"zeros":     "NUL",
		"late":      "not valid UTF-8",
		"legacy":    "not valid UTF-8",
	} {
		b.fails("Read", args{"file_path": path, "limit": 1}, want, path[strings.LastIndex(path, "/")+1:])
	}
	b.fails("Read", args{"file_path": "file", "offset": 3}, "only 2 lines", "from line 3")
}

func TestRead_throughLinks(t *testing.T) {
	b := newBench(t, nil)
	if err := os.MkdirAll(b.path("real"), 0o755); err != nil {
		t.Fatal(err)
	}
	b.put("real/a", "old\n")
	if err := os.Symlink("real", b.path("folder")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("real/a", b.path("link")); err != nil {
		t.Fatal(err)
	}
	b.ok("Read", args{"file_path": "link"})
	// What was read by one name is known by all (B45).
	b.ok("Edit", args{"file_path": "folder/a", "old_string": "old", "new_string": "new"})
	b.holds("real/a", "new\n")
	b.fails("Edit", args{"file_path": "link", "old_string": "new", "new_string": "x"}, "symbolic link to "+b.path("real/a"))
	b.fails("Write", args{"file_path": "link", "content": "x"}, "symbolic link to "+b.path("real/a"))
	b.holds("real/a", "new\n")
}

func TestRead_bounds(t *testing.T) {
	b := newBench(t, nil)
	var content strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&content, "line %d\n", i+1)
	}
	b.put("long", content.String())
	if text := b.ok("Read", args{"file_path": "long"}); !strings.Contains(text, "lines 1 to 2000 of 5000. To read on, give offset 2001.") {
		t.Errorf("ends in %q", text[len(text)-100:])
	}

	b.put("wide", strings.Repeat("é", 500_000)+"\r\nnext\n")
	text := b.ok("Read", args{"file_path": "wide"})
	if want := "1\t" + strings.Repeat("é", 1000) + "… [998001 more bytes in this line]\n2\tnext\n"; text != want {
		t.Errorf("%s", shorten(text))
	}

	b.put("shifted", "x"+strings.Repeat("é", 2000))
	text = b.ok("Read", args{"file_path": "shifted"})
	if want := "1\tx" + strings.Repeat("é", 999) + "… [2002 more bytes in this line]\n"; text != want {
		t.Errorf("%s", shorten(text))
	}

	b.put("heavy", strings.Repeat(strings.Repeat("w", 1999)+"\n", 200))
	seen := 0
	for offset := 1; offset <= 200; {
		var report textReport
		b.report("Read", args{"file_path": "heavy", "offset": offset}, &report)
		if len(report.File.Content) > maxPageBytes {
			t.Fatalf("a page of %d bytes", len(report.File.Content))
		}
		seen += len(report.File.Content)
		offset += report.File.NumLines
	}
	if seen != 200*2000 {
		t.Errorf("pages hold %d bytes in all", seen)
	}
}
