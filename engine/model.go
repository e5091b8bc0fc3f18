package engine

import (
	"context"
	"iter"

	"github.com/goccy/go-json/jsontext"

	"takeback/protocol"
)

// Model answers a conversation.
type Model interface {
	// Stream yields the events of the Messages API's stream as they come:
	// message_start, content_block_start, content_block_delta, …, message_stop.
	// An error ends it: ctx's own, or a *ModelError.
	Stream(ctx context.Context, req *ModelRequest) iter.Seq2[jsontext.Value, error]

	// Models lists the models that can be asked for, the default first.
	Models() []ModelInfo
}

// ModelRequest is one call of the model.
type ModelRequest struct {
	Model    string // a value of Models, or any other name the endpoint knows
	System   protocol.Content
	Messages []protocol.Message
	Tools    []ToolSpec
	Thinking *Thinking // nil: as the model does by itself
	Effort   string    // low, medium, high, xhigh, max; "": as the model does by itself
}

// Thinking says whether the model thinks before it answers.
type Thinking struct {
	Type    string // adaptive, enabled, disabled
	Budget  int    // tokens; only with enabled
	Display string // summarized, omitted, highlights; "": as the endpoint does
}

// ModelInfo describes a model that the host may choose. Prices are in US dollars a million tokens.
type ModelInfo struct {
	Value, DisplayName, Description string
	ResolvedModel                   string // the name that requests carry
	ContextWindow, MaxOutputTokens  int
	InputPrice, OutputPrice         float64
	CacheWritePrice, CacheReadPrice float64
}

// ModelError is why a model did not answer, ready to be shown.
type ModelError struct {
	Kind    string // as the SDKs name it: authentication_failed, billing_error, rate_limit, overloaded, invalid_request, model_not_found, server_error, unknown
	Status  int    // HTTP status, 0 if none came
	Refused bool   // the request was at fault: the same conversation would be refused again
	TooLong bool   // since the conversation does not fit the model's window
	Message string // a sentence for the user, with what to do next
	Err     error
}

func (e *ModelError) Error() string { return e.Message }
func (e *ModelError) Unwrap() error { return e.Err }
