package fakeapi

import (
	"bytes"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"strconv"

	"github.com/goccy/go-json/jsontext"

	"takeback/engine/model/script"
	"takeback/protocol"
)

type events = iter.Seq2[jsontext.Value, error]

// retried passes over the failures that enough attempts have met already.
func retried(played events, attempt int) events {
	return func(yield func(jsontext.Value, error) bool) {
		met := 0
		for event, err := range played {
			if failure, ok := errors.AsType[*script.Failure](err); ok && failure.Times > 0 {
				if met += failure.Times; attempt > met {
					continue
				}
			}
			if !yield(event, err) || err != nil {
				return
			}
		}
	}
}

// stream answers with server-sent events. The headers leave with the first, so that a script
// that hangs at once looks like a server that never answers.
func stream(w http.ResponseWriter, played events) {
	started := false
	for event, err := range played {
		if failure, ok := errors.AsType[*script.Failure](err); ok {
			if started {
				send(w, "error", errorBody(w, failure))
			} else {
				fail(w, failure)
			}
			return
		}
		if err != nil {
			abort()
		}
		if !started {
			w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
		}
		send(w, typeOf(event), event)
		if !started {
			send(w, "ping", jsontext.Value(`{"type":"ping"}`)) // the real API sends one here
		}
		started = true
	}
}

// answer answers with one JSON document.
func answer(w http.ResponseWriter, played events) {
	var whole accumulator
	for event, err := range played {
		if failure, ok := errors.AsType[*script.Failure](err); ok {
			fail(w, failure)
			return
		}
		if err == nil {
			err = whole.add(event)
		}
		if err != nil {
			abort()
		}
	}
	body, err := protocol.Marshal(whole.message)
	if err != nil {
		abort()
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(body) // the client is gone
}

// abort breaks the connection, so that the client cannot take what it got for the whole.
func abort() { panic(http.ErrAbortHandler) }

func fail(w http.ResponseWriter, failure *script.Failure) {
	if failure.RetryAfter != nil {
		w.Header().Set("Retry-After", strconv.Itoa(*failure.RetryAfter))
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(failure.Status)
	_, _ = w.Write(errorBody(w, failure)) // the client is gone
}

func errorBody(w http.ResponseWriter, failure *script.Failure) jsontext.Value {
	type detail struct {
		Type    string `json:"type"`
		Message string `json:"message"`
	}
	body, err := protocol.Marshal(struct {
		Type      string `json:"type"`
		Error     detail `json:"error"`
		RequestID string `json:"request_id"`
	}{"error", detail{failure.Type, failure.Message}, w.Header().Get("request-id")})
	if err != nil {
		abort()
	}
	return body
}

func send(w http.ResponseWriter, name string, data jsontext.Value) {
	_, err := fmt.Fprintf(w, "event: %s\ndata: %s\n\n", name, bytes.TrimSpace(data))
	if err == nil {
		err = http.NewResponseController(w).Flush()
	}
	if err != nil {
		abort()
	}
}

func typeOf(event jsontext.Value) string {
	var e struct {
		Type string `json:"type"`
	}
	if err := protocol.Unmarshal(event, &e); err != nil {
		abort()
	}
	return e.Type
}

// accumulator puts the events of a stream together.
type accumulator struct {
	message protocol.AssistantMessage
	input   string // of the open tool call
}

func (a *accumulator) add(event jsontext.Value) error {
	var e struct {
		Type         string                    `json:"type"`
		Message      protocol.AssistantMessage `json:"message"`
		ContentBlock protocol.Block            `json:"content_block"`
		Usage        protocol.Usage            `json:"usage"`
		Delta        struct {
			Text       string  `json:"text"`
			Thinking   string  `json:"thinking"`
			Signature  string  `json:"signature"`
			Partial    string  `json:"partial_json"`
			StopReason *string `json:"stop_reason"`
		} `json:"delta"`
	}
	if err := protocol.Unmarshal(event, &e); err != nil {
		return err
	}
	switch e.Type {
	case "message_start":
		a.message = e.Message
	case "content_block_start":
		a.message.Content = append(a.message.Content, e.ContentBlock)
	case "content_block_delta":
		block := &a.message.Content[len(a.message.Content)-1]
		grow(block.Text, e.Delta.Text)
		grow(block.Thinking, e.Delta.Thinking)
		grow(block.Signature, e.Delta.Signature)
		a.input += e.Delta.Partial
	case "content_block_stop":
		if block := &a.message.Content[len(a.message.Content)-1]; block.Type == "tool_use" {
			block.Input, a.input = jsontext.Value(a.input), ""
		}
	case "message_delta":
		a.message.StopReason, a.message.Usage = e.Delta.StopReason, e.Usage
	}
	return nil
}

func grow(text *string, more string) {
	if text != nil {
		*text += more
	}
}
