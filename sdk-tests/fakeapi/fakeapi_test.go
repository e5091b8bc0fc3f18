package fakeapi

import (
	"bufio"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"takeback/protocol"
)

func start(t *testing.T, o Options) *Server {
	t.Helper()
	server, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	return server
}

// post sends body, with the quotes of scripts written as ' for legibility.
func post(t *testing.T, server *Server, body string) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL+"/v1/messages", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("x-api-key", "k")
	req.Header.Set("anthropic-version", "2023-06-01")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	if err != nil {
		answer = append(answer, "BROKEN OFF"...)
	}
	return res, string(answer)
}

func prompt(t *testing.T, text string, members string) string {
	t.Helper()
	quoted, err := protocol.Marshal(text)
	if err != nil {
		t.Fatal(err)
	}
	return `{"model":"m","max_tokens":9` + members + `,"messages":[{"role":"user","content":` + string(quoted) + `}]}`
}

func TestOneDocumentHoldsWhatTheStreamHolds(t *testing.T) {
	server := start(t, Options{})
	const steps = `[{"thinking":"Hm.","signature":"s"},{"text":"Good "},{"delay_ms":1},{"text":"day."},{"tool":"A","input":{"a":[1]}},{"usage":{"input_tokens":3,"output_tokens":4}}]`
	_, whole := post(t, server, prompt(t, steps, ""))
	const content = `[{"type":"thinking","thinking":"Hm.","signature":"s"},{"type":"text","text":"Good day."},{"type":"tool_use","id":"toolu_t1c1","name":"A","input":{"a":[1]}}]`
	if !strings.Contains(whole, content) || !strings.Contains(whole, `"stop_reason":"tool_use"`) {
		t.Errorf("answer %s", whole)
	}
	res, streamed := post(t, server, prompt(t, steps, `,"stream":true`))
	if got := res.Header.Get("Content-Type"); got != "text/event-stream; charset=utf-8" {
		t.Errorf("content type %q", got)
	}
	if !strings.HasPrefix(streamed, "event: message_start\ndata: {") || !strings.HasSuffix(streamed, "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n") {
		t.Errorf("stream %s", streamed)
	}
}

func TestFailures(t *testing.T) {
	server := start(t, Options{})
	for _, tc := range []struct {
		steps, members string
		status         int
		want           string
	}{
		{`[{"error":{"status":429,"message":"slow down"}}]`, "", 429, `{"type":"rate_limit_error","message":"slow down"}`},
		{`[{"error":{"status":529}}]`, `,"stream":true`, 529, `"overloaded_error"`},
		{`[{"text":"a"},{"error":{"status":529}}]`, `,"stream":true`, 200, "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\""},
		{`[{"text":"a"},{"error":{"status":500}}]`, "", 500, `"api_error"`},
		{`[{"text":"a"},{"cut":true}]`, `,"stream":true`, 200, "BROKEN OFF"},
		{`[{"tex":"a"}]`, "", 400, `unknown key \"tex\"`},
	} {
		res, answer := post(t, server, prompt(t, tc.steps, tc.members))
		if res.StatusCode != tc.status || !strings.Contains(answer, tc.want) {
			t.Errorf("%s: %d %s", tc.steps, res.StatusCode, answer)
		}
	}
}

func TestAFailureEndsAfterItsTimes(t *testing.T) {
	server := start(t, Options{})
	body := prompt(t, `[{"error":{"status":529,"times":2,"retry_after":7}},{"error":{"status":500,"times":1}},{"text":"a"}]`, "")
	for i, want := range []int{529, 529, 500, 200, 200} {
		res, _ := post(t, server, body)
		if res.StatusCode != want || (want == 529) != (res.Header.Get("Retry-After") == "7") {
			t.Errorf("request %d: %d, retry after %q", i+1, res.StatusCode, res.Header.Get("Retry-After"))
		}
	}
}

func TestIllFormedRequestsAreRefused(t *testing.T) {
	server := start(t, Options{})
	const tools = `"model":"m","max_tokens":9,"tools":[{"name":"A","input_schema":{"type":"object"}}],"messages":`
	const call = `{"role":"user","content":"a"},{"role":"assistant","content":[{"type":"tool_use","id":"i","name":"A","input":{}}]}`
	for _, tc := range []struct{ body, want string }{
		{`{`, "the request body is not valid"},
		{`{"max_tokens":9,"messages":[]}`, "model: Field required"},
		{`{"model":"m","messages":[{"role":"user","content":"a"}]}`, "max_tokens: Field required"},
		{`{"model":"m","max_tokens":0,"messages":[{"role":"user","content":"a"}]}`, "max_tokens: Input should be"},
		{`{"model":"m","max_tokens":9,"messages":[]}`, "at least one message"},
		{`{"model":"m","max_tokens":9,"uuid":1,"messages":[{"role":"user","content":"a"}]}`, "uuid: Extra inputs"},
		{`{"model":"m","max_tokens":9,"messages":[{"role":"user","uuid":"u","content":"a"}]}`, "messages.0.uuid: Extra inputs"},
		{`{"model":"m","max_tokens":9,"messages":[{"role":"user","content":[{"type":"text","text":"a","uuid":1}]}]}`, "messages.0.content.0.text.uuid: Extra inputs"},
		{`{"model":"m","max_tokens":9,"messages":[{"role":"user","content":" "}]}`, "non-whitespace"},
		{`{"model":"m","max_tokens":9,"messages":[{"role":"user","content":[]}]}`, "non-empty content"},
		{`{"model":"m","max_tokens":9,"messages":[{"role":"system","content":"a"}]}`, "messages.0.role"},
		{`{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"a"},{"role":"assistant","content":"b"}]}`, "must end with a user message"},
		{`{"model":"m","max_tokens":9,"messages":[` + call + `,{"role":"user","content":[{"type":"tool_result","tool_use_id":"i"}]}]}`, "must define tools"},
		{`{` + tools + `[` + call + `,{"role":"user","content":"b"}]}`, "without `tool_result` blocks immediately after: i"},
		{`{` + tools + `[` + call + `,{"role":"user","content":[{"type":"tool_result","tool_use_id":"j"}]}]}`, "unexpected `tool_use_id`"},
		{`{` + tools + `[` + call + `,{"role":"user","content":[{"type":"text","text":"b"},{"type":"tool_result","tool_use_id":"i"}]}]}`, "must come first"},
		{`{` + tools + `[` + call + `,{"role":"user","content":[{"type":"tool_result","tool_use_id":"i"}]},` + call[len(`{"role":"user","content":"a"},`):] + `,{"role":"user","content":[{"type":"tool_result","tool_use_id":"i"}]}]}`, "must be unique"},
		{`{"model":"m","max_tokens":9,"tools":[{"name":"A","input_schema":{}}],"messages":[{"role":"user","content":"a"}]}`, "input_schema.type"},
		{`{"model":"m","max_tokens":9,"tools":[{"name":"a b","input_schema":{"type":"object"}}],"messages":[{"role":"user","content":"a"}]}`, "tools.0.custom.name"},
	} {
		res, answer := post(t, server, tc.body)
		if res.StatusCode != 400 || !strings.Contains(answer, `"invalid_request_error"`) || !strings.Contains(answer, tc.want) {
			t.Errorf("%s\n%d %s, want %q", tc.body, res.StatusCode, answer, tc.want)
		}
	}
	res, answer := post(t, server, `{`+tools+`[`+call+`,{"role":"user","content":[{"type":"tool_result","tool_use_id":"i"}]},{"role":"user","content":"neighbours are tolerated"}]}`)
	if res.StatusCode != 200 {
		t.Errorf("a well-formed request: %d %s", res.StatusCode, answer)
	}
}

func TestNoKey(t *testing.T) {
	server := start(t, Options{})
	res, err := http.Post(server.URL+"/v1/messages", "application/json", strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if res.StatusCode != 401 {
		t.Errorf("status %d", res.StatusCode)
	}
}

func TestScriptFileAndLog(t *testing.T) {
	file, log := filepath.Join(t.TempDir(), "script.json"), filepath.Join(t.TempDir(), "log")
	if err := os.WriteFile(file, []byte(`[[{"text":"from the file"}]]`), 0o600); err != nil {
		t.Fatal(err)
	}
	server := start(t, Options{Script: file, Log: log})
	if _, answer := post(t, server, prompt(t, "a", "")); !strings.Contains(answer, "from the file") {
		t.Errorf("answer %s", answer)
	}
	post(t, server, "{}")
	f, err := os.Open(log)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var logged []Request
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var r Request
		if err := protocol.Unmarshal(lines.Bytes(), &r); err != nil {
			t.Fatal(err)
		}
		logged = append(logged, r)
	}
	if len(logged) != 2 || string(logged[0].Body) != prompt(t, "a", "") || logged[0].Headers["x-api-key"] != "k" || logged[1].Problem == "" {
		t.Errorf("log %+v", logged)
	}
	if got := server.Requests(); len(got) != 2 {
		t.Errorf("%d requests", len(got))
	}
	if _, err := New(Options{Script: log}); err == nil {
		t.Error("a log is no script")
	}
}

func TestCloseEndsWhatHangs(t *testing.T) {
	server := start(t, Options{})
	done := make(chan error)
	go func() {
		req, err := http.NewRequest(http.MethodPost, server.URL+"/v1/messages", strings.NewReader(prompt(t, `[{"hang":true}]`, "")))
		if err == nil {
			req.Header.Set("x-api-key", "k")
			req.Header.Set("anthropic-version", "2023-06-01")
			_, err = http.DefaultClient.Do(req)
		}
		done <- err
	}()
	for len(server.Requests()) == 0 {
		select {
		case err := <-done:
			t.Fatal("answered: ", err)
		default:
		}
	}
	if err := server.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err == nil {
		t.Error("it was answered")
	}
}
