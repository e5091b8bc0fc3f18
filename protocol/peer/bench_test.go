package peer

import (
	"io"
	"strings"
	"testing"

	"takeback/protocol"
)

// lastUser answers requests and remembers the last message.
type lastUser struct {
	text string
	eof  chan struct{}
}

func (h *lastUser) User(u protocol.User)          { h.text = u.Message.Content.Text() }
func (h *lastUser) Request(q *Request)            { q.Reply(nil) }
func (h *lastUser) Environment(map[string]string) {}
func (h *lastUser) EOF()                          { close(h.eof) }

// repeat reads as n lines.
type repeat struct {
	line string
	n    int
	rest string
}

func (r *repeat) Read(p []byte) (int, error) {
	if r.rest == "" {
		if r.n == 0 {
			return 0, io.EOF
		}
		r.n--
		r.rest = r.line
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

func BenchmarkRequests(b *testing.B) {
	line := request("req_1_0a1b2c3d") + "\n"
	b.SetBytes(int64(len(line)))
	b.ReportAllocs()
	h := &lastUser{eof: make(chan struct{})}
	conn := New(&repeat{line: line, n: b.N}, io.Discard, Options{})
	conn.Serve(h)
	<-h.eof
	if err := conn.Close(); err != nil {
		b.Fatal(err)
	}
}

func BenchmarkSend(b *testing.B) {
	conn := New(strings.NewReader(""), io.Discard, Options{})
	conn.Serve(&lastUser{eof: make(chan struct{})})
	f := frame("idle")
	b.ReportAllocs()
	for b.Loop() {
		if err := conn.Send(b.Context(), f); err != nil {
			b.Fatal(err)
		}
	}
	if err := conn.Close(); err != nil {
		b.Fatal(err)
	}
}
