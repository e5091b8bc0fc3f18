package anthropic

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"

	"takeback/engine"
)

// failure is an attempt that came to nothing.
type failure struct {
	engine.ModelError
	passing    bool           // another attempt may succeed
	retryAfter *time.Duration // what the server asks for, nil if it does not
}

// after is what the user is told once no more attempts are made.
func (f *failure) after(attempts int) *engine.ModelError {
	told := f.ModelError
	if attempts > 1 {
		told.Message += fmt.Sprintf(" (Tried %d times.)", attempts)
	}
	return &told
}

// longestWait is the longest a server may ask for. Beyond it the user is better told.
const longestWait = time.Minute

// passes tells whether an answer with this status may be another one next time.
func passes(res *http.Response, retryAfter *time.Duration) bool {
	if retryAfter != nil && *retryAfter > longestWait {
		return false
	}
	switch res.Header.Get("x-should-retry") { // the API knows better than its status
	case "true":
		return true
	case "false":
		return false
	}
	switch res.StatusCode {
	case http.StatusRequestTimeout, http.StatusConflict, http.StatusTooManyRequests:
		return true
	}
	return res.StatusCode >= 500
}

// retryAfter reads what the server asks for, in milliseconds, in seconds or as a date.
func retryAfter(res *http.Response) *time.Duration {
	after := res.Header.Get("retry-after")
	var d time.Duration
	if ms, err := strconv.ParseFloat(res.Header.Get("retry-after-ms"), 64); err == nil {
		d = time.Duration(ms * float64(time.Millisecond))
	} else if seconds, err := strconv.ParseFloat(after, 64); err == nil {
		d = time.Duration(seconds * float64(time.Second))
	} else if date, err := http.ParseTime(after); err == nil {
		d = time.Until(date)
	} else {
		return nil
	}
	return &d
}

// delay doubles from attempt to attempt, up to 16-fold. Up to a quarter is taken off at random, so that
// clients which failed together do not come back together.
func delay(base time.Duration, attempt int, retryAfter *time.Duration) time.Duration {
	if retryAfter != nil {
		return *retryAfter
	}
	d := base << min(attempt-1, 4)
	return d - rand.N(d/4+1)
}

func wait(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
