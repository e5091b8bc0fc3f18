package engine

import (
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"takeback/protocol"
)

// prompt is a message of the host that waits for its turn, or has it.
type prompt struct {
	protocol.User
	repeated    bool // a prompt with this uuid has been taken before
	interrupted bool // before its turn began
}

// query says whether the model is to answer.
func (p *prompt) query() bool { return p.ShouldQuery == nil || *p.ShouldQuery }

// empty says that there is nothing to answer: the SDKs' recipe for a rewind
// opens a connection with such a prompt. The API takes no text that is all blank either.
func (p *prompt) empty() bool {
	for _, b := range p.Message.Content {
		if b.Type != "text" || strings.TrimSpace(*b.Text) != "" {
			return false
		}
	}
	return true
}

// checkpointed says whether a rewind can go back to this prompt. What the host says in the
// user's place, and results of tools that it ran, are no points a user knows of.
func (p *prompt) checkpointed() bool {
	if p.IsSynthetic || p.repeated || p.empty() {
		return false
	}
	for _, b := range p.Message.Content {
		if b.Type == "tool_result" {
			return false
		}
	}
	return true
}

// label is the start of the prompt, to recognise it by.
func (p *prompt) label() string {
	const most = 80
	text := []rune(p.Message.Content.Text())
	if len(text) > most {
		text = append(text[:most-1], '…')
	}
	return string(text)
}

// enqueue takes a prompt. Prompts are never merged: each is one turn.
func (e *Engine) enqueue(u protocol.User) {
	p := &prompt{User: u}
	if p.UUID == "" {
		p.UUID = uuid.NewString()
	}
	known, answered := e.cfg.Transcript.Prompt(p.UUID)
	p.repeated = e.seen[p.UUID] || known && answered
	e.seen[p.UUID] = true
	place := len(e.queue)
	if p.Priority == "now" {
		place = slices.IndexFunc(append(e.queue, &prompt{}), func(q *prompt) bool { return q.Priority != "now" })
	}
	e.setQueue(slices.Insert(e.queue, place, p))
	e.startNext()
}

func (e *Engine) setQueue(queue []*prompt) {
	e.queue = queue
	e.waiting.Store(int64(len(queue)))
}

// startNext starts the turn of the oldest prompt unless one runs.
func (e *Engine) startNext() {
	if e.turn != nil || len(e.queue) == 0 || e.ending {
		return
	}
	p := e.queue[0]
	e.setQueue(e.queue[1:])
	t := newTurn(e, p)
	e.turn = t
	e.files.post(func() {
		t.began = time.Now()
		if p.checkpointed() {
			t.checkpointErr = e.cfg.History.Checkpoint(t.ctx, p.UUID, p.label())
		}
		go t.run()
	})
}

// turnEnded is posted by the turn as the last thing it does.
func (e *Engine) turnEnded(t *turn) {
	t.cancel(nil)
	e.turn = nil
	if t.result != nil {
		e.failed = t.result.IsError
	}
	for _, over := range t.over {
		close(over)
	}
	e.startNext()
	held := e.behindNext
	e.behindNext = nil
	for _, serve := range held { // also when no turn follows: what was queued may be cancelled by now
		serve()
	}
}
