package fakeapi

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/goccy/go-json/jsontext"

	"takeback/engine"
	"takeback/protocol"
)

type request struct {
	Model     string           `json:"model"`
	MaxTokens *int             `json:"max_tokens"`
	System    protocol.Content `json:"system"`
	Messages  []message        `json:"messages"`
	Tools     []tool           `json:"tools"`
	Stream    bool             `json:"stream"`
	Extra     jsontext.Value   `json:",embed"`
}

type message struct {
	Role    string           `json:"role"`
	Content protocol.Content `json:"content"`
	Extra   jsontext.Value   `json:",embed"`
}

type tool struct {
	Name        string         `json:"name"`
	Description string         `json:"description"`
	InputSchema jsontext.Value `json:"input_schema"`
}

func (r *request) engineRequest() *engine.ModelRequest {
	req := &engine.ModelRequest{Model: r.Model, System: r.System}
	for _, m := range r.Messages {
		req.Messages = append(req.Messages, protocol.Message{Role: m.Role, Content: m.Content})
	}
	for _, t := range r.Tools {
		req.Tools = append(req.Tools, engine.ToolSpec(t))
	}
	return req
}

// What the API takes besides the members above,
// https://platform.claude.com/docs/en/api/messages/create as of November 2026.
var (
	requestMembers = []string{"cache_control", "container", "context_management", "inference_geo", "mcp_servers", "metadata", "output_config", "output_format",
		"service_tier", "speed", "stop_sequences", "temperature", "thinking", "tool_choice", "top_k", "top_p"}
	blockMembers = map[string][]string{
		"text":        {"cache_control", "citations"},
		"thinking":    {},
		"tool_use":    {"cache_control", "caller"},
		"tool_result": {"cache_control"},
	}
)

// problem is what the API answers to an ill-formed request, in its own words.
type problem string

func (p problem) Error() string { return string(p) }

func problemf(format string, args ...any) error { return problem(fmt.Sprintf(format, args...)) }

func parse(body []byte) (*request, error) {
	var r request
	if err := protocol.Unmarshal(body, &r); err != nil {
		return nil, fmt.Errorf("the request body is not valid: %w", err)
	}
	switch {
	case r.Model == "":
		return nil, problemf("model: Field required")
	case r.MaxTokens == nil:
		return nil, problemf("max_tokens: Field required")
	case *r.MaxTokens < 1:
		return nil, problemf("max_tokens: Input should be greater than or equal to 1")
	case len(r.Messages) == 0:
		return nil, problemf("messages: at least one message is required")
	}
	if name := stranger(r.Extra, requestMembers); name != "" {
		return nil, problemf("%s: Extra inputs are not permitted", name)
	}
	if err := checkTools(r.Tools); err != nil {
		return nil, err
	}
	for i, m := range r.Messages {
		if err := checkMessage(m); err != nil {
			return nil, fmt.Errorf("messages.%d.%w", i, err)
		}
	}
	return &r, checkOrder(r.Messages, len(r.Tools) > 0)
}

// stranger is a member of extra that is not among the allowed.
func stranger(extra jsontext.Value, allowed []string) string {
	var members map[string]jsontext.Value
	if len(extra) > 0 && protocol.Unmarshal(extra, &members) == nil {
		for name := range members {
			if !slices.Contains(allowed, name) {
				return name
			}
		}
	}
	return ""
}

var toolName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,128}$`)

func checkTools(tools []tool) error {
	names := map[string]bool{}
	for i, t := range tools {
		var schema struct {
			Type string `json:"type"`
		}
		switch {
		case !toolName.MatchString(t.Name):
			return problemf("tools.%d.custom.name: String should match pattern '%s'", i, toolName)
		case names[t.Name]:
			return problemf("tools: Tool names must be unique.")
		case protocol.Unmarshal(t.InputSchema, &schema) != nil || schema.Type != "object":
			return problemf("tools.%d.custom.input_schema.type: Input should be 'object'", i)
		}
		names[t.Name] = true
	}
	return nil
}

func checkMessage(m message) error {
	if name := stranger(m.Extra, nil); name != "" {
		return problemf("%s: Extra inputs are not permitted", name)
	}
	if m.Role != "user" && m.Role != "assistant" {
		return problemf("role: Input should be 'user' or 'assistant'")
	}
	if len(m.Content) == 0 {
		return problemf("content: all messages must have non-empty content")
	}
	for i, b := range m.Content {
		if err := checkBlock(m.Role, b); err != nil {
			return fmt.Errorf("content.%d.%w", i, err)
		}
	}
	return nil
}

var toolID = regexp.MustCompile(`^[a-zA-Z0-9_-]+$`)

func checkBlock(role string, b protocol.Block) error {
	if allowed, known := blockMembers[b.Type]; known {
		if name := stranger(b.Extra, allowed); name != "" {
			return problemf("%s.%s: Extra inputs are not permitted", b.Type, name)
		}
	}
	switch b.Type {
	case "":
		return problemf("type: Field required")
	case "text":
		if b.Text == nil || strings.TrimSpace(*b.Text) == "" {
			return problemf("text: text content blocks must contain non-whitespace text")
		}
	case "thinking":
		if role != "assistant" || b.Thinking == nil || b.Signature == nil || *b.Signature == "" {
			return problemf("thinking.signature: Field required")
		}
	case "tool_use":
		if role != "assistant" {
			return problemf("tool_use: `tool_use` blocks can only be in `assistant` messages")
		}
		if !toolID.MatchString(b.ID) || b.Name == "" || b.Input.Kind() != '{' {
			return problemf("tool_use: it needs an id that matches '%s', a name, and an object as input", toolID)
		}
	case "tool_result":
		if role != "user" || b.ToolUseID == "" {
			return problemf("tool_result: `tool_result` blocks can only be in `user` messages, and need a tool_use_id")
		}
	}
	return nil
}
