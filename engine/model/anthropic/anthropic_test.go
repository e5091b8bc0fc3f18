package anthropic

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"takeback/engine"
	"takeback/protocol"
)

const complete = "event: message_start\ndata: {\"type\":\"message_start\"}\n\nevent: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"

// serve starts a server whose n-th answer is the n-th handler, the last one again and again.
func serve(t *testing.T, o Options, handlers ...http.HandlerFunc) (engine.Model, *atomic.Int32) {
	t.Helper()
	var requests atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n := int(requests.Add(1))
		handlers[min(n, len(handlers))-1](w, r)
	}))
	t.Cleanup(server.Close)
	o.BaseURL = server.URL
	if o.APIKey == "" && o.AuthToken == "" {
		o.APIKey = "k"
	}
	if o.RetryDelay == 0 {
		o.RetryDelay = time.Microsecond
	}
	return New(o), &requests
}

func answer(status int, contentType, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

func stream(body string) http.HandlerFunc {
	return answer(200, "text/event-stream; charset=utf-8", body)
}

func refuse(status int, apiType, message string) http.HandlerFunc {
	return answer(status, "application/json", fmt.Sprintf(`{"type":"error","error":{"type":%q,"message":%q},"request_id":"req_1"}`, apiType, message))
}

func ask(ctx context.Context, model engine.Model) (events []string, err error) {
	req := &engine.ModelRequest{Model: "claude-x", Messages: []protocol.Message{{Role: "user", Content: protocol.Text("a")}}}
	for event, err := range model.Stream(ctx, req) {
		if err != nil {
			return events, err
		}
		events = append(events, string(event))
	}
	return events, nil
}

func failed(t *testing.T, err error) *engine.ModelError {
	t.Helper()
	failed, ok := errors.AsType[*engine.ModelError](err)
	if !ok {
		t.Fatalf("error %v, want a model error", err)
	}
	return failed
}

func TestEachStatusIsExplained(t *testing.T) {
	const html = "<html><body><h1>Bad gateway</h1></body></html>"
	for _, tc := range []struct {
		name     string
		answer   http.HandlerFunc
		kind     string
		requests int32 // with two retries
		says     []string
	}{
		{"bad key", refuse(401, "authentication_error", "invalid x-api-key"), "authentication_failed", 1, []string{"Invalid API key · Please run /login or set ANTHROPIC_API_KEY", "invalid x-api-key"}},
		{"no permission", refuse(403, "permission_error", "no access"), "authentication_failed", 1, []string{"may not use claude-x", "ANTHROPIC_API_KEY"}},
		{"no credit", refuse(402, "billing_error", "pay first"), "billing_error", 1, []string{"Credit balance is too low", "pay first"}},
		{"no credit, said with a 400", refuse(400, "invalid_request_error", "Your credit balance is too low to access the Anthropic API."), "billing_error", 1, []string{"Add credit"}},
		{"unknown model", refuse(404, "not_found_error", "model: claude-x"), "model_not_found", 1, []string{"no model claude-x at 127.0.0.1", "--model"}},
		{"invalid", refuse(400, "invalid_request_error", "messages.0: nonsense"), "invalid_request", 1, []string{"refused the request for claude-x", "messages.0: nonsense"}},
		{"context overflow", refuse(400, "invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum"), "invalid_request", 1, []string{"Prompt is too long", "210000", "start a new session"}},
		{"too large", refuse(413, "request_too_large", "Request exceeds the maximum size"), "invalid_request", 1, []string{"Prompt is too long"}},
		{"rate limit", refuse(429, "rate_limit_error", "slow down"), "rate_limit", 3, []string{"rate limit for claude-x", "slow down", "(Tried 3 times.)"}},
		{"overloaded", refuse(529, "overloaded_error", "Overloaded"), "overloaded", 3, []string{"is overloaded", "Wait a while"}},
		{"server error", refuse(500, "api_error", "Internal"), "server_error", 3, []string{"failed to answer for claude-x", "500"}},
		{"time-out", refuse(408, "timeout_error", ""), "server_error", 3, []string{"408"}},
		{"conflict", refuse(409, "conflict_error", ""), "server_error", 3, []string{"409"}},
		{"teapot", answer(418, "text/plain", "short and stout"), "invalid_request", 1, []string{"418"}},
		{"HTML", answer(502, "text/html", html), "server_error", 3, []string{"status 502"}},
		{"HTML as an answer", answer(200, "text/html", html), "invalid_request", 1, []string{"does not answer the Messages API", "ANTHROPIC_BASE_URL"}},
		{"a document as an answer", answer(200, "application/json", "{}"), "invalid_request", 1, []string{"not a stream"}},
		{"redirect", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "https://example.com/v2", http.StatusFound)
		}, "invalid_request", 1, []string{"redirects to https://example.com/v2", "ANTHROPIC_BASE_URL"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			model, requests := serve(t, Options{Retries: 2}, tc.answer)
			_, err := ask(t.Context(), model)
			got := failed(t, err)
			if got.Kind != tc.kind || requests.Load() != tc.requests {
				t.Errorf("kind %s after %d requests, want %s after %d", got.Kind, requests.Load(), tc.kind, tc.requests)
			}
			checkSentence(t, got.Message, tc.says...)
		})
	}
}

func checkSentence(t *testing.T, message string, says ...string) {
	t.Helper()
	for _, part := range says {
		if !strings.Contains(message, part) {
			t.Errorf("%q does not say %q", message, part)
		}
	}
	if strings.ContainsAny(message, "<{\n") || strings.Contains(message, "..") || !strings.HasSuffix(strings.TrimSuffix(message, ")"), ".") {
		t.Errorf("not a sentence: %q", message)
	}
}

func TestRetriesUntilItIsAnswered(t *testing.T) {
	drop := func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }
	model, requests := serve(t, Options{}, refuse(529, "overloaded_error", "a"), drop, refuse(429, "rate_limit_error", "b"),
		stream("event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"c\"}}\n\n"), stream(""), stream(complete))
	events, err := ask(t.Context(), model)
	if err != nil || len(events) != 2 || requests.Load() != 6 {
		t.Errorf("%d events after %d requests, %v", len(events), requests.Load(), err)
	}
}

func TestRetriesEnd(t *testing.T) {
	model, requests := serve(t, Options{}, refuse(529, "overloaded_error", "a"))
	_, err := ask(t.Context(), model)
	if failed(t, err); requests.Load() != 11 {
		t.Errorf("%d requests, want 11", requests.Load())
	}
	model, requests = serve(t, Options{Retries: -1}, refuse(529, "overloaded_error", "a"))
	_, err = ask(t.Context(), model)
	if failed(t, err); requests.Load() != 1 {
		t.Errorf("%d requests, want 1", requests.Load())
	}
}

func TestNoRetryOnceSomethingWasHeard(t *testing.T) {
	const begun = "event: message_start\ndata: {\"type\":\"message_start\"}\n\n"
	for name, tc := range map[string]struct {
		answer http.HandlerFunc
		kind   string
	}{
		"cut": {stream(begun), "server_error"},
		"broken off": {func(w http.ResponseWriter, r *http.Request) {
			stream(begun)(w, r)
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}, "server_error"},
		"error event": {stream(begun + "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"full\"}}\n\n"), "overloaded"},
		"garbled":     {stream(begun + "event: content_block_start\ndata: {\"type\"\n\n"), "server_error"},
	} {
		t.Run(name, func(t *testing.T) {
			model, requests := serve(t, Options{}, tc.answer)
			events, err := ask(t.Context(), model)
			got := failed(t, err)
			if got.Kind != tc.kind || len(events) != 1 || requests.Load() != 1 {
				t.Errorf("%s after %d events and %d requests", got.Kind, len(events), requests.Load())
			}
			checkSentence(t, got.Message)
		})
	}
}

func TestEventsAreForwardedAsTheyCame(t *testing.T) {
	model, _ := serve(t, Options{}, stream(": a comment\n\nevent: ping\ndata: {\"type\": \"ping\"}\n\n"+
		"event: invented\ndata: {\"type\":\"invented\",\ndata: \"x\":1.50,\"é\":\"\\u00e9\"}\n\ndata: {\"type\":\"nameless\"}\n\nevent: empty\n\n"+complete))
	events, err := ask(t.Context(), model)
	want := []string{`{"type":"invented","x":1.50,"é":"\u00e9"}`, `{"type":"nameless"}`, `{"type":"message_start"}`, `{"type":"message_stop"}`}
	if err != nil || strings.Join(events, "\n") != strings.Join(want, "\n") {
		t.Errorf("events\n%s\n%v", strings.Join(events, "\n"), err)
	}
}

func TestWithoutAKeyNothingIsSent(t *testing.T) {
	t.Setenv("ANTHROPIC_API_KEY", "not ours to read")
	for name, o := range map[string]Options{"no key": {}, "blank": {APIKey: " \n"}, "two lines": {APIKey: "a\nb"}} {
		server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Errorf("%s: a request was sent", name) }))
		o.BaseURL = server.URL
		_, err := ask(t.Context(), New(o))
		got := failed(t, err)
		checkSentence(t, got.Message, "Please run /login or set ANTHROPIC_API_KEY")
		if got.Kind != "authentication_failed" {
			t.Errorf("%s: %+v", name, got)
		}
		server.Close()
	}
	for _, address := range []string{"localhost:8080", "ftp://example.com", "://", "/v1"} {
		_, err := ask(t.Context(), New(Options{BaseURL: address, APIKey: "k"}))
		checkSentence(t, failed(t, err).Message, "ANTHROPIC_BASE_URL")
	}
}

func TestHeaders(t *testing.T) {
	for _, name := range []string{"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_PROFILE"} {
		t.Setenv(name, "not-ours-to-read")
	}
	t.Setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:1")
	t.Setenv("ANTHROPIC_CUSTOM_HEADERS", "x-stray: 1")
	for name, tc := range map[string]struct {
		options Options
		want    map[string]string
	}{
		"key":    {Options{APIKey: " k\n", Betas: []string{"a-1", "b-2"}}, map[string]string{"x-api-key": "k", "Authorization": "", "anthropic-beta": "a-1,b-2", "anthropic-version": "2023-06-01", "x-stray": "", "Content-Type": "application/json", "traceparent": ""}},
		"bearer": {Options{APIKey: "k", AuthToken: "t"}, map[string]string{"x-api-key": "", "Authorization": "Bearer t", "anthropic-beta": ""}},
	} {
		t.Run(name, func(t *testing.T) {
			model, _ := serve(t, tc.options, func(w http.ResponseWriter, r *http.Request) {
				for header, want := range tc.want {
					if got := r.Header.Get(header); got != want {
						t.Errorf("%s: %q, want %q", header, got, want)
					}
				}
				if r.URL.Path != "/v1/messages" {
					t.Errorf("path %s", r.URL.Path)
				}
				stream(complete)(w, r)
			})
			if _, err := ask(t.Context(), model); err != nil {
				t.Fatal(err)
			}
		})
	}
}
