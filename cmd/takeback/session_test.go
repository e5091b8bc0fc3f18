package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/uuid"
)

// began plays a turn that changes a.txt from old to new, ends the process, and gives its launch, session and prompt.
func began(t *testing.T) (p *process, session, prompt string) {
	t.Helper()
	p = start(t, launch{})
	p.put("a.txt", "old\n")
	prompt = p.do(read("a.txt"), write("a.txt", "new\n"), say("the word is heron"))
	session = p.all()[0].SessionID
	p.end()
	return p, session, prompt
}

func (p *process) again(args ...string) *process {
	p.t.Helper()
	return start(p.t, launch{project: p.project, config: p.config, args: args})
}

// knows checks that the model is sent what was said before.
func (p *process) knows(word string) {
	p.t.Helper()
	p.play(map[string]any{"echo": "conversation"})
	if r := p.result(); !strings.Contains(r.Result, word) {
		p.t.Errorf("the conversation does not hold %q: %s", word, r.raw)
	}
}

func (p *process) transcripts() []string {
	p.t.Helper()
	files, err := filepath.Glob(p.config + "/projects/*/*.jsonl")
	must(p.t, err)
	return files
}

func TestSession_continue(t *testing.T) {
	first, session, _ := began(t)
	other := first.again()
	other.do(say("the word is stork"))
	newer := other.all()[0].SessionID
	other.end()
	q := first.again("--continue")
	q.knows("stork")
	if got := q.all()[0].SessionID; got != newer || got == session {
		t.Errorf("continued %s, the latest is %s", got, newer)
	}
	empty := start(t, launch{args: []string{"-c"}})
	if r := empty.result(); r.Errors[0] != "No conversation found to continue" {
		t.Errorf("%s", r.raw)
	}
}

// The conversation branches, the files don't; what was checkpointed before can be rewound to in both.
func TestSession_B22_fork(t *testing.T) {
	for _, flags := range [][]string{{"--resume"}, {"--continue"}} {
		t.Run(flags[0], func(t *testing.T) {
			p, session, prompt := began(t)
			if flags[0] == "--resume" {
				flags = []string{"--resume", session}
			}
			id := uuid.NewString()
			before, err := os.ReadFile(p.transcripts()[0])
			must(t, err)
			q := p.again(append(flags, "--fork-session", "--session-id", id)...)
			q.knows("heron")
			if got := q.all()[0].SessionID; got != id {
				t.Errorf("the fork is %s", got)
			}
			second := q.do(write("b.txt", "b\n"), say("in the fork"))
			if reply, _ := q.rewind(prompt, true); len(reply.FilesChanged) != 2 {
				t.Errorf("plan: %+v", reply)
			}
			q.end()
			if after, err := os.ReadFile(p.transcripts()[0]); len(p.transcripts()) != 2 || string(after) != string(before) && !strings.Contains(p.transcripts()[0], id) {
				t.Errorf("the parent's transcript was written to (%v)", err)
			}
			must(t, os.RemoveAll(filepath.Join(p.config, "takeback", session)))
			again := p.again("--resume", id)
			if _, r := again.rewind(second, false); r.Subtype != "success" {
				t.Errorf("rewind in the fork: %+v", r)
			}
			again.absent("b.txt")
			again.holds("a.txt", "new\n")
			if _, r := again.rewind(prompt, false); r.Subtype != "success" {
				t.Errorf("rewind to before the fork: %+v", r)
			}
			again.holds("a.txt", "old\n")
		})
	}
}

func TestSession_forkLeavesTheParentAlone(t *testing.T) {
	p := start(t, launch{})
	p.put("a.txt", "old\n")
	prompt := p.do(read("a.txt"), write("a.txt", "new\n"), say("parent"))
	session := p.all()[0].SessionID
	fork := p.again("--resume", session, "--fork-session") // while the parent is alive
	fork.do(write("b.txt", "b\n"), say("fork"))
	if _, r := p.rewind(prompt, false); r.Subtype != "success" {
		t.Errorf("rewind in the parent: %+v", r)
	}
	p.holds("a.txt", "old\n")
	p.holds("b.txt", "b\n") // another session's work
	p.do(say("the parent goes on"))
}

func TestSession_noPersistence(t *testing.T) {
	p := start(t, launch{args: []string{"--no-session-persistence"}})
	p.put("a.txt", "old\n")
	u := p.do(read("a.txt"), write("a.txt", "new\n"), say("the word is heron"))
	p.knows("heron")
	if _, r := p.rewind(u, false); r.Subtype != "success" {
		t.Errorf("%+v", r)
	}
	p.holds("a.txt", "old\n")
	p.end()
	if left, _ := os.ReadDir(filepath.Join(p.config, "takeback")); len(left) > 0 || len(p.transcripts()) > 0 {
		t.Errorf("left behind: %v, %v", left, p.transcripts())
	}
}

// What is resumed without persistence stays as it was.
func TestSession_noPersistenceOfAResumedSession(t *testing.T) {
	p, session, prompt := began(t)
	before, err := os.ReadFile(p.transcripts()[0])
	must(t, err)
	q := p.again("--resume", session, "--no-session-persistence")
	q.knows("heron")
	q.do(write("b.txt", "b\n"), say("gone tomorrow"))
	if _, r := q.rewind(prompt, false); r.Subtype != "success" {
		t.Errorf("%+v", r)
	}
	q.holds("a.txt", "old\n")
	q.end()
	if after, err := os.ReadFile(p.transcripts()[0]); err != nil || string(after) != string(before) || len(p.transcripts()) != 1 {
		t.Errorf("the transcript was written to (%v)", err)
	}
	r := p.again("--resume", session)
	if reply, answer := r.rewind(prompt, true); !reply.CanRewind {
		t.Errorf("the session's own history is gone: %+v", answer)
	}
}

func TestSession_forkIntoASessionThatIsThere(t *testing.T) {
	p, session, _ := began(t)
	other := p.again()
	other.do(say("hi"))
	taken := other.all()[0].SessionID
	q := p.again("--resume", session, "--fork-session", "--session-id", taken)
	if r := q.result(); r.Errors[0] != "Session ID "+taken+" is already in use." {
		t.Errorf("%s", r.raw)
	}
	q.end()
}

func TestSession_idWithResume(t *testing.T) {
	p, session, _ := began(t)
	q := p.again("--resume", session, "--session-id", uuid.NewString())
	if code := q.wait(); code != 1 || !strings.Contains(q.stderr.String(), "--fork-session") {
		t.Errorf("exit %d: %s", code, q.stderr.String())
	}
}

func TestSession_projectDirName(t *testing.T) {
	for name, used := range map[string]bool{"my_Project-1": true, "../evil": false, "a/b": false, ".": false, "é": false, strings.Repeat("x", 65): false} {
		p := start(t, launch{env: []string{"CLAUDE_CODE_PROJECT_DIR_NAME=" + name}})
		p.do(say("hi"))
		p.end()
		if got := filepath.Base(filepath.Dir(p.transcripts()[0])); (got == name) != used {
			t.Errorf("%q: in %q", name, got)
		}
	}
}

// A replay is the word that a prompt is taken: it must be recorded by then, or a kill loses it.
func TestSession_acknowledgedPromptsAreRecorded(t *testing.T) {
	p := start(t, launch{})
	for range 100 {
		id := p.prompt("one more")
		p.replay()
		data, err := os.ReadFile(p.transcripts()[0])
		must(t, err)
		if !strings.Contains(string(data), id) {
			t.Fatalf("prompt %s is acknowledged, and not in the transcript", id)
		}
		p.result()
	}
}

// Others write to the transcript too, and need not be done when we are.
func TestSession_halfALineOfAnother(t *testing.T) {
	p := start(t, launch{})
	p.do(say("the word is heron"))
	f, err := os.OpenFile(p.transcripts()[0], os.O_APPEND|os.O_WRONLY, 0)
	must(t, err)
	_, err = f.WriteString(`{"type":"custom-title","customTitle":"half`)
	must(t, err)
	must(t, f.Close())
	p.do(say("the word is stork"))
	session := p.all()[0].SessionID
	p.end()
	q := p.again("--resume", session)
	q.knows("heron")
	q.knows("stork")
}

// The echo joins the blocks of the system prompt.
func TestSession_systemPrompt(t *testing.T) {
	const boundary = "__SYSTEM_PROMPT_DYNAMIC_BOUNDARY__"
	for name, c := range map[string]struct {
		args       []string
		initialize map[string]any
		want       string
	}{
		"ours":                  {nil, nil, "You are an agent"},
		"none":                  {nil, map[string]any{"systemPrompt": []string{""}}, `""`},
		"blank":                 {[]string{"--system-prompt", "  "}, nil, `""`},
		"own and an addition":   {[]string{"--system-prompt=own", "--append-system-prompt", "more"}, nil, `"ownmore"`},
		"an addition to ours":   {nil, map[string]any{"appendSystemPrompt": "more"}, `</env>more"`},
		"parts with a boundary": {nil, map[string]any{"systemPrompt": []string{"A", boundary, "B"}}, `"AB"`},
		"a boundary in a flag":  {[]string{"--system-prompt", "A\n" + boundary + "\nB"}, nil, `"AB"`},
	} {
		t.Run(name, func(t *testing.T) {
			p := start(t, launch{args: c.args})
			if c.initialize != nil {
				p.control("initialize", c.initialize)
			}
			p.play(map[string]any{"echo": "system"})
			if r := p.result(); !strings.Contains(r.Result, c.want) {
				t.Errorf("%s, want %s", r.Result, c.want)
			}
		})
	}
}

func rewindOnceOf(t *testing.T, p *process, env []string, args ...string) *process {
	t.Helper()
	return start(t, launch{bare: true, project: p.project, config: p.config, env: env, args: args})
}

func TestRewindOnce(t *testing.T) {
	const uuid0 = "00000000-0000-4000-8000-000000000000"
	p, session, prompt := began(t)
	var toolResult string
	for _, f := range p.all() {
		if isToolResult(f) {
			toolResult = f.UUID
		}
	}
	for name, c := range map[string]struct {
		args   []string
		env    []string
		stderr string
	}{
		"no session":      {args: []string{"--rewind-files", prompt}, stderr: "Error: --rewind-files requires --resume\n"},
		"a prompt":        {args: []string{"-p", "--resume", session, "--rewind-files", prompt, "hello"}, stderr: "Error: --rewind-files is a standalone operation and cannot be used with a prompt\n"},
		"an SDK":          {args: []string{"--input-format=stream-json", "--resume", session, "--rewind-files", prompt}, stderr: "Error: --rewind-files is a standalone operation and cannot be used with a prompt\n"},
		"a fork":          {args: []string{"--fork-session", "--resume", session, "--rewind-files", prompt}, stderr: "Error: --rewind-files cannot be used with --fork-session or --no-session-persistence: what it overwrites is kept in the session itself\n"},
		"no persistence":  {args: []string{"--no-session-persistence", "--resume", session, "--rewind-files", prompt}, stderr: "Error: --rewind-files cannot be used with --fork-session or --no-session-persistence: what it overwrites is kept in the session itself\n"},
		"unknown session": {args: []string{"--resume", uuid0, "--rewind-files", prompt}, stderr: "Error: No conversation found with session ID: " + uuid0 + "\n"},
		"unknown message": {args: []string{"--resume", session, "--rewind-files", uuid0}, stderr: "Error: --rewind-files requires a user message UUID, but " + uuid0 + " is not a user message in this session\n"},
		"no id":           {args: []string{"--resume", session, "--rewind-files="}, stderr: "Error: --rewind-files requires a user message UUID, but  is not a user message in this session\n"},
		"a tool result":   {args: []string{"--resume", session, "--rewind-files", toolResult}, stderr: "Error: No file checkpoint found for this message.\n"},
		"nothing to undo": {args: []string{"--resume", session, "--rewind-files", "undo"}, stderr: "Error: There is no rewind to undo in this session.\n"},
		"checkpointing off": {args: []string{"--resume", session, "--rewind-files", prompt},
			env: []string{"CLAUDE_CODE_ENABLE_SDK_FILE_CHECKPOINTING="}, stderr: "Error: File rewinding is not enabled.\n"},
	} {
		t.Run(name, func(t *testing.T) {
			q := rewindOnceOf(t, p, c.env, c.args...)
			if code := q.wait(); code != 1 || q.stderr.String() != c.stderr || q.wire() != "" {
				t.Errorf("exit %d, stderr %q, stdout %q", code, q.stderr.String(), q.wire())
			}
			q.holds("a.txt", "new\n")
		})
	}
	for _, args := range [][]string{{"--resume", session}, {"-p", "--resume", session}, {"-p", "", "--resume=" + session, "--output-format", "json"}} {
		q := rewindOnceOf(t, p, nil, append(args, "--rewind-files", prompt)...)
		if code := q.wait(); code != 0 || q.wire() != "Files rewound to state at message "+prompt+"\n" || q.stderr.Len() > 0 {
			t.Errorf("%v: exit %d, stdout %q, stderr %q", args, code, q.wire(), q.stderr.String())
		}
		q.holds("a.txt", "old\n")
	}
	q := rewindOnceOf(t, p, nil, "--resume", session, "--rewind-files", "undo")
	if code := q.wait(); code != 0 || q.wire() != "The last rewind is undone\n" {
		t.Errorf("undo: exit %d, stdout %q, stderr %q", code, q.wire(), q.stderr.String())
	}
	q.holds("a.txt", "new\n")
	if help := rewindOnceOf(t, p, nil, "--help"); help.wait() != 0 || strings.Contains(help.wire(), "rewind-files") {
		t.Errorf("help: %s", help.wire())
	}
}
