package anthropic

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"
)

func TestRetryAfter(t *testing.T) {
	const none = -1
	synctest.Test(t, func(t *testing.T) {
		for _, tc := range []struct {
			headers map[string]string
			want    time.Duration
			passes  bool
		}{
			{map[string]string{}, none, true},
			{map[string]string{"Retry-After": "0"}, 0, true},
			{map[string]string{"Retry-After": "7"}, 7 * time.Second, true},
			{map[string]string{"Retry-After": "0.5"}, 500 * time.Millisecond, true},
			{map[string]string{"Retry-After-Ms": "20", "Retry-After": "7"}, 20 * time.Millisecond, true},
			{map[string]string{"Retry-After": time.Now().Add(time.Minute).UTC().Format(http.TimeFormat)}, time.Minute, true},
			{map[string]string{"Retry-After": "soon"}, none, true},
			{map[string]string{"Retry-After": "61"}, 61 * time.Second, false},
			{map[string]string{"X-Should-Retry": "false"}, none, false},
		} {
			res := &http.Response{StatusCode: 429, Header: http.Header{}}
			for name, value := range tc.headers {
				res.Header.Set(name, value)
			}
			after, got := retryAfter(res), time.Duration(none)
			if after != nil {
				got = *after
			}
			if got != tc.want || passes(res, after) != tc.passes {
				t.Errorf("%v: %v, passes %v", tc.headers, got, passes(res, after))
			}
		}
	})
	model, requests := serve(t, Options{}, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Retry-After", "90")
		refuse(429, "rate_limit_error", "a")(w, r)
	})
	_, err := ask(t.Context(), model)
	if checkSentence(t, failed(t, err).Message, "It asks to wait 1m30s."); requests.Load() != 1 {
		t.Errorf("%d requests", requests.Load())
	}
}

func TestDelayDoublesUpToALimit(t *testing.T) {
	var least, most time.Duration
	for attempt := 1; attempt <= defaultRetries; attempt++ {
		whole := defaultDelay << min(attempt-1, 4)
		for range 100 {
			if d := delay(defaultDelay, attempt, nil); d > whole || d < whole*3/4-1 {
				t.Fatalf("attempt %d: %v", attempt, d)
			}
		}
		least, most = least+whole*3/4, most+whole
	}
	if least < 40*time.Second || most > 60*time.Second {
		t.Errorf("retries span %v to %v", least, most)
	}
	asked := time.Second
	if d := delay(time.Hour, 9, &asked); d != asked {
		t.Errorf("asked for a second, got %v", d)
	}
}
