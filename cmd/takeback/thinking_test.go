package main

import (
	"strings"
	"testing"

	"takeback/sdk-tests/fakeapi"
)

// What the flags say of thinking is what the endpoint is asked for.
func TestThinking(t *testing.T) {
	for name, c := range map[string]struct {
		args, env []string
		want      string // of the request; "" for none
	}{
		"nothing said":         {nil, nil, ""},
		"adaptive":             {[]string{"--thinking", "adaptive"}, nil, `"thinking":{"type":"adaptive"}`},
		"disabled":             {[]string{"--thinking=disabled", "--max-thinking-tokens=9000"}, nil, `"thinking":{"type":"disabled"}`},
		"a budget":             {[]string{"--max-thinking-tokens", "9000", "--thinking-display", "omitted"}, nil, `"thinking":{"type":"enabled","budget_tokens":9000,"display":"omitted"}`},
		"a budget of none":     {[]string{"--max-thinking-tokens=0"}, nil, `"thinking":{"type":"disabled"}`},
		"by the environment":   {nil, []string{"MAX_THINKING_TOKENS=5000"}, `"thinking":{"type":"enabled","budget_tokens":5000}`},
		"the flag comes first": {[]string{"--thinking=adaptive"}, []string{"MAX_THINKING_TOKENS=5000"}, `"thinking":{"type":"adaptive"}`},
		"effort":               {[]string{"--effort", "high"}, nil, `"output_config":{"effort":"high"}`},
	} {
		t.Run(name, func(t *testing.T) {
			api, err := fakeapi.New(fakeapi.Options{})
			must(t, err)
			defer api.Close()
			p := start(t, launch{
				bare: true,
				args: append([]string{"--input-format=stream-json", "--output-format=stream-json"}, c.args...),
				env:  append([]string{"ANTHROPIC_BASE_URL=" + api.URL, "ANTHROPIC_API_KEY=test"}, c.env...),
			})
			p.do(say("hi"))
			request := string(api.Requests()[0].Body)
			if !strings.Contains(request, c.want) || c.want == "" && (strings.Contains(request, `"thinking"`) || strings.Contains(request, `"effort"`)) {
				t.Errorf("%s, want %s", request, c.want)
			}
		})
	}
}
