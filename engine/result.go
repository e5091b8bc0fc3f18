package engine

import (
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/google/uuid"

	"takeback/filehistory"
	"takeback/protocol"
)

// sum is a result with all that every kind of result tells.
func (t *turn) sum() *protocol.Result {
	return &protocol.Result{
		DurationMS:        time.Since(t.began).Milliseconds(),
		DurationAPIMS:     t.apiTime.Milliseconds(),
		NumTurns:          t.calls,
		SessionID:         t.sessionID(),
		TotalCostUSD:      t.e.talk.cost(),
		Usage:             t.usage,
		ModelUsage:        maps.Clone(t.e.talk.spent),
		PermissionDenials: t.denials,
		UserMessageUUID:   t.prompt.UUID,
		QueuedTurnCount:   int(t.e.waiting.Load()),
		UUID:              uuid.NewString(),
	}
}

func (t *turn) success(text string, stopReason *string) *protocol.Result {
	r := t.sum()
	r.Subtype, r.Result, r.StopReason, r.TerminalReason = "success", &text, stopReason, "completed"
	return r
}

func (t *turn) failure(why string) *protocol.Result {
	r := t.sum()
	r.Subtype, r.IsError, r.Errors = "error_during_execution", true, []string{why}
	return r
}

func (t *turn) notRecorded() *protocol.Result {
	return t.failure(fmt.Sprintf("The session's transcript cannot be written, so the turn was ended (%v). --no-session-persistence runs without one.", t.recordErr))
}

// apiFailure is how the SDKs expect to hear that the model could not answer: as
// the assistant's words, and as a success that is an error.
func (t *turn) apiFailure(failure *ModelError) *protocol.Result {
	t.sendAssistant(protocol.AssistantMessage{
		ID:      uuid.NewString(),
		Type:    "message",
		Role:    "assistant",
		Model:   syntheticModel,
		Content: protocol.Text(failure.Message),
	}, failure)
	r := t.sum()
	r.Subtype, r.IsError, r.Result, r.TerminalReason = "success", true, &failure.Message, "api_error"
	if failure.TooLong {
		r.TerminalReason = "prompt_too_long"
	}
	if failure.Status != 0 {
		r.APIErrorStatus = &failure.Status
	}
	return r
}

// syntheticModel stands where no model spoke.
const syntheticModel = "<synthetic>"

// explain is the sentence for the user about an error of the file history.
func explain(err error) string {
	var locked *filehistory.LockedError
	switch {
	case errors.As(err, &locked):
		return fmt.Sprintf("another process (pid %d) is using this session's file history. Close it, then try again.", locked.PID)
	default:
		return err.Error()
	}
}
