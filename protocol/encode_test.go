package protocol

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/goccy/go-json/jsontext"

	"takeback/schemas"
)

// checkLine checks what holds for every line on stdout.
func checkLine(t testing.TB, line []byte, max int) {
	t.Helper()
	if len(line) == 0 || bytes.IndexByte(line, '\n') != len(line)-1 {
		t.Errorf("not one line: %.200q", line)
	}
	if !utf8.Valid(line) {
		t.Errorf("not UTF-8: %.200q", line)
	}
	if len(line) > max {
		t.Errorf("%d bytes, more than %d", len(line), max)
	}
}

func TestReplies(t *testing.T) {
	type payload struct {
		A int `json:"a"`
	}
	for _, tt := range []struct {
		name  string
		reply Reply
		want  string
	}{
		{"nothing to say", Reply{RequestID: "r"}, `{"subtype":"success","request_id":"r","response":{}}`},
		{"payload", Reply{RequestID: "r", Response: payload{1}}, `{"subtype":"success","request_id":"r","response":{"a":1}}`},
		{"error", Reply{RequestID: "r", Error: "no"}, `{"subtype":"error","request_id":"r","error":"no"}`},
		{"error with code", Reply{RequestID: "r", Error: "no", ErrorCode: "slug"}, `{"subtype":"error","request_id":"r","error":"no","error_code":"slug"}`},
		{"error with detail", Reply{RequestID: "r", Error: "no", Response: payload{1}, Detail: &RewindReply{CanRewind: true, Error: "other", UndoID: "u"}}, `{"subtype":"error","request_id":"r","error":"no","canRewind":true,"undo_id":"u"}`},
		{"detail in the way", Reply{RequestID: "r", Error: "no", Detail: map[string]any{"subtype": "success", "request_id": "x", "response": 1, "error_code": 2, "b": nil}}, `{"subtype":"error","request_id":"r","error":"no","b":null}`},
		{"id of any kind", Reply{RequestID: "\x00\"\u2028\xff", Error: "<&>"}, `{"subtype":"error","request_id":"\u0000\"` + "\u2028\ufffd" + `","error":"<&>"}`},
	} {
		line, err := Encode(&tt.reply, testMax)
		if want := `{"type":"control_response","response":` + tt.want + "}\n"; err != nil || string(line) != want {
			t.Errorf("%s: %v\n got %s\nwant %s", tt.name, err, line, want)
		}
	}
	for _, bad := range []Reply{{Response: func() {}}, {Error: "no", Detail: func() {}}, {Error: "no", Detail: 5}} {
		if line, err := Encode(&bad, testMax); err == nil {
			t.Errorf("%+v gave %s", bad, line)
		}
	}
}

// What is raw in a frame comes from files, commands and models.
func TestRawValuesAreCleaned(t *testing.T) {
	raw := jsontext.Value("{\n \"a\\ud800\": \"\xff\u2028\\u0000\",\r\n\"n\":[1e999, 123456789012345678901]\n}")
	for _, frame := range []Frame{
		&UserFrame{Message: raw, ToolUseResult: raw, Origin: raw},
		&StreamEvent{Event: raw},
		&Assistant{Message: AssistantMessage{Content: Content{{Type: "tool_use", ID: "\xfe", Input: raw, Extra: raw}}}},
		&Reply{Response: raw},
		&Reply{Error: "\xff", Detail: raw},
		&Question{Request: raw},
		&Result{PermissionDenials: []PermissionDenial{{ToolInput: raw}}},
	} {
		line, err := Encode(frame, testMax)
		if err != nil {
			t.Errorf("%T: %v", frame, err)
			continue
		}
		checkLine(t, line, testMax)
		if !bytes.Contains(line, []byte("1e999")) || !bytes.Contains(line, []byte("123456789012345678901")) {
			t.Errorf("%T lost a number: %s", frame, line)
		}
	}
}

// long frames, one for each thing that can be too long.
func long(n int) map[string]Frame {
	text := strings.Repeat("é✓😀\n", n/10)
	quoted, _ := Marshal(text)
	result := jsontext.Value(`{"type":"update","content":` + string(quoted) + `,"structuredPatch":[{"oldStart":1,"lines":["-a","+b"]}]}`)
	patch := jsontext.Value(`{"structuredPatch":[{"lines":[` + strings.Repeat(`"-a",`, n/5) + `"+b"]}]}`)
	input := jsontext.Value(`{"file_path":"/w/a.go","content":` + string(quoted) + `}`)
	message := func(c Content) jsontext.Value {
		raw, err := Marshal(Message{Role: "user", Content: c})
		if err != nil {
			panic(err)
		}
		return raw
	}
	image := Block{Type: "image", Extra: jsontext.Value(`{"source":{"type":"base64","data":"` + strings.Repeat("iVBORw0K", n/8) + `"}}`)}
	use := func(input jsontext.Value) Content {
		return Content{{Type: "tool_use", ID: "toolu_1", Name: "Write", Input: input}}
	}
	thinking, signature := text, "c2ln"
	reports := RewindReply{CanRewind: true, FilesChanged: slices.Repeat([]string{"/w/a.go"}, n/10), Insertions: new(int), UndoID: "u",
		Problems: slices.Repeat([]PathNote{{"/w/b", "no"}}, n/27)}
	return map[string]Frame{
		"result body":         &UserFrame{Message: message(Content{ToolResult("toolu_1", Text("ok"), false)}), ToolUseResult: result},
		"result body of bits": &UserFrame{Message: message(Content{ToolResult("toolu_1", Text("ok"), false)}), ToolUseResult: patch},
		"result text":         &UserFrame{Message: message(Content{ToolResult("toolu_1", Text(text), true)})},
		"result of text bits": &UserFrame{Message: message(Content{ToolResult("toolu_1", slices.Repeat(Text("x"), n/24), true)})},
		"body and text":       &UserFrame{Message: message(Content{ToolResult("toolu_1", Text(text), true)}), ToolUseResult: result},
		"image in a result":   &UserFrame{Message: message(Content{ToolResult("toolu_1", Content{image}, false)})},
		"many results":        &UserFrame{Message: message(slices.Repeat(Content{ToolResult("toolu_1", Text("ok"), false)}, n/80))},
		"prompt":              &UserFrame{Message: jsontext.Value(`{"role":"user","content":` + string(quoted) + `}`), IsReplay: true},
		"prompt with image":   &UserFrame{Message: message(append(Text("see"), image)), IsReplay: true},
		"prompt of bits":      &UserFrame{Message: message(slices.Repeat(Text("x"), n/24)), IsReplay: true},
		"text":                &Assistant{Message: AssistantMessage{Content: Text(text)}},
		"thinking":            &Assistant{Message: AssistantMessage{Content: Content{{Type: "thinking", Thinking: &thinking, Signature: &signature}}}},
		"input":               &Assistant{Message: AssistantMessage{Content: use(input)}},
		"input of bits":       &Assistant{Message: AssistantMessage{Content: use(patch)}},
		"event":               &StreamEvent{Event: jsontext.Value(`{"type":"content_block_delta","delta":{"type":"text_delta","text":` + string(quoted) + `}}`)},
		"result":              &Result{Subtype: "success", Result: &text},
		"errors":              &Result{Subtype: "error_during_execution", Errors: slices.Repeat([]string{"no"}, n/5)},
		"denials":             &Result{Subtype: "error_max_turns", PermissionDenials: []PermissionDenial{{"Write", "toolu_1", input}}},
		"many denials":        &Result{Subtype: "error_max_turns", PermissionDenials: slices.Repeat([]PermissionDenial{{"Write", "t", jsontext.Value(`{}`)}}, n/60)},
		"tools":               &Init{Tools: slices.Repeat([]string{"Read"}, n/7)},
		"reply":               &Reply{RequestID: "r", Response: &reports},
		"reply with a diff":   &Reply{RequestID: "r", Response: map[string]string{"diff": text}},
		"failure":             &Reply{RequestID: "r", Error: "no", Detail: reports},
		"rewound":             &FilesRewound{RewindReply: reports},
	}
}

func schemaOf(f Frame) string {
	for name, empty := range frames {
		if reflect.TypeOf(empty()) == reflect.TypeOf(f) {
			return name
		}
	}
	return ""
}

func TestLongFramesAreCut(t *testing.T) {
	const size = 20_000
	for name, frame := range long(size) {
		t.Run(name, func(t *testing.T) {
			whole, err := encode(frame)
			if err != nil {
				t.Fatal(err)
			}
			n := len(whole)
			for _, max := range []int{n + 1, n, n - 1, 8_000, 2_000} {
				line, err := Encode(frame, max)
				if err != nil {
					t.Fatalf("max %d: %v", max, err)
				}
				checkLine(t, line, max)
				if err := schemas.Outbound(schemaOf(frame)).Validate(line); err != nil {
					t.Errorf("max %d: %v in %.500s", max, err, line)
				}
				if max >= n && !bytes.Equal(line, whole) {
					t.Errorf("max %d: cut without need", max)
				}
				if max < n && !bytes.Contains(line, []byte("[takeback: ")) && !bytes.Contains(line, []byte(`"truncated":{`)) {
					t.Errorf("max %d: nothing says that it was cut: %.500s", max, line)
				}
				if bytes.Contains(line, []byte("\ufffd")) {
					t.Errorf("max %d: a rune was split", max)
				}
			}
			if after, err := encode(frame); err != nil || !bytes.Equal(after, whole) {
				t.Error("cutting changed the frame itself")
			}
		})
	}
}

// The model's text and the paths are worth more than a copy of a file.
func TestWhatIsCutFirst(t *testing.T) {
	frames := long(20_000)
	cut := func(name string, max int) string {
		line, err := Encode(frames[name], max)
		if err != nil {
			t.Fatal(err)
		}
		return string(line)
	}
	for _, tt := range []struct {
		name      string
		max       int
		has, lost string
	}{
		{"result body", 10_000, `"text":"ok"`, ""},
		{"result body", 10_000, `"structuredPatch":[{"oldStart":1,"lines":["-a","+b"]}]`, ""},
		{"result body of bits", 10_000, `"tool_use_result":"[takeback: `, "structuredPatch"},
		{"body and text", 30_000, `"is_error":true}]}`, ""},
		{"result text", 10_000, `"tool_use_id":"toolu_1"`, ""},
		{"image in a result", 10_000, `"content":[{"type":"text","text":"[takeback: `, "iVBOR"},
		{"prompt with image", 10_000, `{"type":"text","text":"see"}`, "iVBOR"},
		{"input", 10_000, `"file_path":"/w/a.go"`, ""},
		{"input of bits", 10_000, `"input":{"truncated":"[takeback: `, "structuredPatch"},
		{"prompt of bits", 10_000, `more blocks are left out`, ""},
		{"reply", 10_000, `"truncated":{"filesChanged":2000,"problems":740}`, ""},
		{"reply", 10_000, `"insertions":0,`, ""},
		{"failure", 10_000, `"truncated":{"filesChanged":2000,"problems":740}`, ""},
		{"rewound", 10_000, `"filesChanged":2000`, ""},
	} {
		line := cut(tt.name, tt.max)
		if !strings.Contains(line, tt.has) || tt.lost != "" && strings.Contains(line, tt.lost) {
			t.Errorf("%s: %.1000s", tt.name, line)
		}
	}
	// The text stays whole as long as the body alone makes room enough.
	body, _ := encode(frames["result text"])
	if line := cut("body and text", 30_000); !strings.Contains(line, string(body[len(`{"type":"user",`):bytes.Index(body, []byte(`,"parent_tool_use_id"`))])) {
		t.Errorf("the text was cut before the body: %.500s", line)
	}
}

func TestNotesCount(t *testing.T) {
	text := strings.Repeat("é", 1000)
	short := shortenText(text, 101)
	if want := strings.Repeat("é", 50) + "[takeback: 1900 bytes are left out here, they do not fit into one line]"; short != want {
		t.Errorf("got %q", short)
	}
	if noteLen < len(note(99_999_999)) {
		t.Errorf("a note has %d bytes", len(note(99_999_999)))
	}
}

func TestQuestionsAreNeverCut(t *testing.T) {
	question := &Question{RequestID: "q", Request: map[string]string{"subtype": "can_use_tool", "content": strings.Repeat("x", 1000)}}
	whole, err := encode(question)
	if err != nil {
		t.Fatal(err)
	}
	if line, err := Encode(question, len(whole)); err != nil || !bytes.Equal(line, whole) {
		t.Errorf("got %v, %s", err, line)
	}
	line, err := Encode(question, len(whole)-1)
	var long *TooLongError
	if line != nil || !errors.As(err, &long) || *long != (TooLongError{Len: len(whole), Max: len(whole) - 1}) {
		t.Errorf("got %v, %s", err, line)
	}
}

func TestWhatCannotBeCut(t *testing.T) {
	for _, frame := range []Frame{
		&CancelQuestion{RequestID: strings.Repeat("x", 1000)},
		&Reply{RequestID: strings.Repeat("x", 1000), Error: "no"},
		&StreamEvent{Event: jsontext.Value(`{"type":"x","bits":[` + strings.Repeat("1,", 1000) + `1]}`)},
	} {
		line, err := Encode(frame, 500)
		var long *TooLongError
		if line != nil || !errors.As(err, &long) {
			t.Errorf("%T: got %v, %s", frame, err, line)
		}
	}
}

func ExampleEncode() {
	line, _ := Encode(&SessionState{State: "idle", SessionID: "s", UUID: "u"}, 1000)
	fmt.Print(string(line))
	// Output: {"type":"system","subtype":"session_state_changed","state":"idle","session_id":"s","uuid":"u"}
}

func TestNamesStayWhole(t *testing.T) {
	name := strings.Repeat("n", 500)
	got, err := shortenStrings(jsontext.Value(` {"`+name+`":["`+name+`",{"a":1e999}]} `), 10)
	want := `{"` + name + `":["` + name[:10] + note(490) + `",{"a":1e999}]}`
	if err != nil || string(got) != want {
		t.Errorf("got %s, %v", got, err)
	}
}
