package script

import (
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-json/jsontext"

	"takeback/engine"
	"takeback/protocol"
)

// writer turns what is said into the events of one message. Its methods report
// whether the receiver of the events wants more.
type writer struct {
	yield   func(jsontext.Value, error) bool
	message message
	usage   protocol.Usage
	fixed   bool // the script sets the usage
	started bool
	open    bool // a text block is open
	blocks  int
	gone    bool // the receiver stopped
}

type message struct {
	ID           string         `json:"id"`
	Type         string         `json:"type"`
	Role         string         `json:"role"`
	Model        string         `json:"model"`
	Content      []struct{}     `json:"content"`
	StopReason   *string        `json:"stop_reason"`
	StopSequence *string        `json:"stop_sequence"`
	Usage        protocol.Usage `json:"usage"`
}

type event struct {
	Type         string          `json:"type"`
	Message      *message        `json:"message,omitzero"`
	Index        *int            `json:"index,omitzero"`
	ContentBlock *protocol.Block `json:"content_block,omitzero"`
	Delta        any             `json:"delta,omitzero"`
	Usage        *protocol.Usage `json:"usage,omitzero"`
}

type delta struct {
	Type      string  `json:"type"`
	Text      *string `json:"text,omitzero"`
	Thinking  *string `json:"thinking,omitzero"`
	Signature *string `json:"signature,omitzero"`
	Partial   *string `json:"partial_json,omitzero"`
}

type messageDelta struct {
	StopReason   string  `json:"stop_reason"`
	StopSequence *string `json:"stop_sequence"`
}

func newWriter(yield func(jsontext.Value, error) bool, req *engine.ModelRequest, id string, steps []step) *writer {
	w := &writer{yield: yield, usage: protocol.Usage{InputTokens: tokens(inputLength(req))}}
	for _, s := range steps {
		if s.Usage != nil {
			w.usage, w.fixed = *s.Usage, true
		}
	}
	w.message = message{ID: "msg_" + id, Type: "message", Role: "assistant", Model: req.Model, Content: []struct{}{}}
	return w
}

// start is sent as late as possible: a request that fails before it has content fails
// with an HTTP status.
func (w *writer) start() bool {
	if w.started {
		return !w.gone
	}
	w.started = true
	w.message.Usage = w.usage
	w.message.Usage.OutputTokens = 1 // as the API does: the last message_delta has the total
	return w.send(event{Type: "message_start", Message: &w.message})
}

func (w *writer) text(text string) bool {
	if !w.open {
		empty := ""
		if !w.openBlock(protocol.Block{Type: "text", Text: &empty}) {
			return false
		}
		w.open = true
	}
	w.count(text)
	for _, piece := range pieces(text) {
		w.delta(delta{Type: "text_delta", Text: &piece})
	}
	return !w.gone
}

func (w *writer) thinking(text, signature string) bool {
	empty := ""
	w.openBlock(protocol.Block{Type: "thinking", Thinking: &empty, Signature: &empty})
	w.count(text)
	for _, piece := range pieces(text) {
		w.delta(delta{Type: "thinking_delta", Thinking: &piece})
	}
	w.delta(delta{Type: "signature_delta", Signature: &signature})
	return w.closeBlock()
}

func (w *writer) tool(id, name string, input jsontext.Value, cut bool) bool {
	w.openBlock(protocol.Block{Type: "tool_use", ID: id, Name: name, Input: jsontext.Value("{}")})
	w.count(string(input))
	all := pieces(string(input))
	if cut {
		half := string(input[:len(input)/2])
		all = pieces(strings.ToValidUTF8(half, ""))
	}
	for _, piece := range all {
		w.delta(delta{Type: "input_json_delta", Partial: &piece})
	}
	if cut {
		w.fail(ErrCut)
		return false
	}
	return w.closeBlock()
}

func (w *writer) end(reason string) {
	w.start()
	w.closeText()
	w.send(event{Type: "message_delta", Delta: messageDelta{StopReason: reason}, Usage: &w.usage})
	w.send(event{Type: "message_stop"})
}

func (w *writer) silent() bool { return w.blocks == 0 && !w.open }

func (w *writer) fail(err error) bool {
	if !w.gone {
		w.gone = !w.yield(nil, err)
	}
	return !w.gone
}

func (w *writer) openBlock(b protocol.Block) bool {
	w.start()
	w.closeText()
	return w.send(event{Type: "content_block_start", Index: &w.blocks, ContentBlock: &b})
}

func (w *writer) delta(d delta) bool {
	return w.send(event{Type: "content_block_delta", Index: &w.blocks, Delta: d})
}

func (w *writer) closeText() {
	if w.open {
		w.open = false
		w.closeBlock()
	}
}

func (w *writer) closeBlock() bool {
	sent := w.send(event{Type: "content_block_stop", Index: &w.blocks})
	w.blocks++
	return sent
}

func (w *writer) send(e event) bool {
	if w.gone {
		return false
	}
	data, err := protocol.Marshal(e)
	w.gone = !w.yield(data, err)
	return !w.gone
}

func (w *writer) count(text string) {
	if !w.fixed {
		w.usage.OutputTokens += tokens(len(text))
	}
}

// tokens estimates by the usual rule of thumb, four characters each.
func tokens(length int) int { return (length + 3) / 4 }

func inputLength(req *engine.ModelRequest) int {
	length := contentLength(req.System)
	for _, m := range req.Messages {
		length += contentLength(m.Content)
	}
	return length
}

func contentLength(content protocol.Content) int {
	length := 0
	for _, b := range content {
		length += len(b.Input) + contentLength(b.Content)
		if b.Text != nil {
			length += len(*b.Text)
		}
	}
	return length
}

// pieces cuts a text into what a delta carries: a few words of a short text, more of a long one,
// since a megabyte in deltas of four words would be 50,000 events. It never
// cuts inside a character.
func pieces(text string) []string {
	const words, most = 24, 16
	size := max(words, len(text)/most)
	var all []string
	for len(text) > size {
		cut := size
		if space := strings.IndexByte(text[cut:], ' '); space >= 0 && space < words {
			cut += space + 1
		}
		for cut < len(text) && !utf8.RuneStart(text[cut]) {
			cut++
		}
		all = append(all, text[:cut])
		text = text[cut:]
	}
	if text != "" {
		all = append(all, text)
	}
	return all
}
