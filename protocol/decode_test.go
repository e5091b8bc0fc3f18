package protocol

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/goccy/go-json/jsontext"
)

func user(text string) User {
	return User{Message: Message{Role: "user", Content: Text(text)}, Raw: jsontext.Value(`{"content":"` + text + `"}`)}
}

func TestDecode(t *testing.T) {
	hi := user("hi")
	none := User{Message: Message{Role: "user"}, Raw: jsontext.Value(`{"role":"user","content":""}`)}
	parent := "toolu_1"
	noQuery := false
	for _, tt := range []struct {
		name, line string
		want       Inbound
	}{
		{"line end", `{"type":"user","message":{"content":"hi"}}` + "\n", hi},
		{"CRLF", `{"type":"user","message":{"content":"hi"}}` + "\r\n", hi},
		{"BOM", "\ufeff" + `{"type":"user","message":{"content":"hi"}}`, hi},
		{"spaces", ` { "type" : "user" , "message":{"content":"hi"} } `, hi},
		{"blank", "", KeepAlive{}},
		{"blank line", " \t\r\n", KeepAlive{}},
		{"U+2028", `{"type":"user","message":{"content":"` + "\u2028\u2029\u0085" + `"}}`, user("\u2028\u2029\u0085")},
		{"escapes", `{"typ\u0065":"us\u0065r","message":{"content":"hi"}}`, hi},
		{"last of two keys", `{"type":"keep_alive","type":"user","message":{"content":"ho"},"message":{"content":"hi"}}`, hi},
		{"exact keys", `{"type":"user","Type":"keep_alive","message":{"content":"hi","Content":5},"MESSAGE":5}`, User{Message: hi.Message, Raw: jsontext.Value(`{"content":"hi","Content":5}`)}},
		{"invalid UTF-8", "{\"type\":\"user\",\"message\":{\"content\":\"\xff\",\"x\xfe\":[\"\xc3\"]}}", User{Message: Message{Role: "user", Content: Text("\ufffd")}, Raw: jsontext.Value("{\"content\":\"\ufffd\",\"x\ufffd\":[\"\ufffd\"]}")}},
		{"number beyond float64", `{"type":"user","message":{"content":"hi"},"origin":[1e999,123456789012345678901]}`, User{Message: hi.Message, Raw: hi.Raw, Origin: jsontext.Value(`[1e999,123456789012345678901]`)}},
		{"no content", `{"type":"user","message":{}}`, none},
		{"null content", `{"type":"user","message":{"role":"user","content":null,"x":1}}`, none},
		{"empty content", `{"type":"user","message":{"content":""}}`, user("")},
		{"no blocks", `{"type":"user","message":{"content":[]}}`, User{Message: Message{Role: "user", Content: Content{}}, Raw: jsontext.Value(`{"content":[]}`)}},
		{"nulls", `{"type":"user","message":{"content":"hi"},"uuid":null,"parent_tool_use_id":null,"priority":null,"shouldQuery":null,"isSynthetic":null,"session_id":5}`, hi},
		{"all members", `{"type":"user","message":{"content":"hi"},"uuid":"u","parent_tool_use_id":"toolu_1","priority":"now","shouldQuery":false,"isSynthetic":true}`,
			User{UUID: "u", Message: hi.Message, Raw: hi.Raw, ParentToolUseID: &parent, Priority: "now", ShouldQuery: &noQuery, IsSynthetic: true}},

		{"request", `{"request":{"subtype":"x"},"request_id":"r","type":"control_request"}`, ControlRequest{ID: "r", Subtype: "x", Request: jsontext.Value(`{"subtype":"x"}`)}},
		{"request missing", `{"type":"control_request","request_id":"r"}`, ControlRequest{ID: "r"}},
		{"request null", `{"type":"control_request","request_id":"r","request":null}`, ControlRequest{ID: "r", Request: jsontext.Value(`null`)}},
		{"request wrong", `{"type":"control_request","request_id":"r","request":[5]}`, ControlRequest{ID: "r", Request: jsontext.Value(`[5]`)}},
		{"subtype wrong", `{"type":"control_request","request_id":"r","request":{"subtype":5}}`, ControlRequest{ID: "r", Request: jsontext.Value(`{"subtype":5}`)}},
		{"subtype missing", `{"type":"control_request","request_id":"r","request":{}}`, ControlRequest{ID: "r", Request: jsontext.Value(`{}`)}},
		{"others wrong", `{"type":"control_request","request_id":"r","message":5,"uuid":{},"response":"x","variables":1}`, ControlRequest{ID: "r"}},

		{"answer", `{"type":"control_response","response":{"subtype":"success","request_id":"r","response":{"a":1}}}`, ControlResponse{RequestID: "r", Response: jsontext.Value(`{"a":1}`)}},
		{"answer without payload", `{"type":"control_response","response":{"subtype":"success","request_id":"r"}}`, ControlResponse{RequestID: "r"}},
		{"error of wrong type", `{"type":"control_response","response":{"subtype":"error","request_id":"r","error":{"m":1}}}`, ControlResponse{RequestID: "r", IsError: true, Error: `{"m":1}`}},
		{"answer without subtype", `{"type":"control_response","response":{"request_id":"r"}}`, ControlResponse{RequestID: "r", IsError: true, Error: `response.subtype: expected success or error, but got ""`}},

		{"unknown type", `{"type":"dance","x":[1]}`, Unknown{Type: "dance", Raw: jsontext.Value(`{"type":"dance","x":[1]}`)}},
		{"unknown members", `{"type":"keep_alive","startup_mark":{"x":1}}`, KeepAlive{}},
		{"no variables", `{"type":"update_environment_variables","variables":{}}`, Environment{Variables: map[string]string{}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			line := []byte(tt.line)
			got, err := Decode(line)
			for i := range line {
				line[i] = '#' // the reader uses its buffer again
			}
			if err != nil || !reflect.DeepEqual(got, tt.want) {
				t.Errorf("\n got %+v, %v\nwant %+v", got, err, tt.want)
			}
		})
	}
}

func TestDecodeErrors(t *testing.T) {
	deep := strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000)
	digits := strings.Repeat("1", maxNumber+1)
	for _, tt := range []struct{ name, line, reason, id string }{
		{"not JSON", `hello`, "not a JSON object", ""},
		{"null", `null`, "not a JSON object", ""},
		{"array", `[]`, "not a JSON object", ""},
		{"half a line", `{"type":"user","mess`, "not valid JSON: unexpected EOF after offset 20", ""},
		{"two on a line", `{"type":"keep_alive"}{}`, "not valid JSON: invalid character '{' after top-level value after offset 21", ""},
		{"no type", `{}`, "type: missing", ""},
		{"empty type", `{"type":""}`, "type: missing", ""},
		{"null type", `{"type":null}`, "type: missing", ""},
		{"type wrong", `{"type":5}`, "type: expected string, but got number", ""},
		{"no message", `{"type":"user"}`, "message: missing", ""},
		{"null message", `{"type":"user","message":null}`, "message: missing", ""},
		{"message wrong", `{"type":"user","message":"hi"}`, "message: expected object, but got string", ""},
		{"content wrong", `{"type":"user","message":{"content":{}}}`, "message.content: expected array, but got object", ""},
		{"block wrong", `{"type":"user","message":{"content":["hi"]}}`, "message.content.0: expected object, but got string", ""},
		{"text wrong", `{"type":"user","message":{"content":[{"type":"text","text":5}]}}`, "message.content.0.text: expected string, but got number", ""},
		{"text missing", `{"type":"user","message":{"content":[{"type":"text"}]}}`, "message.content.0.text: missing", ""},
		{"type of block missing", `{"type":"user","message":{"content":[{"type":"image"},{"text":"x"}]}}`, "message.content.1.type: missing", ""},
		{"tool_use_id missing", `{"type":"user","message":{"content":[{"type":"tool_result"}]}}`, "message.content.0.tool_use_id: missing", ""},
		{"uuid wrong", `{"type":"user","message":{},"uuid":5}`, "uuid: expected string, but got number", ""},
		{"parent wrong", `{"type":"user","message":{},"parent_tool_use_id":false}`, "parent_tool_use_id: expected string, but got boolean", ""},
		{"priority wrong", `{"type":"user","message":{},"priority":[]}`, "priority: expected string, but got array", ""},
		{"shouldQuery wrong", `{"type":"user","message":{},"shouldQuery":"no"}`, "shouldQuery: expected boolean, but got string", ""},
		{"isSynthetic wrong", `{"type":"user","message":{},"isSynthetic":1}`, "isSynthetic: expected boolean, but got number", ""},
		{"request without id", `{"type":"control_request","request":{"subtype":"x"}}`, "request_id: missing", ""},
		{"id wrong", `{"type":"control_request","request_id":5}`, "request_id: expected string, but got number", ""},
		{"answer without id", `{"type":"control_response","response":{"subtype":"success"}}`, "response.request_id: missing", ""},
		{"answer without response", `{"type":"control_response"}`, "response.request_id: missing", ""},
		{"answer wrong", `{"type":"control_response","response":5}`, "response: expected object, but got number", ""},
		{"cancel without id", `{"type":"control_cancel_request"}`, "request_id: missing", ""},
		{"variables missing", `{"type":"update_environment_variables"}`, "variables: missing", ""},
		{"variable wrong", `{"type":"update_environment_variables","variables":{"A":1}}`, "variables.A: expected string, but got number", ""},
		{"too deep", `{"type":"user","message":` + deep + `}`, "not valid JSON: exceeded max depth", ""},

		{"long number", `{"type":"user","message":{},"x":` + digits + `}`, "a number of more than 100 characters", ""},
		{"long number in a request", `{"type":"control_request","request_id":"r","request":{"x":[-` + digits + `]}}`, "a number of more than 100 characters", "r"},
		{"too deep in a request", `{"type":"control_request","request_id":"r","request":` + deep + `}`, "not valid JSON: exceeded max depth", "r"},
		{"half a request", `{"request_id":"r\u0031","type":"control_request","request":{"sub`, "not valid JSON: unexpected EOF", "r1"},
		{"half a request, other members first", `{"x":{"request_id":"no"},"request_id":"r","y":[{}],"type":"control_request","request":{"sub`, "not valid JSON: unexpected EOF", "r"},
		{"half a request, id behind", `{"type":"control_request","request":{"sub`, "not valid JSON: unexpected EOF", ""},
		{"half a message with an id", `{"type":"user","request_id":"r","mess`, "not valid JSON: unexpected EOF", ""},
		{"half a request, not UTF-8", "{\"type\":\"control_request\",\"request_id\":\"\xff\",", "not valid JSON: unexpected EOF", "\ufffd"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Decode([]byte(tt.line))
			var bad *LineError
			if !errors.As(err, &bad) || got != nil {
				t.Fatalf("got %+v, %v", got, err)
			}
			if !strings.HasPrefix(bad.Reason, tt.reason) || bad.RequestID != tt.id || bad.Len != len(tt.line) {
				t.Errorf("got %+v, want %q, id %q, length %d", bad, tt.reason, tt.id, len(tt.line))
			}
			if text := bad.Error(); strings.Contains(text, "\n") || len(text) > 400 {
				t.Errorf("not one short line: %q", text)
			}
		})
	}
}

func TestNumbersUpToTheLimit(t *testing.T) {
	for _, number := range []string{
		strings.Repeat("1", maxNumber),
		"-" + strings.Repeat("1", maxNumber-1),
		"1e" + strings.Repeat("0", maxNumber-2),
		`"` + strings.Repeat("1", 1000) + `"`,
		`"\"` + strings.Repeat("1", 1000) + `"`,
		`"\\",` + strings.Repeat("1,", 1000) + `2`,
	} {
		if _, err := Decode([]byte(`{"type":"keep_alive","x":[` + number + `]}`)); err != nil {
			t.Errorf("%s: %v", number, err)
		}
		if _, err := Decode([]byte(`{"type":"keep_alive","x":["\\",` + number + `,` + strings.Repeat("1", maxNumber+1) + `]}`)); err == nil {
			t.Errorf("%s: the long number behind it was not seen", number)
		}
	}
}
