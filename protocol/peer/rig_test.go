package peer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"takeback/protocol"
)

// rig is a connection with a host and a handler that do what a test says. It
// lives in a synctest bubble: each step is over when all goroutines wait, and the
// bubble fails a test that leaves one behind.
type rig struct {
	t      *testing.T
	conn   *Conn
	stdin  *io.PipeWriter
	stdout *stdout
	stderr strings.Builder

	mu       sync.Mutex
	events   []string // what the handler saw
	requests map[string]*Request
	calls    map[string]*openCall
	sends    map[string]chan error
	asked    string // the id of the newest question
}

type openCall struct {
	cancel context.CancelFunc
	result chan string
}

func newRig(t *testing.T, opts Options) *rig {
	in, stdin := io.Pipe()
	r := &rig{t: t, stdin: stdin, stdout: &stdout{}, requests: map[string]*Request{}, calls: map[string]*openCall{}, sends: map[string]chan error{}}
	opts.Stderr = &r.stderr
	r.conn = New(in, r.stdout, opts)
	return r
}

// stdout is the host's end of our stdout.
type stdout struct {
	mu     sync.Mutex
	gate   chan struct{} // not nil while the host does not read; closed when it reads again
	err    error
	writes []string
}

func (s *stdout) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.gate != nil && s.err == nil {
		gate := s.gate
		s.mu.Unlock()
		<-gate
		s.mu.Lock()
	}
	if s.err != nil {
		return 0, s.err
	}
	s.writes = append(s.writes, string(p))
	return len(p), nil
}

func (s *stdout) stall() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.gate = make(chan struct{})
}

func (s *stdout) resume(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = err
	if s.gate != nil {
		close(s.gate)
		s.gate = nil
	}
}

// The handler only writes down.
func (r *rig) event(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, fmt.Sprintf(format, args...))
}

func (r *rig) User(u protocol.User)               { r.event("user %s", u.Message.Content.Text()) }
func (r *rig) Environment(vars map[string]string) { r.event("environment %v", vars) }
func (r *rig) EOF()                               { r.event("eof") }
func (r *rig) Request(q *Request) {
	r.event("request %s %s", q.ID, q.Subtype)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.requests[q.ID] = q
}

// step is one thing that happens or that is to have happened.
type step func(r *rig)

func (r *rig) run(steps ...step) {
	r.t.Helper()
	for _, step := range steps {
		step(r)
		synctest.Wait()
	}
}

// in sends lines.
func in(lines ...string) step {
	return func(r *rig) {
		if _, err := io.WriteString(r.stdin, strings.Join(lines, "\n")+"\n"); err != nil {
			r.t.Fatal(err)
		}
	}
}

func eof(r *rig)    { _ = r.stdin.Close() }
func stall(r *rig)  { r.stdout.stall() }
func resume(r *rig) { r.stdout.resume(nil) }
func hangUp(r *rig) { r.stdout.resume(io.ErrClosedPipe) }

var uuids = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)

// out checks that these lines and no others have been written since the last time. Our ids are <id> here.
func out(want ...string) step {
	return func(r *rig) {
		r.t.Helper()
		r.stdout.mu.Lock()
		defer r.stdout.mu.Unlock()
		got := []string{}
		for _, line := range r.stdout.writes {
			if !strings.HasSuffix(line, "\n") {
				r.t.Errorf("one write that is no line: %q", line)
			}
			if id := uuids.FindString(line); id != "" {
				r.asked = id
			}
			got = append(got, uuids.ReplaceAllString(strings.TrimSuffix(line, "\n"), "<id>"))
		}
		if !slices.Equal(got, want) {
			r.t.Errorf("written\n\t%s\nwant\n\t%s", strings.Join(got, "\n\t"), strings.Join(want, "\n\t"))
		}
		r.stdout.writes = nil
	}
}

// saw checks what the handler has been given since the last time.
func saw(want ...string) step {
	return func(r *rig) {
		r.t.Helper()
		r.mu.Lock()
		defer r.mu.Unlock()
		if !slices.Equal(r.events, want) {
			r.t.Errorf("handler saw %q, want %q", r.events, want)
		}
		r.events = nil
	}
}

func complained(want string) step {
	return func(r *rig) {
		r.t.Helper()
		if got := r.stderr.String(); got != want {
			r.t.Errorf("stderr\n got %q\nwant %q", got, want)
		}
		r.stderr.Reset()
	}
}

func reply(id string) step { return func(r *rig) { r.requests[id].Reply(nil) } }
func fail(id, text string) step {
	return func(r *rig) { r.requests[id].Fail(Failure{Message: text}) }
}

// canceled checks whether the context of a request is over.
func canceled(id string, want bool) step {
	return func(r *rig) {
		r.t.Helper()
		if got := r.requests[id].Context().Err() != nil; got != want {
			r.t.Errorf("the context of %s is over: %v", id, got)
		}
	}
}

func ask(name string) step {
	return func(r *rig) {
		ctx, cancel := context.WithCancel(r.t.Context())
		c := &openCall{cancel: cancel, result: make(chan string, 1)}
		r.calls[name] = c
		go func() {
			value, err := r.conn.Call(ctx, map[string]string{"subtype": name})
			if err != nil {
				value = []byte(err.Error())
			}
			c.result <- string(value)
		}()
	}
}

func cancelCall(name string) step { return func(r *rig) { r.calls[name].cancel() } }

// ended checks how a call ended; "" is for one that has not.
func ended(name, want string) step {
	return func(r *rig) {
		r.t.Helper()
		got := ""
		select {
		case got = <-r.calls[name].result:
			r.calls[name].cancel()
		default:
		}
		if got != want {
			r.t.Errorf("call %s: got %q, want %q", name, got, want)
		}
	}
}

// answerWith answers the newest question that out has seen.
func answerWith(body string) step {
	return func(r *rig) {
		in(`{"type":"control_response","response":{"request_id":"` + r.asked + `",` + body + `}}`)(r)
	}
}

func frame(text string) protocol.Frame { return &protocol.SessionState{State: text} }

func send(text string) step {
	return func(r *rig) {
		done := make(chan error, 1)
		r.sends[text] = done
		go func() { done <- r.conn.Send(r.t.Context(), frame(text)) }()
	}
}

// sent checks how a Send ended: "blocked", "ok" or the error.
func sent(text, want string) step {
	return func(r *rig) {
		r.t.Helper()
		got := "blocked"
		select {
		case err := <-r.sends[text]:
			if got = "ok"; err != nil {
				got = err.Error()
			}
		default:
		}
		if got != want {
			r.t.Errorf("send %s: %s, want %s", text, got, want)
		}
	}
}

// fill makes the stream lane full, with the writer stuck in a frame before it.
func fill(r *rig) {
	r.stdout.stall()
	for i := range maxStreamFrames + 1 {
		if err := r.conn.Send(r.t.Context(), frame(fmt.Sprint(i))); err != nil {
			r.t.Fatal(err)
		}
		synctest.Wait()
	}
}

func gone(want bool) step {
	return func(r *rig) {
		r.t.Helper()
		got := false
		select {
		case <-r.conn.Gone():
			got = true
		default:
		}
		if got != want {
			r.t.Errorf("gone: %v", got)
		}
	}
}

// closes ends the connection, and checks the error; nil, or one that it is.
func closes(want error) step {
	return func(r *rig) {
		r.t.Helper()
		if err := r.conn.Close(); !errors.Is(err, want) || (err == nil) != (want == nil) {
			r.t.Errorf("close: %v, want %v", err, want)
		}
	}
}
