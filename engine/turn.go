package engine

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"takeback/engine/session"
	"takeback/protocol"
)

// emptyPromptGrace is how long the result of an empty prompt waits. The SDKs' recipe
// sends rewind_files right behind system/init, and TypeScript closes stdin at the result.
const emptyPromptGrace = 300 * time.Millisecond

// turn is the work on one prompt. It belongs to its own goroutine; others only cancel it.
type turn struct {
	e      *Engine
	prompt *prompt
	ctx    context.Context
	cancel context.CancelCauseFunc

	// The actor's.
	resultSent bool
	over       []chan struct{} // closed when the turn is

	began         time.Time
	checkpointErr error
	apiTime       time.Duration
	calls         int // of the model
	usage         protocol.Usage
	denials       []protocol.PermissionDenial
	heard         int              // messages of the conversation before the prompt
	told          []string         // notes that the prompt brought
	recordErr     error            // the first failure to write the transcript
	result        *protocol.Result // nil if the turn ended without one
}

func newTurn(e *Engine, p *prompt) *turn {
	t := &turn{e: e, prompt: p, denials: []protocol.PermissionDenial{}}
	t.ctx, t.cancel = context.WithCancelCause(e.ctx)
	if p.interrupted {
		t.cancel(errInterrupted)
	}
	return t
}

// run does the turn. A panic in it ends it with an error result, not the process.
func (t *turn) run() {
	defer t.e.inbox.post(func() { t.e.turnEnded(t) })
	defer func() {
		if p := recover(); p != nil {
			fmt.Fprintf(t.e.cfg.Stderr, "takeback: a turn panicked: %v\n%s", p, debug.Stack())
			t.finish(t.failure(fmt.Sprintf("takeback failed inside: %v. The session goes on; please report this.", p)))
		}
	}()
	switch p := t.prompt; {
	case p.repeated:
		t.replay()
	case !p.query():
		t.hearPrompt()
		t.replay()
		if t.recordErr != nil {
			t.finish(t.notRecorded())
		}
	case p.empty():
		t.begin()
		t.waitForRequests()
		t.finish(t.success("", nil))
	case t.checkpointErr != nil && t.ctx.Err() == nil:
		t.begin()
		t.finish(t.failure("This prompt was not run, because no checkpoint could be made for it: " + explain(t.checkpointErr)))
	default:
		t.hearPrompt() // before the replay: a prompt that is acknowledged outlives a kill
		t.begin()
		t.finish(t.answer())
	}
}

// begin sends what comes before anything else of a turn.
func (t *turn) begin() {
	t.sendState("running")
	t.sendInit()
	t.replay()
}

// finish sends the result, and nothing behind it but the state.
func (t *turn) finish(r *protocol.Result) {
	t.result = r
	// The host may answer the result with an interrupt, and means another turn by it.
	t.e.inbox.post(func() { t.resultSent = true })
	t.e.cfg.Log.Debug("turn ended", "prompt", t.prompt.UUID, "result", r.Subtype, "reason", r.TerminalReason, "calls", t.calls, "took", time.Since(t.began))
	t.send(r)
	t.sendState("idle")
}

// waitForRequests gives the host the time to send what it opened the connection for.
func (t *turn) waitForRequests() {
	grace := time.NewTimer(emptyPromptGrace)
	defer grace.Stop()
	for {
		select {
		case <-t.ctx.Done():
			return
		case <-t.e.inputEnd:
			return
		case <-grace.C:
			if t.e.serving.Load() == 0 {
				return
			}
			grace.Reset(emptyPromptGrace)
		}
	}
}

// answer runs the turn of a prompt: model and tools in turn, until the model calls no more tools.
func (t *turn) answer() *protocol.Result {
	for {
		switch {
		case t.recordErr != nil:
			return t.notRecorded()
		case t.ctx.Err() != nil && t.calls == 0:
			return t.interrupt("aborted_streaming", "")
		case t.ctx.Err() != nil:
			return t.interrupt("aborted_tools", " for tool use")
		case t.e.cfg.MaxTurns > 0 && t.calls >= t.e.cfg.MaxTurns:
			r := t.failure(fmt.Sprintf("Reached maximum number of turns (%d)", t.e.cfg.MaxTurns))
			r.Subtype, r.TerminalReason = "error_max_turns", "max_turns"
			return r
		}
		r, err := t.ask()
		calls := toolCalls(r.Content)
		if err != nil {
			return t.modelFailed(r, calls, err)
		}
		switch {
		case len(calls) == 0 && t.recordErr != nil:
			return t.notRecorded()
		case len(calls) == 0:
			return t.success(r.Content.Text(), r.StopReason)
		}
		t.hearResults(t.runTools(calls))
	}
}

// ask has the model answer the conversation once, and records what it said.
func (t *turn) ask() (*reply, error) {
	e := t.e
	t.calls++
	began := time.Now()
	req := &ModelRequest{
		Model:    e.settings.modelName(),
		System:   e.settings.systemPrompt(e.surroundings),
		Messages: e.talk.messages,
		Tools:    e.toolSpecs(),
		Thinking: e.cfg.Thinking,
		Effort:   e.cfg.Effort,
	}
	r, err := t.receive(t.ctx, req)
	t.apiTime += time.Since(began)
	t.usage.Add(r.Usage)
	e.talk.spend(findModel(e.cfg.Model, req.Model), r.Model, r.Usage)
	if len(r.Content) > 0 {
		e.talk.add("assistant", r.Content)
	}
	return r, err
}

// modelFailed ends a turn whose model call failed, or was interrupted. Calls that
// the model had already made get an answer, since the API refuses a conversation without.
func (t *turn) modelFailed(r *reply, calls []protocol.Block, err error) *protocol.Result {
	var unrun []outcome
	for _, c := range calls {
		unrun = append(unrun, outcome{c, failed("This call was not carried out: the turn ended before it.")})
	}
	t.hearResults(unrun)
	if t.ctx.Err() != nil {
		return t.interrupt("aborted_streaming", "")
	}
	var failure *ModelError
	if !errors.As(err, &failure) {
		failure = &ModelError{Kind: "unknown", Message: err.Error(), Err: err}
	}
	if t.calls == 1 && failure.Refused {
		t.unhear() // or every later prompt would be refused with it
	}
	return t.apiFailure(failure)
}

// interrupt ends a turn that the host stopped, and tells so in the conversation.
func (t *turn) interrupt(reason, where string) *protocol.Result {
	note := protocol.Text(session.Interrupted + where + "]")
	t.sayAsUser(note, nil)
	t.e.talk.add("user", note)
	r := t.failure("Request interrupted by user")
	r.TerminalReason = reason
	return r
}

func toolCalls(c protocol.Content) []protocol.Block {
	var calls []protocol.Block
	for _, b := range c {
		if b.Type == "tool_use" {
			calls = append(calls, b)
		}
	}
	return calls
}
