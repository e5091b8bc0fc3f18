package anthropic

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/goccy/go-json/jsontext"

	"takeback/engine"
	"takeback/protocol"
)

type requestBody struct {
	Model     string             `json:"model"`
	MaxTokens int                `json:"max_tokens"`
	System    protocol.Content   `json:"system,omitzero"`
	Messages  []protocol.Message `json:"messages"`
	Tools     []tool             `json:"tools,omitzero"`
	Stream    bool               `json:"stream"`
	Thinking  *thinking          `json:"thinking,omitzero"`
	Output    outputConfig       `json:"output_config,omitzero"`
}

type thinking struct {
	Type    string `json:"type"`
	Budget  int    `json:"budget_tokens,omitzero"`
	Display string `json:"display,omitzero"`
}

type outputConfig struct {
	Effort string `json:"effort,omitzero"`
}

type tool struct {
	Name        string         `json:"name"`
	Description string         `json:"description,omitzero"`
	InputSchema jsontext.Value `json:"input_schema"`
}

func (m *model) newCall(req *engine.ModelRequest) (*call, error) {
	info := m.resolve(req.Model)
	body := requestBody{
		Model:     info.ResolvedModel,
		MaxTokens: info.MaxOutputTokens,
		System:    req.System,
		Messages:  withoutBlanks(req.Messages),
		Stream:    true,
		Output:    outputConfig{Effort: req.Effort},
	}
	if m.options.MaxTokens > 0 {
		body.MaxTokens = m.options.MaxTokens
	}
	if t := req.Thinking; t != nil {
		// The API wants room for an answer behind the thoughts.
		body.Thinking = &thinking{Type: t.Type, Budget: min(t.Budget, body.MaxTokens-1), Display: t.Display}
	}
	for _, spec := range req.Tools {
		body.Tools = append(body.Tools, tool(spec))
	}
	markForCache(&body)
	data, err := protocol.Marshal(body)
	if err != nil {
		return nil, fmt.Errorf("encode the request: %w", err)
	}
	return &call{model: m, name: info.ResolvedModel, body: data}, nil
}

// withoutBlanks leaves out text that is all blank, which the API refuses, and messages that hold nothing else. A model
// begins an answer with a blank line now and then.
func withoutBlanks(messages []protocol.Message) []protocol.Message {
	blank := func(b protocol.Block) bool {
		return b.Type == "text" && (b.Text == nil || strings.TrimSpace(*b.Text) == "")
	}
	var kept []protocol.Message
	for _, m := range messages {
		if slices.ContainsFunc(m.Content, blank) {
			m.Content = slices.DeleteFunc(slices.Clone(m.Content), blank)
		}
		if len(m.Content) > 0 {
			kept = append(kept, m)
		}
	}
	return kept
}

const cacheControl = `"cache_control"`

// markForCache asks the API to keep what the next request will repeat: tools and system prompt, and
// the conversation so far. Without the marks each tool call of a turn pays for all that was said
// before it, which is about ten times the price. The last two user messages are marked, since the API looks
// for an earlier mark no more than 20 blocks back. A host that sets marks itself knows
// what it wants, and the API takes four at most.
func markForCache(body *requestBody) {
	if marked(body.System) || slices.ContainsFunc(body.Messages, func(m protocol.Message) bool { return marked(m.Content) }) {
		return
	}
	body.System = withMark(body.System)
	if len(body.System) > 1 { // the first block is the same in other sessions too
		body.System = append(withMark(body.System[:1]), body.System[1:]...)
	}
	for i, left := len(body.Messages)-1, 2; i >= 0 && left > 0; i-- {
		if m := &body.Messages[i]; m.Role == "user" {
			m.Content = withMark(m.Content)
			left--
		}
	}
}

func marked(content protocol.Content) bool {
	return slices.ContainsFunc(content, func(b protocol.Block) bool {
		return bytes.Contains(b.Extra, []byte(cacheControl)) || marked(b.Content)
	})
}

// withMark is content with a mark on its last block. The caller's blocks stay as they are.
func withMark(content protocol.Content) protocol.Content {
	if len(content) == 0 {
		return content
	}
	const mark = cacheControl + `:{"type":"ephemeral"}`
	content = slices.Clone(content)
	last := &content[len(content)-1]
	if rest := bytes.TrimPrefix(bytes.TrimSpace(last.Extra), []byte("{")); len(bytes.TrimSpace(rest)) > 1 {
		last.Extra = slices.Concat(jsontext.Value("{"+mark+","), rest)
	} else {
		last.Extra = jsontext.Value("{" + mark + "}")
	}
	return content
}
