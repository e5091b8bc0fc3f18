package peer

import (
	"context"
	"fmt"
	"sync"

	"github.com/goccy/go-json/jsontext"
)

// state is all that is in flight, in both directions, behind one lock. No
// method blocks, and none calls out.
type state struct {
	mu       sync.Mutex
	requests map[string]*Request // of the host, not yet answered
	calls    map[string]*call    // to the host, not yet answered
	replies  lane
	stream   lane
	eof      bool  // no answers any more
	closing  bool  // nothing new goes out
	gone     bool  // nothing goes out
	err      error // why, if not by closing

	work chan struct{} // holds a token when the writer has something to look at
	room chan struct{} // closed, and made anew, when the stream lane has become shorter
	over context.Context
	end  context.CancelFunc // makes Gone true
}

// call is a question to the host.
type call struct {
	id       string
	question *outgoing
	answer   chan answer // takes one
}

type answer struct {
	value jsontext.Value
	err   error
}

func newState() *state {
	over, end := context.WithCancel(context.Background())
	return &state{
		requests: map[string]*Request{},
		calls:    map[string]*call{},
		work:     make(chan struct{}, 1),
		room:     make(chan struct{}),
		over:     over,
		end:      end,
	}
}

// wake makes the writer look again. mu is held.
func (s *state) wake() {
	select {
	case s.work <- struct{}{}:
	default:
	}
}

// madeRoom lets those who wait for the stream lane try again. mu is held.
func (s *state) madeRoom() {
	close(s.room)
	s.room = make(chan struct{})
}

// register notes a request as in flight. It is false if its id already is.
func (s *state) register(r *Request) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.requests[r.ID] != nil {
		return false
	}
	s.requests[r.ID] = r
	return true
}

// withdraw ends the context of a request that is in flight.
func (s *state) withdraw(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := s.requests[id]; r != nil {
		r.cancel()
	}
}

// retire takes a request off the table and queues its answer. In this order,
// since the host may use the id again as soon as it reads the answer.
func (s *state) retire(r *Request, line []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.answered {
		panic("peer: a second answer to the control request " + r.ID)
	}
	r.answered = true
	r.cancel()
	delete(s.requests, r.ID)
	s.queueReply(line)
}

// post queues a frame on the lane of the replies.
func (s *state) post(line []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queueReply(line)
}

// queueReply makes the host count as dead when it has left too much unread. mu is held.
func (s *state) queueReply(line []byte) {
	if s.gone || s.closing || len(line) == 0 {
		return
	}
	s.replies.push(&outgoing{line})
	if s.replies.bytes > maxReplyBytes {
		s.fail(fmt.Errorf("%w: it does not read its answers", ErrGone))
		return
	}
	s.wake()
}

// offer queues a stream frame. If the lane is full it gives a channel that is
// closed when that may have changed. c is the call that f belongs to, or nil.
func (s *state) offer(f *outgoing, c *call) (full <-chan struct{}, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.gone || s.closing || c != nil && s.eof {
		return nil, ErrGone
	}
	if !s.stream.hasRoom(len(f.line)) {
		return s.room, nil
	}
	s.stream.push(f)
	if c != nil {
		s.calls[c.id] = c
	}
	s.wake()
	return nil, nil
}

// resolve gives a call its answer. An id that is not open is a late answer.
func (s *state) resolve(id string, a answer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c := s.calls[id]; c != nil {
		delete(s.calls, id)
		c.answer <- a
	}
}

// abandon ends a call whose caller has gone. cancel is queued if the host has
// the question; on the reply lane, which does not block: the question is out of
// the other lane, so it cannot be overtaken.
func (s *state) abandon(c *call, cancel []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.calls[c.id] != c {
		return
	}
	delete(s.calls, c.id)
	if s.stream.remove(c.question) {
		s.madeRoom()
		return
	}
	s.queueReply(cancel)
}

// next takes the next frame to write, nil if there is none.
func (s *state) next() *outgoing {
	s.mu.Lock()
	defer s.mu.Unlock()
	if f := s.replies.pop(); f != nil {
		return f
	}
	f := s.stream.pop()
	if f != nil {
		s.madeRoom()
	}
	return f
}

// drained tells whether the writer's work is done for good.
func (s *state) drained() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closing && len(s.replies.frames)+len(s.stream.frames) == 0 {
		s.fail(nil)
	}
	return s.gone
}

// inputEnded fails the open calls, and takes back those that wait.
func (s *state) inputEnded() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.eof = true
	s.failCalls()
}

// close lets nothing new in.
func (s *state) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closing = true
	s.failCalls()
	s.wake()
}

// hangUp is for when nothing can be written any more.
func (s *state) hangUp(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fail(fmt.Errorf("%w: %w", ErrGone, err))
}

// failure is why not all was sent, nil if all was.
func (s *state) failure() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// fail lets go of all that is queued or open. mu is held.
func (s *state) fail(err error) {
	if s.gone {
		return
	}
	s.gone, s.err = true, err
	s.failCalls()
	s.replies, s.stream = lane{}, lane{}
	s.wake()
	s.end()
}

// failCalls is for when no answers will come. mu is held.
func (s *state) failCalls() {
	for id, c := range s.calls {
		delete(s.calls, id)
		s.stream.remove(c.question)
		c.answer <- answer{err: ErrGone}
	}
	s.madeRoom()
}
