package engine

import (
	"context"

	"github.com/goccy/go-json/jsontext"

	"takeback/protocol"
)

// Tool is something the model can call.
type Tool interface {
	Spec() ToolSpec

	// Access says what a call with this input would do, for the permission decision.
	Access(input jsontext.Value) Access

	// Run carries the call out. Its input has been validated against the schema.
	// Once ctx ends, it returns soon. Failures are results, told to the model.
	Run(ctx context.Context, call ToolCall) ToolResult
}

// ToolSpec is what the model knows of a tool.
type ToolSpec struct {
	Name        string
	Description string
	InputSchema jsontext.Value // JSON Schema, an object
}

// Access is what a tool call would do.
type Access struct {
	Kind    AccessKind
	Path    string // absolute, links not resolved; "" if there is none
	Command string // of a shell; "" if there is none
}

// AccessKind tells harmless calls from others. Calls that only read may run side by side.
type AccessKind int

const (
	Read AccessKind = iota
	Edit
	Execute
)

// ToolCall is one call by the model.
type ToolCall struct {
	ID    string // tool_use id
	Input jsontext.Value
}

// ToolResult is what a call came to.
type ToolResult struct {
	Content protocol.Content // for the model
	IsError bool
	Report  jsontext.Value // for the host: tool_use_result; nil if there is none
}
