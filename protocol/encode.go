package protocol

import (
	"fmt"

	"github.com/goccy/go-json/jsontext"
)

// TooLongError says that a frame has no more to cut, and is still too long.
type TooLongError struct{ Len, Max int }

func (e *TooLongError) Error() string {
	return fmt.Sprintf("%d bytes do not fit into one line of at most %d", e.Len, e.Max)
}

// Encode makes f one line of valid UTF-8, LF included, of at most limit bytes.
// A longer frame is cut, see [cuts]; f itself stays whole. A [Question] is never
// cut: the host is to see all that it allows.
func Encode(f Frame, limit int) ([]byte, error) {
	line, err := encode(f)
	if err != nil || len(line) <= limit {
		return line, err
	}
	switch f.(type) {
	case *Question, *CancelQuestion:
		return nil, &TooLongError{Len: len(line), Max: limit}
	}
	return encodeCut(f, limit)
}

func encode(f Frame) ([]byte, error) {
	body, err := body(f)
	if err != nil {
		return nil, fmt.Errorf("encode %T: %w", f, err)
	}
	members, err := Marshal(body)
	if err != nil {
		return nil, fmt.Errorf("encode %T: %w", f, err)
	}
	constants := f.constants()
	line := make([]byte, 0, len(constants)+len(members)+2)
	line = append(line, '{')
	line = append(line, constants...)
	line = append(line, ',')
	line = append(line, members[1:]...)
	return append(line, '\n'), nil
}

// body is f in the shape that it has on the wire, less its constants.
func body(f Frame) (any, error) {
	switch f := f.(type) {
	case *Assistant:
		return f.body(), nil
	case *Result:
		return f.body(), nil
	case *Reply:
		return f.body()
	}
	return f, nil
}

func (f *Assistant) body() any {
	frame := *f
	frame.Message.Type, frame.Message.Role = "message", "assistant"
	return &frame
}

func (f *Result) body() any {
	if f.Subtype == "success" || f.Errors != nil {
		return f
	}
	result := *f
	result.Errors = []string{} // TypeScript reads it unasked
	return &result
}

// replyBody is the "response" member of a control_response.
type replyBody struct {
	Subtype   string                    `json:"subtype"`
	RequestID string                    `json:"request_id"`
	Response  any                       `json:"response,omitzero"`
	Error     string                    `json:"error,omitzero"`
	ErrorCode string                    `json:"error_code,omitzero"`
	Detail    map[string]jsontext.Value `json:",embed"`
}

func (f *Reply) body() (any, error) {
	b := replyBody{Subtype: "success", RequestID: f.RequestID, Response: f.Response}
	switch {
	case f.Error != "":
		detail, err := f.detail()
		if err != nil {
			return nil, err
		}
		b = replyBody{Subtype: "error", RequestID: f.RequestID, Error: f.Error, ErrorCode: f.ErrorCode, Detail: detail}
	case f.Response == nil:
		b.Response = struct{}{} // TypeScript reads properties of it
	}
	return struct {
		Response replyBody `json:"response"`
	}{b}, nil
}

// detail are the members of f.Detail that have no other meaning in an error reply.
func (f *Reply) detail() (map[string]jsontext.Value, error) {
	if f.Detail == nil {
		return nil, nil
	}
	object, err := Marshal(f.Detail)
	if err != nil {
		return nil, fmt.Errorf("detail: %w", err)
	}
	var members map[string]jsontext.Value
	if err := Unmarshal(object, &members); err != nil {
		return nil, fmt.Errorf("detail: %w", err)
	}
	for _, name := range []string{"subtype", "request_id", "response", "error", "error_code"} {
		delete(members, name)
	}
	return members, nil
}
