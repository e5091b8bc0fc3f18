package model_test

import (
	"errors"
	"fmt"
	"iter"
	"strings"

	"github.com/goccy/go-json/jsontext"

	"takeback/protocol"
)

// heard is what a stream came to, once it was found to be well-formed.
type heard struct {
	id, reason string
	content    protocol.Content
	usage      protocol.Usage
	events     int

	open, ended bool
	input       string // of the open tool call
}

func (h heard) String() string {
	var said []string
	for _, b := range h.content {
		block, err := protocol.Marshal(b)
		if err != nil {
			return err.Error()
		}
		said = append(said, string(block))
	}
	return strings.Join(append(said, h.reason), " ")
}

// listen puts a message together and checks the order of its events.
func listen(stream iter.Seq2[jsontext.Value, error]) (heard, error) {
	var h heard
	for event, err := range stream {
		if err == nil {
			err = h.add(event)
		}
		if err != nil {
			return h, err
		}
	}
	if !h.ended {
		return h, errors.New("the stream ended without an error and without message_stop")
	}
	return h, nil
}

func (h *heard) add(event jsontext.Value) error {
	var e struct {
		Type    string `json:"type"`
		Index   int    `json:"index"`
		Message struct {
			ID string `json:"id"`
		} `json:"message"`
		ContentBlock protocol.Block `json:"content_block"`
		Usage        protocol.Usage `json:"usage"`
		Delta        struct {
			Text      string `json:"text"`
			Thinking  string `json:"thinking"`
			Signature string `json:"signature"`
			Input     string `json:"partial_json"`
			Reason    string `json:"stop_reason"`
		} `json:"delta"`
	}
	if err := protocol.Unmarshal(event, &e); err != nil {
		return err
	}
	last := len(h.content) - 1
	inOrder := false
	switch e.Type {
	case "message_start":
		inOrder, h.id = h.events == 0, e.Message.ID
	case "content_block_start":
		inOrder, h.open, h.input = !h.open && e.Index == last+1, true, ""
		h.content = append(h.content, e.ContentBlock)
	case "content_block_delta":
		inOrder = h.open && e.Index == last
		grow(h.content[last].Text, e.Delta.Text)
		grow(h.content[last].Thinking, e.Delta.Thinking)
		grow(h.content[last].Signature, e.Delta.Signature)
		h.input += e.Delta.Input
	case "content_block_stop":
		inOrder, h.open = h.open && e.Index == last, false
		if h.content[last].Type == "tool_use" {
			h.content[last].Input = jsontext.Value(h.input)
		}
	case "message_delta":
		inOrder, h.reason, h.usage = !h.open, e.Delta.Reason, e.Usage
	case "message_stop":
		inOrder, h.ended = h.reason != "", true
	}
	if !inOrder || h.id == "" {
		return fmt.Errorf("event %d is out of order: %s", h.events, event)
	}
	h.events++
	return nil
}

func grow(text *string, more string) {
	if text != nil {
		*text += more
	}
}
