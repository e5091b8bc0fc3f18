package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/uuid"
)

func TestTurn_frames(t *testing.T) {
	p := start(t, launch{args: []string{"--include-partial-messages"}})
	id := p.do(say("I write."), write("a.txt", "a\n"), say("Done."))
	var order []string
	for _, f := range p.all() {
		kind := f.Type
		switch {
		case f.Subtype != "":
			kind += "/" + f.Subtype
		case f.IsReplay:
			kind = "replay"
		case f.Type == "stream_event":
			kind = f.Event.Type
		case f.Type == "user" || f.Type == "assistant":
			kind += " " + f.Message.Content[0].Type
		}
		if kind != "content_block_delta" {
			order = append(order, kind)
		}
	}
	want := "system/init, replay, message_start, " +
		"content_block_start, assistant text, content_block_stop, content_block_start, assistant tool_use, content_block_stop, message_delta, message_stop, " +
		"user tool_result, message_start, content_block_start, assistant text, content_block_stop, message_delta, message_stop, result/success"
	if got := strings.Join(order, ", "); got != want {
		t.Errorf("frames\n got %s\nwant %s", got, want)
	}
	for _, f := range p.all() {
		if f.IsReplay && f.UUID != id {
			t.Errorf("the replay's uuid is %s, the host's was %s", f.UUID, id)
		}
	}
	if r := p.all()[len(p.all())-1]; r.Result != "Done." || r.NumTurns != 2 || !strings.Contains(string(r.raw), `"modelUsage":{"script":{`) {
		t.Errorf("result: %s", r.raw)
	}
}

func TestTurn_B25_uuids(t *testing.T) {
	t.Run("minted", func(t *testing.T) {
		p := start(t, launch{})
		p.sendLine(`{"type":"user","message":{"role":"user","content":"hi"}}`)
		id := p.replay().UUID
		p.result()
		if uuid.Validate(id) != nil {
			t.Errorf("minted %q", id)
		}
		if r, _ := p.rewind(id, true); !r.CanRewind {
			t.Errorf("a minted uuid is no checkpoint: %+v", r)
		}
	})
	t.Run("repeated", func(t *testing.T) {
		p := start(t, launch{})
		id := p.do(say("once"))
		p.prompt(scriptOf(t, say("twice")), map[string]any{"uuid": id})
		if f := p.replay(); f.UUID != id {
			t.Errorf("replay of %s", f.UUID)
		}
		p.do(say("next"))
		if n := strings.Count(p.wire(), `"result":"`); n != 2 {
			t.Errorf("%d results: a repeated uuid was run again", n)
		}
	})
	t.Run("without the flag", func(t *testing.T) {
		p := start(t, launch{bare: true, args: []string{"--input-format=stream-json", "--output-format=stream-json", "--model=script"}})
		p.do(say("hi"))
		if strings.Contains(p.wire(), "isReplay") {
			t.Error("a replay nobody asked for")
		}
	})
}

// Prompts sent while a turn runs are neither merged nor lost.
func TestTurn_threePromptsWhileOneRuns(t *testing.T) {
	p := start(t, launch{})
	p.play(hang())
	p.replay()
	var ids []string
	for i := range 3 {
		ids = append(ids, p.play(write(fmt.Sprint(i), "x"), say(fmt.Sprint(i))))
	}
	r := p.control("interrupt", nil)
	if want := fmt.Sprintf(`{"still_queued":["%s"]}`, strings.Join(ids, `","`)); string(r.Response) != want {
		t.Errorf("interrupt: %s, want %s", r.Response, want)
	}
	if r := p.result(); r.Subtype != "error_during_execution" || !strings.Contains(string(r.raw), `"queued_turn_count":3`) {
		t.Errorf("result of an interrupted turn: %s", r.raw)
	}
	for i, id := range ids {
		if f := p.replay(); f.UUID != id {
			t.Errorf("replay %d is of %s, want %s", i, f.UUID, id)
		}
		if r := p.result(); r.Result != fmt.Sprint(i) {
			t.Errorf("result %d: %s", i, r.raw)
		}
	}
	for i, id := range ids {
		if plan, _ := p.rewind(id, true); len(plan.FilesChanged) != 3-i {
			t.Errorf("plan to prompt %d: %+v", i, plan)
		}
	}
}

func TestTurn_B26_replayComesFirst(t *testing.T) {
	p := start(t, launch{args: []string{"--include-partial-messages"}, env: []string{"CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS=1"}})
	p.play(say("one"))
	p.play(say("two"))
	p.result()
	p.result()
	p.await("idle", func(f frame) bool { return f.State == "idle" })
	turns := 0
	state := ""
	for _, f := range p.all() {
		switch {
		case f.State == "running":
			state = "running"
		case f.Subtype == "init" && state == "running":
			state = "init"
		case f.IsReplay && state == "init":
			state = "replayed"
		case f.Type == "result" && state == "replayed":
			state = "ended"
		case f.State == "idle" && state == "ended":
			state, turns = "idle", turns+1
		case state != "replayed":
			t.Fatalf("%s in state %q:\n%s", f.raw, state, p.wire())
		}
	}
	if turns != 2 {
		t.Errorf("%d turns", turns)
	}
}

func TestTurn_stateSwitches(t *testing.T) {
	for env, want := range map[string]string{
		"X=1":                                   "",
		"CLAUDE_CODE_SDK_READS_SESSION_STATE=1": `"sdk_host_only":true`,
		"CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS=1": `"state":"idle"`,
	} {
		p := start(t, launch{env: []string{env}})
		p.do(say("hi"))
		p.end()
		wire := p.wire()
		if has := strings.Contains(wire, "session_state_changed"); has != (want != "") || !strings.Contains(wire, want) {
			t.Errorf("%s: %s", env, wire)
		}
	}
}

func TestTurn_interrupt(t *testing.T) {
	t.Run("a model stream", func(t *testing.T) {
		p := start(t, launch{})
		p.play(say("I begin."), hang())
		p.replay()
		p.control("interrupt", nil)
		f := p.await("the note", func(f frame) bool { return f.Type == "user" && !f.IsReplay })
		if got := f.Message.Content.Text(); got != "[Request interrupted by user]" {
			t.Errorf("note %q", got)
		}
		if r := p.result(); r.Terminal != "aborted_streaming" || len(r.Errors) != 1 || !r.IsError {
			t.Errorf("result: %s", r.raw)
		}
	})
	t.Run("a tool", func(t *testing.T) {
		p := start(t, launch{pipe: "started", args: []string{"--dangerously-skip-permissions"}})
		p.play(use("Bash", map[string]any{"command": "echo > started; sleep 1000"}), write("never.txt", "x"), say("unreached"))
		p.met("started")
		p.control("interrupt", nil)
		for range 2 {
			if text, isError := p.toolResult(); !isError {
				t.Errorf("result of an interrupted call: %q", text)
			}
		}
		if r := p.result(); r.Terminal != "aborted_tools" {
			t.Errorf("result: %s", r.raw)
		}
		p.absent("never.txt")
		p.do(say("the session goes on"))
	})
	t.Run("nothing", func(t *testing.T) {
		p := start(t, launch{})
		if r := p.control("interrupt", nil); string(r.Response) != `{"still_queued":[]}` {
			t.Errorf("interrupt: %+v", r)
		}
		p.do(say("the next turn is not the one that was meant"))
	})
	t.Run("the turn right behind it in the pipe", func(t *testing.T) {
		p := start(t, launch{})
		p.play(hang())
		p.ask("interrupt", nil)
		p.play(say("second"))
		if r := p.result(); r.Terminal != "aborted_streaming" {
			t.Errorf("first: %s", r.raw)
		}
		if r := p.result(); r.Result != "second" {
			t.Errorf("second: %s", r.raw)
		}
	})
}

func TestTurn_interruptWithWhatIsQueued(t *testing.T) {
	p := start(t, launch{})
	p.play(hang())
	p.replay()
	first, second := p.play(write("a.txt", "x")), p.play(write("b.txt", "x"))
	r := p.control("interrupt", map[string]any{"cancel_queued": true})
	if want := fmt.Sprintf(`{"cancelled":["%s","%s"],"still_queued":[]}`, first, second); string(r.Response) != want {
		t.Errorf("%s, want %s", r.Response, want)
	}
	p.result()
	p.do(say("the next"))
	p.absent("a.txt")
	p.absent("b.txt")
}

// The history is not for the agent to write to, whatever the mode.
func TestTurn_ownFilesArePrivate(t *testing.T) {
	project := t.TempDir()
	p := start(t, launch{project: project, config: project + "/.config", args: []string{"--dangerously-skip-permissions"}})
	p.do(write("a.txt", "x"), say("done"))
	journal := ".config/takeback/" + p.all()[0].SessionID + "/journal"
	p.play(read(journal), write(journal, "gone"), say("done"))
	p.toolResult()
	if text, isError := p.toolResult(); !isError || !strings.Contains(text, "belongs to takeback") {
		t.Errorf("%q", text)
	}
	p.result()
}

func TestTurn_controlIsServedWhileItRuns(t *testing.T) {
	p := start(t, launch{})
	p.play(hang())
	p.replay()
	if r := p.control("set_model", map[string]any{"model": "other"}); string(r.Response) != `{"model":"other"}` {
		t.Errorf("set_model: %+v", r)
	}
	if r := p.control("set_permission_mode", map[string]any{"mode": "plan"}); string(r.Response) != `{"mode":"plan"}` {
		t.Errorf("set_permission_mode: %+v", r)
	}
	p.await("status", func(f frame) bool {
		return f.Subtype == "status" && strings.Contains(string(f.raw), `"permissionMode":"plan"`)
	})
	if r := p.control("get_binary_version", nil); !strings.Contains(string(r.Response), `"version":"2.1.332"`) {
		t.Errorf("get_binary_version: %+v", r)
	}
	p.control("interrupt", nil)
	p.result()
}

func TestTurn_permissionModes(t *testing.T) {
	outside := t.TempDir() + "/outside.txt"
	for _, c := range []struct {
		mode    string
		call    map[string]any
		allowed bool
	}{
		{"default", read("in.txt"), true},
		{"default", write("new.txt", "x"), false},
		{"default", bash("true"), false},
		{"acceptEdits", write("new.txt", "x"), true},
		{"acceptEdits", write(outside, "x"), false},
		{"acceptEdits", write("link/new.txt", "x"), false},
		{"acceptEdits", read(outside), false},
		{"acceptEdits", write(".git/hooks/pre-commit", "x"), false},
		{"acceptEdits", write("sub/.claude/settings.json", "x"), false},
		{"acceptEdits", write(".bashrc", "x"), false},
		{"bypassPermissions", write(".bashrc", "x"), true},
		{"acceptEdits", bash("true"), false},
		{"plan", write("new.txt", "x"), false},
		{"dontAsk", write("new.txt", "x"), false},
		{"bypassPermissions", write(outside, "x"), true},
		{"bypassPermissions", bash("true"), true},
	} {
		t.Run(fmt.Sprint(c.mode, c.call["tool"], c.allowed), func(t *testing.T) {
			p := start(t, launch{args: []string{"--permission-mode", c.mode}})
			p.put("in.txt", "x\n")
			must(t, symlink(t.TempDir(), p.path("link")))
			p.play(c.call, say("done"))
			if text, isError := p.toolResult(); isError == c.allowed {
				t.Errorf("result %q", text)
			}
			if r := p.result(); (len(r.Denials) == 0) != c.allowed {
				t.Errorf("denials: %s", r.raw)
			}
		})
	}
}

func TestTurn_bypassNeedsItsFlag(t *testing.T) {
	p := start(t, launch{})
	if r := p.control("set_permission_mode", map[string]any{"mode": "bypassPermissions"}); r.ErrorCode != "bypass_not_launched" {
		t.Errorf("%+v", r)
	}
	if r := p.control("set_permission_mode", map[string]any{"mode": "yolo"}); r.ErrorCode != "invalid_mode" {
		t.Errorf("%+v", r)
	}
	q := start(t, launch{args: []string{"--allow-dangerously-skip-permissions"}})
	if r := q.control("set_permission_mode", map[string]any{"mode": "bypassPermissions"}); r.Subtype != "success" {
		t.Errorf("%+v", r)
	}
}

func TestTurn_badCallsAreToldToTheModel(t *testing.T) {
	p := start(t, launch{})
	for _, c := range []struct {
		call map[string]any
		says string
	}{
		{use("Frobnicate", map[string]any{}), "Frobnicate"},
		{use("Write", map[string]any{"file_path": "a"}), "content"},
		{use("Write", map[string]any{"FILE_PATH": "a", "content": "x"}), "FILE_PATH"},
		{use("Write", map[string]any{"file_path": 7, "content": "x"}), "file_path"},
	} {
		p.play(c.call, say("noted"))
		if text, isError := p.toolResult(); !isError || !strings.Contains(text, c.says) {
			t.Errorf("result %q, want an error about %q", text, c.says)
		}
		if r := p.result(); r.Result != "noted" {
			t.Errorf("the turn did not go on: %s", r.raw)
		}
	}
}

func TestTurn_modelFailures(t *testing.T) {
	p := start(t, launch{})
	for _, c := range []struct {
		step   map[string]any
		status int
		kind   string
	}{
		{map[string]any{"error": map[string]any{"status": 400, "type": "invalid_request_error", "message": "no"}}, 400, "invalid_request"},
		{map[string]any{"error": map[string]any{"status": 529, "type": "overloaded_error", "message": "busy"}}, 529, "overloaded"},
		{map[string]any{"cut": true}, 0, "server_error"},
	} {
		p.play(c.step)
		f := p.await("the assistant's error", func(f frame) bool { return f.Type == "assistant" && f.Error != "" })
		if f.Error != c.kind || f.Message.Content.Text() == "" {
			t.Errorf("assistant: %s", f.raw)
		}
		r := p.result()
		if r.Subtype != "success" || !r.IsError || r.Terminal != "api_error" || r.Status != c.status || r.Result != f.Message.Content.Text() {
			t.Errorf("result: %s", r.raw)
		}
	}
	p.do(say("the session is alive"))
	p.play(map[string]any{"cut": true})
	p.result()
	if code := p.end(); code != 1 {
		t.Errorf("exit %d after an error result", code)
	}
	if last := p.all()[len(p.all())-1]; last.Type != "result" {
		t.Errorf("a frame behind an error result: %s", last.raw)
	}
}

func TestTurn_withoutKey(t *testing.T) {
	for name, want := range map[string]string{"": "claude-sonnet-5-5", "opus": "claude-opus-5-5", "my-own": "my-own"} {
		p := start(t, launch{bare: true, env: []string{"ANTHROPIC_MODEL=" + name}, args: []string{"--input-format=stream-json", "--output-format=stream-json"}})
		p.prompt("hi")
		init := p.await("init", func(f frame) bool { return f.Subtype == "init" })
		if !strings.Contains(string(init.raw), `"model":"`+want+`"`) || !strings.Contains(string(init.raw), `"apiKeySource":"none"`) {
			t.Errorf("ANTHROPIC_MODEL=%s: %s", name, init.raw)
		}
		if r := p.result(); r.Terminal != "api_error" || !strings.Contains(r.Result, "ANTHROPIC_API_KEY") {
			t.Errorf("result: %s", r.raw)
		}
	}
}

func TestTurn_maxTurns(t *testing.T) {
	p := start(t, launch{args: []string{"--max-turns=1"}})
	p.play(write("a", "x"), say("unreached"))
	if r := p.result(); r.Subtype != "error_max_turns" || len(r.Errors) != 1 {
		t.Errorf("result: %s", r.raw)
	}
}

func TestTurn_listenOnly(t *testing.T) {
	p := start(t, launch{})
	p.prompt("the word is heron", map[string]any{"shouldQuery": false})
	p.replay()
	p.play(map[string]any{"echo": "conversation"})
	if r := p.result(); !strings.Contains(r.Result, "heron") {
		t.Errorf("not in the conversation: %s", r.raw)
	}
	p.end()
	if n := strings.Count(p.wire(), `"subtype":"success"`); n != 1 {
		t.Errorf("%d results", n)
	}
}

func TestTurn_priorityNowRunsNext(t *testing.T) {
	p := start(t, launch{})
	p.play(hang())
	p.replay()
	p.play(say("later"))
	p.prompt(scriptOf(t, say("now")), map[string]any{"priority": "now"})
	p.prompt(scriptOf(t, say("then")), map[string]any{"priority": "now"})
	p.control("interrupt", nil)
	p.result()
	for _, want := range []string{"now", "then", "later"} {
		if r := p.result(); r.Result != want {
			t.Errorf("%s, want %s", r.raw, want)
		}
	}
}

func TestTurn_B27_syntheticMessagesAreNoPoints(t *testing.T) {
	p := start(t, launch{})
	id := p.prompt(scriptOf(t, say("ok")), map[string]any{"isSynthetic": true})
	p.result()
	if r, _ := p.rewind(id, true); r.CanRewind {
		t.Errorf("a synthetic message is a checkpoint: %+v", r)
	}
}
