package main

import (
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"takeback/protocol"
	"takeback/sdk-tests/fakeapi"
)

// onAPI starts a process against a Messages API on loopback.
func onAPI(t *testing.T, args ...string) *process {
	t.Helper()
	api, err := fakeapi.New(fakeapi.Options{})
	must(t, err)
	t.Cleanup(func() { _ = api.Close() })
	return start(t, launch{
		bare: true,
		args: append([]string{"--input-format=stream-json", "--output-format=stream-json", "--permission-mode=acceptEdits", "--replay-user-messages"}, args...),
		env:  []string{"ANTHROPIC_BASE_URL=" + api.URL, "ANTHROPIC_API_KEY=test"},
	})
}

// The API refuses text that is all blank, and with it every later prompt of the conversation.
func TestTrouble_blankText(t *testing.T) {
	p := onAPI(t)
	p.prompt("  \n")
	if r := p.result(); r.IsError || r.NumTurns != 0 {
		t.Errorf("a blank prompt: %s", r.raw)
	}
	p.prompt("", map[string]any{"message": map[string]any{"role": "user", "content": []any{
		map[string]any{"type": "text", "text": ""}, map[string]any{"type": "text", "text": "hello"}}}})
	if r := p.result(); r.IsError {
		t.Errorf("a blank block beside another: %s", r.raw)
	}
	p.do(say("\n\n"), write("a.txt", "a"), say("done"))
	p.do(say("the conversation goes on"))
}

// A prompt that the endpoint refuses is not sent again with the next one, nor after a resume.
func TestTrouble_refusedPrompt(t *testing.T) {
	p := start(t, launch{})
	p.do(say("before"))
	p.prompt(scriptOf(t, map[string]any{"error": map[string]any{"status": 400}}, say("spoiled")))
	if r := p.result(); r.Status != 400 {
		t.Errorf("%s", r.raw)
	}
	p.do(say("after"))
	session := p.all()[0].SessionID
	for _, q := range []*process{p, p.again("--resume", session)} {
		q.play(map[string]any{"echo": "conversation"})
		r := q.result()
		if strings.Contains(r.Result, "spoiled") || !strings.Contains(r.Result, "before") || !strings.Contains(r.Result, "after") {
			t.Errorf("the conversation: %s", r.Result)
		}
		q.end()
	}
}

func TestTrouble_conversationTooLong(t *testing.T) {
	p := onAPI(t)
	p.do(say("before"))
	p.play(map[string]any{"error": map[string]any{"status": 400, "type": "invalid_request_error", "message": "prompt is too long: 250000 tokens > 200000 maximum"}})
	if r := p.result(); r.Terminal != "prompt_too_long" || !strings.HasPrefix(r.Result, "Prompt is too long") {
		t.Errorf("%s", r.raw)
	}
	p.do(say("a shorter one fits"))
}

// A full disk costs the lines that had no room, and says so.
func TestTrouble_transcriptCannotGrow(t *testing.T) {
	self, err := os.Executable()
	must(t, err)
	p := start(t, launch{env: []string{"CLAUDE_CODE_ENABLE_SDK_FILE_CHECKPOINTING="}, through: []string{"bash", "-c", `ulimit -f 8; exec "$0" "$@"`, self}})
	p.do(say("the word is heron"))
	session := p.all()[0].SessionID
	failed := false
	for range 20 {
		p.play(say(strings.Repeat("more ", 200)))
		if r := p.result(); r.IsError {
			failed = true
			if !strings.Contains(r.Errors[0], "transcript") {
				t.Errorf("%s", r.raw)
			}
		}
	}
	if !failed {
		t.Error("nothing failed: the limit does not bite")
	}
	p.end()
	q := p.again("--resume", session)
	q.knows("heron")
}

// Nobody watches any more: nothing begins.
func TestTrouble_noTurnBeginsOnceStdoutIsGone(t *testing.T) {
	p := start(t, launch{})
	p.play(hang())
	p.replay()
	must(t, p.stdout.Close())
	p.ask("interrupt", nil)
	p.play(write("a.txt", "unseen"), say("unseen"))
	if code := p.wait(); code != exitHostGone {
		t.Errorf("exit %d", code)
	}
	p.absent("a.txt")
}

// A host that has the result and sends a prompt and an interrupt means that prompt.
func TestTrouble_interruptRightBehindAResult(t *testing.T) {
	p := start(t, launch{env: []string{"CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS=1"}})
	for i := range 100 {
		p.do(say("quick"))
		p.play(hang())
		p.ask("interrupt", nil)
		if r := p.result(); r.Terminal != "aborted_streaming" {
			t.Fatalf("round %d: %s", i, r.raw)
		}
	}
}

func TestTrouble_signalsCountByTurn(t *testing.T) {
	p := start(t, launch{pipe: "started", args: []string{"--dangerously-skip-permissions"}})
	for range 3 {
		p.play(hang())
		p.replay()
		must(t, p.cmd.Process.Signal(os.Interrupt))
		if r := p.result(); r.Terminal != "aborted_streaming" {
			t.Errorf("%s", r.raw)
		}
	}
	// A second one while the first is being obeyed ends the process, and what it started.
	p.play(bash("trap '' TERM INT; echo $$ > started; sleep 1000 & wait"))
	pid, err := os.ReadFile(p.path("started"))
	must(t, err)
	must(t, p.cmd.Process.Signal(os.Interrupt))
	must(t, p.cmd.Process.Signal(syscall.SIGTERM)) // two of a kind may become one
	p.wait()
	state, _ := exec.Command("ps", "-o", "stat=", "-p", strings.TrimSpace(string(pid))).Output()
	if s := strings.TrimSpace(string(state)); s != "" && s[0] != 'Z' {
		t.Errorf("the command lives on in state %s", s)
	}
}

// What SIGTERM cut short is in the transcript.
func TestTrouble_terminatedTurnIsRecorded(t *testing.T) {
	p := start(t, launch{})
	p.play(say("I begin."), write("a.txt", "a"), hang())
	p.toolResult()
	must(t, p.cmd.Process.Signal(syscall.SIGTERM))
	p.wait()
	data, err := os.ReadFile(p.transcripts()[0])
	must(t, err)
	if lines := strings.Split(strings.TrimSpace(string(data)), "\n"); !strings.Contains(lines[len(lines)-1], "[Request interrupted by user") {
		t.Errorf("last line: %s", lines[len(lines)-1])
	}
}

func TestTrouble_B02_B36_savedBytesAreGone(t *testing.T) {
	p := start(t, launch{})
	p.put("a.txt", "old\n")
	u := p.do(read("a.txt"), write("a.txt", "new\n"), write("made.txt", "x"), say("done"))
	session := p.all()[0].SessionID
	p.end()
	must(t, os.RemoveAll(filepath.Join(p.config, "takeback", session, "packs")))
	q := p.again("--resume", session)
	_, r := q.rewind(u, false)
	if r.Subtype != "error" || r.ErrorCode != "rewind_incomplete" || !strings.Contains(r.Error, "Restored 1 of 2") || !strings.Contains(r.Error, q.path("a.txt")) {
		t.Errorf("rewind: %+v", r)
	}
	answer := string(q.all()[len(q.all())-1].raw)
	if !strings.Contains(answer, `"problems":[{"path":"`+q.path("a.txt")) || !strings.Contains(answer, `"undo_id":"`) {
		t.Errorf("answer: %s", answer)
	}
	q.holds("a.txt", "new\n")
	q.absent("made.txt")
}

// The lock is another process's: a rewind is told so, with its pid, and the result of the
// empty prompt that opened the connection waits for that answer.
func TestTrouble_twoProcessesOnOneSession(t *testing.T) {
	p := start(t, launch{})
	u := p.do(write("a.txt", "a"), say("done"))
	q := p.again("--resume", p.all()[0].SessionID)
	q.prompt("")
	q.await("init", func(f frame) bool { return f.Subtype == "init" })
	id := q.ask("rewind_files", map[string]any{"user_message_id": u})
	q.result()
	i, answer := q.find(0, func(f frame) bool { return f.Type == "control_response" })
	if i != len(q.all())-2 || answer.Response.RequestID != id || !strings.Contains(answer.Response.Error, fmt.Sprintf("pid %d", p.cmd.Process.Pid)) {
		t.Errorf("%s", q.wire())
	}
	p.holds("a.txt", "a")
}

func TestTrouble_environmentVariables(t *testing.T) {
	p := start(t, launch{args: []string{"--dangerously-skip-permissions"}, env: []string{"BIRD=stork"}})
	p.send(map[string]any{"type": "update_environment_variables", "variables": map[string]string{"BIRD": "heron"}})
	p.play(bash("echo $BIRD"), say("done"))
	if text, _ := p.toolResult(); text != "heron" {
		t.Errorf("%q", text)
	}
}

func TestTrouble_cost(t *testing.T) {
	p := onAPI(t, "--model", "opus")
	p.play(map[string]any{"usage": map[string]any{"input_tokens": 1000, "output_tokens": 100, "cache_creation_input_tokens": 10, "cache_read_input_tokens": 1}}, say("done"))
	var r struct {
		Cost  float64                        `json:"total_cost_usd"`
		Usage map[string]protocol.ModelUsage `json:"modelUsage"`
	}
	must(t, protocol.Unmarshal(p.result().raw, &r))
	const want = (1000*4 + 100*20 + 10*5 + 1*0.20) / 1e6
	if math.Abs(r.Cost-want) > 1e-12 || len(r.Usage) != 1 || r.Usage["claude-opus-5-5"].CostUSD != r.Cost {
		t.Errorf("cost %v, want %v; %+v", r.Cost, want, r.Usage)
	}
}

func TestTrouble_B33_frameLimits(t *testing.T) {
	for entrypoint, whole := range map[string]bool{"sdk-py": false, "sdk-ts": true} {
		p := start(t, launch{env: []string{"CLAUDE_CODE_ENTRYPOINT=" + entrypoint}})
		content := strings.Repeat("0123456789", 200_000)
		p.play(write("a.txt", content), say("done"))
		p.result()
		p.holds("a.txt", content)
		longest := 0
		for _, f := range p.all() {
			longest = max(longest, len(f.raw))
		}
		if longest > 900<<10 && !whole || longest < 2_000_000 && whole {
			t.Errorf("%s: the longest frame has %d bytes", entrypoint, longest)
		}
	}
}
