package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/goccy/go-json/jsontext"
	"github.com/google/uuid"

	"takeback/protocol"
	"takeback/schemas"
)

// TestMain lets the test binary be takeback, so that the tests drive a real
// process, under the race detector.
func TestMain(m *testing.M) {
	if os.Getenv("TAKEBACK_TEST_IS_TAKEBACK") != "" {
		os.Exit(run(os.Args[1:]))
	}
	os.Exit(m.Run())
}

// deadline is for what should take milliseconds; only a hang meets it.
const deadline = 30 * time.Second

// launch says how a process is started. The zero value is a session as the
// SDKs' documentation sets one up.
type launch struct {
	args    []string // added to the usual ones
	bare    bool     // without the usual ones
	env     []string // added to the usual ones, the last wins
	project string   // working folder, new if ""
	config  string   // new if ""
	stalled bool     // the host reads nothing
	pipe    string   // a named pipe to make in the working folder
	through []string // a command that starts what its arguments name
}

// process is a takeback with a host that notes all it says.
type process struct {
	t               *testing.T
	project, config string
	cmd             *exec.Cmd
	stdin           io.WriteCloser
	stdout          io.Closer
	stderr          bytes.Buffer

	mu     sync.Mutex
	news   *sync.Cond
	frames []frame
	ended  bool // stdout has
	cursor int  // frames that await has passed
}

// frame is a line from stdout.
type frame struct {
	raw       []byte
	Type      string           `json:"type"`
	Subtype   string           `json:"subtype"`
	UUID      string           `json:"uuid"`
	SessionID string           `json:"session_id"`
	IsReplay  bool             `json:"isReplay"`
	IsError   bool             `json:"is_error"`
	Result    string           `json:"result"`
	Errors    []string         `json:"errors"`
	NumTurns  int              `json:"num_turns"`
	State     string           `json:"state"`
	Error     string           `json:"error"`
	Terminal  string           `json:"terminal_reason"`
	Status    int              `json:"api_error_status"`
	Message   protocol.Message `json:"message"`
	Report    jsontext.Value   `json:"tool_use_result"`
	Denials   []jsontext.Value `json:"permission_denials"`
	Response  controlResponse  `json:"response"`
	Event     struct {
		Type string `json:"type"`
	} `json:"event"`
}

type controlResponse struct {
	Subtype   string         `json:"subtype"`
	RequestID string         `json:"request_id"`
	Error     string         `json:"error"`
	ErrorCode string         `json:"error_code"`
	Response  jsontext.Value `json:"response"`
}

func start(t *testing.T, l launch) *process {
	t.Helper()
	p := &process{t: t, project: l.project, config: l.config}
	p.news = sync.NewCond(&p.mu)
	if p.project == "" {
		p.project = filepath.Join(t.TempDir(), "project")
		must(t, os.MkdirAll(p.project, 0o755))
	}
	if l.pipe != "" {
		must(t, exec.Command("mkfifo", p.path(l.pipe)).Run())
	}
	if p.config == "" {
		p.config = filepath.Join(t.TempDir(), "config")
	}
	self, err := os.Executable()
	must(t, err)
	args := l.args
	if !l.bare {
		args = append([]string{"--output-format", "stream-json", "--verbose", "--input-format", "stream-json",
			"--model", "script", "--permission-mode=acceptEdits", "--replay-user-messages"}, args...)
	}
	through := append(l.through, args...)
	if l.through == nil {
		through = append([]string{self}, args...)
	}
	p.cmd = exec.Command(through[0], through[1:]...)
	p.cmd.Dir = p.project
	p.cmd.Env = append([]string{
		"TAKEBACK_TEST_IS_TAKEBACK=1", "PATH=" + os.Getenv("PATH"), "HOME=" + filepath.Dir(p.config),
		"GORACE=atexit_sleep_ms=0", // else each process under the race detector takes a second to end
		"CLAUDE_CONFIG_DIR=" + p.config, "CLAUDE_CODE_ENABLE_SDK_FILE_CHECKPOINTING=true",
	}, l.env...)
	p.cmd.Stderr = &p.stderr
	p.stdin, err = p.cmd.StdinPipe()
	must(t, err)
	stdout, err := p.cmd.StdoutPipe()
	must(t, err)
	p.stdout = stdout
	must(t, p.cmd.Start())
	if !l.stalled {
		go p.read(stdout)
	}
	t.Cleanup(func() {
		if p.cmd.ProcessState == nil {
			_ = p.cmd.Process.Kill()
			_ = p.cmd.Wait()
		}
		p.validate()
		if t.Failed() {
			t.Logf("wire of pid %d:\n%s\nstderr:\n%s", p.cmd.Process.Pid, p.wire(), p.stderr.String())
		}
	})
	return p
}

// validate holds every frame against its schema.
func (p *process) validate() {
	p.t.Helper()
	for _, f := range p.all() {
		name := f.Type
		if name == "system" {
			name = f.Subtype
		}
		schema := schemas.Outbound(name)
		if schema == nil && !bytes.HasPrefix(f.raw, []byte("{")) {
			continue // text for people, which the test looks at
		}
		if schema == nil {
			p.t.Errorf("a frame that no schema knows: %.300s", f.raw)
		} else if err := schema.Validate(bytes.TrimSpace(f.raw)); err != nil {
			p.t.Errorf("%v in %.300s", err, f.raw)
		}
	}
}

func (p *process) read(stdout io.Reader) {
	lines := bufio.NewReaderSize(stdout, 1<<20)
	for {
		line, err := lines.ReadBytes('\n')
		p.mu.Lock()
		if len(line) > 0 {
			f := frame{raw: line}
			if e := protocol.Unmarshal(line, &f); e != nil {
				f.Type = fmt.Sprintf("unreadable: %v", e)
			}
			p.frames = append(p.frames, f)
		}
		p.ended = err != nil
		p.news.Broadcast()
		p.mu.Unlock()
		if err != nil {
			return
		}
	}
}

func (p *process) wire() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var b strings.Builder
	for _, f := range p.frames {
		line := f.raw
		if len(line) > 600 {
			line = append(line[:600:600], "…\n"...)
		}
		b.Write(line)
	}
	return b.String()
}

// find waits for the first frame at or behind from that is wanted. Its index is -1 when stdout ends without.
func (p *process) find(from int, wanted func(frame) bool) (int, frame) {
	p.t.Helper()
	timer := time.AfterFunc(deadline, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.ended = true
		p.news.Broadcast()
	})
	defer timer.Stop()
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := from; ; i++ {
		for i >= len(p.frames) {
			if p.ended {
				return -1, frame{}
			}
			p.news.Wait()
		}
		if wanted(p.frames[i]) {
			return i, p.frames[i]
		}
	}
}

// await gives the next wanted frame behind the last one that was awaited.
func (p *process) await(what string, wanted func(frame) bool) frame {
	p.t.Helper()
	i, f := p.find(p.cursor, wanted)
	if i < 0 {
		p.t.Fatalf("no frame came: %s", what)
	}
	p.cursor = i + 1
	return f
}

func (p *process) result() frame {
	p.t.Helper()
	return p.await("a result", func(f frame) bool { return f.Type == "result" })
}

func (p *process) replay() frame {
	p.t.Helper()
	return p.await("a replay", func(f frame) bool { return f.IsReplay })
}

// toolResult is the text of the next tool result.
func (p *process) toolResult() (text string, isError bool) {
	p.t.Helper()
	f := p.await("a tool result", isToolResult)
	b := f.Message.Content[0]
	return b.Content.Text(), b.IsError
}

func isToolResult(f frame) bool {
	return f.Type == "user" && len(f.Message.Content) == 1 && f.Message.Content[0].Type == "tool_result"
}

// met waits until a command writes to the named pipe, which start has made.
func (p *process) met(pipe string) {
	p.t.Helper()
	timer := time.AfterFunc(deadline, func() { _ = os.WriteFile(p.path(pipe), nil, 0) })
	defer timer.Stop()
	_, err := os.ReadFile(p.path(pipe))
	must(p.t, err)
}

func (p *process) sendLine(line string) {
	p.t.Helper()
	_, err := io.WriteString(p.stdin, line+"\n")
	must(p.t, err)
}

func (p *process) send(v any) {
	p.t.Helper()
	line, err := protocol.Marshal(v)
	must(p.t, err)
	p.sendLine(string(line))
}

// prompt sends a prompt, with more members if given, and gives its uuid.
func (p *process) prompt(text string, more ...map[string]any) string {
	p.t.Helper()
	id := uuid.NewString()
	m := map[string]any{"type": "user", "uuid": id, "session_id": "", "parent_tool_use_id": nil,
		"message": map[string]any{"role": "user", "content": text}}
	for _, members := range more {
		for k, v := range members {
			m[k] = v
		}
	}
	p.send(m)
	return id
}

// play sends a prompt that the script model plays, and gives its uuid.
func (p *process) play(steps ...map[string]any) string {
	p.t.Helper()
	return p.prompt(scriptOf(p.t, steps...))
}

func scriptOf(t *testing.T, steps ...map[string]any) string {
	t.Helper()
	text, err := protocol.Marshal(steps)
	must(t, err)
	return string(text)
}

// do plays a turn to its end, which must be a success.
func (p *process) do(steps ...map[string]any) string {
	p.t.Helper()
	id := p.play(steps...)
	if r := p.result(); r.IsError {
		p.t.Fatalf("the turn failed: %s", r.raw)
	}
	return id
}

func say(text string) map[string]any { return map[string]any{"text": text} }

func use(tool string, input map[string]any) map[string]any {
	return map[string]any{"tool": tool, "input": input}
}

func write(path, content string) map[string]any {
	return use("Write", map[string]any{"file_path": path, "content": content})
}

func read(path string) map[string]any { return use("Read", map[string]any{"file_path": path}) }

func hang() map[string]any { return map[string]any{"hang": true} }

// ask sends a control request and gives its id.
func (p *process) ask(subtype string, fields map[string]any) string {
	p.t.Helper()
	id := uuid.NewString()
	request := map[string]any{"subtype": subtype}
	for k, v := range fields {
		request[k] = v
	}
	p.send(map[string]any{"type": "control_request", "request_id": id, "request": request})
	return id
}

// answer waits for the answer to a control request.
func (p *process) answer(id string) controlResponse {
	p.t.Helper()
	i, f := p.find(0, func(f frame) bool { return f.Type == "control_response" && f.Response.RequestID == id })
	if i < 0 {
		p.t.Fatalf("control request %s was not answered", id)
	}
	return f.Response
}

func (p *process) control(subtype string, fields map[string]any) controlResponse {
	p.t.Helper()
	return p.answer(p.ask(subtype, fields))
}

func (p *process) rewind(id string, dryRun bool) (protocol.RewindReply, controlResponse) {
	p.t.Helper()
	fields := map[string]any{"user_message_id": id}
	if dryRun {
		fields["dry_run"] = true
	}
	r := p.control("rewind_files", fields)
	var reply protocol.RewindReply
	if r.Subtype == "success" {
		must(p.t, protocol.Unmarshal(r.Response, &reply))
	}
	return reply, r
}

// end closes stdin and waits for the process to end by itself.
func (p *process) end() int {
	p.t.Helper()
	must(p.t, p.stdin.Close())
	return p.wait()
}

func (p *process) wait() int {
	p.t.Helper()
	timer := time.AfterFunc(deadline, func() { _ = p.cmd.Process.Kill() })
	defer timer.Stop()
	p.find(0, func(frame) bool { return false })
	_ = p.cmd.Wait()
	return p.cmd.ProcessState.ExitCode()
}

// all gives the frames so far.
func (p *process) all() []frame {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]frame(nil), p.frames...)
}

func (p *process) path(name string) string { return filepath.Join(p.project, name) }

func (p *process) put(name, content string) {
	p.t.Helper()
	must(p.t, os.MkdirAll(filepath.Dir(p.path(name)), 0o755))
	must(p.t, os.WriteFile(p.path(name), []byte(content), 0o644))
}

// holds checks what a file holds; absent checks that there is none.
func (p *process) holds(name, want string) {
	p.t.Helper()
	got, err := os.ReadFile(p.path(name))
	must(p.t, err)
	if string(got) != want {
		p.t.Errorf("%s holds %q, want %q", name, got, want)
	}
}

func (p *process) absent(name string) {
	p.t.Helper()
	if _, err := os.Lstat(p.path(name)); !os.IsNotExist(err) {
		p.t.Errorf("%s is there (%v), and should not be", name, err)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
