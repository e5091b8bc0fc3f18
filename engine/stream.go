package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/goccy/go-json/jsontext"

	"takeback/protocol"
)

// streamEvent is what of a Messages API event has a meaning here.
type streamEvent struct {
	Type    string                    `json:"type"`
	Index   int                       `json:"index"`
	Message protocol.AssistantMessage `json:"message"`
	Block   protocol.Block            `json:"content_block"`
	Delta   struct {
		Type        string  `json:"type"`
		Text        string  `json:"text"`
		Thinking    string  `json:"thinking"`
		Signature   string  `json:"signature"`
		PartialJSON string  `json:"partial_json"`
		StopReason  *string `json:"stop_reason"`
	} `json:"delta"`
	Usage struct {
		InputTokens              *int `json:"input_tokens"`
		OutputTokens             *int `json:"output_tokens"`
		CacheCreationInputTokens *int `json:"cache_creation_input_tokens"`
		CacheReadInputTokens     *int `json:"cache_read_input_tokens"`
	} `json:"usage"`
}

// reply is the model's message as it grows out of events.
type reply struct {
	protocol.AssistantMessage
	open   protocol.Block // the block that deltas go to
	pieces []byte         // its text, thinking or tool input, so far
}

// receive streams one message of the model. The host sees each block once it is
// whole, before the event that ends it. On an error the blocks that were whole by then are returned with it.
func (t *turn) receive(ctx context.Context, req *ModelRequest) (*reply, error) {
	r := &reply{AssistantMessage: protocol.AssistantMessage{Type: "message", Role: "assistant", Model: req.Model}}
	ended := false
	for raw, err := range t.e.cfg.Model.Stream(ctx, req) {
		if err != nil {
			return r, err
		}
		var event streamEvent
		if err := protocol.Unmarshal(raw, &event); err != nil {
			return r, malformed(err)
		}
		whole := r.add(&event)
		if whole != nil {
			t.sendBlock(r, *whole)
		}
		t.sendEvent(raw)
		ended = event.Type == "message_stop"
	}
	if err := context.Cause(ctx); err != nil && !ended {
		return r, err
	}
	if !ended {
		return r, malformed(errors.New("the stream ended before message_stop"))
	}
	return r, nil
}

func malformed(err error) error {
	return &ModelError{
		Kind:    "server_error",
		Message: fmt.Sprintf("The model's answer could not be read (%v). Send the prompt again.", err),
		Err:     err,
	}
}

// add takes an event in. It returns a block when the event ends one.
func (r *reply) add(event *streamEvent) (whole *protocol.Block) {
	switch event.Type {
	case "message_start":
		r.ID, r.Usage = event.Message.ID, event.Message.Usage
		if event.Message.Model != "" {
			r.Model = event.Message.Model
		}
	case "content_block_start":
		r.open, r.pieces = event.Block, nil
	case "content_block_delta":
		d := &event.Delta
		switch d.Type {
		case "text_delta":
			r.pieces = append(r.pieces, d.Text...)
		case "thinking_delta":
			r.pieces = append(r.pieces, d.Thinking...)
		case "input_json_delta":
			r.pieces = append(r.pieces, d.PartialJSON...)
		case "signature_delta":
			r.open.Signature = joined(r.open.Signature, d.Signature)
		}
	case "content_block_stop":
		switch r.open.Type {
		case "text":
			r.open.Text = joined(r.open.Text, string(r.pieces))
		case "thinking":
			r.open.Thinking = joined(r.open.Thinking, string(r.pieces))
		case "tool_use":
			r.open.Input = toolInput(r.open.Input, r.pieces)
		}
		r.Content = append(r.Content, r.open)
		return &r.Content[len(r.Content)-1]
	case "message_delta":
		r.StopReason = event.Delta.StopReason
		replace(&r.Usage.InputTokens, event.Usage.InputTokens)
		replace(&r.Usage.OutputTokens, event.Usage.OutputTokens)
		replace(&r.Usage.CacheCreationInputTokens, event.Usage.CacheCreationInputTokens)
		replace(&r.Usage.CacheReadInputTokens, event.Usage.CacheReadInputTokens)
	}
	return nil
}

// toolInput is the input that came in pieces, else the one the block began with. Pieces that make no
// JSON (the model ran out of tokens) are kept as a member that no tool knows: the call is
// refused for what it lacks, and the conversation stays valid.
func toolInput(start jsontext.Value, pieces []byte) jsontext.Value {
	switch {
	case len(pieces) == 0 && start == nil:
		return jsontext.Value("{}")
	case len(pieces) == 0:
		return start
	case jsontext.Value(pieces).IsValid(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)):
		return pieces
	}
	cut, err := protocol.Marshal(map[string]string{"unfinished_input": string(pieces)})
	if err != nil {
		return jsontext.Value("{}")
	}
	return cut
}

func joined(start *string, more string) *string {
	if start != nil {
		more = *start + more
	}
	return &more
}

func replace(field *int, with *int) {
	if with != nil {
		*field = *with
	}
}
