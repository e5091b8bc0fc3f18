// Package model_test holds what every model owes to the engine: one suite, run against the
// script model and against the Anthropic model that talks to fakeapi.
package model_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-json/jsontext"

	"takeback/engine"
	"takeback/engine/model/anthropic"
	"takeback/engine/model/script"
	"takeback/protocol"
	"takeback/sdk-tests/fakeapi"
)

func TestScript(t *testing.T) {
	runSuite(t, func(t *testing.T) engine.Model {
		model, err := script.New("")
		if err != nil {
			t.Fatal(err)
		}
		return model
	})
}

func TestAnthropic(t *testing.T) {
	runSuite(t, func(t *testing.T) engine.Model {
		server, err := fakeapi.New(fakeapi.Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := server.Close(); err != nil {
				t.Error(err)
			}
		})
		return anthropic.New(anthropic.Options{BaseURL: server.URL, APIKey: "k", Retries: 2, RetryDelay: time.Millisecond})
	})
}

func runSuite(t *testing.T, start func(*testing.T) engine.Model) {
	for name, test := range map[string]func(*testing.T, engine.Model){
		"answers": testAnswers, "a whole turn": testTurn, "cancelled in mid-stream": testCancelInMidStream, "hangs": testHang,
		"cancelled before it begins": testCancelledBefore, "the receiver stops": testReceiverStops, "errors": testErrors, "errors in mid-stream": testErrorsInMidStream,
		"a passing error": testPassingError, "cut": testCut, "not a script": testNotAScript, "models": testModels,
	} {
		t.Run(name, func(t *testing.T) { test(t, start(t)) })
	}
}

func testAnswers(t *testing.T, model engine.Model) {
	const usage = ` {"input_tokens":7,"output_tokens":9,"cache_creation_input_tokens":0,"cache_read_input_tokens":3}`
	for _, tc := range []struct{ name, prompt, want string }{
		{"prose", "Hello?", `{"type":"text","text":"You said: “Hello?”"} end_turn`},
		{"text", `[{"text":"Grüße, 世界, and a sentence that is long enough for several deltas."}]`,
			`{"type":"text","text":"Grüße, 世界, and a sentence that is long enough for several deltas."} end_turn`},
		{"thinking", `[{"thinking":"Hm, let me see.","signature":"c2ln"},{"text":"Yes."}]`,
			`{"type":"thinking","thinking":"Hm, let me see.","signature":"c2ln"} {"type":"text","text":"Yes."} end_turn`},
		{"thinking needs no signature of one's own", `[{"thinking":"Hm."}]`, `{"type":"thinking","thinking":"Hm.","signature":"c2NyaXB0"} end_turn`},
		{"parallel tool calls", `[{"text":"Two."},{"tool":"Write","input":{"file_path":"a","content":"1"}},{"tool":"Write","id":"mine","input":{}},{"text":"later"}]`,
			`{"type":"text","text":"Two."} {"type":"tool_use","id":"toolu_t1c1","name":"Write","input":{"file_path":"a","content":"1"}} {"type":"tool_use","id":"mine","name":"Write","input":{}} tool_use`},
		{"a pause inside a text", `[{"text":"One, "},{"delay_ms":2},{"text":"two."}]`, `{"type":"text","text":"One, two."} end_turn`},
		{"stop reason", `[{"text":"And so"},{"stop":"max_tokens"}]`, `{"type":"text","text":"And so"} max_tokens`},
		{"usage", `[{"text":"a"},{"usage":{"input_tokens":7,"output_tokens":9,"cache_read_input_tokens":3}}]`, `{"type":"text","text":"a"} end_turn` + usage},
		{"tools it was given", `[{"echo":"tools"}]`, `{"type":"text","text":"[\"Write\"]"} end_turn`},
		{"system prompt it was given", `[{"echo":"system"}]`, `{"type":"text","text":"\"Be brief.\""} end_turn`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := listen(model.Stream(t.Context(), request(prompt(tc.prompt))))
			if err != nil {
				t.Fatal(err)
			}
			said := got.String()
			if strings.HasSuffix(tc.want, usage) {
				counts, _ := protocol.Marshal(got.usage)
				said += " " + string(counts)
			}
			if said != tc.want {
				t.Errorf("said\n%s, want\n%s", said, tc.want)
			}
		})
	}
}

// testTurn plays the engine: it answers the tool calls and sends all back, thinking included.
func testTurn(t *testing.T, model engine.Model) {
	messages := []protocol.Message{prompt(`[{"thinking":"Hm."},{"tool":"Write","input":{}},{"tool":"Write","input":{}},{"text":"Next."},{"tool":"Write","input":{}}]`)}
	var said []string
	for range 3 {
		got, err := listen(model.Stream(t.Context(), request(messages...)))
		if err != nil {
			t.Fatal(err)
		}
		said = append(said, got.id+" "+got.reason)
		results := protocol.Message{Role: "user"}
		for _, b := range got.content {
			if b.Type == "tool_use" {
				results.Content = append(results.Content, protocol.ToolResult(b.ID, protocol.Text("done"), false))
			}
		}
		messages = append(messages, protocol.Message{Role: "assistant", Content: got.content}, results)
	}
	if got, want := strings.Join(said, ", "), "msg_t1m1 tool_use, msg_t1m3 tool_use, msg_t1m4 end_turn"; got != want {
		t.Errorf("messages %s, want %s", got, want)
	}
	messages[len(messages)-1] = prompt(`[{"echo":"conversation"}]`)
	got, err := listen(model.Stream(t.Context(), request(messages...)))
	if err != nil {
		t.Fatal(err)
	}
	if got.id != "msg_t2m1" || !strings.Contains(*got.content[0].Text, `{"role":"user","results":["done","done"]},{"role":"assistant","text":"Next.","tools":["Write"]}`) {
		t.Errorf("%s heard %s", got.id, *got.content[0].Text)
	}
}

func testCancelInMidStream(t *testing.T, model engine.Model) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	events := 0
	var last error
	for event, err := range model.Stream(ctx, request(prompt(`[{"text":"a"},{"delay_ms":3600000},{"text":"b"}]`))) {
		if last = err; err == nil {
			events++
		}
		if strings.Contains(string(event), "text_delta") {
			cancel()
		}
	}
	if events != 3 || !errors.Is(last, context.Canceled) {
		t.Errorf("%d events, then %v", events, last)
	}
}

func testHang(t *testing.T, model engine.Model) {
	for _, steps := range []string{`[{"hang":true}]`, `[{"text":"a"},{"hang":true}]`} {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel()
		if _, err := listen(model.Stream(ctx, request(prompt(steps)))); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: %v", steps, err)
		}
	}
}

func testCancelledBefore(t *testing.T, model engine.Model) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	got, err := listen(model.Stream(ctx, request(prompt("a"))))
	if !errors.Is(err, context.Canceled) || got.events > 0 {
		t.Errorf("%d events, then %v", got.events, err)
	}
}

// An iterator that yields once more after its receiver stopped panics.
func testReceiverStops(t *testing.T, model engine.Model) {
	const steps = `[{"thinking":"a"},{"text":"a"},{"tool":"Write","input":{}},{"tool":"Write","input":{"a":1}}]`
	whole, err := listen(model.Stream(t.Context(), request(prompt(steps))))
	if err != nil {
		t.Fatal(err)
	}
	for after := 1; after <= whole.events; after++ {
		left := after
		for range model.Stream(t.Context(), request(prompt(steps))) {
			if left--; left == 0 {
				break
			}
		}
	}
}

func testErrors(t *testing.T, model engine.Model) {
	for status, kind := range map[int]string{
		400: "invalid_request", 401: "authentication_failed", 402: "billing_error", 403: "authentication_failed", 404: "model_not_found",
		413: "invalid_request", 418: "invalid_request", 429: "rate_limit", 500: "server_error", 502: "server_error", 503: "server_error", 529: "overloaded",
	} {
		steps := fmt.Sprintf(`[{"error":{"status":%d,"message":"So it is"}}]`, status)
		got, err := listen(model.Stream(t.Context(), request(prompt(steps))))
		failed := modelError(t, err)
		if failed.Kind != kind || failed.Status != status || !strings.Contains(failed.Message, "So it is") || got.events > 0 {
			t.Errorf("status %d: %+v after %d events", status, failed, got.events)
		}
	}
}

func testErrorsInMidStream(t *testing.T, model engine.Model) {
	for status, kind := range map[int]string{400: "invalid_request", 429: "rate_limit", 500: "server_error", 529: "overloaded"} {
		steps := fmt.Sprintf(`[{"text":"a"},{"error":{"status":%d,"message":"So it is"}}]`, status)
		got, err := listen(model.Stream(t.Context(), request(prompt(steps))))
		failed := modelError(t, err)
		if failed.Kind != kind || failed.Status != status || !strings.Contains(failed.Message, "So it is") || got.events != 3 {
			t.Errorf("status %d: %+v after %d events", status, failed, got.events)
		}
	}
}

func testPassingError(t *testing.T, model engine.Model) {
	got, err := listen(model.Stream(t.Context(), request(prompt(`[{"error":{"status":529,"times":2}},{"text":"a"}]`))))
	if err != nil || got.String() != `{"type":"text","text":"a"} end_turn` {
		t.Errorf("%s, %v", got, err)
	}
}

func testCut(t *testing.T, model engine.Model) {
	for steps, events := range map[string]int{
		`[{"text":"a"},{"cut":true}]`: 3,
		`[{"cut":true}]`:              1,
		`[{"tool":"Write","input":{"file_path":"a"},"cut":true}]`: 3,
	} {
		got, err := listen(model.Stream(t.Context(), request(prompt(steps))))
		failed := modelError(t, err)
		if failed.Kind != "server_error" || !strings.Contains(failed.Message, "broke off before it was complete") || got.events != events {
			t.Errorf("%s: %+v after %d events", steps, failed, got.events)
		}
	}
}

func testNotAScript(t *testing.T, model engine.Model) {
	_, err := listen(model.Stream(t.Context(), request(prompt(`[{"txt":"a"}]`))))
	failed := modelError(t, err)
	if failed.Kind != "invalid_request" || !strings.Contains(failed.Message, `unknown key "txt"`) {
		t.Errorf("%+v", failed)
	}
}

func testModels(t *testing.T, model engine.Model) {
	models := model.Models()
	if len(models) == 0 {
		t.Fatal("none")
	}
	for _, info := range models {
		if info.Value == "" || info.DisplayName == "" || info.Description == "" || info.ResolvedModel == "" || info.ContextWindow == 0 || info.MaxOutputTokens == 0 {
			t.Errorf("%+v", info)
		}
	}
}

func modelError(t *testing.T, err error) *engine.ModelError {
	t.Helper()
	failed, ok := errors.AsType[*engine.ModelError](err)
	if !ok {
		t.Fatalf("error %v, want a model error", err)
	}
	return failed
}

func prompt(text string) protocol.Message {
	return protocol.Message{Role: "user", Content: protocol.Text(text)}
}

func request(messages ...protocol.Message) *engine.ModelRequest {
	return &engine.ModelRequest{
		Model: "default", System: protocol.Text("Be brief."), Messages: messages,
		Tools: []engine.ToolSpec{{Name: "Write", Description: "Writes a file", InputSchema: jsontext.Value(`{"type":"object"}`)}},
	}
}
