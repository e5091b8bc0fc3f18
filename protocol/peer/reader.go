package peer

import (
	"context"
	"errors"
	"fmt"
	"io"

	"takeback/protocol"
)

// maxReports is how many bad lines are told of. A host that sends more, and
// reads no stderr, would block the reader once that pipe is full.
const maxReports = 100

// read takes in what the host sends until it sends no more. It blocks on
// nothing but input.
func (c *Conn) read(h Handler) {
	for {
		line, length, err := c.in.next()
		switch {
		case errors.Is(err, errLongLine):
			c.refuse(longLine(line, length, c.in.max))
		case err != nil:
			if err != io.EOF {
				c.report(fmt.Sprintf("reading failed: %v", err))
			}
			c.state.inputEnded()
			h.EOF()
			return
		default:
			c.dispatch(h, line)
		}
	}
}

func (c *Conn) dispatch(h Handler, line []byte) {
	message, err := protocol.Decode(line)
	if bad := (*protocol.LineError)(nil); errors.As(err, &bad) {
		c.refuse(bad)
		return
	}
	switch m := message.(type) {
	case protocol.User:
		h.User(m)
	case protocol.ControlRequest:
		c.request(h, m)
	case protocol.ControlResponse:
		a := answer{value: m.Response}
		if m.IsError {
			a = answer{err: &HostError{m.Error}}
		}
		c.state.resolve(m.RequestID, a)
	case protocol.ControlCancel:
		c.state.withdraw(m.RequestID)
	case protocol.Environment:
		h.Environment(m.Variables)
	}
}

// request registers a control request before the handler sees it, so that the
// line which withdraws it, perhaps the very next one, finds it.
func (c *Conn) request(h Handler, m protocol.ControlRequest) {
	r := &Request{ControlRequest: m, conn: c}
	r.ctx, r.cancel = context.WithCancel(c.state.over)
	if !c.state.register(r) {
		r.cancel()
		c.fail(m.ID, "there is already an open request with this request_id")
		return
	}
	h.Request(r)
}

// refuse reports a line that is no message, and answers if it was to be a request.
func (c *Conn) refuse(bad *protocol.LineError) {
	c.report(bad.Error())
	if bad.RequestID != "" {
		c.fail(bad.RequestID, "the request cannot be read: "+bad.Reason)
	}
}

// fail answers a request that never came into the table.
func (c *Conn) fail(id, message string) {
	c.state.post(c.encodeReply(&protocol.Reply{RequestID: id, Error: message}))
}

// report writes one line to stderr, which may be the only trace of a lost message.
func (c *Conn) report(text string) {
	switch c.reports++; {
	case c.reports < maxReports:
		fmt.Fprintf(c.stderr, "takeback: stdin: %s\n", text)
	case c.reports == maxReports:
		fmt.Fprintf(c.stderr, "takeback: stdin: %s; more such lines are not reported\n", text)
	}
}

// longLine describes a line that was skipped, of which head is known.
func longLine(head []byte, length, limit int) *protocol.LineError {
	bad := &protocol.LineError{}
	_, err := protocol.Decode(head)
	errors.As(err, &bad) // for the request's id
	bad.Len, bad.Reason = length, fmt.Sprintf("longer than %d bytes", limit)
	return bad
}
