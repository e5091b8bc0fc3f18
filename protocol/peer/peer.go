// Package peer runs one connection to a host: a reader, a writer, and the
// in-flight tables of both directions.
package peer

import (
	"cmp"
	"context"
	"errors"
	"io"

	"github.com/goccy/go-json/jsontext"
	"github.com/google/uuid"

	"takeback/protocol"
)

// ErrGone says that the host has closed its side, or stopped reading for good.
var ErrGone = errors.New("the host is gone")

// Handler receives what the host sends, in order, on the reader's goroutine.
// Its methods must not block.
type Handler interface {
	User(protocol.User)
	Request(*Request)
	Environment(variables map[string]string)
	EOF() // no more input; frames can still be sent
}

// Options of a connection. The zero value works.
type Options struct {
	MaxFrame int       // longest line to send, in bytes; 0 is 900 KiB. Longer frames are cut (see protocol)
	Stderr   io.Writer // gets one line for each malformed line of input; nil discards
}

const defaultMaxFrame = 900 << 10

// Conn is a connection to a host. Its reader and its writer are one goroutine
// each; what they share with each other and with the callers is in state.
type Conn struct {
	in       *lineReader
	out      io.Writer
	maxFrame int
	stderr   io.Writer
	reports  int // on stderr; the reader's

	state *state
}

// New makes a connection that reads in and writes out. Nothing happens before Serve.
func New(in io.Reader, out io.Writer, opts Options) *Conn {
	c := &Conn{
		in:       newLineReader(in, maxLine),
		out:      out,
		maxFrame: cmp.Or(opts.MaxFrame, defaultMaxFrame),
		stderr:   opts.Stderr,
		state:    newState(),
	}
	if c.stderr == nil {
		c.stderr = io.Discard
	}
	return c
}

// Serve starts the writer and the reader, and returns at once. The reader can be blocked in a read that
// nothing can interrupt, so nobody waits for it.
func (c *Conn) Serve(h Handler) {
	go c.write()
	go c.read(h)
}

// Gone is closed when nothing can be sent any more.
func (c *Conn) Gone() <-chan struct{} { return c.state.over.Done() }

// Close fails open calls, sends what is queued, and stops the writer. It waits
// as long as the host neither reads nor goes. The error says why not all was sent.
func (c *Conn) Close() error {
	c.state.close()
	<-c.Gone()
	return c.state.failure()
}

// Send puts a frame on the stream lane. It blocks while the lane is full, until ctx ends or the host is gone.
func (c *Conn) Send(ctx context.Context, f protocol.Frame) error {
	line, err := protocol.Encode(f, c.maxFrame)
	if err != nil {
		return err
	}
	return c.enqueue(ctx, &outgoing{line}, nil)
}

// Post sends a frame behind the answers that are queued, ahead of the stream.
// It never blocks: for those who tell of what they have just answered.
func (c *Conn) Post(f protocol.Frame) error {
	line, err := protocol.Encode(f, c.maxFrame)
	if err != nil {
		return err
	}
	c.state.post(line)
	return nil
}

// Call asks the host and waits for its answer. When ctx ends the question is
// withdrawn: taken out of the lane if it is still there, else cancelled on the wire.
// An answer that is an error comes back as a *HostError. After EOF every call fails.
func (c *Conn) Call(ctx context.Context, request any) (jsontext.Value, error) {
	id := uuid.NewString()
	line, err := protocol.Encode(&protocol.Question{RequestID: id, Request: request}, c.maxFrame)
	if err != nil {
		return nil, err
	}
	cancel, err := protocol.Encode(&protocol.CancelQuestion{RequestID: id}, c.maxFrame)
	if err != nil {
		return nil, err
	}
	call := &call{id: id, question: &outgoing{line}, answer: make(chan answer, 1)}
	if err := c.enqueue(ctx, call.question, call); err != nil {
		return nil, err
	}
	select {
	case a := <-call.answer:
		return a.value, a.err
	case <-ctx.Done():
		c.state.abandon(call, cancel)
		return nil, ctx.Err()
	}
}

// enqueue waits for room in the stream lane. call is the one that f asks, or nil.
func (c *Conn) enqueue(ctx context.Context, f *outgoing, call *call) error {
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		full, err := c.state.offer(f, call)
		if full == nil {
			return err
		}
		select {
		case <-full:
		case <-ctx.Done():
		}
	}
}

// write is the only one that writes out: one frame, one Write.
func (c *Conn) write() {
	for range c.state.work {
		for f := c.state.next(); f != nil; f = c.state.next() {
			if _, err := c.out.Write(f.line); err != nil {
				c.state.hangUp(err)
			}
		}
		if c.state.drained() {
			return
		}
	}
}

// HostError is a host's answer that it failed.
type HostError struct{ Message string }

func (e *HostError) Error() string { return e.Message }
