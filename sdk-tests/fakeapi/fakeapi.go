// Package fakeapi is a Messages API on loopback that plays the scripts of
// takeback/engine/model/script over real HTTP, for tests that must not need a network, a
// key or luck. It is as strict about requests as the real API is, so that a
// conversation that passes here is one the real API would take.
package fakeapi

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"

	"github.com/goccy/go-json/jsontext"

	"takeback/engine/model/script"
	"takeback/protocol"
)

// Options say what a Server plays. The zero value takes each turn from its prompt.
type Options struct {
	Script string // a script file
	Log    string // a file to which each request is appended as a JSON line
}

// Request is one request as it came. It is also what a line of the log holds.
type Request struct {
	Method  string            `json:"method"`
	Path    string            `json:"path"`
	Headers map[string]string `json:"headers"` // names in lower case
	Body    jsontext.Value    `json:"body"`    // null if it is not JSON
	Problem string            `json:"problem,omitzero"`
}

// Server is a running API.
type Server struct {
	URL string // http://127.0.0.1:port

	script script.Script
	http   *http.Server
	served chan struct{}

	mu       sync.Mutex
	log      *os.File
	requests []Request
	attempts map[[sha256.Size]byte]int // by body: a retry sends the same
}

// New starts a server on a free port of the loopback interface.
func New(o Options) (*Server, error) {
	played, err := script.Load(o.Script)
	if err != nil {
		return nil, err
	}
	s := &Server{script: played, served: make(chan struct{}), attempts: map[[sha256.Size]byte]int{}}
	if o.Log != "" {
		if s.log, err = os.OpenFile(o.Log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600); err != nil {
			return nil, fmt.Errorf("fakeapi: %w", err)
		}
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, errors.Join(fmt.Errorf("fakeapi: %w", err), s.closeLog())
	}
	s.URL = "http://" + listener.Addr().String()
	s.http = &http.Server{Handler: s}
	go func() {
		defer close(s.served)
		_ = s.http.Serve(listener) // always returns an error; Close is the only way out
	}()
	return s, nil
}

// Close ends the server, and all that hangs by ending its connection.
func (s *Server) Close() error {
	err := s.http.Close()
	<-s.served
	return errors.Join(err, s.closeLog())
}

func (s *Server) closeLog() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.log == nil {
		return nil
	}
	err := s.log.Close()
	s.log = nil
	return err
}

// Requests returns the requests so far, retries included.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Request(nil), s.requests...)
}

// maxBody is the limit of the real API,
// https://platform.claude.com/docs/en/api/overview#request-size-limits
const maxBody = 32 << 20

func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	req, failure := s.check(r, body, err)
	attempt := s.record(r, body, failure)
	w.Header().Set("request-id", fmt.Sprintf("req_%d", attempt.number))
	if failure != nil {
		fail(w, failure)
		return
	}
	events := retried(s.script.Play(r.Context(), req.engineRequest()), attempt.ofBody)
	if req.Stream {
		stream(w, events)
	} else {
		answer(w, events)
	}
}

func (s *Server) check(r *http.Request, body []byte, err error) (*request, *script.Failure) {
	switch {
	case r.URL.Path != "/v1/messages":
		return nil, &script.Failure{Status: 404, Type: "not_found_error", Message: "Not found: " + r.URL.Path}
	case r.Method != http.MethodPost:
		return nil, &script.Failure{Status: 405, Type: "invalid_request_error", Message: "Method Not Allowed"}
	case err != nil:
		return nil, &script.Failure{Status: 413, Type: "request_too_large", Message: "Request exceeds the maximum size"}
	case !authorized(r):
		return nil, &script.Failure{Status: 401, Type: "authentication_error", Message: "x-api-key header is required"}
	case r.Header.Get("anthropic-version") == "":
		return nil, invalid("anthropic-version: header is required")
	}
	req, err := parse(body)
	if err != nil {
		return nil, invalid(err.Error())
	}
	return req, nil
}

func authorized(r *http.Request) bool {
	bearer, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	return r.Header.Get("x-api-key") != "" || ok && bearer != ""
}

func invalid(message string) *script.Failure {
	return &script.Failure{Status: 400, Type: "invalid_request_error", Message: message}
}

// attempt counts requests: all of them, and those that sent the same body.
type attempt struct{ number, ofBody int }

// record runs before the answer, so that a test that has the answer finds the request.
func (s *Server) record(r *http.Request, body []byte, failure *script.Failure) attempt {
	seen := Request{Method: r.Method, Path: r.URL.Path, Headers: map[string]string{}}
	for name, values := range r.Header {
		seen.Headers[strings.ToLower(name)] = strings.Join(values, ", ")
	}
	if value := jsontext.Value(body); value.IsValid() {
		seen.Body = value
	}
	if failure != nil {
		seen.Problem = failure.Message
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, seen)
	key := sha256.Sum256(body)
	s.attempts[key]++
	if s.log != nil {
		if line, err := protocol.Marshal(seen); err == nil {
			_, _ = s.log.Write(append(line, '\n')) // a test that misses the line will say so
		}
	}
	return attempt{len(s.requests), s.attempts[key]}
}
