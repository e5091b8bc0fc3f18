package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/uuid"
)

func symlink(old, new string) error { return os.Symlink(old, new) }

func TestProcess_version(t *testing.T) {
	for _, flag := range []string{"-v", "--version"} {
		p := start(t, launch{bare: true, args: []string{flag}})
		if code := p.wait(); code != 0 || p.wire() != "2.1.332 (takeback dev)\n" || p.stderr.Len() > 0 {
			t.Errorf("%s: exit %d, %q, %q", flag, code, p.wire(), p.stderr.String())
		}
	}
}

func TestProcess_debugLog(t *testing.T) {
	file := filepath.Join(t.TempDir(), "log")
	p := start(t, launch{args: []string{"--debug-file=" + file}})
	p.control("initialize", nil)
	p.do(write("a.txt", "x"), say("done"))
	p.end()
	log, err := os.ReadFile(file)
	must(t, err)
	for _, want := range []string{`"msg":"control request","subtype":"initialize"`, `"msg":"tool call","tool":"Write"`, `"msg":"turn ended"`} {
		if !strings.Contains(string(log), want) {
			t.Errorf("no %s in %s", want, log)
		}
	}
	if p.stderr.Len() > 0 {
		t.Errorf("stderr: %s", p.stderr.String())
	}
	q := start(t, launch{args: []string{"-d"}})
	q.do(say("hi"))
	q.end()
	if !strings.Contains(q.stderr.String(), `"msg":"turn ended"`) {
		t.Errorf("stderr: %s", q.stderr.String())
	}
}

// Every flag that an SDK or a community client passes is taken, in both spellings.
func TestProcess_flags(t *testing.T) {
	withValue := append([]string{"allowedTools", "disallowedTools", "allowed-tools", "add-dir", "permission-prompt-tool", "permission-prompts", "append-system-prompt", "debug-file"}, accepted.withValue...)
	var both [2][]string
	for _, name := range withValue {
		value := "X"
		if name == "debug-file" {
			value = os.DevNull
		}
		both[0] = append(both[0], "--"+name, value)
		both[1] = append(both[1], "--"+name+"="+value)
	}
	both[1] = append(both[1], "--system-prompt=", "--tools=", "--setting-sources=", "--max-turns=3", "")
	both[0] = append(both[0], "--system-prompt", "", "--tools", "", "--max-turns", "3", "--add-dir", "again", "-p", "--include-partial-messages", "")
	for _, name := range accepted.withoutValue {
		for i := range both {
			both[i] = append(both[i], "--"+name)
		}
	}
	for i, args := range both {
		p := start(t, launch{args: args})
		if i == 0 {
			p.do(say("hi"))
		}
		if code := p.end(); code != 0 || p.stderr.Len() > 0 {
			t.Errorf("spelling %d: exit %d, %s", i, code, p.stderr.String())
		}
	}
}

func TestProcess_refusals(t *testing.T) {
	io := []string{"--input-format", "stream-json", "--output-format", "stream-json"}
	for _, c := range []struct {
		args   []string
		stderr string
	}{
		{[]string{"--foo"}, "error: unknown option '--foo'\n"},
		{[]string{"--foo=bar"}, "error: unknown option '--foo'\n"},
		{[]string{"-z"}, "error: unknown option '-z'\n"},
		{[]string{"--model"}, "error: option '--model' needs a value\n"},
		{[]string{"--max-turns", "many"}, "error: option '--max-turns' cannot be \"many\"\n"},
		{[]string{"--disallowedTools", "Write(secret,Edit"}, "error: a parenthesis is not closed"},
		{nil, "Error: takeback speaks JSON lines with an agent SDK"},
	} {
		p := start(t, launch{bare: true, args: c.args})
		if code := p.end(); code != 1 || !strings.HasPrefix(p.stderr.String(), c.stderr) || p.wire() != "" {
			t.Errorf("%v: exit %d, stderr %q, stdout %q", c.args, code, p.stderr.String(), p.wire())
		}
	}
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"--session-id", "x"}, "Invalid session ID. Must be a valid UUID."},
		{[]string{"--session-id", "{00000000-0000-4000-8000-000000000000}"}, "Invalid session ID. Must be a valid UUID."},
		{[]string{"--permission-mode", "yolo"}, `--permission-mode cannot be "yolo"`},
		{[]string{"-p"}, "When using --print, --output-format=stream-json requires --verbose"},
		{[]string{"--resume-drops-turn="}, "--resume-drops-turn is not supported"},
		{[]string{"--", "a prompt"}, "prompts come as JSON lines on stdin"},
		{[]string{"--disallowedTools", "*"}, `"*" is no rule`},
		{[]string{"--disallowedTools", `["Bash"]`}, "is no rule"},
		{[]string{"--disallowedTools", "Bash;Write"}, "is no rule"},
		{[]string{"--disallowedTools", "bash"}, "no tool is named bash"},
	} {
		p := start(t, launch{bare: true, args: append(io[:4:4], c.args...)})
		if r := p.result(); !strings.HasPrefix(r.Errors[0], c.says) && !strings.Contains(r.Errors[0], c.says) {
			t.Errorf("%v: %s", c.args, r.raw)
		}
		if code := p.end(); code != 1 || !strings.Contains(p.stderr.String(), c.says) {
			t.Errorf("%v: exit %d, stderr %q", c.args, code, p.stderr.String())
		}
	}
}

func TestProcess_startFailuresAreResults(t *testing.T) {
	id := uuid.NewString()
	p := start(t, launch{args: []string{"--resume", id}})
	r := p.result()
	if code := p.end(); code != 1 || r.Subtype != "error_during_execution" || r.SessionID != id ||
		!slices.Equal(r.Errors, []string{"No conversation found with session ID: " + id}) {
		t.Errorf("exit %d: %s", code, r.raw)
	}
	if want := "Error: No conversation found with session ID: " + id + "\n"; p.stderr.String() != want {
		t.Errorf("stderr %q, want %q", p.stderr.String(), want)
	}
	first := start(t, launch{args: []string{"--session-id", id}})
	first.do(say("hi"))
	second := start(t, launch{config: first.config, project: first.project, args: []string{"--session-id=" + id}})
	if r := second.result(); !strings.Contains(r.Errors[0], "already in use") {
		t.Errorf("%s", r.raw)
	}
}

func TestProcess_withoutHome(t *testing.T) {
	p := start(t, launch{env: []string{"CLAUDE_CONFIG_DIR=", "HOME="}})
	p.prompt("")
	p.result()
	p.end()
	if left, err := os.ReadDir(p.project); err != nil || len(left) > 0 {
		t.Errorf("in the workspace: %v, %v", left, err)
	}
}

func TestProcess_initialize(t *testing.T) {
	p := start(t, launch{})
	for range 2 {
		r := p.control("initialize", map[string]any{"hooks": nil, "systemPrompt": []string{""}, "agents": map[string]any{}})
		for _, want := range []string{`"commands":[`, `"agents":[`, `"output_style":"`, `"available_output_styles":["`, `"models":[{`, `"account":{`, `"pid":`} {
			if !strings.Contains(string(r.Response), want) {
				t.Errorf("no %s in %s", want, r.Response)
			}
		}
	}
	if n := len(p.all()); n != 2 {
		t.Errorf("%d frames before the first prompt", n)
	}
}

func TestProcess_B30_everyRequestIsAnsweredOnce(t *testing.T) {
	p := start(t, launch{})
	lines := map[string]string{
		"unknown":      `{"type":"control_request","request_id":"unknown","request":{"subtype":"frobnicate"}}`,
		"no subtype":   `{"type":"control_request","request_id":"no subtype","request":{}}`,
		"no request":   `{"type":"control_request","request_id":"no request"}`,
		"null request": `{"type":"control_request","request_id":"null request","request":null}`,
		"array":        `{"type":"control_request","request_id":"array","request":[1]}`,
		"number":       `{"type":"control_request","request_id":"number","request":{"subtype":5}}`,
		"wrong mode":   `{"type":"control_request","request_id":"wrong mode","request":{"subtype":"set_permission_mode","mode":[]}}`,
		"wrong case":   `{"type":"control_request","request_id":"wrong case","request":{"subtype":"set_permission_mode","MODE":"plan"}}`,
	}
	for _, line := range lines {
		p.sendLine(line)
	}
	for id := range lines {
		if r := p.answer(id); r.Subtype != "error" || r.Error == "" {
			t.Errorf("%s: %+v", id, r)
		}
	}
	if r := p.answer("unknown"); r.ErrorCode != "unsupported_request" || r.Error != "Unsupported control request subtype: frobnicate" {
		t.Errorf("unknown: %+v", r)
	}
	if code := p.end(); code != 0 || len(p.all()) != len(lines) {
		t.Errorf("exit %d, %d answers to %d requests", code, len(p.all()), len(lines))
	}
}

// Whatever a field holds, the request is answered, and the next one is served.
func TestProcess_B30_fieldsOfAnyType(t *testing.T) {
	p := start(t, launch{})
	var asked []string
	for _, subtype := range []string{"initialize", "interrupt", "set_model", "set_permission_mode", "rewind_files", "get_binary_version"} {
		for _, field := range []string{"user_message_id", "dry_run", "cancel_queued", "mode", "model", "systemPrompt", "appendSystemPrompt", "hooks", "agents"} {
			for _, value := range []any{nil, 1, 1.5e300, "x", true, []any{}, []any{1}, []any{"x"}, map[string]any{}, map[string]any{"a": 1}} {
				asked = append(asked, p.ask(subtype, map[string]any{field: value}))
			}
		}
	}
	for _, id := range asked {
		p.answer(id)
	}
	if code := p.end(); code != 0 || len(p.all()) != len(asked) {
		t.Errorf("exit %d, %d frames for %d requests, stderr %s", code, len(p.all()), len(asked), p.stderr.String())
	}
}

func TestProcess_B31_B32_input(t *testing.T) {
	p := start(t, launch{})
	_, err := p.stdin.Write([]byte("\ufeff{\"type\":\"keep_alive\"}\r\n\r\n   \n"))
	must(t, err)
	p.sendLine(`{"type":"wat","x":1}`)
	p.sendLine("this is not JSON")
	content := strings.Repeat("漢字🙂\u2028\u0085", 50000)
	line := fmt.Sprintf(`{"type":"user","message":{"role":"user","content":%q}}`, content)
	for len(line) > 0 {
		n := min(len(line), 65521) // a prime, so that runes are cut in two
		_, err := p.stdin.Write([]byte(line[:n]))
		must(t, err)
		line = line[n:]
	}
	p.sendLine("\r")
	if f := p.replay(); f.Message.Content.Text() != content {
		t.Error("the replay differs from what was sent")
	}
	p.result()
	p.end()
	if n := strings.Count(p.stderr.String(), "\n"); n != 1 {
		t.Errorf("one bad line, %d on stderr: %s", n, p.stderr.String())
	}
}

func TestProcess_endOfInput(t *testing.T) {
	t.Run("behind the prompt", func(t *testing.T) {
		p := start(t, launch{})
		p.play(write("a.txt", "a\n"), say("done"))
		p.play(say("second"))
		if code := p.end(); code != 0 {
			t.Errorf("exit %d", code)
		}
		if n := strings.Count(p.wire(), `"type":"result"`); n != 2 {
			t.Errorf("%d results", n)
		}
		p.holds("a.txt", "a\n")
	})
	t.Run("with nothing sent", func(t *testing.T) {
		p := start(t, launch{})
		if code := p.end(); code != 0 || p.wire() != "" || p.stderr.Len() > 0 {
			t.Errorf("exit %d, %q, %q", code, p.wire(), p.stderr.String())
		}
	})
	t.Run("behind a rewind", func(t *testing.T) {
		p := start(t, launch{})
		u := p.do(write("a.txt", "a\n"), say("done"))
		id := p.ask("rewind_files", map[string]any{"user_message_id": u})
		p.end()
		if r := p.answer(id); r.Subtype != "success" {
			t.Errorf("%+v", r)
		}
		p.absent("a.txt")
	})
	t.Run("of an empty prompt", func(t *testing.T) {
		p := start(t, launch{})
		p.prompt("")
		p.end()
		if n := strings.Count(p.wire(), `"type":"result"`); n != 1 {
			t.Errorf("%d results", n)
		}
	})
}

func TestProcess_signals(t *testing.T) {
	signal := func(p *process, s os.Signal) { must(t, p.cmd.Process.Signal(s)) }
	t.Run("SIGTERM in mid-turn", func(t *testing.T) {
		p := start(t, launch{})
		p.play(hang())
		p.replay()
		signal(p, syscall.SIGTERM)
		if code := p.wait(); code != 143 {
			t.Errorf("exit %d", code)
		}
	})
	t.Run("SIGTERM in a command", func(t *testing.T) {
		p := start(t, launch{pipe: "started", args: []string{"--dangerously-skip-permissions"}})
		p.play(use("Bash", map[string]any{"command": "trap '' TERM INT; echo > started; sleep 1000 & wait"}))
		p.met("started")
		signal(p, syscall.SIGTERM)
		if code := p.wait(); code != 143 {
			t.Errorf("exit %d", code)
		}
	})
	t.Run("SIGTERM while the host does not read", func(t *testing.T) {
		p := start(t, launch{stalled: true})
		p.prompt(strings.Repeat("more than a pipe holds ", 100_000))
		p.prompt(strings.Repeat("and more than the lane ", 100_000))
		p.prompt(strings.Repeat("so that the turn waits ", 100_000))
		signal(p, syscall.SIGTERM)
		_ = p.cmd.Wait()
		if code := p.cmd.ProcessState.ExitCode(); code != 143 {
			t.Errorf("exit %d", code)
		}
	})
	t.Run("SIGINT in mid-turn", func(t *testing.T) {
		p := start(t, launch{})
		p.play(hang())
		p.replay()
		signal(p, os.Interrupt)
		if r := p.result(); r.Terminal != "aborted_streaming" {
			t.Errorf("result: %s", r.raw)
		}
		p.do(say("the session goes on"))
	})
	t.Run("SIGINT when idle", func(t *testing.T) {
		p := start(t, launch{})
		p.do(say("hi"))
		signal(p, os.Interrupt)
		if code := p.wait(); code != 0 {
			t.Errorf("exit %d", code)
		}
	})
	t.Run("a host that closes stdout", func(t *testing.T) {
		p := start(t, launch{})
		p.play(hang())
		p.replay()
		must(t, p.stdout.Close())
		p.ask("interrupt", nil)
		if code := p.wait(); code != exitHostGone {
			t.Errorf("exit %d", code)
		}
	})
}

func TestDemo(t *testing.T) {
	self, err := os.Executable()
	must(t, err)
	cmd := exec.Command(self, "demo")
	cmd.Env = append(os.Environ(), "TAKEBACK_TEST_IS_TAKEBACK=1", "TMPDIR="+t.TempDir())
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if n := strings.Count(string(out), "✓"); n != 3 {
		t.Errorf("%d proofs in\n%s", n, out)
	}
	if left, err := os.ReadDir(cmd.Env[len(cmd.Env)-1][len("TMPDIR="):]); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}
