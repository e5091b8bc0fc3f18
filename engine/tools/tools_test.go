package tools

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v5"

	"takeback/engine"
	"takeback/filehistory"
	"takeback/protocol"
)

// bench is a Set in a folder of its own, called as the engine calls it.
type bench struct {
	t     *testing.T
	dir   string
	set   *Set
	calls int
}

func newBench(t *testing.T, history *filehistory.Store) *bench {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{t: t, dir: dir}
	b.set = New(Options{Cwd: dir, History: history, Environ: os.Environ})
	t.Cleanup(b.set.Close)
	return b
}

type args map[string]any

func (b *bench) run(ctx context.Context, tool string, in args) engine.ToolResult {
	b.t.Helper()
	input, err := protocol.Marshal(in)
	if err != nil {
		b.t.Fatal(err)
	}
	for _, candidate := range b.set.Tools() {
		if candidate.Spec().Name == tool {
			b.calls++
			return candidate.Run(ctx, engine.ToolCall{ID: fmt.Sprintf("call_%d", b.calls), Input: input})
		}
	}
	b.t.Fatalf("no tool %s", tool)
	return engine.ToolResult{}
}

// ok runs a call that must succeed, and gives its text.
func (b *bench) ok(tool string, in args) string {
	b.t.Helper()
	result := b.run(b.t.Context(), tool, in)
	if result.IsError {
		b.t.Fatalf("%s %v failed: %s", tool, in, result.Content.Text())
	}
	return result.Content.Text()
}

// fails runs a call that must fail with a text that contains every one of want.
func (b *bench) fails(tool string, in args, want ...string) {
	b.t.Helper()
	result := b.run(b.t.Context(), tool, in)
	text := result.Content.Text()
	if !result.IsError {
		b.t.Fatalf("%s %v did not fail: %s", tool, in, text)
	}
	for _, w := range want {
		if !strings.Contains(text, w) {
			b.t.Errorf("%s %v failed with %q, which does not say %q", tool, in, text, w)
		}
	}
}

// report runs a call and decodes what it reports to the host.
func (b *bench) report(tool string, in args, report any) {
	b.t.Helper()
	result := b.run(b.t.Context(), tool, in)
	if err := protocol.Unmarshal(result.Report, report); err != nil {
		b.t.Fatalf("%s %v: report %q: %v", tool, in, result.Report, err)
	}
}

func (b *bench) path(name string) string { return filepath.Join(b.dir, name) }

func (b *bench) put(name, content string) {
	b.t.Helper()
	if err := os.WriteFile(b.path(name), []byte(content), 0o644); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) holds(name, want string) {
	b.t.Helper()
	got, err := os.ReadFile(b.path(name))
	if err != nil {
		b.t.Fatal(err)
	}
	if string(got) != want {
		b.t.Errorf("%q holds\n%q, want\n%q", name, shorten(string(got)), shorten(want))
	}
}

func (b *bench) missing(name string) {
	b.t.Helper()
	if _, err := os.Lstat(b.path(name)); !os.IsNotExist(err) {
		b.t.Errorf("%q is there: %v", name, err)
	}
}

func shorten(s string) string {
	if len(s) > 300 {
		return s[:150] + "…" + s[len(s)-150:]
	}
	return s
}

func TestSpecs(t *testing.T) {
	for _, tool := range newBench(t, nil).set.Tools() {
		spec := tool.Spec()
		var schema struct {
			Type       string         `json:"type"`
			Properties map[string]any `json:"properties"`
			Required   []string       `json:"required"`
		}
		if err := protocol.Unmarshal(spec.InputSchema, &schema); err != nil {
			t.Errorf("%s: %v", spec.Name, err)
		}
		if schema.Type != "object" || len(schema.Properties) == 0 || len(schema.Required) == 0 || spec.Description == "" {
			t.Errorf("%s: unusable spec %+v", spec.Name, schema)
		}
		if _, err := jsonschema.CompileString(spec.Name, string(spec.InputSchema)); err != nil {
			t.Errorf("%s: %v", spec.Name, err)
		}
	}
}

func TestAccess(t *testing.T) {
	b := newBench(t, nil)
	b.set.environ = func() []string { return []string{"HOME=/home/ann"} }
	for _, c := range []struct {
		tool, path string
		want       engine.Access
	}{
		{"Read", "a", engine.Access{Kind: engine.Read, Path: b.path("a")}},
		{"Write", "x/../b c", engine.Access{Kind: engine.Edit, Path: b.path("b c")}},
		{"Edit", "/etc/./passwd", engine.Access{Kind: engine.Edit, Path: "/etc/passwd"}},
		{"Edit", "~/x", engine.Access{Kind: engine.Edit, Path: "/home/ann/x"}},
		{"Edit", "~x", engine.Access{Kind: engine.Edit, Path: b.path("~x")}},
		{"Bash", "", engine.Access{Kind: engine.Execute}},
	} {
		input, err := protocol.Marshal(args{"file_path": c.path, "FILE_PATH": "/other"})
		if err != nil {
			t.Fatal(err)
		}
		for _, tool := range b.set.Tools() {
			if got := tool.Access(input); tool.Spec().Name == c.tool && got != c.want {
				t.Errorf("%s %s: %+v, want %+v", c.tool, c.path, got, c.want)
			}
		}
	}
}

var oddNames = []string{
	"with space", " leading and trailing ", "line\nbreak", "tab\there", `back\slash`, `quote"s'`, "-rf", "$(id)",
	"公共.cpp", "caf\u00e9 in NFC", "cafe\u0301 in NFD", "🙂.txt", strings.Repeat("n", 255),
}

func TestNames(t *testing.T) {
	b := newBench(t, nil)
	for _, name := range oddNames {
		t.Run(shorten(name), func(t *testing.T) {
			b.t = t
			b.ok("Write", args{"file_path": name, "content": "one\n"})
			b.holds(name, "one\n")
			if got := b.ok("Read", args{"file_path": name}); got != "1\tone\n" {
				t.Errorf("Read gives %q", got)
			}
			b.ok("Edit", args{"file_path": b.path(name), "old_string": "one", "new_string": name})
			b.holds(name, name+"\n")
		})
	}
	entries, err := os.ReadDir(b.dir)
	if err != nil || len(entries) != len(oddNames) {
		t.Errorf("%d files, want %d (%v)", len(entries), len(oddNames), err)
	}
	b.t = t
	b.fails("Write", args{"file_path": strings.Repeat("n", 256), "content": ""}, "name too long")
}
