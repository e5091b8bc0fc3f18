package anthropic

import (
	"context"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"
)

func TestAServerThatNeverAnswers(t *testing.T) {
	hang := func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // else the server does not notice that the client is gone
		<-r.Context().Done()
	}
	t.Run("at all", func(t *testing.T) {
		model, requests := serve(t, Options{HeaderTimeout: 20 * time.Millisecond}, hang)
		_, err := ask(t.Context(), model)
		got := failed(t, err)
		checkSentence(t, got.Message, "did not begin to answer within 20ms")
		if requests.Load() != 1 || got.Kind != "server_error" {
			t.Errorf("%s after %d requests", got.Kind, requests.Load())
		}
	})
	t.Run("any more", func(t *testing.T) {
		model, requests := serve(t, Options{IdleTimeout: 20 * time.Millisecond}, func(w http.ResponseWriter, r *http.Request) {
			stream("event: message_start\ndata: {\"type\":\"message_start\"}\n\n")(w, r)
			_ = http.NewResponseController(w).Flush()
			hang(w, r)
		})
		events, err := ask(t.Context(), model)
		got := failed(t, err)
		checkSentence(t, got.Message, "nothing came for 20ms")
		if len(events) != 1 || requests.Load() != 1 || got.Kind != "server_error" {
			t.Errorf("%s after %d events and %d requests", got.Kind, len(events), requests.Load())
		}
	})
}

// The clock is a fake one, so the body is one too.
func TestOnlySilenceCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		silent := false
		r, w := io.Pipe()
		body := watch(r, time.Minute, func() { silent = true; _ = w.CloseWithError(errIdle) })
		go func() {
			for range 5 { // signs of life, each just in time
				time.Sleep(59 * time.Second)
				_, _ = w.Write([]byte(":\n"))
			}
		}()
		buf := make([]byte, 2)
		for range 5 {
			if _, err := body.Read(buf); err != nil || silent {
				t.Fatal("taken for dead: ", err)
			}
			time.Sleep(10 * time.Minute) // the receiver is slow
		}
		begin := time.Now()
		if _, err := body.Read(buf); err != errIdle || time.Since(begin) != time.Minute {
			t.Errorf("%v after %v", err, time.Since(begin))
		}
	})
}

func TestCancelledWhileItWaitsToRetry(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	model, requests := serve(t, Options{RetryDelay: time.Hour}, func(w http.ResponseWriter, r *http.Request) {
		refuse(529, "overloaded_error", "a")(w, r)
		time.AfterFunc(5*time.Millisecond, cancel)
	})
	if _, err := ask(ctx, model); err != context.Canceled || requests.Load() != 1 {
		t.Errorf("%v after %d requests", err, requests.Load())
	}
}

func TestUnreachable(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	_ = listener.Close()
	_, err = ask(t.Context(), New(Options{BaseURL: "http://" + address, APIKey: "k", Retries: 1, RetryDelay: 1}))
	got := failed(t, err)
	checkSentence(t, got.Message, "Could not reach "+address, "refused", "ANTHROPIC_BASE_URL", "(Tried 2 times.)")
	if got.Kind != "server_error" || got.Status != 0 {
		t.Errorf("%+v", got)
	}
}

func TestUntrustedCertificate(t *testing.T) {
	server := httptest.NewUnstartedServer(stream(complete))
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	defer server.Close()
	_, err := ask(t.Context(), New(Options{BaseURL: server.URL, APIKey: "k", RetryDelay: time.Hour}))
	checkSentence(t, failed(t, err).Message, "certificate")
}
