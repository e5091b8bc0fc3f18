package tools

import (
	"context"
	_ "embed"
	"fmt"

	"github.com/goccy/go-json/jsontext"

	"takeback/engine"
	"takeback/protocol"
)

// maxEdited bounds the files that Edit changes: it holds them in memory, several times over.
const maxEdited = 64 << 20

//go:embed edit.md
var editDescription string

//go:embed edit.schema.json
var editSchema []byte

type editTool struct{ *Set }

type editInput struct {
	FilePath   string `json:"file_path"`
	OldString  string `json:"old_string"`
	NewString  string `json:"new_string"`
	ReplaceAll bool   `json:"replace_all"`
}

// editReport tells the host what an Edit did. OriginalFile is null for a new file, and
// where the old content is too long to be shown.
type editReport struct {
	FilePath        string  `json:"filePath"`
	OldString       string  `json:"oldString"`
	NewString       string  `json:"newString"`
	OriginalFile    *string `json:"originalFile"`
	StructuredPatch []hunk  `json:"structuredPatch"`
	UserModified    bool    `json:"userModified"`
	ReplaceAll      bool    `json:"replaceAll"`
}

func (editTool) Spec() engine.ToolSpec {
	return engine.ToolSpec{Name: "Edit", Description: editDescription, InputSchema: editSchema}
}

func (t editTool) Access(input jsontext.Value) engine.Access { return t.fileAccess(engine.Edit, input) }

func (t editTool) Run(ctx context.Context, call engine.ToolCall) engine.ToolResult {
	var in editInput
	if err := protocol.Unmarshal(call.Input, &in); err != nil {
		return failure(err)
	}
	path := t.abs(in.FilePath)
	if in.OldString == in.NewString {
		return failure(refuse("%s was not changed: old_string and new_string are the same.", path))
	}
	e, err := t.prepare(ctx, path, in)
	if err != nil {
		return failure(err)
	}
	if err := t.write(ctx, "Edit "+call.ID, path, e.want, e.raw); err != nil {
		return failure(err)
	}
	text := fmt.Sprintf("Made %s.", path)
	if e.want != nil {
		text = fmt.Sprintf("Changed %s (places: %d).", path, e.count)
	}
	if e.drifted {
		// What the model has seen stays what it has seen: it does not know the rest of the file.
		text += " The file had changed since it was last read: Read it again before relying on the rest of it."
	} else {
		t.known.learn(path, digestOf(e.raw))
	}
	return success(text, e.report(path, in))
}

// edit is a change that fits the file.
type edit struct {
	want     *digest // of the file now; nil if there is none
	raw      []byte  // the file to be
	old, new string  // both as text
	count    int     // of replacements
	drifted  bool    // the file is not what was last read
}

// prepare works out what the file is to hold.
func (t editTool) prepare(ctx context.Context, path string, in editInput) (*edit, error) {
	info, err := target(path)
	switch {
	case err != nil:
		return nil, err
	case info == nil && in.OldString == "":
		return &edit{raw: []byte(in.NewString), new: in.NewString}, nil
	case info == nil:
		return nil, refuse("%s does not exist. To make it, give an empty old_string.", path)
	}
	seen, known := t.known.of(path)
	if !known && info.Size() > 0 {
		return nil, refuse("%s was not changed: Read it first.", path)
	}
	file, err := load(ctx, path, maxEdited)
	if err != nil {
		return nil, err
	}
	if !file.whole() {
		return nil, refuse("%s was not changed: files over %d bytes are too big for Edit. Use a shell command.", path, maxEdited)
	}
	f := formatOf(file.raw)
	e := &edit{want: &file.digest, drifted: known && file.digest != seen}
	if e.old, err = f.decode(file.raw); err != nil {
		return nil, refuse("%s was not changed: %w, and Edit would damage it.", path, err)
	}
	if isNotebook(path, e.old) {
		// Read has shown its cells, not this text. A broken notebook is repaired as text.
		return nil, refuse("%s was not changed: it is a notebook. Use NotebookEdit.", path)
	}
	if e.new, e.count, err = replace(e.old, in.OldString, in.NewString, in.ReplaceAll); err != nil {
		hint := ""
		if e.drifted {
			hint = " The file has changed since it was last read: Read it again."
		}
		return nil, refuse("%s was not changed: %w.%s", path, err, hint)
	}
	if e.raw, err = f.encode(e.new); err != nil {
		return nil, refuse("%s was not changed: %w.", path, err)
	}
	return e, nil
}

func (e *edit) report(path string, in editInput) editReport {
	report := editReport{
		FilePath: path, OldString: in.OldString, NewString: in.NewString, ReplaceAll: in.ReplaceAll,
		StructuredPatch: patch(e.old, e.new),
	}
	if e.want != nil && len(e.old) <= maxReported {
		report.OriginalFile = &e.old
	}
	return report
}
