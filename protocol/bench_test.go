package protocol

import (
	"strings"
	"testing"

	"github.com/goccy/go-json/jsontext"
)

func BenchmarkDecode(b *testing.B) {
	code := strings.Repeat(`\tif err != nil {\n\t\treturn \"no\", fmt.Errorf(\"read %s: %w\", name, err)\n\t}\n`, 1)
	for name, line := range map[string]string{
		"prompt":     `{"type":"user","message":{"role":"user","content":"Rename x to y."},"parent_tool_use_id":null,"session_id":"default","uuid":"00000001-0000-4000-8000-000000000000"}`,
		"rewind":     `{"type":"control_request","request_id":"req_1_0a1b2c3d","request":{"subtype":"rewind_files","user_message_id":"00000001-0000-4000-8000-000000000000"}}`,
		"answer":     `{"type":"control_response","response":{"subtype":"success","request_id":"00000003-0000-4000-8000-000000000000","response":{"behavior":"allow","updatedInput":{"file_path":"/w/a.go","content":"package a\n"}}}}`,
		"1 MB text":  `{"type":"user","message":{"role":"user","content":"` + strings.Repeat("x", 1<<20) + `"}}`,
		"1 MB code":  `{"type":"user","message":{"role":"user","content":"` + strings.Repeat(code, 1<<20/len(code)) + `"}}`,
		"1 MB image": `{"type":"user","message":{"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"` + strings.Repeat("iVBORw0K", 1<<17) + `"}}]}}`,
		"init 300 KB": `{"type":"control_request","request_id":"r","request":{"subtype":"initialize","agents":{` +
			strings.TrimSuffix(strings.Repeat(`"agent":{"description":"does things","prompt":"`+strings.Repeat(code, 10)+`","tools":["Read","Grep"]},`, 300), ",") + `}}}`,
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(line)))
			b.ReportAllocs()
			data := []byte(line)
			for b.Loop() {
				if _, err := Decode(data); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkEncode(b *testing.B) {
	id := "00000005-0000-4000-8000-000000000000"
	code := strings.Repeat("\tif err != nil {\n\t\treturn \"no\", fmt.Errorf(\"read %s: %w\", name, err)\n\t}\n", 1<<20/76)
	result, err := Marshal(map[string]any{"content": code, "originalFile": code, "structuredPatch": []any{}})
	if err != nil {
		b.Fatal(err)
	}
	message, err := Marshal(Message{Role: "user", Content: Content{ToolResult("toolu_1", Text(code), false)}})
	if err != nil {
		b.Fatal(err)
	}
	for name, frame := range map[string]Frame{
		"delta":     &StreamEvent{Event: jsontext.Value(`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Done."}}`), SessionID: id, UUID: id},
		"assistant": &Assistant{Message: AssistantMessage{ID: "msg_1", Model: "m", Content: Text("Done.")}, SessionID: id, UUID: id},
		"reply":     &Reply{RequestID: "req_1_0a1b2c3d", Response: &RewindReply{CanRewind: true, FilesChanged: []string{"/w/a.go"}}},
		"1 MB text": &Assistant{Message: AssistantMessage{ID: "msg_1", Model: "m", Content: Text(code)}, SessionID: id, UUID: id},
		"cut 3 MB":  &UserFrame{Message: message, ToolUseResult: result, SessionID: id, UUID: id},
	} {
		limit := 2 << 20
		if name == "cut 3 MB" {
			limit = testMax
		}
		b.Run(name, func(b *testing.B) {
			line, err := encode(frame)
			if err != nil {
				b.Fatal(err)
			}
			b.SetBytes(int64(len(line)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Encode(frame, limit); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
