package peer

import (
	"cmp"
	"context"

	"takeback/protocol"
)

// Request is a control request of the host. It is answered once; a second answer panics.
type Request struct {
	protocol.ControlRequest
	conn     *Conn
	ctx      context.Context
	cancel   context.CancelFunc
	answered bool // state.mu guards it
}

// Context ends when the host withdraws the request or is gone, and with the answer.
func (r *Request) Context() context.Context { return r.ctx }

// Reply answers with success. It never blocks.
func (r *Request) Reply(response any) {
	r.conn.state.retire(r, r.conn.encodeReply(&protocol.Reply{RequestID: r.ID, Response: response}))
}

// Fail answers with an error. It never blocks.
func (r *Request) Fail(failure Failure) {
	r.conn.state.retire(r, r.conn.encodeReply(&protocol.Reply{
		RequestID: r.ID,
		Error:     cmp.Or(failure.Message, "failed"), // an empty one would make it a success
		ErrorCode: failure.Code,
		Detail:    failure.Detail,
	}))
}

// Failure is an error answer.
type Failure struct {
	Message string
	Code    string // a slug, or ""
	Detail  any    // an object whose members stand beside the message, or nil
}

// encodeReply turns an answer that cannot be sent into one that says so: the
// host waits for it. It is empty if not even the id fits.
func (c *Conn) encodeReply(r *protocol.Reply) []byte {
	line, err := protocol.Encode(r, c.maxFrame)
	if err != nil {
		line, _ = protocol.Encode(&protocol.Reply{RequestID: r.RequestID, Error: "the answer cannot be sent: " + err.Error()}, c.maxFrame)
	}
	return line
}
