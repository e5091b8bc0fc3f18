package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/uuid"
)

func TestRewind_B17_everyPromptIsACheckpoint(t *testing.T) {
	p := start(t, launch{})
	p.put("a.txt", "old\n")
	id := p.do(read("a.txt"), write("a.txt", "new\n"), write("made/here/b.txt", "b\n"), say("done"))

	plan, _ := p.rewind(id, true)
	if !plan.CanRewind || *plan.Insertions != 1 || *plan.Deletions != 2 || plan.SkippedLinks != nil {
		t.Errorf("dry run: %+v", plan)
	}
	p.holds("a.txt", "new\n")
	done, _ := p.rewind(id, false)
	if strings.Join(done.FilesChanged, " ") != strings.Join(plan.FilesChanged, " ") || *done.Insertions != 1 || *done.Deletions != 2 {
		t.Errorf("rewind %+v is not what the dry run said: %+v", done, plan)
	}
	if done.SkippedLinks == nil || *done.SkippedLinks != 0 || done.UndoID == "" {
		t.Errorf("rewind: %+v", done)
	}
	p.holds("a.txt", "old\n")
	p.absent("made")
	if code := p.end(); code != 0 || p.stderr.Len() > 0 {
		t.Errorf("exit %d, stderr %q", code, p.stderr.String())
	}
}

func TestRewind_pointsInAnyOrder(t *testing.T) {
	p := start(t, launch{})
	p.put("a.txt", "v0\n")
	u1 := p.do(read("a.txt"), write("a.txt", "v1\n"), say("1"))
	u2 := p.do(write("a.txt", "v2\n"), write("test.txt", "t\n"), say("2"))

	p.rewind(u2, false)
	p.holds("a.txt", "v1\n")
	p.absent("test.txt")
	p.rewind(u1, false)
	p.holds("a.txt", "v0\n")
	back, _ := p.rewind(u2, false) // forward again
	p.holds("a.txt", "v1\n")
	p.rewind(back.UndoID, false)
	p.holds("a.txt", "v0\n")
	if _, r := p.rewind("undo", false); r.Subtype != "success" {
		t.Errorf("undo: %+v", r)
	}
}

func TestRewind_undoAcrossRestart(t *testing.T) {
	p := start(t, launch{})
	p.put("a.txt", "v0\n")
	u1 := p.do(read("a.txt"), write("a.txt", "v1\n"), say("1"))
	session := p.all()[0].SessionID
	p.rewind(u1, false)
	p.holds("a.txt", "v0\n")
	p.end()

	q := start(t, launch{project: p.project, config: p.config, args: []string{"--resume=" + session}})
	if _, r := q.rewind("undo", false); r.Subtype != "success" {
		t.Fatalf("undo after a restart: %+v", r)
	}
	q.holds("a.txt", "v1\n")
	if _, r := q.rewind("undo", false); r.Error != "There is no rewind to undo in this session." {
		t.Errorf("a second undo: %+v", r)
	}
}

func TestRewind_troubles(t *testing.T) {
	const none = "No file checkpoint found for this message."
	p := start(t, launch{})
	p.put("a.txt", "old\n")
	u := p.do(read("a.txt"), write("a.txt", "new\n"), say("done"))
	var assistant, toolResult string
	for _, f := range p.all() {
		if f.Type == "assistant" {
			assistant = f.UUID
		}
		if isToolResult(f) {
			toolResult = f.UUID
		}
	}
	for name, id := range map[string]any{
		"unknown": uuid.NewString(), "zeros": "00000000-0000-0000-0000-000000000000", "empty": "", "null": nil, "no uuid": "x",
		"assistant": assistant, "tool result": toolResult,
	} {
		t.Run(name, func(t *testing.T) {
			if r := p.control("rewind_files", map[string]any{"user_message_id": id}); r.Subtype != "error" || r.Error != none {
				t.Errorf("rewind: %+v", r)
			}
			r := p.control("rewind_files", map[string]any{"user_message_id": id, "dry_run": true})
			if r.Subtype != "success" || string(r.Response) != `{"canRewind":false,"error":"`+none+`"}` {
				t.Errorf("dry run: %s", r.Response)
			}
		})
	}
	for field, request := range map[string]map[string]any{
		"user_message_id": {"user_message_id": 7},
		"dry_run":         {"user_message_id": u, "dry_run": "yes"},
	} {
		if r := p.control("rewind_files", request); r.Subtype != "error" || !strings.Contains(r.Error, field) {
			t.Errorf("%s of a wrong type: %+v", field, r)
		}
	}
	p.holds("a.txt", "new\n")
}

func TestRewind_B69_theGate(t *testing.T) {
	const off = "File rewinding is not enabled."
	for name, env := range map[string][]string{
		"never asked for": {"CLAUDE_CODE_ENABLE_SDK_FILE_CHECKPOINTING="},
		"switched off":    {"CLAUDE_CODE_DISABLE_FILE_CHECKPOINTING=1"},
	} {
		t.Run(name, func(t *testing.T) {
			p := start(t, launch{env: env})
			id := p.do(write("a.txt", "new\n"), say("done"))
			if _, r := p.rewind(id, false); r.Subtype != "error" || r.Error != off {
				t.Errorf("rewind: %+v", r)
			}
			if r, _ := p.rewind(id, true); r.CanRewind || r.Error != off {
				t.Errorf("dry run: %+v", r)
			}
			p.holds("a.txt", "new\n")
			if _, err := os.Stat(p.config + "/takeback"); !os.IsNotExist(err) {
				t.Errorf("something was stored: %v", err)
			}
		})
	}
}

func TestRewind_B28_firstThingAfterResume(t *testing.T) {
	p := start(t, launch{})
	p.put("a.txt", "old\n")
	u := p.do(read("a.txt"), write("a.txt", "new\n"), say("done"))
	session := p.all()[0].SessionID
	p.end()

	q := start(t, launch{project: p.project, config: p.config, args: []string{"--resume", session}})
	if _, r := q.rewind(u, false); r.Subtype != "success" {
		t.Fatalf("rewind: %+v", r)
	}
	q.holds("a.txt", "old\n")
	q.end()
	if frames := q.all(); len(frames) != 1 {
		t.Errorf("more than the answer was sent: %s", q.wire())
	}
}

// The SDKs' recipe: an empty prompt opens the connection, and the rewind comes behind system/init.
func TestRewind_emptyPromptAfterResume(t *testing.T) {
	p := start(t, launch{})
	p.put("a.txt", "old\n")
	u := p.do(read("a.txt"), write("a.txt", "new\n"), say("the word is heron"))
	session := p.all()[0].SessionID
	p.end()

	q := start(t, launch{project: p.project, config: p.config, args: []string{"--resume", session}})
	q.prompt("")
	q.await("init", func(f frame) bool { return f.Subtype == "init" })
	id := q.ask("rewind_files", map[string]any{"user_message_id": u})
	if r := q.result(); r.IsError || r.NumTurns != 0 {
		t.Errorf("result of an empty prompt: %s", r.raw)
	}
	if r := q.answer(id); r.Subtype != "success" {
		t.Errorf("rewind: %+v", r)
	}
	q.holds("a.txt", "old\n")
	q.play(map[string]any{"echo": "conversation"})
	if r := q.result(); !strings.Contains(r.Result, "heron") || !strings.Contains(r.Result, q.path("a.txt")) {
		t.Errorf("the next turn does not know the conversation, or what was rewound: %s", r.Result)
	}
	q.end()
}

// What is sent in one breath is done in that order.
func TestRewind_orderOfPipelinedLines(t *testing.T) {
	p := start(t, launch{})
	p.put("a.txt", "old\n")
	u := p.do(read("a.txt"), write("a.txt", "new\n"), say("done"))
	p.ask("rewind_files", map[string]any{"user_message_id": u})
	p.play(read("a.txt"), say("read"))
	if text, _ := p.toolResult(); !strings.Contains(text, "old") {
		t.Errorf("the turn behind a rewind read %q", text)
	}
	p.result()

	id := p.play(hang())
	if r := p.control("rewind_files", map[string]any{"user_message_id": id}); r.Subtype != "success" {
		t.Errorf("rewind to the prompt sent just before: %+v", r)
	}
}

// A rewind is served while a turn runs, and waits for nothing but a write.
func TestRewind_inMidTurn(t *testing.T) {
	p := start(t, launch{})
	p.put("a.txt", "old\n")
	u := p.play(read("a.txt"), write("a.txt", "new\n"), hang())
	p.await("the write", func(f frame) bool {
		return isToolResult(f) && len(f.Report) > 0 && strings.Contains(string(f.Report), `"update"`)
	})
	if _, r := p.rewind(u, false); r.Subtype != "success" {
		t.Fatalf("rewind in mid-turn: %+v", r)
	}
	p.holds("a.txt", "old\n")
	p.control("interrupt", nil)
	p.result()
	// The model is refused a write on what it remembers of the file.
	p.play(write("a.txt", "again\n"), say("done"))
	if text, isError := p.toolResult(); !isError {
		t.Errorf("a write over a rewound file that was not read again: %q", text)
	}
	p.result()
	p.holds("a.txt", "old\n")
}

func TestRewind_B16_commandsAreNamedAsUncovered(t *testing.T) {
	p := start(t, launch{args: []string{"--dangerously-skip-permissions"}})
	p.put("a.txt", "old\n")
	u := p.do(use("Bash", map[string]any{"command": "echo new > a.txt"}), say("done"))
	for _, dry := range []bool{true, false} {
		reply, _ := p.rewind(u, dry)
		if len(reply.Uncovered) != 1 || !strings.Contains(reply.Uncovered[0].What, "echo new > a.txt") {
			t.Errorf("dry run %v: %+v", dry, reply)
		}
	}
}

func TestRewind_B21_killedInMidTurn(t *testing.T) {
	p := start(t, launch{})
	p.put("a.txt", "old\n")
	u := p.play(read("a.txt"), write("a.txt", "new\n"), write("b.txt", "b\n"), hang())
	for range 3 {
		p.toolResult()
	}
	session := p.all()[0].SessionID
	must(t, p.cmd.Process.Kill())
	p.wait()

	q := start(t, launch{project: p.project, config: p.config, args: []string{"--resume", session}})
	if _, r := q.rewind(u, false); r.Subtype != "success" {
		t.Fatalf("rewind: %+v", r)
	}
	q.holds("a.txt", "old\n")
	q.absent("b.txt")
	q.do(say("the conversation goes on"))
}

// The model hears of a rewind also when another process runs its next turn; once.
func TestRewind_toldAcrossRestarts(t *testing.T) {
	p := start(t, launch{})
	u := p.do(write("a.txt", "new\n"), say("done"))
	session := p.all()[0].SessionID
	p.rewind(u, false)
	p.end()
	transcripts, err := filepath.Glob(p.config + "/projects/*/" + session + ".jsonl")
	if err != nil || len(transcripts) != 1 {
		t.Fatal(transcripts, err)
	}
	again := launch{project: p.project, config: p.config, args: []string{"--resume", session}}
	before, err := os.ReadFile(transcripts[0])
	must(t, err)
	start(t, again).end()
	if after, err := os.ReadFile(transcripts[0]); err != nil || string(after) != string(before) {
		t.Errorf("a process that did nothing wrote to the transcript (%v)", err)
	}
	q := start(t, again)
	q.do(say("the prompt that brings the note"))
	q.play(map[string]any{"echo": "conversation"})
	if r := q.result(); strings.Count(r.Result, "put files back") != 1 {
		t.Errorf("told %d times: %s", strings.Count(r.Result, "put files back"), r.Result)
	}
}

func TestRewind_events(t *testing.T) {
	p := start(t, launch{env: []string{"TAKEBACK_REWIND_EVENTS=1"}})
	u := p.do(write("a.txt", "new\n"), say("done"))
	reply, _ := p.rewind(u, false)
	f := p.await("files_rewound", func(f frame) bool { return f.Subtype == "files_rewound" })
	if !strings.Contains(string(f.raw), reply.UndoID) || !strings.Contains(string(f.raw), u) {
		t.Errorf("the event names neither target nor undo_id: %s", f.raw)
	}
}
