package protocol

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-json/jsontext"
	json "github.com/goccy/go-json/v2"
)

// maxNumber is the length of the longest number literal that is let in: nobody
// means a longer one, and what computes with exact numbers takes a minute for 10 MB of digits.
const maxNumber = 100

// LineError says why a line of input is no message.
type LineError struct {
	Len       int    // of the line, in bytes
	RequestID string // of the control request that it was to be, if that can be read: it wants an answer
	Reason    string
}

func (e *LineError) Error() string { return fmt.Sprintf("line of %d bytes: %s", e.Len, e.Reason) }

// line has the members of every type of message. They stay raw at first: one of
// the wrong type must not hide the others, above all not an id.
type line struct {
	Type            jsontext.Value `json:"type"`
	RequestID       jsontext.Value `json:"request_id"`
	Request         jsontext.Value `json:"request"`
	Response        jsontext.Value `json:"response"`
	Variables       jsontext.Value `json:"variables"`
	Message         jsontext.Value `json:"message"`
	UUID            jsontext.Value `json:"uuid"`
	ParentToolUseID jsontext.Value `json:"parent_tool_use_id"`
	Priority        jsontext.Value `json:"priority"`
	ShouldQuery     jsontext.Value `json:"shouldQuery"`
	IsSynthetic     jsontext.Value `json:"isSynthetic"`
	Origin          jsontext.Value `json:"origin"`
}

// Decode reads one line of input, with or without its line end. A blank line
// says as much as a [KeepAlive]. The error is a *[LineError]. What it returns
// keeps nothing of data.
func Decode(data []byte) (Inbound, error) {
	text := bytes.TrimSpace(bytes.TrimPrefix(data, []byte("\ufeff")))
	if len(text) == 0 {
		return KeepAlive{}, nil
	}
	if !utf8.Valid(text) {
		// Here and not in the decoder, which lets such bytes pass in raw values.
		text = bytes.ToValidUTF8(text, []byte("\ufffd"))
	}
	message, err := decode(text)
	if err != nil {
		return nil, &LineError{Len: len(data), RequestID: requestID(text), Reason: err.Error()}
	}
	return message, nil
}

func decode(text []byte) (Inbound, error) {
	if text[0] != '{' {
		return nil, errors.New("not a JSON object")
	}
	var l line
	if err := Unmarshal(text, &l); err != nil {
		return nil, explain("", err)
	}
	if hasLongNumber(text) {
		return nil, fmt.Errorf("a number of more than %d characters", maxNumber)
	}
	kind, err := required[string]("type", l.Type)
	if err != nil {
		return nil, err
	}
	switch kind {
	case "user":
		return l.user()
	case "control_request":
		return l.controlRequest()
	case "control_response":
		return l.controlResponse()
	case "control_cancel_request":
		id, err := required[string]("request_id", l.RequestID)
		return ControlCancel{RequestID: id}, err
	case "update_environment_variables":
		variables, err := required[map[string]string]("variables", l.Variables)
		return Environment{Variables: variables}, err
	case "keep_alive":
		return KeepAlive{}, nil
	}
	return Unknown{Type: kind, Raw: bytes.Clone(text)}, nil
}

func (l *line) user() (Inbound, error) {
	message, err := required[Message]("message", l.Message)
	if err != nil {
		return nil, err
	}
	u := User{Message: message, Raw: l.Message, Origin: l.Origin}
	if u.Message.Role == "" {
		u.Message.Role = "user"
	}
	if u.Message.Content == nil {
		// A replay without content ends a Python session.
		u.Raw = jsontext.Value(`{"role":"user","content":""}`)
	}
	return u, cmp.Or(
		checkBlocks("message.content", message.Content),
		optional("uuid", l.UUID, &u.UUID),
		optional("parent_tool_use_id", l.ParentToolUseID, &u.ParentToolUseID),
		optional("priority", l.Priority, &u.Priority),
		optional("shouldQuery", l.ShouldQuery, &u.ShouldQuery),
		optional("isSynthetic", l.IsSynthetic, &u.IsSynthetic),
	)
}

// checkBlocks looks for the members without which the Python SDK cannot read a
// replay, and the Messages API refuses the conversation.
func checkBlocks(name string, content Content) error {
	for i, b := range content {
		missing := ""
		switch {
		case b.Type == "":
			missing = "type"
		case b.Type == "text" && b.Text == nil:
			missing = "text"
		case b.Type == "tool_result" && b.ToolUseID == "":
			missing = "tool_use_id"
		}
		if missing != "" {
			return fmt.Errorf("%s.%d.%s: missing", name, i, missing)
		}
	}
	return nil
}

// controlRequest takes every request that has an id, whatever else it holds,
// because each of them is answered.
func (l *line) controlRequest() (Inbound, error) {
	id, err := required[string]("request_id", l.RequestID)
	if err != nil {
		return nil, err
	}
	return ControlRequest{ID: id, Subtype: subtype(l.Request), Request: l.Request}, nil
}

// controlResponse takes every response that has an id: somebody waits for it,
// and is to hear of it when it makes no sense.
func (l *line) controlResponse() (Inbound, error) {
	var body struct {
		RequestID jsontext.Value `json:"request_id"`
		Response  jsontext.Value `json:"response"`
		Error     jsontext.Value `json:"error"`
	}
	if err := optional("response", l.Response, &body); err != nil {
		return nil, err
	}
	id, err := required[string]("response.request_id", body.RequestID)
	if err != nil {
		return nil, err
	}
	r := ControlResponse{RequestID: id, Response: body.Response}
	switch kind := subtype(l.Response); kind {
	case "success":
	case "error":
		r.IsError = true
		if optional("response.error", body.Error, &r.Error) != nil {
			r.Error = string(body.Error)
		}
	default:
		r.IsError = true
		r.Error = fmt.Sprintf("response.subtype: expected success or error, but got %q", kind)
	}
	return r, nil
}

// subtype is the subtype of a control request or response, "" where it has none.
func subtype(v jsontext.Value) string {
	var s struct {
		Subtype jsontext.Value `json:"subtype"`
	}
	if v.Kind() != '{' || Unmarshal(v, &s) != nil || s.Subtype.Kind() != '"' {
		return ""
	}
	text, _ := required[string]("subtype", s.Subtype)
	return text
}

// required decodes a member that must be there, and not be null or "".
func required[T any](name string, raw jsontext.Value) (T, error) {
	var v T
	if k := raw.Kind(); k == 0 || k == 'n' || string(raw) == `""` {
		return v, fmt.Errorf("%s: missing", name)
	}
	return v, optional(name, raw, &v)
}

// optional decodes a member that may be missing. Null counts as missing.
func optional(name string, raw jsontext.Value, v any) error {
	if len(raw) == 0 {
		return nil
	}
	if err := Unmarshal(raw, v); err != nil {
		return explain(name, err)
	}
	return nil
}

// explain makes a decoding error a sentence that names the member at fault.
func explain(name string, err error) error {
	var semantic *json.SemanticError
	if !errors.As(err, &semantic) {
		return fmt.Errorf("not valid JSON: %s", strings.TrimPrefix(err.Error(), "jsontext: "))
	}
	if path := strings.ReplaceAll(string(semantic.JSONPointer), "/", "."); path != "" {
		name = strings.TrimPrefix(name+path, ".")
	}
	want := "another type"
	if semantic.GoType != nil {
		want = typeName(semantic.GoType)
	}
	return fmt.Errorf("%s: expected %s, but got %s", name, want, kindName(semantic.JSONKind))
}

// typeName is what JSON calls a Go type.
func typeName(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Pointer:
		return typeName(t.Elem())
	case reflect.String:
		return "string"
	case reflect.Bool:
		return "boolean"
	case reflect.Slice:
		return "array"
	case reflect.Struct, reflect.Map:
		return "object"
	}
	return "number"
}

func kindName(k jsontext.Kind) string {
	switch k {
	case '{':
		return "object"
	case '[':
		return "array"
	case 't', 'f':
		return "boolean"
	}
	return k.String()
}

// hasLongNumber looks for a number of more than maxNumber characters in valid JSON.
func hasLongNumber(text []byte) bool {
	run := 0
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"':
			i += stringEnd(text[i+1:]) + 1
			run = 0
		case c >= '0' && c <= '9', c == '.', c == '+', c == '-', c == 'e', c == 'E':
			if run++; run > maxNumber {
				return true
			}
		default:
			run = 0
		}
	}
	return false
}

// stringEnd is the index of the quote that ends a string, whose opening quote
// stands just before text.
func stringEnd(text []byte) int {
	for i := 0; ; i++ {
		switch text[i] {
		case '"':
			return i
		case '\\':
			i++
		}
	}
}

// requestID finds the id of a control request in a line that is no valid JSON,
// or only the head of a line.
func requestID(text []byte) string {
	dec := jsontext.NewDecoder(bytes.NewReader(text), lenient)
	if t, err := dec.ReadToken(); err != nil || t.Kind() != '{' {
		return ""
	}
	var kind, id string
	for kind == "" || id == "" {
		name, err := dec.ReadToken()
		if err != nil || name.Kind() != '"' {
			return ""
		}
		member := name.String()
		value, err := dec.ReadValue()
		if err != nil {
			return ""
		}
		switch {
		case value.Kind() != '"':
		case member == "type":
			kind, _ = required[string](member, value)
		case member == "request_id":
			id, _ = required[string](member, value)
		}
	}
	if kind != "control_request" {
		return ""
	}
	return id
}
