package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-json/jsontext"

	"takeback/protocol"
)

// question is a can_use_tool that waits for its answer.
type question struct {
	ID      string `json:"request_id"`
	Request struct {
		Subtype     string           `json:"subtype"`
		Tool        string           `json:"tool_name"`
		Input       jsontext.Value   `json:"input"`
		ToolUseID   string           `json:"tool_use_id"`
		Suggestions []jsontext.Value `json:"permission_suggestions"`
		BlockedPath string           `json:"blocked_path"`
		ReasonType  string           `json:"decision_reason_type"`
	} `json:"request"`
}

func asking(l launch) launch {
	l.args = append([]string{"--permission-prompt-tool", "stdio", "--permission-mode=default"}, l.args...)
	return l
}

func (p *process) question() question {
	p.t.Helper()
	f := p.await("a question", func(f frame) bool { return f.Type == "control_request" })
	var q question
	must(p.t, protocol.Unmarshal(f.raw, &q))
	return q
}

func (p *process) respond(q question, answer map[string]any) {
	p.t.Helper()
	p.send(map[string]any{"type": "control_response", "response": map[string]any{"subtype": "success", "request_id": q.ID, "response": answer}})
}

func allow(more map[string]any) map[string]any {
	answer := map[string]any{"behavior": "allow"}
	for k, v := range more {
		answer[k] = v
	}
	return answer
}

func bash(command string) map[string]any { return use("Bash", map[string]any{"command": command}) }

func TestAsk_allowWithChangedInput(t *testing.T) {
	p := start(t, asking(launch{}))
	u := p.play(write("a.txt", "as the model wants"), say("done"))
	q := p.question()
	if q.Request.Subtype != "can_use_tool" || q.Request.Tool != "Write" || q.Request.ToolUseID != "toolu_t1c1" || !strings.Contains(string(q.Request.Input), "as the model wants") {
		t.Errorf("question: %+v", q)
	}
	p.respond(q, allow(map[string]any{"updatedInput": map[string]any{"file_path": "b.txt", "content": "as the host wants"}}))
	if text, isError := p.toolResult(); isError {
		t.Errorf("result %q", text)
	}
	if r := p.result(); len(r.Denials) > 0 {
		t.Errorf("result: %s", r.raw)
	}
	p.absent("a.txt")
	p.holds("b.txt", "as the host wants")
	if reply, _ := p.rewind(u, false); !slices.Equal(reply.FilesChanged, []string{p.path("b.txt")}) {
		t.Errorf("rewind: %+v", reply)
	}
	p.absent("b.txt")
}

func TestAsk_changedInputIsValidated(t *testing.T) {
	p := start(t, asking(launch{}))
	p.play(write("a.txt", "x"), say("done"))
	p.respond(p.question(), allow(map[string]any{"updatedInput": map[string]any{"file_path": 7, "content": "x"}}))
	if text, isError := p.toolResult(); !isError || !strings.Contains(text, "file_path") {
		t.Errorf("result %q", text)
	}
	p.result()
}

// Not even the host's own input gets past a rule that forbids.
func TestAsk_changedInputIsJudged(t *testing.T) {
	p := start(t, asking(launch{args: []string{"--disallowedTools=Write(b.txt)"}}))
	p.play(write("a.txt", "x"), say("done"))
	p.respond(p.question(), allow(map[string]any{"updatedInput": map[string]any{"file_path": "b.txt", "content": "x"}}))
	if text, isError := p.toolResult(); !isError || !strings.Contains(text, "Write(b.txt)") {
		t.Errorf("result %q", text)
	}
	if r := p.result(); len(r.Denials) != 1 {
		t.Errorf("%s", r.raw)
	}
	p.absent("b.txt")
}

func TestAsk_deny(t *testing.T) {
	p := start(t, asking(launch{}))
	p.play(write("a.txt", "x"), say("noted"))
	p.respond(p.question(), map[string]any{"behavior": "deny", "message": "not on my watch"})
	if text, isError := p.toolResult(); !isError || text != "not on my watch" {
		t.Errorf("result %q", text)
	}
	if r := p.result(); r.Result != "noted" || len(r.Denials) != 1 || !strings.Contains(string(r.Denials[0]), `"tool_name":"Write"`) {
		t.Errorf("result: %s", r.raw)
	}
	p.absent("a.txt")
}

func TestAsk_denyWithInterrupt(t *testing.T) {
	p := start(t, asking(launch{}))
	p.play(write("a.txt", "x"), write("b.txt", "x"), say("unreached"))
	p.respond(p.question(), map[string]any{"behavior": "deny", "message": "stop", "interrupt": true})
	if text, _ := p.toolResult(); text != "stop" {
		t.Errorf("first result %q", text)
	}
	if _, isError := p.toolResult(); !isError {
		t.Error("the second call was carried out")
	}
	if r := p.result(); r.Subtype != "error_during_execution" || len(r.Denials) != 1 {
		t.Errorf("result: %s", r.raw)
	}
	p.absent("b.txt")
	p.do(say("the session goes on"))
}

func TestAsk_interruptWhileOpen(t *testing.T) {
	p := start(t, asking(launch{env: []string{"CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS=1"}}))
	p.play(write("a.txt", "x"), say("unreached"))
	p.await("requires_action", func(f frame) bool { return f.State == "requires_action" })
	q := p.question()
	p.control("interrupt", nil)
	i, _ := p.find(0, func(f frame) bool {
		return f.Type == "control_cancel_request" && strings.Contains(string(f.raw), q.ID)
	})
	if i < 0 {
		t.Error("the question was not withdrawn")
	}
	if r := p.result(); r.Terminal != "aborted_tools" || len(r.Denials) > 0 {
		t.Errorf("result: %s", r.raw)
	}
	p.respond(q, allow(nil)) // too late, as TypeScript does
	p.do(say("the session goes on"))
	p.absent("a.txt")
}

func TestAsk_endOfInputWhileOpen(t *testing.T) {
	p := start(t, asking(launch{}))
	p.play(write("a.txt", "x"), say("went on"))
	p.question()
	must(t, p.stdin.Close())
	if text, isError := p.toolResult(); !isError || !strings.HasPrefix(text, "Tool permission request failed") {
		t.Errorf("result %q", text)
	}
	if r := p.result(); r.Result != "went on" || len(r.Denials) != 1 {
		t.Errorf("result: %s", r.raw)
	}
	if code := p.wait(); code != 0 {
		t.Errorf("exit %d", code)
	}
}

func TestAsk_answersThatMakeNoSense(t *testing.T) {
	p := start(t, asking(launch{}))
	for _, response := range []string{
		`{"subtype":"error","request_id":"%s","error":"no callback"}`,
		`{"subtype":"success","request_id":"%s"}`,
		`{"subtype":"success","request_id":"%s","response":null}`,
		`{"subtype":"success","request_id":"%s","response":[]}`,
		`{"subtype":"success","request_id":"%s","response":{"behavior":"maybe"}}`,
		`{"subtype":"success","request_id":"%s","response":{"BEHAVIOR":"allow"}}`,
		`{"subtype":"success","request_id":"%s","response":{"behavior":true}}`,
		`{"subtype":"wat","request_id":"%s"}`,
	} {
		p.play(write("a.txt", "x"), say("noted"))
		p.sendLine(`{"type":"control_response","response":` + fmt.Sprintf(response, p.question().ID) + `}`)
		if text, isError := p.toolResult(); !isError {
			t.Errorf("%s allowed it: %q", response, text)
		}
		if r := p.result(); r.Result != "noted" {
			t.Errorf("%s: %s", response, r.raw)
		}
	}
	p.absent("a.txt")
}

// What takeback suggests can be sent back, and then the like is not asked again.
func TestAsk_suggestions(t *testing.T) {
	outside := filepath.Join(t.TempDir(), "x.txt")
	for name, c := range map[string]struct {
		call       map[string]any
		suggests   string
		reasonType string
		blocked    string
	}{
		"an edit":         {write("a.txt", "x"), "setMode", "mode", ""},
		"an edit outside": {write(outside, "x"), "addDirectories", "workingDir", outside},
		"a read outside":  {read("/etc/hostname"), "addDirectories", "workingDir", "/etc/hostname"},
		"a command":       {bash("echo hi"), "addRules", "mode", ""},
	} {
		t.Run(name, func(t *testing.T) {
			p := start(t, asking(launch{}))
			p.play(c.call, say("done"))
			q := p.question()
			if q.Request.ReasonType != c.reasonType || q.Request.BlockedPath != c.blocked || !strings.Contains(string(q.Request.Suggestions[0]), c.suggests) {
				t.Errorf("question: %+v", q.Request)
			}
			p.respond(q, allow(map[string]any{"updatedPermissions": q.Request.Suggestions}))
			p.result()
			p.play(c.call, say("again"))
			f := p.await("the second call's result or question", func(f frame) bool { return isToolResult(f) || f.Type == "control_request" })
			if f.Type == "control_request" {
				t.Errorf("asked again: %s", f.raw)
			}
		})
	}
}

// What would mean more than the command at hand is not suggested.
func TestAsk_noSuggestionThatOpensAll(t *testing.T) {
	for _, command := range []string{"*", "echo :*"} {
		p := start(t, asking(launch{}))
		p.play(bash(command), say("done"))
		if q := p.question(); len(q.Request.Suggestions) > 0 {
			t.Errorf("%s: %s", command, q.Request.Suggestions)
		}
	}
}

// The host's word holds for the call at hand, whatever else its answer says.
func TestAsk_allowIsAllow(t *testing.T) {
	for name, updates := range map[string]any{
		"a mode that would deny": []any{map[string]any{"type": "setMode", "mode": "dontAsk", "destination": "session"}},
		"a rule for later calls": []any{map[string]any{"type": "addRules", "behavior": "deny", "rules": []any{map[string]any{"toolName": "Write"}}, "destination": "session"}},
		"not a list":             "x",
		"not objects":            []any{"x", 1, nil, []any{}},
		"wrong types":            []any{map[string]any{"type": "addRules", "rules": "Write", "destination": 5}, map[string]any{"type": "setMode", "mode": 7}},
		"unknown":                []any{map[string]any{"type": "makeTea"}},
	} {
		t.Run(name, func(t *testing.T) {
			p := start(t, asking(launch{}))
			p.play(write("a.txt", "x"), say("done"))
			p.respond(p.question(), allow(map[string]any{"updatedPermissions": updates}))
			if text, isError := p.toolResult(); isError {
				t.Errorf("%q", text)
			}
			p.result()
			p.holds("a.txt", "x")
		})
	}
}

func TestAsk_modeChangesAreTold(t *testing.T) {
	p := start(t, asking(launch{}))
	p.play(write("a.txt", "x"), say("done"))
	q := p.question()
	p.respond(q, allow(map[string]any{"updatedPermissions": q.Request.Suggestions}))
	p.await("the new mode", func(f frame) bool { return f.Subtype == "status" && strings.Contains(string(f.raw), `"acceptEdits"`) })
	p.result()
}

func TestPermission_rules(t *testing.T) {
	for _, c := range []struct {
		flag    string
		mode    string
		call    map[string]any
		allowed bool
	}{
		{"--allowedTools=Write", "default", write("a.txt", "x"), true},
		{"--allowedTools=Read,Write", "dontAsk", write("a.txt", "x"), true},
		{"--allowed-tools=Bash(echo hi)", "default", bash("echo hi"), true},
		{"--allowed-tools=Bash(echo hi)", "default", bash("echo hi; rm -rf x"), false},
		{"--allowed-tools=Bash(echo:*)", "default", bash("echo hi"), false}, // patterns are not read yet, and then nothing is allowed
		{"--allowedTools=Write(a.txt)", "default", write("a.txt", "x"), true},
		{"--allowedTools=Write(a.txt)", "default", write("b.txt", "x"), false},
		{"--disallowedTools=Write(a.txt)", "bypassPermissions", write("a.txt", "x"), false},
		{"--disallowedTools=Write(/a.txt)", "bypassPermissions", write("a.txt", "x"), false},
		{"--disallowedTools=Write( a.txt )", "bypassPermissions", write("./a.txt", "x"), false},
		{"--disallowedTools=Edit(a.txt)", "bypassPermissions", write("a.txt", "x"), false},
		{"--disallowedTools=Edit", "bypassPermissions", write("a.txt", "x"), true},
		{"--disallowedTools=Read(sub/a.txt)", "bypassPermissions", use("Grep", map[string]any{"pattern": "x"}), false},
		{"--disallowedTools=Read(sub/a.txt)", "bypassPermissions", use("Grep", map[string]any{"pattern": "x", "path": "sub/a.txt"}), false},
		{"--disallowedTools=Read", "bypassPermissions", use("Glob", map[string]any{"pattern": "*"}), true},
		{"--disallowedTools=Write(a.txt)", "bypassPermissions", write("b.txt", "x"), true},
		{"--disallowedTools=Bash(rm:*)", "bypassPermissions", bash("echo hi"), false}, // cannot be judged yet, and then nothing is run
		{"--disallowedTools=Write", "bypassPermissions", write("a.txt", "x"), false},
		{"--tools=Read", "bypassPermissions", write("a.txt", "x"), false},
		{"--tools=", "bypassPermissions", write("a.txt", "x"), false},
		{"--tools=default", "bypassPermissions", write("a.txt", "x"), true},
	} {
		t.Run(c.flag, func(t *testing.T) {
			p := start(t, launch{args: []string{"--permission-mode", c.mode, c.flag}})
			p.play(c.call, say("done"))
			if text, isError := p.toolResult(); isError == c.allowed {
				t.Errorf("%v: %q", c.call, text)
			}
		})
	}
}

func TestPermission_addedFolders(t *testing.T) {
	other := t.TempDir()
	p := start(t, launch{args: []string{"--add-dir", other}})
	u := p.do(write(filepath.Join(other, "a.txt"), "x"), say("done"))
	if reply, _ := p.rewind(u, true); len(reply.FilesChanged) != 1 {
		t.Errorf("%+v", reply)
	}
}

func TestPermission_toolsAreListed(t *testing.T) {
	p := start(t, launch{args: []string{"--tools", "Read,Write Edit", "--disallowedTools", "Edit"}})
	p.do(say("hi"))
	if init := p.all()[0]; !strings.Contains(string(init.raw), `"tools":["Read","Write"]`) {
		t.Errorf("%s", init.raw)
	}
}
