package script

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/goccy/go-json/jsontext"

	"takeback/engine"
	"takeback/protocol"
)

// Play yields the events of the answer to req. Where the script says so it yields a [*Failure], and goes
// on if the caller does; [ErrCut]; or nothing until ctx ends, and then ctx's error. A prompt that
// is meant as a script and is none yields a Failure with status 400.
func (s Script) Play(ctx context.Context, req *engine.ModelRequest) iter.Seq2[jsontext.Value, error] {
	return func(yield func(jsontext.Value, error) bool) {
		at := placeOf(req)
		turn, err := s.turn(at)
		if err != nil {
			message := fmt.Sprintf("The prompt is meant as a script and is none: %v.", err)
			yield(nil, (&Failure{Status: 400, Message: message}).filled())
			return
		}
		steps, calls := next(turn, at.results)
		unlessDone := func(event jsontext.Value, err error) bool {
			if done := ctx.Err(); done != nil {
				yield(nil, done)
				return false
			}
			return yield(event, err)
		}
		w := newWriter(unlessDone, req, fmt.Sprintf("t%dm%d", at.turn, calls+1), steps)
		player{writer: w, req: req, turn: at.turn, calls: calls}.play(ctx, steps)
	}
}

// turn is the array of steps that the newest prompt plays.
func (s Script) turn(at place) ([]step, error) {
	switch {
	case s.fromFile && at.turn >= 1 && at.turn <= len(s.turns):
		return s.turns[at.turn-1], nil
	case s.fromFile:
		return say(fmt.Sprintf("The script is over: it has %d turns, this is prompt %d.", len(s.turns), at.turn)), nil
	case looksLikeSteps(at.prompt):
		return parseTurn(at.prompt)
	}
	return say(fmt.Sprintf("You said: “%s”", shorten(at.prompt))), nil
}

func say(text string) []step { return []step{{Text: &text}} }

// looksLikeSteps tells "[{…" from prose that happens to begin with a bracket.
func looksLikeSteps(prompt string) bool {
	inside, ok := strings.CutPrefix(strings.TrimSpace(prompt), "[")
	return ok && strings.HasPrefix(strings.TrimSpace(inside), "{")
}

// shorten keeps an answer readable that quotes a prompt of megabytes.
func shorten(prompt string) string {
	const most = 200
	if utf8.RuneCountInString(prompt) <= most {
		return prompt
	}
	return string([]rune(prompt)[:most]) + "…"
}

// player plays the steps of one message.
type player struct {
	writer *writer
	req    *engine.ModelRequest
	turn   int
	calls  int // made in the turn so far
}

func (p player) play(ctx context.Context, steps []step) {
	before := p.calls
	stop := ""
	for _, s := range steps {
		if s.Stop != nil {
			stop = *s.Stop
		}
		if !p.step(ctx, s) {
			return
		}
		if s.Tool != nil {
			p.calls++
		}
	}
	if p.writer.silent() && before > 0 { // a turn must not end in silence
		p.writer.text("Done.")
	}
	reason := "end_turn"
	if p.calls > before {
		reason = "tool_use"
	}
	p.writer.end(cmp.Or(stop, reason))
}

// step reports whether the message goes on.
func (p player) step(ctx context.Context, s step) bool {
	switch {
	case s.Text != nil:
		return p.writer.text(*s.Text)
	case s.Echo != nil:
		return p.writer.text(echo(*s.Echo, p.req))
	case s.Thinking != nil:
		return p.writer.thinking(*s.Thinking, cmp.Or(s.Signature, "c2NyaXB0"))
	case s.Tool != nil:
		id := cmp.Or(s.ID, fmt.Sprintf("toolu_t%dc%d", p.turn, p.calls+1))
		return p.writer.tool(id, *s.Tool, s.Input, s.Cut)
	case s.DelayMS != nil:
		wait(ctx, time.Duration(*s.DelayMS)*time.Millisecond)
	case s.Error != nil:
		return p.writer.fail(s.Error.filled())
	case s.Cut:
		p.writer.start()
		p.writer.fail(ErrCut)
		return false
	case s.Hang:
		<-ctx.Done()
	}
	return true
}

func wait(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// echo tells what the model was sent.
func echo(what string, req *engine.ModelRequest) string {
	var heard any
	switch what {
	case "system":
		heard = req.System.Text()
	case "tools":
		names := []string{}
		for _, tool := range req.Tools {
			names = append(names, tool.Name)
		}
		heard = names
	default:
		lines := []heardMessage{}
		for _, m := range req.Messages {
			lines = append(lines, hear(m))
		}
		heard = lines
	}
	text, err := protocol.Marshal(heard)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

type heardMessage struct {
	Role    string   `json:"role"`
	Text    string   `json:"text,omitzero"`
	Tools   []string `json:"tools,omitzero"`   // calls, by name
	Results []string `json:"results,omitzero"` // their texts
}

func hear(m protocol.Message) heardMessage {
	heard := heardMessage{Role: m.Role, Text: m.Content.Text()}
	for _, b := range m.Content {
		switch b.Type {
		case "tool_use":
			heard.Tools = append(heard.Tools, b.Name)
		case "tool_result":
			heard.Results = append(heard.Results, b.Content.Text())
		}
	}
	return heard
}
