package peer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"

	"takeback/protocol"
)

func request(id string) string {
	return `{"type":"control_request","request_id":"` + id + `","request":{"subtype":"work"}}`
}
func cancelled(id string) string {
	return `{"type":"control_cancel_request","request_id":"` + id + `"}`
}
func ok(id string) string {
	return `{"type":"control_response","response":{"subtype":"success","request_id":"` + id + `","response":{}}}`
}
func failed(id, text string) string {
	return `{"type":"control_response","response":{"subtype":"error","request_id":"` + id + `","error":"` + text + `"}}`
}
func sentState(text string) string {
	return `{"type":"system","subtype":"session_state_changed","state":"` + text + `","session_id":"","uuid":""}`
}
func prompt(text string) string {
	return `{"type":"user","message":{"role":"user","content":"` + text + `"}}`
}
func question(name string) string {
	return `{"type":"control_request","request_id":"<id>","request":{"subtype":"` + name + `"}}`
}

const withdrawn = `{"type":"control_cancel_request","request_id":"<id>"}`

func filled(from int) []string {
	var lines []string
	for i := from; i <= maxStreamFrames; i++ {
		lines = append(lines, sentState(fmt.Sprint(i)))
	}
	return lines
}

func TestSteps(t *testing.T) {
	for _, tt := range []struct {
		name  string
		steps []step
	}{
		{"messages in order", []step{
			in(prompt("a"), request("r"), `{"type":"keep_alive"}`, "", `{"type":"dance"}`, `{"type":"update_environment_variables","variables":{"A":"1"}}`, prompt("b")),
			saw("user a", "request r work", "environment map[A:1]", "user b"),
			reply("r"), out(ok("r")), complained(""),
		}},
		{"cancel before dispatch", []step{
			// The handler only queues; the host's two lines come in one read.
			in(request("r"), cancelled("r")),
			saw("request r work"), canceled("r", true), out(),
			fail("r", "cancelled"), out(failed("r", "cancelled")),
		}},
		{"cancel twice", []step{
			in(request("r")), canceled("r", false),
			in(cancelled("r"), cancelled("r")), canceled("r", true),
			reply("r"), out(ok("r")),
			in(cancelled("r"), cancelled("nobody")), out(), complained(""),
		}},
		{"reply after cancel", []step{
			in(request("r"), request("s")), in(cancelled("r")),
			canceled("r", true), canceled("s", false),
			reply("r"), reply("s"), out(ok("r"), ok("s")),
		}},
		{"context ends with the answer", []step{in(request("r")), reply("r"), canceled("r", true), out(ok("r"))}},
		{"duplicate id", []step{
			in(request("r")), in(request("r")),
			saw("request r work"), out(failed("r", "there is already an open request with this request_id")), canceled("r", false),
			reply("r"), out(ok("r")),
			in(request("r")), saw("request r work"), reply("r"), out(ok("r")),
		}},
		{"cancel of a duplicate reaches the first", []step{
			in(request("r"), request("r"), cancelled("r")), canceled("r", true),
			out(failed("r", "there is already an open request with this request_id")), reply("r"), out(ok("r")),
		}},
		{"garbage line between good ones", []step{
			in(prompt("a"), `{"type":"user","mess`, "\xff\xfe\x00", `null`, prompt("b")),
			saw("user a", "user b"), out(),
			complained("takeback: stdin: line of 20 bytes: not valid JSON: unexpected EOF after offset 20\n" +
				"takeback: stdin: line of 3 bytes: not a JSON object\n" +
				"takeback: stdin: line of 4 bytes: not a JSON object\n"),
		}},
		{"garbage request is answered", []step{
			in(`{"type":"control_request","request_id":"r","request":{"subtype":`, request("s")),
			saw("request s work"),
			out(failed("r", "the request cannot be read: not valid JSON: unexpected EOF within \\\"/request/subtype\\\" after offset 64")),
			complained("takeback: stdin: line of 64 bytes: not valid JSON: unexpected EOF within \"/request/subtype\" after offset 64\n"),
			reply("s"), out(ok("s")),
		}},
		{"long number is answered", []step{
			in(`{"type":"control_request","request_id":"r","request":{"subtype":"work","n":` + strings.Repeat("9", 101) + `}}`),
			saw(), out(failed("r", "the request cannot be read: a number of more than 100 characters")),
		}},
		{"last line without LF", []step{
			func(r *rig) { _, _ = io.WriteString(r.stdin, prompt("a")) }, saw(),
			eof, saw("user a", "eof"),
		}},
		{"half a last line", []step{
			func(r *rig) { _, _ = io.WriteString(r.stdin, `{"type":`) },
			eof, saw("eof"), complained("takeback: stdin: line of 8 bytes: not valid JSON: unexpected EOF within \"/type\" after offset 8\n"),
		}},
		{"reading fails", []step{
			func(r *rig) { _ = r.stdin.CloseWithError(io.ErrNoProgress) },
			saw("eof"), complained("takeback: stdin: reading failed: " + io.ErrNoProgress.Error() + "\n"),
		}},
		{"replies go before the stream", []step{
			in(request("r")), fill, reply("r"), func(r *rig) { _ = r.conn.Post(frame("posted")) }, resume,
			out(append([]string{sentState("0"), ok("r"), sentState("posted")}, filled(1)...)...),
		}},
		{"stream lane blocks, replies do not", []step{
			in(request("r")), fill, send("late"), sent("late", "blocked"), reply("r"), sent("late", "blocked"),
			resume, sent("late", "ok"), out(append(append([]string{sentState("0"), ok("r")}, filled(1)...), sentState("late"))...),
		}},
		{"EOF with replies queued", []step{
			in(request("r"), request("s")), stall, send("a"), reply("r"), reply("s"), eof,
			saw("request r work", "request s work", "eof"), canceled("s", true), out(),
			send("b"), resume, sent("a", "ok"), sent("b", "ok"),
			closes(nil), out(sentState("a"), ok("r"), ok("s"), sentState("b")), gone(true),
		}},
		{"EOF is a half-close", []step{
			in(request("r")), eof, canceled("r", false), gone(false),
			send("a"), reply("r"), out(sentState("a"), ok("r")), closes(nil),
		}},
		{"close drains both lanes", []step{
			in(request("r")), fill, reply("r"),
			func(r *rig) { go resume(r) }, closes(nil),
			out(append([]string{sentState("0"), ok("r")}, filled(1)...)...),
			send("late"), sent("late", ErrGone.Error()), ask("x"), ended("x", ErrGone.Error()), closes(nil),
		}},
		{"stdout closed", []step{
			in(request("r"), request("s")), fill, send("late"), ask("x"), hangUp,
			gone(true), sent("late", ErrGone.Error()), ended("x", ErrGone.Error()), canceled("r", true),
			reply("r"), fail("s", "no"), send("later"), sent("later", ErrGone.Error()), out(),
			in(prompt("still read")), closes(io.ErrClosedPipe), closes(ErrGone),
		}},
		{"close while senders wait", []step{
			fill, send("late"), ask("x"), func(r *rig) { go func() { _ = r.conn.Close() }() },
			sent("late", ErrGone.Error()), ended("x", ErrGone.Error()),
			resume, gone(true), out(filled(0)...),
		}},

		{"call", []step{
			ask("x"), out(question("x")), ended("x", ""),
			answerWith(`"subtype":"success","response":{"a":1}`), ended("x", `{"a":1}`),
		}},
		{"call answered with an error", []step{
			ask("x"), out(question("x")), answerWith(`"subtype":"error","error":"no"`), ended("x", "no"),
		}},
		{"call answered without sense", []step{
			ask("x"), out(question("x")), answerWith(`"subtype":5`), ended("x", `response.subtype: expected success or error, but got ""`),
		}},
		{"answer to nobody", []step{
			in(`{"type":"control_response","response":{"subtype":"success","request_id":"nobody"}}`), saw(), complained(""),
		}},
		{"question in order with the stream", []step{
			stall, send("a"), ask("x"), send("b"), resume, out(sentState("a"), question("x"), sentState("b")),
			ended("x", ""), answerWith(`"subtype":"success","response":{}`), ended("x", "{}"),
		}},
		{"call cancelled while queued", []step{
			stall, send("a"), send("b"), ask("x"), send("c"), cancelCall("x"), ended("x", "context canceled"),
			resume, out(sentState("a"), sentState("b"), sentState("c")),
		}},
		{"call cancelled while the lane is full", []step{
			fill, ask("x"), ended("x", ""), cancelCall("x"), ended("x", "context canceled"), resume, out(filled(0)...),
		}},
		{"cancelled call makes room", []step{
			stall, send("a"), ask("x"),
			func(r *rig) {
				for i := range maxStreamFrames - 1 {
					_ = r.conn.Send(r.t.Context(), frame(fmt.Sprint(i)))
				}
			},
			send("late"), sent("late", "blocked"), cancelCall("x"), sent("late", "ok"), ended("x", "context canceled"),
		}},
		{"call cancelled on the wire", []step{
			ask("x"), out(question("x")), cancelCall("x"), ended("x", "context canceled"), out(withdrawn),
		}},
		{"call cancelled while being written", []step{
			stall, ask("x"), send("a"), cancelCall("x"), ended("x", "context canceled"), out(),
			resume, out(question("x"), withdrawn, sentState("a")),
		}},
		{"late answer", []step{
			ask("x"), out(question("x")), cancelCall("x"), ended("x", "context canceled"),
			answerWith(`"subtype":"success"`), out(withdrawn), saw(), complained(""),
		}},
		{"answer twice", []step{
			ask("x"), out(question("x")), answerWith(`"subtype":"success","response":{"a":1}`),
			answerWith(`"subtype":"error","error":"no"`), ended("x", `{"a":1}`), complained(""),
		}},
		{"EOF with an open call", []step{
			ask("x"), out(question("x")), eof, ended("x", ErrGone.Error()), saw("eof"), out(),
			ask("y"), ended("y", ErrGone.Error()), out(), send("a"), sent("a", "ok"), out(sentState("a")),
		}},
		{"EOF with a queued call", []step{
			stall, send("a"), ask("x"), eof, ended("x", ErrGone.Error()), resume, out(sentState("a")),
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, Options{})
				r.conn.Serve(r)
				r.run(tt.steps...)
				eof(r)
				resume(r)
				_ = r.conn.Close()
			})
		})
	}
}

func TestHostStopsReading(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Options{MaxFrame: 2 << 20})
		r.conn.Serve(r)
		r.run(stall, in(request("last")))
		big := map[string]string{"x": strings.Repeat("x", 1<<20)}
		n := 0
		for ; !r.conn.over(); n++ {
			id := fmt.Sprint(n)
			r.run(in(request(id)))
			r.requests[id].Reply(big)
		}
		if n < maxReplyBytes>>20 || n > maxReplyBytes>>20+2 {
			t.Errorf("the host counted as dead after %d replies of 1 MiB", n)
		}
		r.run(gone(true), canceled("last", true), closes(ErrGone), send("a"), sent("a", ErrGone.Error()), reply("last"))
		eof(r)
		resume(r)
	})
}

func (c *Conn) over() bool { return c.state.over.Err() != nil }

func TestStreamLaneIsBoundedInBytes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Options{MaxFrame: 64 << 20})
		r.conn.Serve(r)
		big := strings.Repeat("x", maxStreamBytes/2)
		r.run(stall, send("a"), send(big+"1"), sent(big+"1", "ok"), send(big+"2"), sent(big+"2", "blocked"),
			send("small"), sent("small", "ok"))
		r.run(resume, sent(big+"2", "ok"))
		huge := strings.Repeat("x", maxStreamBytes*2)
		r.run(send(huge), sent(huge, "ok"))
		eof(r)
		_ = r.conn.Close()
	})
}

func TestTenThousandRequestsAtOnce(t *testing.T) {
	const n = 10_000
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Options{})
		r.conn.Serve(atOnce{r})
		var lines []string
		for i := range n {
			lines = append(lines, request(fmt.Sprint(i)))
			if i%7 == 0 {
				lines = append(lines, cancelled(fmt.Sprint(i)))
			}
		}
		r.run(in(lines...), eof, closes(nil))
		answers := map[string]int{}
		for _, line := range r.stdout.writes {
			answers[line]++
		}
		for i := range n {
			if answers[ok(fmt.Sprint(i))+"\n"] != 1 {
				t.Fatalf("request %d has %d answers", i, answers[ok(fmt.Sprint(i))+"\n"])
			}
		}
		if len(answers) != n || len(r.conn.state.requests) != 0 {
			t.Errorf("%d lines, %d requests left", len(answers), len(r.conn.state.requests))
		}
	})
}

// atOnce answers each request on a goroutine of its own.
type atOnce struct{ *rig }

func (h atOnce) Request(q *Request) { go q.Reply(nil) }

func TestSecondAnswerPanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Options{})
		r.conn.Serve(r)
		r.run(in(request("r")), reply("r"), eof, closes(nil))
		defer func() {
			if text := fmt.Sprint(recover()); !strings.Contains(text, "second answer") {
				t.Errorf("got %s", text)
			}
		}()
		r.requests["r"].Fail(Failure{Message: "no"})
	})
}

func TestAnswersThatCannotBeSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Options{MaxFrame: 300})
		r.conn.Serve(r)
		r.run(in(request("a"), request("b"), request("c")))
		r.requests["a"].Reply(func() {})
		r.requests["b"].Fail(Failure{})
		r.requests["c"].Fail(Failure{Message: "no", Code: "slug", Detail: map[string]int{"x": 1}})
		synctest.Wait()
		got := strings.Join(r.stdout.writes, "")
		for _, want := range []string{
			`"request_id":"a","error":"the answer cannot be sent: `,
			`"request_id":"b","error":"failed"}`,
			`"request_id":"c","error":"no","error_code":"slug","x":1}`,
		} {
			if !strings.Contains(got, want) {
				t.Errorf("%s is not in %s", want, got)
			}
		}
		var long *protocol.TooLongError
		if _, err := r.conn.Call(t.Context(), map[string]string{"subtype": strings.Repeat("x", 300)}); !errors.As(err, &long) {
			t.Errorf("a long question: %v", err)
		}
		if err := r.conn.Send(t.Context(), frame("ok")); err != nil {
			t.Error(err)
		}
		over, cancel := context.WithCancel(t.Context())
		cancel()
		if err := r.conn.Send(over, frame("never")); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		r.run(eof, closes(nil))
	})
}

func TestComplaintsAreLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Options{})
		r.conn.Serve(r)
		r.run(in(strings.Repeat("garbage\n", 3*maxReports)+prompt("a")), saw("user a"), eof, closes(nil))
		lines := strings.Split(strings.TrimSuffix(r.stderr.String(), "\n"), "\n")
		if len(lines) != maxReports || !strings.HasSuffix(lines[maxReports-1], "more such lines are not reported") {
			t.Errorf("%d lines, the last is %q", len(lines), lines[len(lines)-1])
		}
	})
}
