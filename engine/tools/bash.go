package tools

import (
	"context"
	_ "embed"
	"fmt"
	"strings"
	"time"

	"github.com/goccy/go-json/jsontext"

	"takeback/engine"
	"takeback/protocol"
)

//go:embed bash.md
var bashDescription string

//go:embed bash.schema.json
var bashSchema []byte

type bashTool struct{ *Set }

type bashReport struct {
	Stdout           string `json:"stdout"`
	Stderr           string `json:"stderr"`
	Interrupted      bool   `json:"interrupted"`
	IsImage          bool   `json:"isImage"`
	NoOutputExpected bool   `json:"noOutputExpected"`
}

func (bashTool) Spec() engine.ToolSpec {
	return engine.ToolSpec{Name: "Bash", Description: bashDescription, InputSchema: bashSchema}
}

func (bashTool) Access(input jsontext.Value) engine.Access {
	var in struct {
		Command string `json:"command"`
	}
	_ = protocol.Unmarshal(input, &in) // what is no command is refused by the schema
	return engine.Access{Kind: engine.Execute, Command: in.Command}
}

func (t bashTool) Run(ctx context.Context, call engine.ToolCall) engine.ToolResult {
	in := struct {
		Command    string  `json:"command"`
		Timeout    float64 `json:"timeout"` // milliseconds
		Background bool    `json:"run_in_background"`
	}{Timeout: 120_000}
	if err := protocol.Unmarshal(call.Input, &in); err != nil {
		return failure(err)
	}
	if in.Background {
		return failure(refuse("The command was not run: background commands are not available yet. Run it without run_in_background."))
	}
	// Recorded before it starts: a crash in mid-command must not hide what it did.
	err := t.history.Uncovered(ctx, headline(in.Command), "shell command: what it changed was not recorded")
	if err != nil {
		return failure(refuse("The command was not run: the file history could not note it (%w).", err))
	}
	timeout := time.Duration(in.Timeout * float64(time.Millisecond))
	end, err := t.shell.run(ctx, shellCommand{in.Command, t.cwd, t.environ(), timeout})
	if err != nil {
		return failure(err)
	}
	result := success(end.text(timeout), bashReport{Stdout: end.stdout, Stderr: end.stderr, Interrupted: end.why == interrupted})
	result.IsError = end.why != exited || end.code != 0
	return result
}

// headline is a command in one line, short enough for a list.
func headline(command string) string {
	line := []rune(strings.Join(strings.Fields(command), " "))
	if len(line) > 200 {
		line = append(line[:199], '…')
	}
	return string(line)
}

// shellCommand is what a shell is to run.
type shellCommand struct {
	text    string
	cwd     string // where the first command runs, and any whose folder is gone
	environ []string
	timeout time.Duration
}

// ending is how a command came to its end.
type ending struct {
	why            cause
	code           int // exit code
	stdout, stderr string
	note           string // what else the model should know
}

type cause int

const (
	exited cause = iota
	timedOut
	interrupted
)

// text tells the model: first how the command ended, if not well, then its output.
func (e *ending) text(timeout time.Duration) string {
	var parts []string
	switch {
	case e.why == timedOut:
		parts = append(parts, fmt.Sprintf("The command was stopped with everything it had started: it took longer than its timeout of %v.", timeout))
	case e.why == interrupted:
		parts = append(parts, "The command was interrupted and stopped with everything it had started.")
	case e.code != 0:
		parts = append(parts, fmt.Sprintf("Exit code %d", e.code))
	}
	for _, out := range []string{e.stdout, e.stderr, e.note} {
		if out = strings.TrimRight(out, "\n"); out != "" {
			parts = append(parts, out)
		}
	}
	if len(parts) == 0 {
		return "The command ended without output."
	}
	return strings.Join(parts, "\n")
}
