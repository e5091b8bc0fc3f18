package script

import (
	"cmp"
	"errors"
	"fmt"
)

// ErrCut is how a played stream breaks off.
var ErrCut = errors.New("the stream broke off before the message was complete")

// Failure is an error step: what the Messages API would answer.
type Failure struct {
	Status     int    `json:"status"`
	Type       string `json:"type"`
	Message    string `json:"message"`
	RetryAfter *int   `json:"retry_after"` // seconds
	Times      int    `json:"times"`       // the request fails so often, then goes on; 0 means always
}

func (f *Failure) Error() string { return fmt.Sprintf("%d %s: %s", f.Status, f.Type, f.Message) }

// failures says what a status means. The types are those of
// https://platform.claude.com/docs/en/api/errors, the kinds those of engine.ModelError.
var failures = map[int]struct{ apiType, kind, message string }{
	400: {"invalid_request_error", "invalid_request", "The script lets this request be invalid."},
	401: {"authentication_error", "authentication_failed", "The script lets the key be invalid."},
	402: {"billing_error", "billing_error", "The script lets the credit be used up."},
	403: {"permission_error", "authentication_failed", "The script lets the key lack permission."},
	404: {"not_found_error", "model_not_found", "The script lets the model be unknown."},
	413: {"request_too_large", "invalid_request", "The script lets the request be too large."},
	429: {"rate_limit_error", "rate_limit", "The script lets the rate limit be reached."},
	500: {"api_error", "server_error", "The script lets the server fail."},
	529: {"overloaded_error", "overloaded", "The script lets the server be overloaded."},
}

// filled is f with the type and the message that its status brings.
func (f *Failure) filled() *Failure {
	known := failures[family(f.Status)]
	full := *f
	full.Type = cmp.Or(f.Type, known.apiType)
	full.Message = cmp.Or(f.Message, known.message)
	return &full
}

func (f *Failure) kind() string { return failures[family(f.Status)].kind }

// family is the status in failures that stands for status.
func family(status int) int {
	if _, ok := failures[status]; ok {
		return status
	}
	if status >= 500 {
		return 500
	}
	return 400
}
