package tools

import (
	"context"
	_ "embed"
	"fmt"

	"github.com/goccy/go-json/jsontext"

	"takeback/engine"
	"takeback/protocol"
)

//go:embed notebookedit.md
var notebookEditDescription string

//go:embed notebookedit.schema.json
var notebookEditSchema []byte

type notebookEditTool struct{ *Set }

type notebookEditInput struct {
	NotebookPath string  `json:"notebook_path"`
	CellID       string  `json:"cell_id"`
	NewSource    *string `json:"new_source"`
	CellType     string  `json:"cell_type"`
	EditMode     string  `json:"edit_mode"`
}

// notebookEditReport tells the host what a NotebookEdit did. The files are null
// where they are too long to be shown.
type notebookEditReport struct {
	NewSource    string  `json:"new_source"`
	CellID       string  `json:"cell_id"`
	CellType     string  `json:"cell_type"`
	Language     string  `json:"language"`
	EditMode     string  `json:"edit_mode"`
	NotebookPath string  `json:"notebook_path"`
	OriginalFile *string `json:"original_file"`
	UpdatedFile  *string `json:"updated_file"`
}

func (notebookEditTool) Spec() engine.ToolSpec {
	return engine.ToolSpec{Name: "NotebookEdit", Description: notebookEditDescription, InputSchema: notebookEditSchema}
}

func (t notebookEditTool) Access(input jsontext.Value) engine.Access {
	var in notebookEditInput
	if err := protocol.Unmarshal(input, &in); err != nil || in.NotebookPath == "" {
		return engine.Access{Kind: engine.Edit}
	}
	return engine.Access{Kind: engine.Edit, Path: t.abs(in.NotebookPath)}
}

func (t notebookEditTool) Run(ctx context.Context, call engine.ToolCall) engine.ToolResult {
	in := notebookEditInput{EditMode: "replace"}
	if err := protocol.Unmarshal(call.Input, &in); err != nil {
		return failure(err)
	}
	path := t.abs(in.NotebookPath)
	file, err := t.original(ctx, path)
	if err != nil {
		return failure(err)
	}
	old, book, err := openNotebook(path, file)
	if err != nil {
		return failure(err)
	}
	report, done, err := book.edit(in)
	if err != nil {
		return failure(refuse("%s was not changed: %w.", path, err))
	}
	new := book.String()
	if new == old {
		return failure(refuse("%s was not changed: its cell %s is like this already.", path, report.CellID))
	}
	raw, err := formatOf(file.raw).encode(new)
	if err != nil {
		return failure(refuse("%s was not changed: %w.", path, err))
	}
	if err := t.write(ctx, "NotebookEdit "+call.ID, path, &file.digest, raw); err != nil {
		return failure(err)
	}
	t.known.learn(path, digestOf(raw))
	report.NotebookPath, report.OriginalFile, report.UpdatedFile = path, shownWhole(old), shownWhole(new)
	text := fmt.Sprintf("%s of %s.", done, path)
	if in.EditMode != "replace" && !book.withIDs {
		text += " The cells behind it have other numbers now."
	}
	return success(text, report)
}

// original is the content of the notebook, which must be the one that the model has
// seen. Unlike an Edit of text, one that had changed since would still fit, at a
// number that is another cell's by now.
func (t notebookEditTool) original(ctx context.Context, path string) (*stored, error) {
	info, err := target(path)
	if err != nil {
		return nil, err
	}
	if info == nil {
		return nil, refuse("%s does not exist. To make a notebook, Write it.", path)
	}
	seen, ok := t.known.of(path)
	if !ok {
		return nil, refuse("%s was not changed: Read it first.", path)
	}
	file, err := load(ctx, path, maxEdited)
	switch {
	case err != nil:
		return nil, err
	case file.digest != seen:
		return nil, refuse("%s was not changed: it has changed since it was last read. Read it again first.", path)
	case !file.whole():
		return nil, refuse("%s was not changed: files over %d bytes are too big for NotebookEdit. Use a shell command.", path, maxEdited)
	}
	return file, nil
}

func openNotebook(path string, file *stored) (content string, book *notebook, err error) {
	if !namesNotebook(path) {
		return "", nil, refuse("%s was not changed: its name does not end in .ipynb. Use Edit for other files.", path)
	}
	if content, err = formatOf(file.raw).decode(file.raw); err == nil {
		book, err = parseNotebook(content)
	}
	if err != nil {
		return "", nil, refuse("%s was not changed: it is not a valid notebook: %w. Read shows it as text, and Edit can repair it.", path, err)
	}
	return content, book, nil
}

// edit carries an edit out, and says what was done.
func (n *notebook) edit(in notebookEditInput) (report notebookEditReport, done string, err error) {
	report = notebookEditReport{CellType: in.CellType, Language: n.language, EditMode: in.EditMode}
	if in.NewSource != nil {
		report.NewSource = *in.NewSource
	} else if in.EditMode != "delete" {
		return report, "", refuse("new_source is missing")
	}
	at := -1
	if in.CellID != "" {
		if at, err = n.find(in.CellID); err != nil {
			return report, "", err
		}
		report.CellID = n.name(at)
	} else if in.EditMode != "insert" {
		return report, "", refuse("cell_id is missing: it says which cell to %s", in.EditMode)
	}
	switch in.EditMode {
	case "insert":
		if in.CellType == "" {
			return report, "", refuse("cell_type is missing: a new cell is code or markdown")
		}
		report.CellID, err = n.insert(at+1, report.NewSource, in.CellType)
		return report, fmt.Sprintf("Inserted %s cell %s as number %d (counted from 0)", in.CellType, report.CellID, at+1), err
	case "delete":
		report.CellType = n.cells[at].Type
		n.delete(at)
		return report, fmt.Sprintf("Deleted cell %s", report.CellID), nil
	}
	if in.CellType == "" {
		report.CellType = n.cells[at].Type
	}
	err = n.replace(at, report.NewSource, in.CellType)
	return report, fmt.Sprintf("Replaced the source of cell %s", report.CellID), err
}

// shownWhole is text for a report, nil if it is too long.
func shownWhole(text string) *string {
	if len(text) > maxReported {
		return nil
	}
	return &text
}
