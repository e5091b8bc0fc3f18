package tools

import (
	"context"
	_ "embed"
	"fmt"

	"github.com/goccy/go-json/jsontext"

	"takeback/engine"
	"takeback/protocol"
)

//go:embed write.md
var writeDescription string

//go:embed write.schema.json
var writeSchema []byte

type writeTool struct{ *Set }

// writeReport tells the host what a Write did. OriginalFile is null for a new file, and
// where the old content is not text or too long to be shown.
type writeReport struct {
	Type            string  `json:"type"`
	FilePath        string  `json:"filePath"`
	Content         string  `json:"content"`
	StructuredPatch []hunk  `json:"structuredPatch"`
	OriginalFile    *string `json:"originalFile"`
	UserModified    bool    `json:"userModified"`
}

func (writeTool) Spec() engine.ToolSpec {
	return engine.ToolSpec{Name: "Write", Description: writeDescription, InputSchema: writeSchema}
}

func (t writeTool) Access(input jsontext.Value) engine.Access {
	return t.fileAccess(engine.Edit, input)
}

func (t writeTool) Run(ctx context.Context, call engine.ToolCall) engine.ToolResult {
	var in struct {
		FilePath string `json:"file_path"`
		Content  string `json:"content"`
	}
	if err := protocol.Unmarshal(call.Input, &in); err != nil {
		return failure(err)
	}
	path := t.abs(in.FilePath)
	report := writeReport{Type: "create", FilePath: path, Content: in.Content, StructuredPatch: []hunk{}}

	old, err := t.original(ctx, path)
	if err != nil {
		return failure(err)
	}
	raw, want, done := []byte(in.Content), (*digest)(nil), "Made"
	if old != nil {
		report.Type, want, done = "update", &old.digest, "Replaced the content of"
		if raw, err = old.inItsFormat(in.Content); err != nil {
			return failure(err)
		}
		if original, ok := old.text(); ok {
			report.OriginalFile, report.StructuredPatch = &original, patch(original, in.Content)
		}
	}
	if err := t.write(ctx, "Write "+call.ID, path, want, raw); err != nil {
		return failure(err)
	}
	t.known.learn(path, digestOf(raw))
	return success(fmt.Sprintf("%s %s (%d bytes).", done, path, len(raw)), report)
}

// original is the content that a Write is to replace, nil if there is none. It
// must be the one that the model has seen.
func (t writeTool) original(ctx context.Context, path string) (*stored, error) {
	info, err := target(path)
	if err != nil || info == nil {
		return nil, err
	}
	seen, ok := t.known.of(path)
	if !ok {
		return nil, refuse("%s exists and was not written: Read it first.", path)
	}
	old, err := load(ctx, path, maxReported)
	if err != nil {
		return nil, err
	}
	if old.digest != seen {
		return nil, refuse("%s was not written: it has changed since it was last read. Read it again first.", path)
	}
	return old, nil
}
