package engine_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/goccy/go-json/jsontext"
	"github.com/google/uuid"

	"takeback/engine"
	"takeback/engine/model/script"
	"takeback/engine/session"
	"takeback/protocol"
	"takeback/protocol/peer"
)

// fakeTool is a tool whose behaviour a test needs and no real one has.
type fakeTool struct {
	name   string
	access engine.AccessKind
	run    func(context.Context, engine.ToolCall) engine.ToolResult
}

func (f fakeTool) Spec() engine.ToolSpec {
	return engine.ToolSpec{Name: f.name, InputSchema: jsontext.Value(`{"type":"object"}`)}
}
func (f fakeTool) Access(jsontext.Value) engine.Access { return engine.Access{Kind: f.access} }
func (f fakeTool) Run(ctx context.Context, c engine.ToolCall) engine.ToolResult {
	return f.run(ctx, c)
}

func said(text string) engine.ToolResult { return engine.ToolResult{Content: protocol.Text(text)} }

// play runs one prompt on an engine with these tools, and gives its frames and what went to stderr.
func play(t *testing.T, prompt string, tools ...engine.Tool) (frames []string, stderr string) {
	t.Helper()
	model, err := script.New("")
	if err != nil {
		t.Fatal(err)
	}
	place := session.Place{ConfigDir: t.TempDir(), Cwd: t.TempDir()}
	transcript, err := session.Create(place, uuid.NewString())
	if err != nil {
		t.Fatal(err)
	}
	defer transcript.Close()
	line, err := protocol.Marshal(map[string]any{"type": "user", "message": map[string]any{"role": "user", "content": prompt}})
	if err != nil {
		t.Fatal(err)
	}
	out, in := io.Pipe()
	var complaints strings.Builder
	e := engine.New(engine.Config{
		Conn:           peer.New(strings.NewReader(string(line)+"\n"), in, peer.Options{}),
		Model:          model,
		Transcript:     transcript,
		Tools:          tools,
		Cwd:            place.Cwd,
		PermissionMode: engine.ModeBypass,
		Log:            slog.New(slog.DiscardHandler),
		Stderr:         &complaints,
	})
	read := make(chan struct{})
	go func() {
		defer close(read)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			frames = append(frames, lines.Text())
		}
	}()
	if _, err := e.Run(t.Context()); err != nil {
		t.Errorf("Run: %v", err)
	}
	in.Close()
	<-read
	return frames, complaints.String()
}

func contains(frames []string, text string) bool {
	for _, f := range frames {
		if strings.Contains(f, text) {
			return true
		}
	}
	return false
}

func TestToolThatPanics(t *testing.T) {
	frames, stderr := play(t, `[{"tool":"Boom","input":{}},{"text":"went on"}]`, fakeTool{name: "Boom", run: func(context.Context, engine.ToolCall) engine.ToolResult {
		panic("kaboom")
	}})
	if !contains(frames, `"is_error":true}`) || !contains(frames, "kaboom") {
		t.Errorf("the model was not told: %s", strings.Join(frames, "\n"))
	}
	if !contains(frames, `"result":"went on"`) {
		t.Errorf("the turn did not go on: %s", strings.Join(frames, "\n"))
	}
	if n := strings.Count(stderr, "kaboom"); n != 1 {
		t.Errorf("%d records on stderr: %s", n, stderr)
	}
}

// A panic outside any tool ends the turn with an error result.
func TestTurnThatPanics(t *testing.T) {
	frames, stderr := play(t, `[{"tool":"Bad","input":{}}]`, fakeTool{name: "Bad", run: func(context.Context, engine.ToolCall) engine.ToolResult {
		// What no JSON encoder takes breaks the turn, not the tool.
		return engine.ToolResult{Content: protocol.Content{{Type: "tool_use", Input: jsontext.Value("{")}}}
	}})
	last := frames[len(frames)-1]
	if !strings.Contains(last, `"subtype":"error_during_execution"`) || !strings.Contains(stderr, "panicked") {
		t.Errorf("last frame %s, stderr %s", last, stderr)
	}
}

// Neighbours that read run side by side; one that changes something waits for them, and they for it.
func TestReadersRunSideBySide(t *testing.T) {
	var reading, writing atomic.Int32
	var meet sync.WaitGroup
	meet.Add(3)
	read := fakeTool{name: "R", run: func(context.Context, engine.ToolCall) engine.ToolResult {
		reading.Add(1)
		defer reading.Add(-1)
		meet.Done()
		meet.Wait() // ends only if all three are here at once
		return said(fmt.Sprintf("%d writing", writing.Load()))
	}}
	write := fakeTool{name: "W", access: engine.Edit, run: func(context.Context, engine.ToolCall) engine.ToolResult {
		writing.Add(1)
		defer writing.Add(-1)
		return said(fmt.Sprintf("%d reading", reading.Load()))
	}}
	frames, _ := play(t, `[{"tool":"R","input":{}},{"tool":"R","input":{}},{"tool":"R","input":{}},{"tool":"W","input":{}},{"text":"done"}]`, read, write)
	if !contains(frames, "0 reading") || !contains(frames, "0 writing") || contains(frames, "1 writing") {
		t.Errorf("%s", strings.Join(frames, "\n"))
	}
	var order []string
	for _, f := range frames {
		if _, rest, ok := strings.Cut(f, `"tool_use_id":"`); ok {
			id, _, _ := strings.Cut(rest, `"`)
			order = append(order, id)
		}
	}
	if got := strings.Join(order, " "); got != "toolu_t1c1 toolu_t1c2 toolu_t1c3 toolu_t1c4" {
		t.Errorf("results in the order %s", got)
	}
}
