package anthropic

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"takeback/engine"
	"takeback/protocol"
)

// apiError is how the API explains itself.
type apiError struct {
	Type    string `json:"type"`
	Message string `json:"message"`
}

// statuses are those of the error types,
// https://platform.claude.com/docs/en/api/errors#http-errors. An error in a stream has only its type.
var statuses = map[string]int{
	"invalid_request_error": 400,
	"authentication_error":  401,
	"billing_error":         402,
	"permission_error":      403,
	"not_found_error":       404,
	"conflict_error":        409,
	"request_too_large":     413,
	"rate_limit_error":      429,
	"api_error":             500,
	"timeout_error":         504,
	"overloaded_error":      529,
}

// refused explains an answer with an error status.
func (c *call) refused(res *http.Response) *failure {
	defer res.Body.Close()
	var body struct {
		Error apiError `json:"error"`
	}
	// A body that is no JSON, an HTML page of a proxy for one, says nothing to the user.
	if data, err := io.ReadAll(io.LimitReader(res.Body, 1<<20)); err == nil {
		_ = protocol.Unmarshal(data, &body)
	}
	after := retryAfter(res)
	told := c.explain(res.StatusCode, body.Error)
	if after != nil && *after > longestWait {
		told.Message += fmt.Sprintf(" It asks to wait %s.", after.Round(time.Second))
	}
	if location := res.Header.Get("Location"); location != "" && res.StatusCode < 400 {
		told.Message += " It redirects to " + oneLine(location) + "."
	}
	return &failure{ModelError: told, passing: passes(res, after), retryAfter: after}
}

// failedInStream explains an error that came as an event.
func (c *call) failedInStream(e apiError, heard bool) *failure {
	status := cmp.Or(statuses[e.Type], 500)
	passing := !heard && (status >= 500 || status == 429)
	return &failure{ModelError: c.explain(status, e), passing: passing}
}

// explain says what a status means, to whom it happened, and what to do next.
func (c *call) explain(status int, e apiError) engine.ModelError {
	said := ""
	if e.Message != "" {
		said = ": " + strings.TrimRight(oneLine(e.Message), ".")
	}
	answered := fmt.Sprintf("%s answered %d%s.", c.host, status, said)
	kind, message := "", ""
	switch {
	case status == 401:
		kind, message = "authentication_failed", "Invalid API key · Please run /login or set ANTHROPIC_API_KEY. "+answered
	case status == 403:
		kind, message = "authentication_failed", fmt.Sprintf("This key may not use %s. %s Ask for access, or set ANTHROPIC_API_KEY to another key.", c.name, answered)
	case status == 402, status == 400 && strings.Contains(e.Message, "credit balance"):
		kind, message = "billing_error", fmt.Sprintf("Credit balance is too low. %s Add credit, or set ANTHROPIC_API_KEY to another key.", answered)
	case status == 404:
		kind, message = "model_not_found", fmt.Sprintf("There is no model %s at %s%s. Choose another with --model or ANTHROPIC_MODEL, or correct ANTHROPIC_BASE_URL.", c.name, c.host, said)
	case status == 413, status == 400 && overflows(e.Message):
		kind, message = "invalid_request", fmt.Sprintf("Prompt is too long: the conversation is more than %s takes. %s Go back to an earlier message, or start a new session.", c.name, answered)
	case status == 429:
		kind, message = "rate_limit", fmt.Sprintf("The rate limit for %s is reached. %s Wait a while, then send the message again.", c.name, answered)
	case status == 529:
		kind, message = "overloaded", fmt.Sprintf("%s is overloaded%s. Wait a while, then send the message again, or choose another model than %s.", c.host, said, c.name)
	case status >= 500, status == 408, status == 409:
		kind, message = "server_error", fmt.Sprintf("%s failed to answer for %s (status %d%s). Send the message again.", c.host, c.name, status, said)
	case status < 400:
		kind, message = "invalid_request", fmt.Sprintf("%s does not answer the Messages API (status %d). Correct ANTHROPIC_BASE_URL.", c.host, status)
	default:
		kind, message = "invalid_request", fmt.Sprintf("%s refused the request for %s (status %d%s). Go back to an earlier message, or start a new session.", c.host, c.name, status, said)
	}
	return engine.ModelError{
		Kind: kind, Status: status, Message: message,
		Refused: kind == "invalid_request",
		TooLong: status == 413 || status == 400 && overflows(e.Message),
	}
}

// overflows recognises a conversation that does not fit the context window: the API has no type of
// its own for it, and other endpoints word it differently.
func overflows(message string) bool {
	message = strings.ToLower(message)
	for _, sign := range []string{"prompt is too long", "context window", "context limit", "context length", "maximum context"} {
		if strings.Contains(message, sign) {
			return true
		}
	}
	return false
}

// unreachable explains why there is no response at all.
func (c *call) unreachable(ctx context.Context, err error) *failure {
	if context.Cause(ctx) == errNoHeaders {
		return c.timedOut(errNoHeaders, c.options.HeaderTimeout)
	}
	told := engine.ModelError{Kind: "server_error", Err: err,
		Message: fmt.Sprintf("Could not reach %s: %s. Check the network and ANTHROPIC_BASE_URL, then send the message again.", c.host, reason(err))}
	_, untrusted := errors.AsType[*tls.CertificateVerificationError](err)
	return &failure{ModelError: told, passing: !untrusted}
}

// reason is the part of a network error that tells a user something.
func reason(err error) string {
	if dns, ok := errors.AsType[*net.DNSError](err); ok {
		return dns.Err
	}
	if op, ok := errors.AsType[*net.OpError](err); ok {
		err = op.Err
	}
	if errors.Is(err, io.EOF) {
		return "it closed the connection"
	}
	return oneLine(err.Error())
}

func (c *call) timedOut(err error, limit time.Duration) *failure {
	message := fmt.Sprintf("%s did not begin to answer within %s.", c.host, limit)
	if err == errIdle {
		message = fmt.Sprintf("The answer of %s stopped, and nothing came for %s.", c.host, limit)
	}
	return &failure{ModelError: engine.ModelError{Kind: "server_error", Err: err, Message: message + " Send the message again."}}
}

func (c *call) notAStream(res *http.Response) *failure {
	told := engine.ModelError{Kind: "invalid_request", Status: res.StatusCode,
		Message: fmt.Sprintf("%s does not answer the Messages API: it sent %q and not a stream of events. Correct ANTHROPIC_BASE_URL.", c.host, oneLine(res.Header.Get("Content-Type")))}
	return &failure{ModelError: told}
}

func (c *call) garbled(err error) *failure {
	told := engine.ModelError{Kind: "server_error", Err: err,
		Message: fmt.Sprintf("The answer of %s for %s contains an event that is not JSON. Send the message again.", c.host, c.name)}
	return &failure{ModelError: told}
}

// oneLine keeps a foreign text from filling the screen.
func oneLine(text string) string {
	const most = 300
	text = strings.Join(strings.Fields(text), " ")
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return text
}
