//go:build unix

package tools

import (
	"context"
	"io"
	"os"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"takeback/filehistory"
	"takeback/protocol"
)

// fifo makes a named pipe. A process that keeps it open for writing is alive for
// as long as its reader sees no end of file: no id is looked up and nothing is polled.
func (b *bench) fifo(name string) {
	b.t.Helper()
	if err := syscall.Mkfifo(b.path(name), 0o600); err != nil {
		b.t.Fatal(err)
	}
}

// hear opens the pipe, which waits for its writer, and reads the first bytes.
func (b *bench) hear(name string) *os.File {
	b.t.Helper()
	f, err := os.OpenFile(b.path(name), os.O_RDONLY, 0)
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { f.Close() })
	if _, err := f.Read(make([]byte, 100)); err != nil {
		b.t.Fatal(err)
	}
	return f
}

// silent waits until nobody holds the pipe any more.
func (b *bench) silent(pipe *os.File) {
	b.t.Helper()
	pipe.SetReadDeadline(time.Now().Add(10 * time.Second))
	if _, err := io.Copy(io.Discard, pipe); err != nil {
		b.t.Errorf("somebody is still there: %v", err)
	}
}

func (b *bench) bash(command string) (string, bashReport, bool) {
	b.t.Helper()
	return b.bashContext(b.t.Context(), args{"command": command})
}

func (b *bench) bashContext(ctx context.Context, in args) (string, bashReport, bool) {
	b.t.Helper()
	result := b.run(ctx, "Bash", in)
	var report bashReport
	if result.Report != nil {
		if err := protocol.Unmarshal(result.Report, &report); err != nil {
			b.t.Fatal(err)
		}
	}
	return result.Content.Text(), report, result.IsError
}

func TestBash(t *testing.T) {
	b := newBench(t, nil)
	for _, c := range []struct {
		name, command string
		text          string
		stdout        string
		stderr        string
		isError       bool
	}{
		{"both outputs", "echo out; echo err >&2", "out\nerr", "out\n", "err\n", false},
		{"nothing", "true", "The command ended without output.", "", "", false},
		{"exit code", "echo out; exit 3", "Exit code 3\nout", "out\n", "", true},
		{"last status", "false", "Exit code 1", "", "", true},
		{"shell killed", "kill -9 $$", "Exit code 137", "", "", true},
		{"stdin is empty", "wc -c | tr -d ' '; read x || echo end", "0\nend", "0\nend\n", "", false},
		{"SIGPIPE", "yes | head -1; echo ${PIPESTATUS[0]}", "y\n141", "y\n141\n", "", false},
		{"heredoc", "cat <<'X'\nit's\nX", "it's", "it's\n", "", false},
		{"comment", "echo a # it's", "a", "a\n", "", false},
		{"no arguments of ours", `echo "$# $1"`, "0", "0 \n", "", false},
		{"binary", `printf 'a\377\376b\0c'`, "a\uFFFDb\uFFFDc", "a\uFFFDb\uFFFDc", "", false},
		{"own trap", "trap 'echo bye' EXIT; echo hi; exit 2", "Exit code 2\nhi\nbye", "hi\nbye\n", "", true},
		{"low descriptors are closed", "for n in 3 4 5 6 7 8 9; do { true >&$n; } 2>/dev/null && echo $n; done; true",
			"The command ended without output.", "", "", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			b.t = t
			text, report, isError := b.bash(c.command)
			if strings.TrimRight(text, " ") != c.text || isError != c.isError {
				t.Errorf("text %q, error %v", text, isError)
			}
			if want := (bashReport{Stdout: c.stdout, Stderr: c.stderr}); report != want {
				t.Errorf("report %+v", report)
			}
		})
	}
}

// Shells of different age word these differently.
func TestBash_mistakes(t *testing.T) {
	b := newBench(t, nil)
	for command, want := range map[string]string{
		"nonesuch-command": "nonesuch-command: command not found",
		"-x":               "-x: command not found",
		"if true; then":    "syntax error",
		"echo 'open":       "unexpected EOF",
	} {
		b.fails("Bash", args{"command": command}, "Exit code ", "bash: ", want)
	}
}

func TestBash_environment(t *testing.T) {
	t.Setenv("TAKEBACK_TEST_INHERITED", "1")
	set := New(Options{Cwd: t.TempDir(), Environ: func() []string { return []string{"FOO=bar", "PWD=/wrong"} }})
	b := &bench{t: t, dir: set.cwd, set: set}
	if text := b.ok("Bash", args{"command": `echo "$FOO,$TAKEBACK_TEST_INHERITED,$PWD"`}); text != "bar,,"+set.cwd {
		t.Errorf("text %q", text)
	}
	b.set = New(Options{Cwd: set.cwd})
	if text := b.ok("Bash", args{"command": `echo "$FOO,$TAKEBACK_TEST_INHERITED"`}); text != "," {
		t.Errorf("text %q", text)
	}
}

func TestBash_keepsItsFolder(t *testing.T) {
	b := newBench(t, nil)
	odd := "it's a\n\"folder\"\n"
	for _, step := range []struct{ command, folder string }{
		{"mkdir -p sub/deep; cd sub", "sub"},
		{"cd deep; exit 3", "sub/deep"},
		{"(cd ..)", "sub/deep"},
		{"cd .. && trap 'true' EXIT", "sub"},
		{"set -e; cd deep; false; cd ..", "sub/deep"},
		{"exec 9>/dev/null; set -uC; cd ..", "sub"},
		{"cd ..; kill -9 $$", "sub"}, // it could not say
		{"cd ..; exec true", "sub"},  // nor here
		{"cd deep; sleep 1000 &", "sub/deep"},
		{"mkdir " + quote(odd) + "; cd " + quote(odd), "sub/deep/" + odd},
		{"ln -s ../.. link; cd link", "sub/deep/" + odd + "/link"},
		{"cd -P .", "sub"},
	} {
		b.bash(step.command)
		if got, want := b.ok("Bash", args{"command": "pwd"}), strings.TrimRight(b.path(step.folder), "\n"); got != want {
			t.Fatalf("after %q the shell is in %q, want %q", step.command, got, want)
		}
	}
	// Files are named from the session's folder, wherever the shell is: a permission was given for that path.
	b.ok("Write", args{"file_path": "here", "content": ""})
	b.holds("here", "")
}

func TestBash_folderRemoved(t *testing.T) {
	b := newBench(t, nil)
	b.ok("Bash", args{"command": "mkdir sub; cd sub"})
	if err := os.Remove(b.path("sub")); err != nil {
		t.Fatal(err)
	}
	want := b.dir + "\n[The working folder " + b.path("sub") + " is gone. This command ran in " + b.dir + ".]"
	if text := b.ok("Bash", args{"command": "pwd"}); text != want {
		t.Errorf("text %q", text)
	}
	if text := b.ok("Bash", args{"command": "pwd"}); text != b.dir {
		t.Errorf("told again: %q", text)
	}
	b.ok("Bash", args{"command": "mkdir sub; cd sub; rmdir ../sub"})
	if text := b.ok("Bash", args{"command": "pwd"}); text != want {
		t.Errorf("text %q", text)
	}
	os.Remove(b.dir)
	b.fails("Bash", args{"command": "pwd"}, "was not run", b.dir)
}

func TestBash_flood(t *testing.T) {
	b := newBench(t, nil)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	text, report, _ := b.bash("echo first; yes | head -c 300000000; echo last; (printf é; printf x; yes é | head -c 99999) >&2")
	runtime.ReadMemStats(&after)
	if grown := int64(after.Sys) - int64(before.Sys); grown > 16<<20 {
		t.Errorf("memory grew by %d bytes", grown)
	}
	if !strings.HasPrefix(text, "first\ny\n") || !strings.HasSuffix(report.Stdout, "y\nlast\n") ||
		!strings.Contains(report.Stdout, "… 299970011 bytes cut …") || len(report.Stdout) > maxOutput+100 {
		t.Errorf("%d bytes: %s", len(report.Stdout), shorten(report.Stdout))
	}
	if !strings.HasPrefix(report.Stderr, "éxé\n") || strings.ContainsRune(report.Stderr, '\uFFFD') {
		t.Errorf("stderr: %s", shorten(report.Stderr))
	}
}

func TestBash_timeout(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	b.fifo("alive")
	reader := make(chan *os.File, 1)
	go func() { reader <- b.hear("alive") }()
	// A grandchild that ignores the polite signal and holds all outputs open.
	text, report, isError := b.bashContext(t.Context(), args{"timeout": 1500,
		"command": `echo begun; (trap '' TERM; exec 5>alive; echo up >&5; sleep 1000; sleep 1000) & cd /; sleep 1000`})
	if !isError || !strings.HasPrefix(text, "The command was stopped") || !strings.Contains(text, "1.5s") || !strings.HasSuffix(text, "\nbegun") {
		t.Errorf("text %q", text)
	}
	if report.Interrupted || report.Stdout != "begun\n" {
		t.Errorf("report %+v", report)
	}
	b.silent(<-reader)
}

func TestBash_politeEnd(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	b.bashContext(t.Context(), args{"timeout": 1500,
		"command": `(trap 'echo saved >work; exit' TERM; sleep 1000 & wait) & sleep 1000`})
	b.holds("work", "saved\n")
}

func TestBash_interrupt(t *testing.T) {
	b := newBench(t, nil)
	b.fifo("alive")
	ctx, cancel := context.WithCancel(t.Context())
	reader := make(chan *os.File, 1)
	go func() {
		defer cancel()
		reader <- b.hear("alive")
	}()
	text, report, isError := b.bashContext(ctx, args{"command": `echo begun; exec 5>alive; echo up >&5; bash -c 'sleep 1000; true'`})
	if !isError || !strings.Contains(text, "interrupted") || !report.Interrupted || report.Stdout != "begun\n" {
		t.Errorf("text %q, report %+v", text, report)
	}
	b.silent(<-reader)
	if text, _, isError := b.bashContext(ctx, args{"command": "touch late"}); !isError || !strings.Contains(text, "was not run") {
		t.Errorf("after the interrupt: %q", text)
	}
	b.missing("late")
}

// What stays in the background holds stdout open, keeps no call waiting, may go
// on writing, and ends with the session.
func TestBash_background(t *testing.T) {
	b := newBench(t, nil)
	b.fifo("go")
	b.fifo("alive")
	text := b.ok("Bash", args{"command": `(read x <go; echo log line; exec 5>alive; echo up >&5; sleep 1000) & echo started`})
	if text != "started" {
		t.Errorf("text %q", text)
	}
	if err := os.WriteFile(b.path("go"), []byte("x\n"), 0); err != nil {
		t.Fatal(err)
	}
	alive := b.hear("alive")
	b.set.Close()
	b.silent(alive)
}

// The end of the session is polite first.
func TestBash_backgroundEnds(t *testing.T) {
	b := newBench(t, nil)
	b.fifo("polite")
	b.fifo("stubborn")
	b.ok("Bash", args{"command": `(trap 'echo saved >work; exit' TERM; exec 5>polite; echo up >&5; sleep 1000 & wait) &`})
	b.ok("Bash", args{"command": `(trap '' TERM; exec 5>stubborn; echo up >&5; sleep 1000; sleep 1000) &`})
	polite, stubborn := b.hear("polite"), b.hear("stubborn")
	b.set.Close()
	b.silent(polite)
	b.silent(stubborn)
	b.holds("work", "saved\n")
}

func TestBash_backgroundParameter(t *testing.T) {
	b := newBench(t, nil)
	b.fails("Bash", args{"command": "touch ran", "run_in_background": true}, "not available yet")
	b.missing("ran")
}

// A command is in the history before it can change anything: a crash loses nothing.
func TestBash_notedFirst(t *testing.T) {
	b, store := newHistory(t)
	b.fifo("go")
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		b.bash("echo   'two\nlines'\nread x <go # " + strings.Repeat("é", 300))
	}()
	gate, err := os.OpenFile(b.path("go"), os.O_WRONLY, 0) // waits until the command runs
	if err != nil {
		t.Fatal(err)
	}
	plan, err := store.Plan(t.Context(), point, filehistory.RewindOptions{})
	gate.Close()
	<-ended
	if err != nil {
		t.Fatal(err)
	}
	if len(plan.Uncovered) != 1 || !strings.HasPrefix(plan.Uncovered[0].What, "echo 'two lines' read x <go # éé") ||
		len([]rune(plan.Uncovered[0].What)) != 200 || !strings.HasPrefix(plan.Uncovered[0].Reason, "shell command") {
		t.Errorf("uncovered: %+v", plan.Uncovered)
	}
}

func TestBash_tooLong(t *testing.T) {
	b := newBench(t, nil)
	b.fails("Bash", args{"command": "touch ran #" + strings.Repeat("x", 4<<20)}, "too long")
	b.fails("Bash", args{"command": "touch ran\x00"}, "was not run")
	b.missing("ran")
}

// B59: none of these may hang.
func TestSpecialFiles(t *testing.T) {
	b := newBench(t, nil)
	b.fifo("pipe")
	if err := os.Symlink("pipe", b.path("link")); err != nil {
		t.Fatal(err)
	}
	b.fails("Read", args{"file_path": "pipe"}, "is a named pipe")
	b.fails("Read", args{"file_path": "link"}, "is a named pipe")
	b.fails("Write", args{"file_path": "pipe", "content": "x"}, "is a named pipe")
	b.fails("Edit", args{"file_path": "pipe", "old_string": "x", "new_string": "y"}, "is a named pipe")
}
