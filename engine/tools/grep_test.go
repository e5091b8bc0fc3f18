package tools

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func (b *bench) grep(in args) (text string, report grepReport) {
	b.t.Helper()
	b.report("Grep", in, &report)
	return b.ok("Grep", in), report
}

// searched is what most tests look through; the file that changed last comes first.
func searched(t *testing.T) *bench {
	b := newBench(t, nil)
	b.tree("z.go", "a/b.go", "a/c.ts", ".hidden", "skipped/x.go", "a/x.log")
	for name, content := range map[string]string{
		"z.go":         "package z\n\nfunc Foo() {\n\treturn\n}\n\nfunc Bar() {}\n",
		"a/b.go":       "package b\r\nfunc foo() {}\r\n",
		"a/c.ts":       "function foo() {\n}",
		".hidden":      "foo = bar\n",
		"skipped/x.go": "foo\n",
		"a/x.log":      "foo\n",
		"binary":       "foo\x00foo\n",
		"UTF-16":       "\xFF\xFEf\x00\xF3\x00\n\x00",
		"legacy":       "caf\xE9 x\n",
		".gitignore":   "/skipped/\n*.log\n",
	} {
		info, err := os.Stat(b.path(name))
		b.put(name, content)
		if err == nil {
			if err := os.Chtimes(b.path(name), info.ModTime(), info.ModTime()); err != nil {
				t.Fatal(err)
			}
		}
	}
	return b
}

func TestGrep_modes(t *testing.T) {
	b := searched(t)
	for _, c := range []struct {
		in   args
		want string
	}{
		{args{"pattern": "foo"}, "Found 3 files\na/b.go\na/c.ts\n.hidden"},
		{args{"pattern": "Foo"}, "Found 1 file\nz.go"},
		{args{"pattern": "nothing"}, "No files found"},
		{args{"pattern": "nothing", "output_mode": "content"}, "No matches found"},
		{args{"pattern": "nothing", "output_mode": "count"}, "No matches found"},
		{args{"pattern": "foo", "-i": true, "output_mode": "content"},
			".hidden:1:foo = bar\na/b.go:2:func foo() {}\na/c.ts:1:function foo() {\nz.go:3:func Foo() {"},
		{args{"pattern": "foo", "output_mode": "content", "-n": false}, ".hidden:foo = bar\na/b.go:func foo() {}\na/c.ts:function foo() {"},
		{args{"pattern": "^func.*", "output_mode": "count"}, "a/b.go:1\na/c.ts:1\nz.go:2\nMatches: 4, files: 3."},
		{args{"pattern": "^func", "output_mode": "content", "path": "z.go", "-A": 1, "-B": 1},
			"z.go-2-\nz.go:3:func Foo() {\nz.go-4-\treturn\n--\nz.go-6-\nz.go:7:func Bar() {}"},
		{args{"pattern": "^func", "output_mode": "content", "path": "z.go", "-C": 2},
			"z.go-1-package z\nz.go-2-\nz.go:3:func Foo() {\nz.go-4-\treturn\nz.go-5-}\nz.go-6-\nz.go:7:func Bar() {}"},
		{args{"pattern": "foo", "output_mode": "content", "context": 1.0, "glob": "*.{go,ts}", "path": "a"},
			"a/b.go-1-package b\na/b.go:2:func foo() {}\n--\na/c.ts:1:function foo() {\na/c.ts-2-}"},
		{args{"pattern": "{}$", "output_mode": "content"}, "a/b.go:2:func foo() {}\nz.go:7:func Bar() {}"}, // CRLF is an end of line
		{args{"pattern": "foo", "type": "go"}, "Found 1 file\na/b.go"},
		{args{"pattern": "foo", "type": "ts", "glob": "*.go"}, "No files found"},
		{args{"pattern": "foo", "glob": "*.go, *.ts"}, "Found 2 files\na/b.go\na/c.ts"},
		{args{"pattern": "foo", "glob": "!*.go !.hidden"}, "Found 1 file\na/c.ts"},
		{args{"pattern": "foo", "glob": "!a/"}, "Found 1 file\n.hidden"},
		{args{"pattern": "foo", "glob": "/a/*.ts"}, "Found 1 file\na/c.ts"},
		{args{"pattern": "foo", "glob": "*.log"}, "Found 1 file\na/x.log"},
		{args{"pattern": "foo", "path": "skipped"}, "Found 1 file\nskipped/x.go"},
		{args{"pattern": "foo", "path": "a/x.log"}, "Found 1 file\na/x.log"},
		{args{"pattern": "fó", "output_mode": "content"}, "UTF-16:1:fó"},
		{args{"pattern": "x", "output_mode": "content", "glob": "legacy"}, "legacy:1:caf\uFFFD x"},
		{args{"pattern": `\x{FFFD}`, "output_mode": "count"}, "legacy:1\nMatches: 1, files: 1."},
		{args{"pattern": "É|é", "-i": true}, "No files found"},
		{args{"pattern": "Ó", "-i": true}, "Found 1 file\nUTF-16"},
		{args{"pattern": `f\u006Fo`, "type": "go"}, "Found 1 file\na/b.go"},
		{args{"pattern": `(?<name>f)oo\b`, "type": "go"}, "Found 1 file\na/b.go"},
		{args{"pattern": "interface{}|foo\\(\\) \\{", "type": "go"}, "Found 1 file\na/b.go"},
		{args{"pattern": `Foo\(\) \{\n.*return`, "multiline": true}, "Found 1 file\nz.go"},
		{args{"pattern": `\{.*\n\}`, "multiline": true, "output_mode": "content"},
			"a/c.ts:1:function foo() {\na/c.ts:2:}\nz.go:3:func Foo() {\nz.go:4:\treturn\nz.go:5:}"},
		{args{"pattern": `b\nfunc`, "multiline": true, "output_mode": "content", "-A": 1}, "a/b.go:1:package b\na/b.go:2:func foo() {}"},
		{args{"pattern": `b\r\nfunc`, "multiline": true, "output_mode": "count"}, "a/b.go:1\nMatches: 1, files: 1."},
		{args{"pattern": `^\n|\n$`, "multiline": true, "output_mode": "content", "path": "z.go", "-B": 1},
			"z.go:1:package z\nz.go:2:\n--\nz.go-4-\treturn\nz.go:5:}\nz.go:6:\nz.go:7:func Bar() {}"},
	} {
		if text, _ := b.grep(c.in); text != c.want {
			t.Errorf("%v:\n%s\nwant\n%s", c.in, text, c.want)
		}
	}
}

func TestGrep_report(t *testing.T) {
	b := searched(t)
	_, r := b.grep(args{"pattern": "foo"})
	if r.Mode != "files_with_matches" || r.NumFiles != 3 || !slices.Equal(r.Filenames, []string{"a/b.go", "a/c.ts", ".hidden"}) || r.Content != nil {
		t.Errorf("%+v", r)
	}
	_, r = b.grep(args{"pattern": "func", "output_mode": "content"})
	if r.NumFiles != 3 || *r.NumLines != 4 || *r.Content != "a/b.go:2:func foo() {}\na/c.ts:1:function foo() {\nz.go:3:func Foo() {\nz.go:7:func Bar() {}" {
		t.Errorf("%+v", r)
	}
	_, r = b.grep(args{"pattern": "func", "output_mode": "count"})
	if r.NumFiles != 3 || *r.NumMatches != 4 || *r.Content != "a/b.go:1\na/c.ts:1\nz.go:2" {
		t.Errorf("%+v", r)
	}
	_, r = b.grep(args{"pattern": "nothing", "output_mode": "content"})
	if r.NumFiles != 0 || r.Filenames == nil || *r.Content != "" || *r.NumLines != 0 {
		t.Errorf("%+v", r)
	}
	if text, r := b.grep(args{"pattern": "x", "path": "/etc/hostname"}); r.NumFiles > 0 && !strings.HasSuffix(text, "\n/etc/hostname") {
		t.Errorf("outside: %q", text)
	}
}

func TestGrep_pages(t *testing.T) {
	b := newBench(t, nil)
	var names []string
	for i := range 300 {
		names = append(names, fmt.Sprintf("d%d/%03d", i%3, i))
	}
	b.tree(names...)
	text, r := b.grep(args{"pattern": "d"})
	if !slices.Equal(r.Filenames, names[:250]) || !strings.HasPrefix(text, "Found 300 files\n") || !strings.HasSuffix(text, "\n[These are 1 to 250 of 300. For more, give offset 250.]") {
		t.Errorf("%q", text)
	}
	if _, r = b.grep(args{"pattern": "d", "offset": 250}); !slices.Equal(r.Filenames, names[250:]) {
		t.Errorf("%q", r.Filenames)
	}
	if _, r = b.grep(args{"pattern": "d", "head_limit": 0}); !slices.Equal(r.Filenames, names) {
		t.Errorf("%d files", len(r.Filenames))
	}
	if text, _ = b.grep(args{"pattern": "d", "offset": 300}); text != "Found 300 files\n[There is nothing from offset 300 on.]" {
		t.Errorf("%q", text)
	}
	text, r = b.grep(args{"pattern": ".", "output_mode": "content", "head_limit": 2, "offset": 99})
	if want := "d0/297:1:d0/297\nd1/001:1:d1/001\n[These are 100 to 101. For more, give offset 101.]"; text != want || r.NumFiles != 2 {
		t.Errorf("%q, want %q", text, want)
	}
	text, _ = b.grep(args{"pattern": ".", "output_mode": "count", "head_limit": 1, "offset": 299})
	if want := "d2/299:1\nMatches: 1, files: 1."; text != want {
		t.Errorf("%q, want %q", text, want)
	}

	b.put("many", strings.Repeat(strings.Repeat("x", 90)+"\n", 3000))
	seen := 0
	for seen < 3000 {
		text, r := b.grep(args{"pattern": "x", "path": "many", "output_mode": "content", "head_limit": 0, "offset": seen})
		if len(text) > maxPageBytes+200 {
			t.Fatalf("a page of %d bytes", len(text))
		}
		seen += *r.NumLines
	}
	if seen != 3000 {
		t.Errorf("pages hold %d lines", seen)
	}
}

func TestGrep_refused(t *testing.T) {
	b := searched(t)
	for pattern, want := range map[string]string{
		`(?=x)`: "look-around", `a(?!b)`: "look-around", `(?<=a)b`: "look-around", `(?<!a)b`: "look-around", `(a)\1`: "backreference",
		`(?>a)`: "(?>", `a(`: "missing closing )", `[a`: "missing closing ]", `*`: "missing argument", `\y`: "invalid escape", "a\\nb": "multiline", "a\nb": "multiline",
		`a{1001}`: "repeat count",
	} {
		b.fails("Grep", args{"pattern": pattern}, want, "cannot search", strings.Trim(fmt.Sprintf("%q", pattern), `"`))
	}
	b.fails("Grep", args{"pattern": "x", "path": "nowhere"}, b.path("nowhere"), "does not exist")
	b.fails("Grep", args{"pattern": "x", "path": "/dev/null"}, "is a device")
	b.fails("Grep", args{"pattern": "x", "path": "binary"}, b.path("binary"), "not text")
	b.fails("Grep", args{"pattern": "x", "type": "golang"}, `"golang"`, "go, ")
	b.fails("Grep", args{"pattern": "x", "glob": "*.{go"}, `"*.{go"`, "not a valid glob")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, path := range []string{"", "z.go"} {
		if result := b.run(ctx, "Grep", args{"pattern": "x", "path": path}); !result.IsError || !strings.Contains(result.Content.Text(), "interrupted") {
			t.Errorf("%+v", result)
		}
	}
}

// Links are not followed: they could lead out of the folder that may be searched.
func TestGrep_links(t *testing.T) {
	b := newBench(t, nil)
	b.tree("in/a", "out/b")
	for name, target := range map[string]string{"in/loop": ".", "in/out": "../out", "in/b": "../out/b"} {
		if err := os.Symlink(target, b.path(name)); err != nil {
			t.Fatal(err)
		}
	}
	if text, _ := b.grep(args{"pattern": ".", "path": "in"}); text != "Found 1 file\nin/a" {
		t.Errorf("%q", text)
	}
	if text, _ := b.grep(args{"pattern": ".", "path": "in/out"}); text != "Found 1 file\nin/out/b" {
		t.Errorf("%q", text)
	}
}

func TestGrep_long(t *testing.T) {
	b := newBench(t, nil)
	b.put("min.js", strings.Repeat("é", 5000)+"needle"+strings.Repeat("x", 1000)+"\nneedle\n")
	text, _ := b.grep(args{"pattern": "needle", "output_mode": "content"})
	want := "min.js:1:[9900 bytes] …" + strings.Repeat("é", 50) + "needle" + strings.Repeat("x", 394) + "… [606 more bytes in this line]\nmin.js:2:needle"
	if text != want {
		t.Errorf("%q", text)
	}

	// Of a line of any length, the beginning is searched, the rest is passed over, and the numbers stay right.
	b.put("huge", "one\n"+strings.Repeat("x", 3*maxLine)+"needle\nneedle\n")
	text, _ = b.grep(args{"pattern": "needle", "output_mode": "content", "path": "huge"})
	if want := "huge:3:needle"; text != want {
		t.Errorf("%q", shorten(text))
	}
	text, _ = b.grep(args{"pattern": "needle", "output_mode": "content", "glob": "huge"})
	if want := "huge:3:needle\n[Files that were not searched to their end, or not at all, since they or their lines are too long: 1.]"; text != want {
		t.Errorf("%q", shorten(text))
	}
	b.fails("Grep", args{"pattern": "needle", "multiline": true, "path": "huge"}, "too long", b.path("huge"))
	if text, _ = b.grep(args{"pattern": "needle", "multiline": true}); !strings.HasPrefix(text, "Found 1 file\nmin.js\n[Files that were not searched") {
		t.Errorf("%q", text)
	}

	// NUL behind the first block: what is in front of it counts.
	b.put("late", "needle\n"+strings.Repeat("x\n", blockSize)+"\x00\nneedle\n"+strings.Repeat("needle\n", blockSize))
	if text, _ = b.grep(args{"pattern": "needle", "output_mode": "count", "path": "late"}); text != "late:1\nMatches: 1, files: 1." {
		t.Errorf("%q", text)
	}
}

// The letters k and s have other cases that are not ASCII.
func TestGrep_folding(t *testing.T) {
	b := newBench(t, nil)
	b.put("a", "KISS\nki\u017Fs\n\u212Aiss\nkiß\n")
	if text, _ := b.grep(args{"pattern": "kiss", "-i": true, "output_mode": "count"}); text != "a:3\nMatches: 3, files: 1." {
		t.Errorf("%q", text)
	}
}

// Any text and pattern: the same lines as grep finds, with the same lines around them.
func TestGrep_asGrep(t *testing.T) {
	if out, err := exec.Command("grep", "--version").Output(); err != nil || !bytes.Contains(out, []byte("GNU")) {
		t.Skip("GNU grep is not installed")
	}
	b := newBench(t, nil)
	lines := rapid.SliceOfN(rapid.OneOf(
		rapid.SampledFrom([]string{"", "foo", "foo bar", "Foo_1", "bar", "a.b", "x", "é foo", "--", "x:1:foo"}),
		rapid.Map(rapid.IntRange(1, 50_000), func(n int) string { return strings.Repeat("x", n) }),
		rapid.Map(rapid.IntRange(1, 50_000), func(n int) string { return strings.Repeat("y\n", n) + "foo" }),
	), 0, 30)
	rapid.Check(t, func(r *rapid.T) {
		pattern := rapid.SampledFrom([]string{
			"foo", "^foo$", "foo|bar", "(foo|bar)+ ", "^$", "[a-z]+_[0-9]", "o{2}", "x$", "^x{3}$", "y?foo", "b?", "(a|b)[.]", "é", "FOO", "^.oo", "foo.*bar", "foo|[ax]$", "nothing",
		}).Draw(r, "pattern")
		before, after := rapid.IntRange(0, 4).Draw(r, "before"), rapid.IntRange(0, 4).Draw(r, "after")
		fold := rapid.Bool().Draw(r, "fold")
		command := []string{"-nHE"}
		if before+after > 0 {
			command = append(command, "-B", fmt.Sprint(before), "-A", fmt.Sprint(after))
		}
		if fold {
			command = append(command, "-i")
		}
		command = append(command, "-e", pattern, "--")
		for _, name := range []string{"a", "b"} {
			content := strings.Join(lines.Draw(r, name), "\n")
			if rapid.Bool().Draw(r, "ended") {
				content += "\n"
			}
			b.put(name, content)
			command = append(command, name)
		}
		grep := exec.Command("grep", command...)
		grep.Dir, grep.Env = b.dir, []string{"LC_ALL=C.UTF-8"}
		out, _ := grep.Output()
		want := numbered(string(out))
		var got []string
		for offset := 0; ; {
			var report grepReport
			b.report("Grep", args{"pattern": pattern, "-i": fold, "-A": after, "-B": before, "output_mode": "content", "head_limit": 0, "offset": offset}, &report)
			if *report.NumLines == 0 {
				break
			}
			got = append(got, numbered(*report.Content+"\n")...)
			offset += *report.NumLines
			if offset > 3000 {
				break // more of the same
			}
		}
		if n := min(len(got), len(want)); len(want) > len(got) && len(got) < 3000 || !slices.Equal(got[:n], want[:n]) || len(got) > len(want) {
			r.Fatalf("%d lines, want %d:\n%s\nwant\n%s", len(got), len(want), shorten(strings.Join(got, "\n")), shorten(strings.Join(want, "\n")))
		}
	})
}

var numberedLine = regexp.MustCompile(`^([ab][:-]\d+[:-])(.*)$`)

// numbered shortens the lines of an answer to what it and grep must agree in.
func numbered(out string) []string {
	var lines []string
	for line := range strings.Lines(out) {
		line = strings.TrimSuffix(line, "\n")
		if m := numberedLine.FindStringSubmatch(line); m != nil && (len(m[2]) > maxLineShown || strings.Contains(m[2], " bytes] …")) {
			line = m[1]
		}
		lines = append(lines, line)
	}
	return lines
}

// A place that is not the beginning of a file, with long lines in front: the context is bounded, the match is not lost.
func TestGrep_longContext(t *testing.T) {
	b := newBench(t, nil)
	b.put("a", strings.Repeat(strings.Repeat("x", blockSize)+"\n", 5)+"needle\n")
	text, _ := b.grep(args{"pattern": "needle", "output_mode": "content", "-B": 1000})
	if lines := strings.Split(text, "\n"); lines[len(lines)-1] != "a:6:needle" || len(lines) > 6 {
		t.Errorf("%s", shorten(text))
	}
}

// The answer depends on nothing but the files, and the search ends early.
func TestGrep_deterministic(t *testing.T) {
	b := newBench(t, nil)
	var names []string
	for i := range 400 {
		names = append(names, fmt.Sprintf("%c%d/f%d/x-%d", 'a'+i%5, i%3, i%7, i))
	}
	b.tree(names...)
	in := args{"pattern": "x", "output_mode": "content", "head_limit": 37, "offset": 11}
	first, _ := b.grep(in)
	for range 30 {
		if text, _ := b.grep(in); text != first {
			t.Fatalf("%s\nthen\n%s", first, text)
		}
	}
	slices.SortFunc(names, comparePaths)
	want := ""
	for _, name := range names[11:48] {
		want += filepath.FromSlash(name) + ":1:" + name + "\n"
	}
	if !strings.HasPrefix(first, want) {
		t.Errorf("%s\nwant\n%s", first, want)
	}
}
