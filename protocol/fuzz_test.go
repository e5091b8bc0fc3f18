package protocol

import (
	"bytes"
	"errors"
	"testing"
	"unicode/utf8"

	"github.com/goccy/go-json/jsontext"
)

func addLines(f *testing.F) {
	for _, kind := range []string{"inbound", "outbound"} {
		for _, line := range examples(f, kind) {
			f.Add(line)
		}
	}
	for _, line := range []string{
		"", "\ufeff{}", "{\"type\":\"user\",\"message\":{\"content\":\"\xff\\ud800\u2028\"}}\r\n",
		`{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t","content":[{"type":"text","text":"a"},{"type":"image","x":1}],"is_error":true},{"type":"tool_use","input":{"a":[1e999]},"x":null}]},"origin":[]}`,
		`{"type":"control_request","request_id":"r","request":{"subtype":5}`,
		`{"type":"control_response","response":{"request_id":"r","error":{},"response":null}}`,
	} {
		f.Add([]byte(line))
	}
}

func FuzzDecode(f *testing.F) {
	addLines(f)
	f.Fuzz(func(t *testing.T, line []byte) {
		message, err := Decode(line)
		var bad *LineError
		switch {
		case err != nil && (message != nil || !errors.As(err, &bad)):
			t.Fatalf("got %v, %T", message, err)
		case err != nil && (!utf8.ValidString(bad.Reason) || bytes.ContainsAny([]byte(bad.Reason), "\r\n") || len(bad.Reason) > 1000+len(line)):
			t.Fatalf("not one short line: %q", bad.Reason)
		case err == nil && message == nil:
			t.Fatal("neither message nor error")
		}
		// The line end and a BOM make no difference.
		again, err2 := Decode(append(append([]byte("\ufeff"), bytes.TrimPrefix(line, []byte("\ufeff"))...), "\r\n"...))
		if (err == nil) != (err2 == nil) {
			t.Fatalf("got %v, with BOM and CRLF %v (%v)", err, err2, again)
		}
	})
}

func FuzzRoundTrip(f *testing.F) {
	addLines(f)
	f.Fuzz(func(t *testing.T, line []byte) {
		message, err := Decode(line)
		if err != nil {
			return
		}
		for _, frame := range echoes(message) {
			whole, err := Encode(frame, 1<<20)
			if err != nil {
				t.Fatalf("%T: %v", frame, err)
			}
			checkLine(t, whole, 1<<20)
			if _, err := Decode(whole); err != nil {
				t.Fatalf("%v in %s", err, whole)
			}
			for _, max := range []int{len(whole) - 1, len(whole) / 2, 300} {
				cut, err := Encode(frame, max)
				var long *TooLongError
				if errors.As(err, &long) && cut == nil {
					continue
				}
				if err != nil {
					t.Fatal(err)
				}
				checkLine(t, cut, max)
				if !jsontext.Value(cut).IsValid(jsontext.AllowDuplicateNames(true)) {
					t.Fatalf("not JSON: %s", cut)
				}
			}
		}
	})
}

// echoes are frames that hold what message holds.
func echoes(message Inbound) []Frame {
	switch m := message.(type) {
	case User:
		return []Frame{
			&UserFrame{Message: m.Raw, Origin: m.Origin, UUID: m.UUID, ParentToolUseID: m.ParentToolUseID},
			&UserFrame{Message: jsontext.Value(`{"content":""}`), ToolUseResult: m.Raw},
			&Assistant{Message: AssistantMessage{Content: m.Message.Content}},
			&StreamEvent{Event: m.Raw},
		}
	case ControlRequest:
		return []Frame{&Reply{RequestID: m.ID, Response: m}, &Reply{RequestID: m.ID, Error: m.ID, Detail: m}}
	case ControlResponse:
		return []Frame{&Reply{RequestID: m.RequestID, Response: map[string]any{"r": m.Response}}, &Question{RequestID: m.RequestID, Request: m}}
	case Unknown:
		return []Frame{&Reply{RequestID: "r", Response: m.Raw}, &Reply{RequestID: "r", Error: m.Type, Detail: m.Raw}, &FilesRewound{RewindReply: RewindReply{Error: m.Type}}}
	}
	return nil
}
