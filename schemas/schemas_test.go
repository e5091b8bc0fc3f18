package schemas

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// every calls f with each embedded schema, by a name like "requests/interrupt".
func every(t *testing.T, f func(t *testing.T, name string)) {
	files, err := filepath.Glob("*/*.json")
	if err != nil || len(files) < 20 {
		t.Fatalf("%d schemas, %v", len(files), err)
	}
	for _, file := range files {
		name := filepath.ToSlash(strings.TrimSuffix(file, ".json"))
		t.Run(name, func(t *testing.T) { f(t, name) })
	}
}

func TestEverySchemaHasValidExamples(t *testing.T) {
	every(t, func(t *testing.T, name string) {
		one, _ := filepath.Glob("examples/" + name + ".json")
		more, _ := filepath.Glob("examples/" + name + ".*.json")
		examples := append(one, more...)
		if len(examples) == 0 {
			t.Fatal("no example")
		}
		for _, example := range examples {
			value, err := os.ReadFile(example)
			if err != nil {
				t.Fatal(err)
			}
			if err := embedded(name).Validate(value); err != nil {
				t.Errorf("%s: %v", example, err)
			}
		}
	})
}

func TestEveryExampleHasASchema(t *testing.T) {
	examples, err := filepath.Glob("examples/*/*.json")
	if err != nil || len(examples) == 0 {
		t.Fatal(examples, err)
	}
	for _, example := range examples {
		kind, _, _ := strings.Cut(filepath.Base(example), ".")
		if name := filepath.Base(filepath.Dir(example)) + "/" + kind; embedded(name) == nil {
			t.Errorf("%s has no schema %s", example, name)
		}
	}
}

func TestWrongValuesNameTheField(t *testing.T) {
	for _, tt := range []struct{ schema, value, want string }{
		{"requests/rewind_files", `{"subtype":"rewind_files","user_message_id":5}`, "user_message_id: expected string or null, but got number"},
		{"requests/rewind_files", `{"subtype":"rewind_files","user_message_id":["x"]}`, "user_message_id: expected string or null, but got array"},
		{"requests/rewind_files", `{"subtype":"rewind_files","user_message_id":{}}`, "user_message_id: expected string or null, but got object"},
		{"requests/rewind_files", `{"subtype":"rewind_files","dry_run":"yes"}`, "dry_run: expected boolean or null, but got string"},
		{"requests/rewind_files", `{"subtype":"rewind_files","user_message_id":true,"dry_run":"yes"}`, "dry_run: expected boolean or null, but got string"},
		{"requests/rewind_files", `[]`, "expected object, but got array"},
		{"requests/rewind_files", ``, "not valid JSON: jsontext: unexpected EOF"},
		{"requests/rewind_files", `{} {}`, "not valid JSON: jsontext: invalid character '{' after top-level value after offset 3"},
		{"requests/initialize", `{"subtype":"initialize","systemPrompt":"x"}`, "systemPrompt: expected array or null, but got string"},
		{"requests/initialize", `{"subtype":"initialize","hooks":{"Stop":[{"hookCallbackIds":["a",5]}]}}`, "hooks.Stop.0.hookCallbackIds.1: expected string, but got number"},
		{"requests/initialize", `{"subtype":"initialize","hooks":{"Stop":[{}]}}`, "hooks.Stop.0.hookCallbackIds: missing"},
		{"requests/initialize", `{"subtype":"initialize","hooks":{"a/b~c ü%41":5}}`, "hooks.a/b~c ü%41: expected array or null, but got number"},
		{"requests/initialize", `{"subtype":"initialize","appendSystemPrompt":[]}`, "appendSystemPrompt: expected string or null, but got array"},
		{"requests/interrupt", `{"subtype":"interrupt","cancel_queued":1}`, "cancel_queued: expected boolean or null, but got number"},
		{"requests/set_model", `{"subtype":"set_model","model":5}`, "model: expected string or null, but got number"},
		{"requests/set_permission_mode", `{"subtype":"set_permission_mode","mode":[]}`, "mode: expected string or null, but got array"},
		{"requests/get_binary_version", `{}`, "subtype: missing"},
		{"replies/rewind_files", `{"canRewind":"yes"}`, "canRewind: expected boolean, but got string"},
		{"replies/initialize", `{"commands":[],"agents":[],"output_style":"","available_output_styles":[],"models":[],"account":{}}`, "models: minimum 1 items required, but found 0 items"},
		{"replies/interrupt", `{}`, "still_queued: missing"},
		{"replies/set_model", `{"model":null}`, "model: expected string, but got null"},
		{"replies/set_permission_mode", `{}`, "mode: missing"},
		{"replies/get_binary_version", `{"version":2}`, "version: expected string, but got number"},
		{"inbound/user", `{"type":"user","message":{"content":[{"text":"x"}]}}`, "message.content.0.type: missing"},
		{"inbound/control_request", `{"type":"control_request","request":{"subtype":"x"}}`, "request_id: missing"},
		{"inbound/control_response", `{"type":"control_response","response":{"subtype":"maybe","request_id":"x"}}`, `response.subtype: value must be one of "success", "error"`},
		{"inbound/control_cancel_request", `{"type":"control_cancel_request","request_id":7}`, "request_id: expected string, but got number"},
		{"inbound/update_environment_variables", `{"type":"update_environment_variables","variables":{"A":1}}`, "variables.A: expected string, but got number"},
		{"inbound/keep_alive", `{"type":"keepalive"}`, `type: value must be "keep_alive"`},
		{"outbound/init", `{"type":"system","subtype":"init"}`, "cwd: missing"},
		{"outbound/user", `{"type":"user","message":{"content":[{"type":"tool_result"}]},"parent_tool_use_id":null,"session_id":"","uuid":"","timestamp":""}`, "message.content.0.tool_use_id: missing"},
		{"outbound/user", `{"type":"user","message":null,"parent_tool_use_id":null,"session_id":"","uuid":"","timestamp":""}`, "message: expected object, but got null"},
		{"outbound/assistant", `{"type":"assistant","message":{},"parent_tool_use_id":null,"session_id":"","uuid":""}`, "message.id: missing"},
		{"outbound/stream_event", `{"type":"stream_event","event":{"type":"ping"},"session_id":"","uuid":""}`, "parent_tool_use_id: missing"},
		{"outbound/status", `{"type":"system","subtype":"status","status":"busy","session_id":"","uuid":""}`, `status: value must be one of "requesting", "compacting", <nil>`},
		{"outbound/session_state_changed", `{"type":"system","subtype":"session_state_changed","session_id":"","uuid":""}`, "state: missing"},
		{"outbound/files_rewound", `{"type":"system","subtype":"files_rewound","canRewind":true,"filesChanged":[1],"user_message_id":"","session_id":"","uuid":""}`, "filesChanged.0: expected string, but got number"},
		{"outbound/control_response", `{"type":"control_response","response":{"subtype":"success","request_id":""}}`, "response.response: missing"},
		{"outbound/control_response", `{"type":"control_response","response":{"subtype":"error","request_id":""}}`, "response.error: missing"},
		{"outbound/control_request", `{"type":"control_request","request_id":"","request":{}}`, "request.subtype: missing"},
		{"outbound/control_cancel_request", `{"type":"control_cancel_request"}`, "request_id: missing"},
	} {
		if err := embedded(tt.schema).Validate([]byte(tt.value)); err == nil || err.Error() != tt.want {
			t.Errorf("%s %s\n got %v\nwant %s", tt.schema, tt.value, err, tt.want)
		}
	}
}

// An error result without "errors", a success without "result": TypeScript trips over the one, Python over the other.
func TestResultNeedsResultOrErrors(t *testing.T) {
	const rest = `"is_error":true,"duration_ms":0,"duration_api_ms":0,"num_turns":0,"stop_reason":null,"session_id":"","total_cost_usd":0,"usage":{"input_tokens":0,"output_tokens":0,"cache_creation_input_tokens":0,"cache_read_input_tokens":0},"modelUsage":{},"permission_denials":[],"uuid":""}`
	for subtype, want := range map[string]string{"success": "result: missing", "error_max_turns": "errors: missing"} {
		err := Outbound("result").Validate([]byte(`{"type":"result","subtype":"` + subtype + `",` + rest))
		if err == nil || err.Error() != want {
			t.Errorf("%s: got %v, want %s", subtype, err, want)
		}
	}
}

func TestLenientValues(t *testing.T) {
	for _, tt := range []struct{ schema, value string }{
		// The wording of these answers is the engine's.
		{"requests/rewind_files", `{"subtype":"rewind_files"}`},
		{"requests/rewind_files", `{"subtype":"rewind_files","user_message_id":null,"dry_run":null}`},
		{"requests/rewind_files", `{"subtype":"rewind_files","user_message_id":""}`},
		{"requests/set_permission_mode", `{"subtype":"set_permission_mode","permission_mode":"plan"}`},
		{"requests/set_permission_mode", `{"subtype":"set_permission_mode","mode":"dance"}`},
		{"requests/set_model", `{"subtype":"set_model"}`},
		// Members that nobody here knows, keys that differ in case, the last of two.
		{"requests/interrupt", `{"subtype":"interrupt","x":{"y":[1,2]}}`},
		{"requests/interrupt", `{"subtype":"interrupt","Cancel_Queued":5}`},
		{"requests/interrupt", `{"subtype":"interrupt","cancel_queued":5,"cancel_queued":true}`},
		{"requests/initialize", `{"subtype":"initialize","hooks":null}`},
		{"requests/initialize", `{"subtype":"initialize","hooks":{"NoSuchEvent":[{"matcher":null,"hookCallbackIds":[]}]}}`},
		{"requests/rewind_files", `{"subtype":"rewind_files","user_message_id":{"a":{"b":5}},"user_message_id":"x"}`},
		{"requests/initialize", `{"subtype":"initialize","hooks":{"Stop":[{}]},"hooks":{}}`},
		{"requests/interrupt", "{\"subtype\":\"interrupt\",\"x\":\"\xff\"}"},
	} {
		if err := embedded(tt.schema).Validate([]byte(tt.value)); err != nil {
			t.Errorf("%s %s: %v", tt.schema, tt.value, err)
		}
	}
}

func TestNumbers(t *testing.T) {
	s := New("n", []byte(`{"properties":{"a/b":{"type":"integer"}}}`))
	long := strings.Repeat("1", maxNumber)
	for value, want := range map[string]string{
		`{"a/b":1}`:                     "",
		`{"a/b":-1.0e1}`:                "",
		`{"a/b":12345678901234567890}`:  "",
		`{"a/b":` + long + `}`:          "",
		`{"a/b":1e9999}`:                "",
		`{"a/b":1e+0009999}`:            "",
		`{"a/b":1.5}`:                   "a/b: expected integer, but got number",
		`{"a/b":` + long + `1}`:         "a/b: the number is too long or too large",
		`{"a/b":1e10000}`:               "a/b: the number is too long or too large",
		`{"a/b":1E99999999999}`:         "a/b: the number is too long or too large",
		`{"a/b":1e-99999999999}`:        "a/b: the number is too long or too large",
		`{"c":[0,{"d":1e99999999999}]}`: "c.1.d: the number is too long or too large",
		`1e99999999999`:                 "the value: the number is too long or too large",
	} {
		got := ""
		if err := s.Validate([]byte(value)); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s: got %q, want %q", value, got, want)
		}
	}
}

func TestErrorsStayShort(t *testing.T) {
	s := New("n", []byte(`{"additionalProperties":{"type":"string"}}`))
	err := s.Validate([]byte(`{"` + strings.Repeat("é", 5000) + `":5}`))
	if err == nil || len(err.Error()) > maxSentence+len("…") || !strings.HasSuffix(err.Error(), "é…") {
		t.Errorf("got %v", err)
	}
}

func TestUnknownNames(t *testing.T) {
	for _, name := range []string{"", "dance", "../inbound/user", "/etc/passwd", "x/../interrupt", "interrupt\x00"} {
		if Request(name) != nil {
			t.Errorf("%q has a schema", name)
		}
	}
}

func TestSchemasStandAlone(t *testing.T) {
	other := filepath.Join(t.TempDir(), "other.json")
	if err := os.WriteFile(other, []byte(`{"type":"object"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if recover() == nil {
			t.Error("a schema read a file")
		}
	}()
	_ = New("n", []byte(`{"$ref":"file://`+filepath.ToSlash(other)+`"}`)).Validate([]byte(`{}`))
}

func TestManyValidateAtOnce(t *testing.T) {
	s := New("n", []byte(`{"type":"object"}`))
	var group sync.WaitGroup
	for range 16 {
		group.Go(func() {
			if s.Validate([]byte(`{}`)) != nil || Request("interrupt").Validate([]byte(`{"subtype":"interrupt"}`)) != nil {
				t.Error("a good value failed")
			}
		})
	}
	group.Wait()
}

func BenchmarkCompile(b *testing.B) {
	source, err := sources.ReadFile("requests/initialize.json")
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		compile("initialize", source)
	}
}

func BenchmarkValidate(b *testing.B) {
	value := []byte(`{"subtype":"rewind_files","user_message_id":"00000001-0000-4000-8000-000000000000","dry_run":true}`)
	for b.Loop() {
		_ = Request("rewind_files").Validate(value)
	}
}
