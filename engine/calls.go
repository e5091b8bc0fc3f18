package engine

import (
	"bytes"
	"context"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"github.com/goccy/go-json/jsontext"

	"takeback/protocol"
	"takeback/schemas"
)

// sideBySide is how many calls that only read may run at once.
const sideBySide = 8

// outcome is a tool call and what it came to.
type outcome struct {
	call   protocol.Block
	result ToolResult
}

func failed(why string) ToolResult {
	return ToolResult{Content: protocol.Text(why), IsError: true}
}

// runTools carries calls out in their order; neighbours that only read run side by side.
func (t *turn) runTools(calls []protocol.Block) []outcome {
	outcomes := make([]outcome, len(calls))
	slots := make(chan struct{}, sideBySide)
	var running sync.WaitGroup
	for i, call := range calls {
		outcomes[i].call = call
		tool, input, refusal := t.admit(call)
		if tool == nil {
			outcomes[i].result = failed(refusal)
			continue
		}
		call.Input = input
		if tool.Access(input).Kind != Read {
			running.Wait()
			outcomes[i].result = t.runTool(tool, call)
			continue
		}
		slots <- struct{}{}
		running.Go(func() {
			defer func() { <-slots }()
			outcomes[i].result = t.runTool(tool, call)
		})
	}
	running.Wait()
	return outcomes
}

// admit finds the tool of a call that may run, and the input to run it with; or says why it may not.
func (t *turn) admit(call protocol.Block) (tool Tool, input jsontext.Value, refusal string) {
	if t.ctx.Err() != nil {
		return nil, nil, "This call was not carried out: the user interrupted the turn."
	}
	tool = t.e.findTool(call.Name)
	if tool == nil {
		return nil, nil, fmt.Sprintf("There is no tool named %s.", call.Name)
	}
	invalid := func(input jsontext.Value) string {
		if err := t.e.inputs[call.Name].Validate(input); err != nil {
			return fmt.Sprintf("Invalid input for %s: %v", call.Name, err)
		}
		return ""
	}
	if why := invalid(call.Input); why != "" {
		return nil, nil, why
	}
	input = call.Input
	d := t.e.permissions.decide(call.Name, tool.Access(input))
	switch d.outcome {
	case allowed:
		return tool, input, ""
	case denied:
		refusal = d.reason
	case asks:
		input, refusal = t.askHost(call, d)
	}
	if refusal == "" && !bytes.Equal(input, call.Input) { // the host has changed it
		if why := invalid(input); why != "" {
			return nil, nil, why
		}
		refusal = t.e.permissions.forbids(call.Name, tool.Access(input))
	}
	if refusal == "" {
		return tool, input, ""
	}
	if context.Cause(t.ctx) != errInterrupted {
		t.denials = append(t.denials, protocol.PermissionDenial{ToolName: call.Name, ToolUseID: call.ID, ToolInput: call.Input})
	}
	return nil, nil, refusal
}

func (e *Engine) findTool(name string) Tool {
	for _, tool := range e.cfg.Tools {
		if tool.Spec().Name == name {
			return tool
		}
	}
	return nil
}

func (t *turn) runTool(tool Tool, call protocol.Block) (result ToolResult) {
	defer func() {
		if p := recover(); p != nil {
			fmt.Fprintf(t.e.cfg.Stderr, "takeback: tool %s panicked: %v\n%s", call.Name, p, debug.Stack())
			result = failed(fmt.Sprintf("%s failed inside takeback: %v. Try another way.", call.Name, p))
		}
	}()
	if t.ctx.Err() != nil {
		return failed("This call was not carried out: the user interrupted the turn.")
	}
	began := time.Now()
	result = tool.Run(t.ctx, ToolCall{ID: call.ID, Input: call.Input})
	t.e.cfg.Log.Debug("tool call", "tool", call.Name, "id", call.ID, "error", result.IsError, "took", time.Since(began))
	return result
}

func inputSchemas(tools []Tool) map[string]*schemas.Schema {
	compiled := map[string]*schemas.Schema{}
	for _, tool := range tools {
		spec := tool.Spec()
		compiled[spec.Name] = schemas.New(spec.Name, spec.InputSchema)
	}
	return compiled
}

func (e *Engine) toolSpecs() []ToolSpec {
	var specs []ToolSpec
	for _, tool := range e.cfg.Tools {
		specs = append(specs, tool.Spec())
	}
	return specs
}
