package script

import (
	"context"
	"errors"
	"iter"

	"github.com/goccy/go-json/jsontext"

	"takeback/engine"
)

type model struct{ script Script }

// New returns the model that plays a script file, or with no file the prompts
// themselves.
func New(file string) (engine.Model, error) {
	script, err := Load(file)
	if err != nil {
		return nil, err
	}
	return model{script}, nil
}

// Models is one, free of charge. Its window and output are as large as those of a common
// model, so that what is computed from them looks usual.
func (model) Models() []engine.ModelInfo {
	return []engine.ModelInfo{{
		Value: "script", ResolvedModel: "script", DisplayName: "Script",
		Description:   "Plays a script; needs no network and no key",
		ContextWindow: 200_000, MaxOutputTokens: 64_000,
	}}
}

func (m model) Stream(ctx context.Context, req *engine.ModelRequest) iter.Seq2[jsontext.Value, error] {
	return func(yield func(jsontext.Value, error) bool) {
		for event, err := range m.script.Play(ctx, req) {
			if failure, ok := errors.AsType[*Failure](err); ok && failure.Times > 0 {
				continue
			}
			if err != nil {
				yield(nil, modelError(err))
				return
			}
			if !yield(event, nil) {
				return
			}
		}
	}
}

func modelError(err error) error {
	if failure, ok := errors.AsType[*Failure](err); ok {
		return &engine.ModelError{Kind: failure.kind(), Status: failure.Status, Refused: failure.kind() == "invalid_request", TooLong: failure.Status == 413, Message: failure.Message, Err: err}
	}
	if errors.Is(err, ErrCut) {
		return &engine.ModelError{Kind: "server_error", Message: "The model's answer broke off before it was complete. Send the message again.", Err: err}
	}
	return err
}
