package anthropic

import (
	"testing"

	"github.com/goccy/go-json/jsontext"

	"takeback/engine"
	"takeback/protocol"
)

func TestModelNames(t *testing.T) {
	model := New(Options{}).(*model)
	for name, want := range map[string]string{
		"": "claude-sonnet-5-5", "default": "claude-sonnet-5-5", "sonnet": "claude-sonnet-5-5", "opus": "claude-opus-5-5", "haiku": "claude-haiku-5-5",
		"opus[1m]": "claude-opus-5-5", "claude-opus-5": "claude-opus-5", "llama-9": "llama-9",
	} {
		if got := model.resolve(name).ResolvedModel; got != want {
			t.Errorf("%q is %s, want %s", name, got, want)
		}
	}
	for preset, want := range map[string]string{"opus": "claude-opus-5-5", "llama-9": "llama-9"} {
		models := New(Options{Model: preset}).Models()
		if first := models[0]; first.Value != "default" || first.ResolvedModel != want {
			t.Errorf("%q as default: %+v", preset, first)
		}
	}
}

func TestRequestBody(t *testing.T) {
	long := jsontext.Value(`{"type":"object"}`)
	for _, tc := range []struct {
		name    string
		options Options
		req     engine.ModelRequest
		want    string
	}{
		{"the least", Options{}, engine.ModelRequest{Model: "llama-9", Messages: messages(t, `[{"role":"user","content":"a"}]`)},
			`{"model":"llama-9","max_tokens":32000,"messages":[{"role":"user","content":[{"type":"text","text":"a","cache_control":{"type":"ephemeral"}}]}],"stream":true}`},
		{"all of it", Options{MaxTokens: 99}, engine.ModelRequest{Model: "opus", System: protocol.Text("s"), Tools: []engine.ToolSpec{{Name: "A", InputSchema: long}},
			Messages: messages(t, `[{"role":"user","content":"a"},{"role":"user","content":[{"type":"image","source":{"data":"x"}}]},{"role":"assistant","content":[{"type":"thinking","thinking":"","signature":"s","new":1},{"type":"tool_use","id":"i","name":"A","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"i","content":"<ok>","is_error":true}]}]`)},
			`{"model":"claude-opus-5-5","max_tokens":99,"system":[{"type":"text","text":"s","cache_control":{"type":"ephemeral"}}],"messages":[{"role":"user","content":[{"type":"text","text":"a"}]},{"role":"user","content":[{"type":"image","cache_control":{"type":"ephemeral"},"source":{"data":"x"}}]},{"role":"assistant","content":[{"type":"thinking","thinking":"","signature":"s","new":1},{"type":"tool_use","id":"i","name":"A","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"i","content":[{"type":"text","text":"<ok>"}],"is_error":true,"cache_control":{"type":"ephemeral"}}]}],"tools":[{"name":"A","input_schema":{"type":"object"}}],"stream":true}`},
		{"the host sets the marks", Options{}, engine.ModelRequest{Model: "llama-9", System: protocol.Text("s"), Messages: messages(t, `[{"role":"user","content":[{"type":"text","text":"a","cache_control":{"type":"ephemeral","ttl":"1h"}}]},{"role":"user","content":"b"}]`)},
			`{"model":"llama-9","max_tokens":32000,"system":[{"type":"text","text":"s"}],"messages":[{"role":"user","content":[{"type":"text","text":"a","cache_control":{"type":"ephemeral","ttl":"1h"}}]},{"role":"user","content":[{"type":"text","text":"b"}]}],"stream":true}`},
		{"thinking with a budget", Options{}, engine.ModelRequest{Model: "llama-9", Thinking: &engine.Thinking{Type: "enabled", Budget: 5000, Display: "omitted"}, Effort: "high", Messages: messages(t, `[{"role":"user","content":"a"}]`)},
			`{"model":"llama-9","max_tokens":32000,"messages":[{"role":"user","content":[{"type":"text","text":"a","cache_control":{"type":"ephemeral"}}]}],"stream":true,"thinking":{"type":"enabled","budget_tokens":5000,"display":"omitted"},"output_config":{"effort":"high"}}`},
		{"a budget that leaves no room", Options{MaxTokens: 2000}, engine.ModelRequest{Model: "llama-9", Thinking: &engine.Thinking{Type: "enabled", Budget: 5000}, Messages: messages(t, `[{"role":"user","content":"a"}]`)},
			`{"model":"llama-9","max_tokens":2000,"messages":[{"role":"user","content":[{"type":"text","text":"a","cache_control":{"type":"ephemeral"}}]}],"stream":true,"thinking":{"type":"enabled","budget_tokens":1999}}`},
		{"no thinking", Options{}, engine.ModelRequest{Model: "llama-9", Thinking: &engine.Thinking{Type: "disabled"}, Messages: messages(t, `[{"role":"user","content":"a"}]`)},
			`{"model":"llama-9","max_tokens":32000,"messages":[{"role":"user","content":[{"type":"text","text":"a","cache_control":{"type":"ephemeral"}}]}],"stream":true,"thinking":{"type":"disabled"}}`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			before, _ := protocol.Marshal(tc.req.Messages)
			call, err := New(tc.options).(*model).newCall(&tc.req)
			if err != nil {
				t.Fatal(err)
			}
			if string(call.body) != tc.want {
				t.Errorf("body\n%s, want\n%s", call.body, tc.want)
			}
			if after, _ := protocol.Marshal(tc.req.Messages); string(after) != string(before) {
				t.Errorf("the conversation was changed: %s", after)
			}
		})
	}
}

func messages(t *testing.T, data string) []protocol.Message {
	t.Helper()
	var all []protocol.Message
	if err := protocol.Unmarshal([]byte(data), &all); err != nil {
		t.Fatal(err)
	}
	return all
}
