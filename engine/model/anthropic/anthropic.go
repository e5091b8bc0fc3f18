// Package anthropic is a model behind an endpoint that speaks the Messages API.
package anthropic

import (
	"cmp"
	"context"
	"iter"
	"net/url"
	"strings"
	"time"
	"unicode"

	sdk "github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/option"
	"github.com/goccy/go-json/jsontext"

	"takeback/engine"
)

// Options say where the model is and how patient to be. The zero value needs only a key.
type Options struct {
	BaseURL   string   // default https://api.anthropic.com
	APIKey    string   // either this
	AuthToken string   // or this, which wins: it is what gateways are set up with
	Model     string   // what the model "default" is; an alias or a name the endpoint knows
	MaxTokens int      // most tokens of one answer; default: what the model can give
	Betas     []string // features to ask for with each request

	// Retries is how often a request is sent again that failed in passing, before anything was
	// heard. Default 10, negative none. With RetryDelay, which doubles up to 16-fold, that
	// spans 42 to 56 seconds: long enough for an overloaded service to recover, short enough
	// that a server which is gone ends in a result while somebody still waits for it.
	Retries    int
	RetryDelay time.Duration // default 500 ms

	// HeaderTimeout is how long an answer may take to begin, IdleTimeout how long it may fall silent.
	// Both end the call for good: the server may well be at work on the request, and asking again
	// would have it done, and billed, twice. Default 2 minutes each, since a model
	// on one's own machine may read a long conversation that long.
	HeaderTimeout time.Duration
	IdleTimeout   time.Duration
}

const (
	defaultRetries = 10
	defaultDelay   = 500 * time.Millisecond
	defaultTimeout = 2 * time.Minute
	defaultBaseURL = "https://api.anthropic.com"
)

type model struct {
	options Options
	client  sdk.Client
	host    string
	problem *engine.ModelError // why no request can be made
}

// New returns the model. What is wrong with the options is told by its first answer,
// since a session without a model can still rewind files.
func New(o Options) engine.Model {
	o.APIKey, o.AuthToken = strings.TrimSpace(o.APIKey), strings.TrimSpace(o.AuthToken)
	o.BaseURL = cmp.Or(strings.TrimSpace(o.BaseURL), defaultBaseURL)
	o.Retries = max(cmp.Or(o.Retries, defaultRetries), 0)
	o.RetryDelay = cmp.Or(o.RetryDelay, defaultDelay)
	o.HeaderTimeout = cmp.Or(o.HeaderTimeout, defaultTimeout)
	o.IdleTimeout = cmp.Or(o.IdleTimeout, defaultTimeout)
	m := &model{options: o}
	base, err := url.Parse(o.BaseURL)
	if err != nil || base.Host == "" || base.Scheme != "http" && base.Scheme != "https" {
		m.problem = &engine.ModelError{Kind: "invalid_request", Err: err,
			Message: "ANTHROPIC_BASE_URL is not a web address. It should look like " + defaultBaseURL + "."}
		return m
	}
	m.host = base.Host
	m.problem = keyProblem(o)
	m.client = sdk.NewClient(clientOptions(o)...)
	return m
}

func keyProblem(o Options) *engine.ModelError {
	key := cmp.Or(o.AuthToken, o.APIKey)
	switch {
	case key == "":
		return &engine.ModelError{Kind: "authentication_failed",
			Message: "Missing API key · Please run /login or set ANTHROPIC_API_KEY (or ANTHROPIC_AUTH_TOKEN, for a gateway)."}
	case strings.ContainsFunc(key, unicode.IsControl):
		return &engine.ModelError{Kind: "authentication_failed",
			Message: "Invalid API key · Please run /login or set ANTHROPIC_API_KEY again: it contains a line break or another control character."}
	}
	return nil
}

// clientOptions keep the SDK to what it is told: by itself it would read a dozen environment
// variables and files with credentials, and retry and trace in its own way.
func clientOptions(o Options) []option.RequestOption {
	options := []option.RequestOption{
		option.WithoutEnvironmentDefaults(),
		option.WithoutOpenTelemetry(),
		option.WithHTTPClient(httpClient()),
		option.WithBaseURL(o.BaseURL),
		option.WithMaxRetries(0),
		option.WithHeader("Accept", "text/event-stream"),
		// The SDK's own version is newer. This one every endpoint knows that speaks the
		// Messages API, and its events are passed on to hosts that were written for them.
		option.WithHeader("anthropic-version", "2023-06-01"),
	}
	if o.AuthToken != "" {
		options = append(options, option.WithHeader("Authorization", "Bearer "+o.AuthToken))
	} else { // not option.WithAPIKey: it sends a bearer token, which few other endpoints take for a key
		options = append(options, option.WithHeader("x-api-key", o.APIKey))
	}
	if len(o.Betas) > 0 {
		options = append(options, option.WithHeader("anthropic-beta", strings.Join(o.Betas, ",")))
	}
	return options
}

func (m *model) Stream(ctx context.Context, req *engine.ModelRequest) iter.Seq2[jsontext.Value, error] {
	return func(yield func(jsontext.Value, error) bool) {
		if m.problem != nil {
			yield(nil, m.problem)
			return
		}
		call, err := m.newCall(req)
		if err != nil {
			yield(nil, &engine.ModelError{Kind: "invalid_request", Err: err,
				Message: "The conversation cannot be put into a request. Go back to an earlier message, or start a new session."})
			return
		}
		for attempt := 1; ; attempt++ {
			failed := call.attempt(ctx, yield)
			if failed == nil {
				return
			}
			if failed.passing && attempt <= m.options.Retries {
				wait(ctx, delay(m.options.RetryDelay, attempt, failed.retryAfter))
				if ctx.Err() == nil {
					continue
				}
			}
			if err := ctx.Err(); err != nil {
				yield(nil, err)
			} else {
				yield(nil, failed.after(attempt))
			}
			return
		}
	}
}
