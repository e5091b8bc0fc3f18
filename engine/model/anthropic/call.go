package anthropic

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/anthropics/anthropic-sdk-go/v2/packages/ssestream"
	"github.com/goccy/go-json/jsontext"

	"takeback/engine"
	"takeback/protocol"
)

// httpClient goes through a proxy if the environment says so, as everything else does. It
// follows no redirect: the key would go along, to whoever the answer names.
func httpClient() *http.Client {
	return &http.Client{
		Transport: &http.Transport{
			Proxy: http.ProxyFromEnvironment,
			// A host that is gone without a trace must not use up the time that retries have.
			DialContext:         (&net.Dialer{Timeout: 10 * time.Second}).DialContext,
			TLSHandshakeTimeout: 10 * time.Second,
			ForceAttemptHTTP2:   true,
			// A computer that slept has connections that look alive. The ping finds out.
			HTTP2:              &http.HTTP2Config{SendPingTimeout: 15 * time.Second},
			IdleConnTimeout:    90 * time.Second, // as http.DefaultTransport
			DisableCompression: true,             // a compressed stream comes in lumps
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// call is one request, to be sent until it is answered.
type call struct {
	*model
	name string // of the model that is asked
	body []byte
}

var (
	errNoHeaders = errors.New("no answer in time")
	errIdle      = errors.New("the answer fell silent")
)

// attempt sends the request and yields the events of the answer. It returns nil when there is nothing more
// to do: the message is complete, or the receiver wants no more.
func (c *call) attempt(ctx context.Context, yield func(jsontext.Value, error) bool) *failure {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	res, failed := c.open(ctx, cancel)
	if failed != nil {
		return failed
	}
	res.Body = watch(res.Body, c.options.IdleTimeout, func() { cancel(errIdle) })
	defer res.Body.Close()

	heard := false
	for events := ssestream.NewDecoder(res); ; {
		if !events.Next() {
			return c.broken(ctx, events.Err(), heard)
		}
		event := jsontext.Value(events.Event().Data)
		if len(bytes.TrimSpace(event)) == 0 {
			continue
		}
		kind, failed := c.read(&event, heard)
		switch {
		case failed != nil:
			return failed
		case kind == "ping":
			continue
		}
		heard = true
		if !yield(event, nil) || kind == "message_stop" {
			return nil
		}
	}
}

// open sends the request and returns a response that streams.
func (c *call) open(ctx context.Context, cancel context.CancelCauseFunc) (*http.Response, *failure) {
	timer := time.AfterFunc(c.options.HeaderTimeout, func() { cancel(errNoHeaders) })
	defer timer.Stop()
	var res *http.Response
	err := c.client.Post(ctx, "v1/messages", c.body, &res)
	switch {
	case res == nil:
		return nil, c.unreachable(ctx, err)
	case res.StatusCode != http.StatusOK:
		return nil, c.refused(res)
	case strings.Contains(res.Header.Get("Content-Type"), "html"), strings.Contains(res.Header.Get("Content-Type"), "json"):
		res.Body.Close()
		return nil, c.notAStream(res)
	}
	return res, nil
}

// watched is a body that may not fall silent. The time the receiver takes does not count: a slow
// host is no dead server. Any byte is a sign of life, a ping too.
type watched struct {
	io.ReadCloser
	timer *time.Timer
	limit time.Duration
}

func watch(body io.ReadCloser, limit time.Duration, silent func()) *watched {
	timer := time.AfterFunc(limit, silent)
	timer.Stop()
	return &watched{body, timer, limit}
}

func (w *watched) Read(p []byte) (int, error) {
	w.timer.Reset(w.limit)
	defer w.timer.Stop()
	return w.ReadCloser.Read(p)
}

// lenient is how events are read: what a server sends is passed on rather than judged.
var lenient = []jsontext.Options{jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)}

// read checks an event and puts it on one line.
func (c *call) read(event *jsontext.Value, heard bool) (kind string, failed *failure) {
	var e struct {
		Type  string   `json:"type"`
		Error apiError `json:"error"`
	}
	err := event.Compact(lenient...)
	if err == nil {
		err = protocol.Unmarshal(*event, &e)
	}
	if err != nil {
		return "", c.garbled(err)
	}
	if e.Type == "error" {
		return "", c.failedInStream(e.Error, heard)
	}
	return e.Type, nil
}

// broken explains a stream that ended before the message did.
func (c *call) broken(ctx context.Context, err error, heard bool) *failure {
	if context.Cause(ctx) == errIdle {
		return c.timedOut(errIdle, c.options.IdleTimeout)
	}
	if err == nil {
		err = io.ErrUnexpectedEOF
	}
	return &failure{
		ModelError: engine.ModelError{Kind: "server_error", Err: err,
			Message: "The answer of " + c.host + " broke off before it was complete. Send the message again."},
		passing: !heard,
	}
}
