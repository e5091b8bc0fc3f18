package tools

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-json/jsontext"

	"takeback/engine"
)

// tree makes files, each a minute older than the one before.
func (b *bench) tree(names ...string) {
	b.t.Helper()
	now := time.Now()
	for i, name := range names {
		if err := os.MkdirAll(filepath.Dir(b.path(name)), 0o755); err != nil {
			b.t.Fatal(err)
		}
		b.put(name, name+"\n")
		when := now.Add(-time.Duration(i) * time.Minute)
		if err := os.Chtimes(b.path(name), when, when); err != nil {
			b.t.Fatal(err)
		}
	}
}

func (b *bench) glob(in args) (names []string, report globReport) {
	b.t.Helper()
	b.report("Glob", in, &report)
	for _, f := range report.Filenames {
		name, err := filepath.Rel(b.dir, f)
		if err != nil || !filepath.IsAbs(f) {
			b.t.Errorf("%q: %v", f, err)
		}
		names = append(names, name)
	}
	return names, report
}

func TestGlob(t *testing.T) {
	b := newBench(t, nil)
	b.tree("z.go", "src/a.go", ".hidden/b.go", "src/deep/er/c.go", "c.ts", "c.js", "ignored/d.go", "kept.log", "x.log", ".env", "src/.git", "[x].go", "{x}.go")
	b.put(".gitignore", "/ignored/\n*.log\n!kept.log\n.env\n")
	if err := os.MkdirAll(b.path(".git"), 0o755); err != nil {
		t.Fatal(err)
	}
	b.put(".git/config.go", "")
	if err := os.Symlink("..", b.path("src/loop")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("../z.go", b.path("src/link.go")); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		in   args
		want string
	}{
		{args{"pattern": "*.go"}, "z.go [x].go {x}.go"},
		{args{"pattern": "**/*.go"}, "src/link.go z.go src/a.go .hidden/b.go src/deep/er/c.go [x].go {x}.go"},
		{args{"pattern": "src/**"}, "src/link.go src/a.go src/deep/er/c.go"},
		{args{"pattern": "*/*.go"}, "src/link.go src/a.go .hidden/b.go"},
		{args{"pattern": "c.{ts,js}"}, "c.ts c.js"},
		{args{"pattern": "{c.ts,src/{deep,x}/er/*}"}, "src/deep/er/c.go c.ts"},
		{args{"pattern": "[!a-y].go"}, "z.go"},
		{args{"pattern": `\[x\].go`}, "[x].go"},
		{args{"pattern": `*.log`}, "kept.log"},
		{args{"pattern": "ignored/*"}, "ignored/d.go"},
		{args{"pattern": "**/ignored/*"}, ""},
		{args{"pattern": ".env"}, ".env"},
		{args{"pattern": ".*"}, ".gitignore"},
		{args{"pattern": "**/er/*.go", "path": "src"}, "src/deep/er/c.go"},
		{args{"pattern": "*", "path": b.path("src/deep/er")}, "src/deep/er/c.go"},
		{args{"pattern": "../*.ts", "path": "src"}, "c.ts"},
		{args{"pattern": b.dir + "/*.ts", "path": "src"}, "c.ts"},
		{args{"pattern": "nowhere/*"}, ""},
		{args{"pattern": "src"}, ""},
		{args{"pattern": "z.go/*"}, ""},
	} {
		names, report := b.glob(c.in)
		got := names
		want := strings.Fields(c.want)
		if strings.Contains(c.want, "link") { // as old as its target
			slices.Sort(got)
			slices.Sort(want)
		}
		if strings.Contains(c.want, "{deep") || c.in["pattern"] == "{c.ts,src/{deep,x}/er/*}" {
			slices.Sort(got)
			slices.Sort(want)
		}
		if !slices.Equal(got, want) || report.NumFiles != len(got) || report.Truncated || report.Filenames == nil {
			t.Errorf("%v: %q, want %q", c.in, got, want)
		}
	}
	if text := b.ok("Glob", args{"pattern": "*.py"}); text != "No files found" {
		t.Errorf("text %q", text)
	}
	if text := b.ok("Glob", args{"pattern": "c.*"}); text != b.path("c.ts")+"\n"+b.path("c.js") {
		t.Errorf("text %q", text)
	}
	b.fails("Glob", args{"pattern": "[a"}, `"[a"`, "not a valid pattern")
	b.fails("Glob", args{"pattern": "*", "path": "nowhere"}, b.path("nowhere"), "does not exist")
	b.fails("Glob", args{"pattern": "*", "path": "c.ts"}, b.path("c.ts"), "not a folder")
}

func TestGlob_newest(t *testing.T) {
	b := newBench(t, nil)
	var names []string
	for i := range 350 {
		names = append(names, fmt.Sprintf("d%d/f%d", i%7, i))
	}
	b.tree(names...)
	got, report := b.glob(args{"pattern": "**/f*"})
	if !slices.Equal(got, names[:100]) || !report.Truncated || report.NumFiles != 100 {
		t.Errorf("%q", got)
	}
	if text := b.ok("Glob", args{"pattern": "**/f*"}); !strings.Contains(text, "100 that changed last, of 350") {
		t.Errorf("ends in %q", text[len(text)-100:])
	}
}

// More entries than are listed at once, and a folder that may not be read.
func TestGlob_bigFolder(t *testing.T) {
	b := newBench(t, nil)
	const n = 2*listedAtOnce + 1
	for i := range n {
		b.put(fmt.Sprint(i), "")
	}
	if text := b.ok("Glob", args{"pattern": "*"}); !strings.Contains(text, fmt.Sprintf("of %d.", n)) {
		t.Errorf("ends in %q", text[len(text)-100:])
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if result := b.run(ctx, "Glob", args{"pattern": "*"}); !result.IsError || !strings.Contains(result.Content.Text(), "interrupted") {
		t.Errorf("%+v", result)
	}
}

// What a search may see is judged by where its pattern leads.
func TestSearchAccess(t *testing.T) {
	b := newBench(t, nil)
	b.set.environ = func() []string { return []string{"HOME=/home/ann"} }
	for _, c := range []struct {
		tool engine.Tool
		in   string
		want string
	}{
		{globTool{b.set}, `{"pattern":"*"}`, b.dir},
		{globTool{b.set}, `{"pattern":"a/b*/../c"}`, b.path("a")},
		{globTool{b.set}, `{"pattern":"../../*.go","path":"x"}`, filepath.Dir(b.dir)},
		{globTool{b.set}, `{"pattern":"../x"}`, filepath.Dir(b.dir)},
		{globTool{b.set}, `{"pattern":"/etc/*","path":"x"}`, "/etc"},
		{globTool{b.set}, `{"pattern":"~/.ssh/*"}`, "/home/ann/.ssh"},
		{globTool{b.set}, `{"pattern":"*","path":"/etc/../usr"}`, "/usr"},
		{grepTool{b.set}, `{"pattern":"x"}`, b.dir},
		{grepTool{b.set}, `{"pattern":"x","path":"~/d"}`, "/home/ann/d"},
		{grepTool{b.set}, `{"pattern":"x","path":"a/../b"}`, b.path("b")},
	} {
		if got := c.tool.Access(jsontext.Value(c.in)); got != (engine.Access{Kind: engine.Read, Path: c.want}) {
			t.Errorf("%s: %+v, want %s", c.in, got, c.want)
		}
	}
}
