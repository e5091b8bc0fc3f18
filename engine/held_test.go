package engine

import (
	"bufio"
	"context"
	"io"
	"iter"
	"log/slog"
	"strings"
	"testing"

	"github.com/goccy/go-json/jsontext"
	"github.com/google/uuid"

	"takeback/engine/session"
	"takeback/protocol"
	"takeback/protocol/peer"
)

type noModel struct{}

func (noModel) Stream(context.Context, *ModelRequest) iter.Seq2[jsontext.Value, error] { return nil }
func (noModel) Models() []ModelInfo                                                    { return []ModelInfo{{Value: "none"}} }

// requestsOf hands on the requests of a connection.
type requestsOf chan *peer.Request

func (c requestsOf) Request(r *peer.Request)       { c <- r }
func (c requestsOf) User(protocol.User)            {}
func (c requestsOf) Environment(map[string]string) {}
func (c requestsOf) EOF()                          {}

// A rewind that waits for the checkpoint of the next prompt is answered also when that prompt is cancelled. The
// window, between a result and the end of its turn, is too short to be met from outside: the test is the actor.
func TestHeldRewindBehindACancelledPrompt(t *testing.T) {
	place := session.Place{ConfigDir: t.TempDir(), Cwd: t.TempDir()}
	transcript, err := session.Create(place, uuid.NewString())
	if err != nil {
		t.Fatal(err)
	}
	out, stdout := io.Pipe()
	stdin := strings.NewReader(`{"type":"control_request","request_id":"r","request":{"subtype":"rewind_files","user_message_id":"u"}}` + "\n")
	conn := peer.New(stdin, stdout, peer.Options{})
	e := New(Config{Conn: conn, Model: noModel{}, Transcript: transcript, Cwd: place.Cwd, Log: slog.New(slog.DiscardHandler), Stderr: io.Discard})
	e.ctx = t.Context()
	asked := make(requestsOf, 1)
	conn.Serve(asked)

	over := newTurn(e, &prompt{})
	over.resultSent = true
	e.turn = over
	e.setQueue([]*prompt{{}})
	e.serving.Add(1)
	e.serve(<-asked)
	if e.files.next() != nil {
		t.Fatal("the rewind overtook the prompt before it")
	}
	e.setQueue(nil)
	e.turnEnded(over)
	job := e.files.next()
	if job == nil {
		t.Fatal("the rewind is held for ever")
	}
	job()
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || !strings.Contains(line, `"request_id":"r"`) || e.serving.Load() != 0 {
		t.Errorf("%s, %v, %d open", line, err, e.serving.Load())
	}
	if err := conn.Close(); err != nil {
		t.Error(err)
	}
}
