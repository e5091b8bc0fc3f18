// Package peer runs one connection to a host: a reader, a writer, and the
// in-flight tables of both directions.
package peer

import (
	"context"
	"errors"
	"io"

	"github.com/goccy/go-json/jsontext"

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

// Conn is a connection to a host.
type Conn struct{}

// New makes a connection that reads in and writes out. Nothing happens before Serve.
func New(in io.Reader, out io.Writer, opts Options) *Conn { return &Conn{} }

// Serve starts the writer and the reader, and returns at once. The reader can be blocked in a read that
// nothing can interrupt, so nobody waits for it.
func (c *Conn) Serve(h Handler) {}

// Send puts a frame on the stream lane. It blocks while the lane is full, until ctx ends or the host is gone.
func (c *Conn) Send(ctx context.Context, f protocol.Frame) error { return ErrGone }

// Call asks the host and waits for its answer. When ctx ends the question is
// withdrawn: taken out of the lane if it is still there, else cancelled on the wire.
// An answer that is an error comes back as a *HostError. After EOF every call fails.
func (c *Conn) Call(ctx context.Context, request any) (jsontext.Value, error) { return nil, ErrGone }

// HostError is a host's answer that it failed.
type HostError struct{ Message string }

func (e *HostError) Error() string { return e.Message }

// Gone is closed when nothing can be sent any more.
func (c *Conn) Gone() <-chan struct{} { return nil }

// Close sends what is queued, stops the writer, and fails open calls.
func (c *Conn) Close() error { return nil }

// Request is a control request of the host. It is answered once; a second answer panics.
type Request struct{ protocol.ControlRequest }

// Context ends when the host withdraws the request, or is gone.
func (r *Request) Context() context.Context { return context.Background() }

// Reply answers with success. It never blocks.
func (r *Request) Reply(response any) {}

// Fail answers with an error. It never blocks.
func (r *Request) Fail(failure Failure) {}

// Failure is an error answer.
type Failure struct {
	Message string
	Code    string // a slug, or ""
	Detail  any    // an object whose members stand beside the message, or nil
}
