package protocol

import (
	"github.com/goccy/go-json/jsontext"
)

// Message is one message of the conversation, in the shape of the Messages API.
type Message struct {
	Role    string  `json:"role"`
	Content Content `json:"content"`
}

// Content is the content of a message or of a tool result. On the wire it is a
// string or an array of blocks; both decode to blocks, and it encodes as an array.
type Content []Block

// UnmarshalJSON accepts a string, null, or an array of blocks.
func (c *Content) UnmarshalJSON(data []byte) error {
	switch jsontext.Value(data).Kind() {
	case 'n':
		*c = nil
		return nil
	case '"':
		var text string
		if err := Unmarshal(data, &text); err != nil {
			return err
		}
		*c = Text(text)
		return nil
	}
	var blocks []Block
	if err := Unmarshal(data, &blocks); err != nil {
		return err
	}
	*c = blocks
	return nil
}

// Text is content of one text block.
func Text(text string) Content { return Content{{Type: "text", Text: &text}} }

// Text joins the text blocks of c.
func (c Content) Text() string {
	var text string
	for _, b := range c {
		if b.Type == "text" && b.Text != nil {
			text += *b.Text
		}
	}
	return text
}

// Block is one content block. Which fields are set depends on Type: text, thinking,
// redacted_thinking, tool_use, tool_result, image, document and whatever
// the API invents next. Members that takeback does not use stay in Extra and
// leave as they came.
type Block struct {
	Type string  `json:"type"`
	Text *string `json:"text,omitzero"` // text

	Thinking  *string `json:"thinking,omitzero"`  // thinking
	Signature *string `json:"signature,omitzero"` // thinking

	ID    string         `json:"id,omitzero"`    // tool_use
	Name  string         `json:"name,omitzero"`  // tool_use
	Input jsontext.Value `json:"input,omitzero"` // tool_use: an object

	ToolUseID string  `json:"tool_use_id,omitzero"` // tool_result
	Content   Content `json:"content,omitzero"`     // tool_result
	IsError   bool    `json:"is_error,omitzero"`    // tool_result

	Extra jsontext.Value `json:",embed"`
}

// ToolResult is the block that answers the tool call with the given id.
func ToolResult(id string, content Content, isError bool) Block {
	return Block{Type: "tool_result", ToolUseID: id, Content: content, IsError: isError}
}

// Usage counts the tokens of one or more model calls.
type Usage struct {
	InputTokens              int `json:"input_tokens"`
	OutputTokens             int `json:"output_tokens"`
	CacheCreationInputTokens int `json:"cache_creation_input_tokens"`
	CacheReadInputTokens     int `json:"cache_read_input_tokens"`
}

// Add adds the counts of v.
func (u *Usage) Add(v Usage) {
	u.InputTokens += v.InputTokens
	u.OutputTokens += v.OutputTokens
	u.CacheCreationInputTokens += v.CacheCreationInputTokens
	u.CacheReadInputTokens += v.CacheReadInputTokens
}
