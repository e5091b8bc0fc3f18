package tools

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

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

func TestSmoke(t *testing.T) {
	b := newBench(t, nil)
	b.put("a.txt", "one\r\ntwo\r\nthree")
	t.Log(b.ok("Read", args{"file_path": "a.txt"}))
	t.Log(b.ok("Edit", args{"file_path": "a.txt", "old_string": "two\nthree", "new_string": "2\nhalf\n3"}))
	b.holds("a.txt", "one\r\n2\r\nhalf\r\n3")
	t.Log(b.ok("Write", args{"file_path": "d/e/b.txt", "content": "x\n"}))
	for _, c := range []string{"echo hi; echo err >&2; cd d", "pwd; exit 3", "cd ..; set -e; trap 'echo bye' EXIT; cd d/e; false", "pwd; exec 9>/dev/null; cd ..; (exit 4)", "pwd; cat; yes | head -1", "if", "cd e; rm -rf ../e; echo; kill -9 $$", "cd e; rm -r ../e", "pwd", "sleep 100 & echo started", "kill -TERM $$"} {
		r := b.run(t.Context(), "Bash", args{"command": c})
		t.Logf("%s\n  => %v %q %s", c, r.IsError, r.Content.Text(), r.Report)
	}
	r := b.run(t.Context(), "Bash", args{"command": "echo a; trap '' TERM; sleep 100 & sleep 100", "timeout": 300})
	t.Logf("=> %v %q %s", r.IsError, r.Content.Text(), r.Report)
}
