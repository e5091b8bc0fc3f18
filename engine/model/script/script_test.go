package script

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goccy/go-json/jsontext"

	"takeback/engine"
	"takeback/protocol"
)

func TestABadFileSaysWhatIsWrongWhere(t *testing.T) {
	for _, tc := range []struct{ name, file, want string }{
		{"empty", "", "line 1: a script is an array of turns, this is empty"},
		{"not an array", `{"text":"a"}`, "line 1: a script is an array of turns, this is {"},
		{"a turn that is a step", "[\n{\"text\":\"a\"}]", "line 2: turn 1: a turn is an array of steps, this is {"},
		{"unknown key", "[[{\"text\":\"a\"}],\n\n[{\"text\":\"a\"},\n{\"txt\":1}]]", `line 4: turn 2: step 2: unknown key "txt"`},
		{"unknown key inside", `[[{"error":{"status":500,"code":1}}]]`, `line 1: turn 1: step 1: unknown key "error.code"`},
		{"keys match exactly", `[[{"Text":"a"}]]`, `unknown key "Text"`},
		{"wrong type", `[[{"text":1}]]`, `step 1: the value of "text" has the wrong type`},
		{"not a step", `[["a"]]`, `step 1: a step is an object, this is "a"`},
		{"a key twice", "[[\n{\"text\":\"a\",\"text\":\"b\"}]]", `line 2: turn 1: jsontext: duplicate object member name "text"`},
		{"cut short", "[[{\"text\":\"a\"}\n", "line 2: turn 1: jsontext: unexpected EOF"},
		{"garbage behind", "[[{\"text\":\"a\"}]]\n x", "line 2: something follows the closing bracket"},
		{"two steps in one", `[[{"text":"a","tool":"Write","input":{}}]]`, "it is several steps in one: text, tool"},
		{"nothing", `[[{}]]`, "it does nothing"},
		{"no input", `[[{"tool":"Write"}]]`, `an object as its "input"`},
		{"stray input", `[[{"text":"a","input":{}}]]`, `belong to "tool"`},
		{"stray signature", `[[{"text":"a","signature":"s"}]]`, `belongs to "thinking"`},
		{"negative delay", `[[{"delay_ms":-1}]]`, "negative"},
		{"no status", `[[{"error":{"message":"a"}}]]`, `"status" from 400 to 599`},
		{"unknown echo", `[[{"echo":"all"}]]`, "conversation, system, tools"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "script.json")
			if err := os.WriteFile(file, []byte(tc.file), 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := New(file)
			if err == nil || !strings.Contains(err.Error(), tc.want) || !strings.Contains(err.Error(), file) {
				t.Errorf("error %v, want the file and %q", err, tc.want)
			}
		})
	}
	if _, err := New(filepath.Join(t.TempDir(), "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a missing file: %v", err)
	}
}

func user(blocks ...protocol.Block) protocol.Message {
	return protocol.Message{Role: "user", Content: blocks}
}

func assistant(blocks ...protocol.Block) protocol.Message {
	return protocol.Message{Role: "assistant", Content: blocks}
}

func text(s string) protocol.Block { return protocol.Text(s)[0] }

func result(id string) protocol.Block {
	return protocol.ToolResult(id, protocol.Text("done "+id), false)
}

func TestTheMessagesTellWhereTheConversationStands(t *testing.T) {
	const one = `[{"text":"Now."},{"tool":"A","input":{}},{"tool":"B","input":{}},{"delay_ms":0},{"text":"Then."},{"tool":"C","input":{}}]`
	calls := assistant(text("Now."), protocol.Block{Type: "tool_use", ID: "a", Name: "A"}, protocol.Block{Type: "tool_use", ID: "b", Name: "B"})
	image := protocol.Block{Type: "image"}
	for _, tc := range []struct {
		name     string
		messages []protocol.Message
		want     string
	}{
		{"a prompt", []protocol.Message{user(text(one))}, "Now."},
		{"notes for the model come before it", []protocol.Message{user(text("note"), text(one))}, "Now."},
		{"both results are there", []protocol.Message{user(text(one)), calls, user(result("a"), result("b"))}, "Then."},
		{"results in two messages", []protocol.Message{user(text(one)), calls, user(result("a")), user(result("b"))}, "Then."},
		{"each call its own message", []protocol.Message{user(text(one)), assistant(calls.Content[:2]...), user(result("a")), assistant(calls.Content[2]), user(result("b"))}, "Then."},
		{"text beside results is a note", []protocol.Message{user(text(one)), calls, user(result("a"), result("b"), text("note"))}, "Then."},
		{"closed when its last calls are answered", []protocol.Message{user(text(one)), calls, user(result("a"), result("b")), assistant(), user(result("c"))}, "Done."},
		{"the next prompt", []protocol.Message{user(text(one)), calls, user(result("a"), result("b")), assistant(), user(result("c")), user(text("Thanks"))}, "You said: “Thanks”"},
		{"interrupted", []protocol.Message{user(text(one)), user(text("[Request interrupted by user]")), user(text("Again"))}, "You said: “Again”"},
		{"interrupted, and merged with the next prompt", []protocol.Message{user(text("a")), assistant(), user(result("a"), text("[Request interrupted by user for tool use]"), text("Again"))}, "You said: “Again”"},
		{"a prompt without text", []protocol.Message{user(text(one)), calls, user(image)}, "You said: “”"},
		{"not quite a script", []protocol.Message{user(text("[1] is a footnote"))}, "You said: “[1] is a footnote”"},
		{"what the model was sent", []protocol.Message{user(text("a")), calls, user(result("a"), result("b")), user(text(`[{"echo":"conversation"}]`))},
			`[{"role":"user","text":"a"},{"role":"assistant","text":"Now.","tools":["A","B"]},{"role":"user","results":["done a","done b"]},{"role":"user","text":"[{\"echo\":\"conversation\"}]"}]`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := said(t, Script{}, tc.messages...); got != tc.want {
				t.Errorf("said %q, want %q", got, tc.want)
			}
		})
	}
}

func TestAFilePlaysTurnByTurn(t *testing.T) {
	script := Script{fromFile: true, turns: [][]step{say("one"), say("two")}}
	for _, tc := range []struct {
		want     string
		messages []protocol.Message
	}{
		{"one", []protocol.Message{user(text("a"))}},
		{"two", []protocol.Message{user(text("a")), assistant(text("one")), user(text("[{}]"))}},
		{"The script is over: it has 2 turns, this is prompt 3.", []protocol.Message{user(text("a")), user(text("b")), user(text("c"))}},
	} {
		if got := said(t, script, tc.messages...); got != tc.want {
			t.Errorf("said %q, want %q", got, tc.want)
		}
	}
}

func TestAPauseEndsWithTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		begin := time.Now()
		var last error
		for _, err := range (Script{}).Play(ctx, request(user(text(`[{"text":"a"},{"delay_ms":3600000},{"text":"b"}]`)))) {
			last = err
		}
		if !errors.Is(last, context.DeadlineExceeded) || time.Since(begin) != time.Second {
			t.Errorf("after %v: %v", time.Since(begin), last)
		}
	})
}

func TestNothingIsSaidAfterTheContextEnded(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	said := 0
	var last error
	for event, err := range (Script{}).Play(ctx, request(user(text(strings.Repeat("word ", 100))))) {
		if last = err; err == nil && deltaText(t, event) != "" {
			said++
			cancel()
		}
	}
	if said != 1 || last != context.Canceled {
		t.Errorf("%d deltas, then %v", said, last)
	}
}

// A retried failure shows only to a caller that counts.
func TestAFailureWithTimesGoesOn(t *testing.T) {
	req := request(user(text(`[{"error":{"status":529,"times":2}},{"text":"a"}]`)))
	var failures, events int
	for _, err := range (Script{}).Play(t.Context(), req) {
		if failure, ok := errors.AsType[*Failure](err); ok && failure.Times == 2 && failure.Type == "overloaded_error" {
			failures++
		} else {
			events++
		}
	}
	if failures != 1 || events == 0 {
		t.Errorf("%d failures, %d events", failures, events)
	}
}

func TestPiecesAreWholeCharactersAndFew(t *testing.T) {
	for _, whole := range []string{"", "a", "one two three four five six seven eight", strings.Repeat("日本語", 100), strings.Repeat("word ", 100_000), strings.Repeat("é", 25)} {
		all := pieces(whole)
		if strings.Join(all, "") != whole || len(all) > 17 {
			t.Errorf("%d pieces of %d bytes", len(all), len(whole))
		}
		for _, piece := range all {
			if strings.ToValidUTF8(piece, "") != piece {
				t.Errorf("%q is cut inside a character", piece)
			}
		}
	}
}

func request(messages ...protocol.Message) *engine.ModelRequest {
	return &engine.ModelRequest{Model: "script", Messages: messages}
}

func said(t *testing.T, script Script, messages ...protocol.Message) string {
	t.Helper()
	var all string
	for event, err := range script.Play(t.Context(), request(messages...)) {
		if err != nil {
			t.Fatal(err)
		}
		all += deltaText(t, event)
	}
	return all
}

func deltaText(t *testing.T, event jsontext.Value) string {
	t.Helper()
	var e struct {
		Delta struct {
			Text string `json:"text"`
		} `json:"delta"`
	}
	if err := protocol.Unmarshal(event, &e); err != nil {
		t.Fatal(err)
	}
	return e.Delta.Text
}
