package protocol

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/goccy/go-json/jsontext"

	"takeback/schemas"
)

const testMax = 900 << 10

// examples gives the golden examples of a kind, by their names: user.replay.
func examples(t testing.TB, kind string) map[string][]byte {
	files, err := filepath.Glob(filepath.Join("../schemas/examples", kind, "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	all := map[string][]byte{}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all[strings.TrimSuffix(filepath.Base(file), ".json")] = data
	}
	return all
}

// canonical makes equal JSON equal text.
func canonical(t testing.TB, data []byte) string {
	t.Helper()
	v := jsontext.Value(data).Clone()
	if err := v.Canonicalize(); err != nil {
		t.Fatalf("%v: %.200s", err, data)
	}
	return string(v)
}

func schemaName(example string) string {
	name, _, _ := strings.Cut(example, ".")
	return name
}

// frames makes an empty frame for each schema of a frame.
var frames = map[string]func() Frame{
	"init":                   func() Frame { return new(Init) },
	"user":                   func() Frame { return new(UserFrame) },
	"assistant":              func() Frame { return new(Assistant) },
	"stream_event":           func() Frame { return new(StreamEvent) },
	"result":                 func() Frame { return new(Result) },
	"status":                 func() Frame { return new(Status) },
	"session_state_changed":  func() Frame { return new(SessionState) },
	"files_rewound":          func() Frame { return new(FilesRewound) },
	"control_response":       func() Frame { return new(Reply) },
	"control_request":        func() Frame { return new(Question) },
	"control_cancel_request": func() Frame { return new(CancelQuestion) },
}

// readFrame decodes a line of ours.
func readFrame(t testing.TB, name string, line []byte) Frame {
	t.Helper()
	frame := frames[name]()
	if reply, ok := frame.(*Reply); ok {
		var l struct {
			Response struct {
				RequestID string         `json:"request_id"`
				Response  jsontext.Value `json:"response"`
				Error     string         `json:"error"`
				ErrorCode string         `json:"error_code"`
			} `json:"response"`
		}
		if err := Unmarshal(line, &l); err != nil {
			t.Fatal(err)
		}
		*reply = Reply{RequestID: l.Response.RequestID, Error: l.Response.Error, ErrorCode: l.Response.ErrorCode}
		if l.Response.Response != nil {
			reply.Response = l.Response.Response
		}
		return reply
	}
	if err := Unmarshal(line, frame); err != nil {
		t.Fatal(err)
	}
	if q, ok := frame.(*Question); ok {
		raw, err := Marshal(q.Request)
		if err != nil {
			t.Fatal(err)
		}
		q.Request = jsontext.Value(raw)
	}
	return frame
}

func TestGoldenOutbound(t *testing.T) {
	seen := map[string]bool{}
	for name, want := range examples(t, "outbound") {
		t.Run(name, func(t *testing.T) {
			schema := schemaName(name)
			seen[schema] = true
			frame := readFrame(t, schema, want)
			if a, ok := frame.(*Assistant); ok {
				a.Message.Type, a.Message.Role = "", "" // the encoder's business
			}
			line, err := Encode(frame, testMax)
			if err != nil {
				t.Fatal(err)
			}
			checkLine(t, line, testMax)
			if canonical(t, line) != canonical(t, want) {
				t.Errorf("\n got %s\nwant %s", line, want)
			}
			if err := schemas.Outbound(schema).Validate(line); err != nil {
				t.Error(err)
			}
		})
	}
	for name := range frames {
		if !seen[name] {
			t.Errorf("no example of %s", name)
		}
	}
}

// A frame that the caller did not fill must not send null where hosts read a list.
func TestEmptyFramesAreValid(t *testing.T) {
	for name, empty := range frames {
		frame := empty()
		switch f := frame.(type) {
		case *UserFrame:
			f.Message = jsontext.Value(`{"role":"user","content":""}`)
		case *StreamEvent:
			f.Event = jsontext.Value(`{"type":"ping"}`)
		case *Result:
			f.Subtype = "error_max_turns"
		case *SessionState:
			f.State = "idle"
		case *Question:
			f.Request = map[string]any{"subtype": "can_use_tool", "tool_name": "Read", "input": map[string]any{}, "tool_use_id": "t"}
		}
		line, err := Encode(frame, testMax)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if err := schemas.Outbound(name).Validate(line); err != nil {
			t.Errorf("%s: %v in %s", name, err, line)
		}
	}
}

func TestGoldenReplies(t *testing.T) {
	for name, example := range examples(t, "replies") {
		var response any = jsontext.Value(example)
		if schemaName(name) == "rewind_files" {
			rewind := new(RewindReply)
			if err := Unmarshal(example, rewind); err != nil {
				t.Fatal(err)
			}
			response = rewind
		}
		line, err := Encode(&Reply{RequestID: "r", Response: response}, testMax)
		if err != nil {
			t.Fatal(err)
		}
		want := `{"type":"control_response","response":{"subtype":"success","request_id":"r","response":` + string(example) + `}}`
		if canonical(t, line) != canonical(t, []byte(want)) {
			t.Errorf("%s:\n got %s\nwant %s", name, line, want)
		}
	}
}

func TestGoldenInbound(t *testing.T) {
	id := "00000003-0000-4000-8000-000000000000"
	yes := true
	image := jsontext.Value(`{"source":{"type":"base64","media_type":"image/png","data":"iVBORw0KGgo="}}`)
	want := map[string]Inbound{
		"user.string": User{Message: Message{Role: "user", Content: Text("Rename x to y.")}, Raw: jsontext.Value(`{"role":"user","content":"Rename x to y."}`)},
		"user.blocks": User{
			UUID:        "00000001-0000-4000-8000-000000000000",
			Message:     Message{Role: "user", Content: append(Text("What is this?"), Block{Type: "image", Extra: image})},
			Raw:         jsontext.Value(`{"role":"user","content":[{"type":"text","text":"What is this?"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"iVBORw0KGgo="}}]}`),
			Priority:    "next",
			ShouldQuery: &yes,
			Origin:      jsontext.Value(`{"kind":"human"}`),
		},
		"control_request":              ControlRequest{ID: "req_1_0a1b2c3d", Subtype: "interrupt", Request: jsontext.Value(`{"subtype":"interrupt"}`)},
		"control_response.success":     ControlResponse{RequestID: id, Response: jsontext.Value(`{"behavior":"allow","updatedInput":{"file_path":"/w/a.go"}}`)},
		"control_response.error":       ControlResponse{RequestID: id, IsError: true, Error: "canUseTool callback is not provided"},
		"control_cancel_request":       ControlCancel{RequestID: "req_1_0a1b2c3d"},
		"update_environment_variables": Environment{Variables: map[string]string{"LANG": "de_DE.UTF-8"}},
		"keep_alive":                   KeepAlive{},
	}
	for name, line := range examples(t, "inbound") {
		got, err := Decode(line)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if !reflect.DeepEqual(got, want[name]) {
			t.Errorf("%s:\n got %+v\nwant %+v", name, got, want[name])
		}
	}
}

// What a host sends as a prompt is what it gets back, whatever members it has.
func TestReplayIsWhatCame(t *testing.T) {
	for name, line := range examples(t, "inbound") {
		message, err := Decode(line)
		if err != nil {
			t.Fatal(err)
		}
		user, ok := message.(User)
		if !ok {
			continue
		}
		out, err := Encode(&UserFrame{Message: user.Raw, IsReplay: true, Origin: user.Origin}, testMax)
		if err != nil {
			t.Fatal(err)
		}
		var in, replay struct {
			Message jsontext.Value `json:"message"`
		}
		if Unmarshal(line, &in) != nil || Unmarshal(out, &replay) != nil || canonical(t, in.Message) != canonical(t, replay.Message) {
			t.Errorf("%s:\n got %s\nwant %s", name, replay.Message, in.Message)
		}
		again, err := Marshal(user.Message)
		if err != nil {
			t.Fatal(err)
		}
		var blocks Message
		if err := Unmarshal(again, &blocks); err != nil || !reflect.DeepEqual(blocks, user.Message) {
			t.Errorf("%s: %s decodes to %+v, %v", name, again, blocks, err)
		}
	}
}
