// Package tools holds the tools that a model is offered: a file a tool, with its
// description (.md) and the schema of its input beside it.
//
// Whatever changes a file goes through the file history first, so that it can be
// taken back; a shell command is at least named there.
package tools

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/goccy/go-json/jsontext"

	"takeback/engine"
	"takeback/filehistory"
	"takeback/protocol"
)

// Options of a Set.
type Options struct {
	Cwd     string             // required, absolute: what relative paths are relative to, and where commands start
	History *filehistory.Store // nil: nothing is recorded
	Environ func() []string    // the environment of commands; nil: an empty one
}

// A Set is the tools of one session, with what they remember from call to call:
// which files the model has seen, and in which folder the shell stands.
type Set struct {
	cwd     string
	history *filehistory.Store
	environ func() []string
	known   knowledge
	shell   shell
}

// New makes the tools of one session.
func New(opts Options) *Set {
	s := &Set{cwd: opts.Cwd, history: opts.History, environ: opts.Environ}
	if s.environ == nil {
		s.environ = func() []string { return nil }
	}
	return s
}

// Tools lists the tools, in the order in which the model is told of them.
func (s *Set) Tools() []engine.Tool {
	return []engine.Tool{bashTool{s}, globTool{s}, grepTool{s}, readTool{s}, editTool{s}, writeTool{s}, notebookEditTool{s}}
}

// Forget drops what the model has seen of the files at paths: after a rewind it
// must read them again before it may change them.
func (s *Set) Forget(paths []string) {
	for _, path := range paths {
		s.known.forget(path)
	}
}

// Close ends the processes that commands left running.
func (s *Set) Close() { s.shell.close() }

// abs makes path absolute. "~" is the home folder, or a model would make a folder
// of that name in the project. Cleaning is lexical ("link/../a" is "a"), which is
// also what permission rules judge; resolving links would tell the two apart.
func (s *Set) abs(path string) string {
	if rest, ok := strings.CutPrefix(path, "~"); ok && (rest == "" || rest[0] == '/') {
		for _, entry := range s.environ() {
			if home, ok := strings.CutPrefix(entry, "HOME="); ok && filepath.IsAbs(home) {
				return filepath.Join(home, rest)
			}
		}
	}
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(s.cwd, path)
}

// fileAccess is the Access of a tool whose input names a file_path.
func (s *Set) fileAccess(kind engine.AccessKind, input jsontext.Value) engine.Access {
	var in struct {
		FilePath string `json:"file_path"`
	}
	if err := protocol.Unmarshal(input, &in); err != nil || in.FilePath == "" {
		return engine.Access{Kind: kind}
	}
	return engine.Access{Kind: kind, Path: s.abs(in.FilePath)}
}

// write makes path hold content, by way of the history: nothing is written
// unless the old state is safe, nor unless path still holds what the tool saw
// (want; nil if nothing stood there).
//
// The file is replaced, not written in place: where it has several names, the
// others keep the old content.
func (s *Set) write(ctx context.Context, by, path string, want *digest, content []byte) (err error) {
	if err := ctx.Err(); err != nil {
		return refuse("%s was not written: %w.", path, err)
	}
	change, err := s.history.Begin(ctx, by, path)
	if err != nil {
		return refuse("%s was not written: what stands there could not be saved for a rewind (%w).", path, err)
	}
	defer func() {
		if doneErr := change.Done(); doneErr != nil && err == nil {
			err = refuse("%s was written, but the file history could not record it (%w).", path, doneErr)
		}
	}()
	if err := unchanged(ctx, path, want); err != nil {
		return err
	}
	// RACE: what another program writes here between the look above and the
	// rename is replaced. It is not in the history either.
	if err := change.WriteFile(path, content, 0o666); err != nil {
		return refuse("%s was not written: %w.", path, err)
	}
	return nil
}

// refusal is an error that is a sentence for the model.
type refusal struct{ error }

func (r refusal) Unwrap() error { return r.error }

// refuse words a refusal.
func refuse(format string, args ...any) error { return refusal{fmt.Errorf(format, args...)} }

// failure is the result of a call that failed.
func failure(err error) engine.ToolResult {
	return engine.ToolResult{Content: protocol.Text(strings.ToValidUTF8(err.Error(), "\uFFFD")), IsError: true}
}

// success is the result of a call that did what it was asked: text for the
// model, report for the host.
func success(text string, report any) engine.ToolResult {
	encoded, err := protocol.Marshal(report)
	if err != nil {
		return failure(fmt.Errorf("encoding the report of a tool: %w", err))
	}
	return engine.ToolResult{Content: protocol.Text(text), Report: encoded}
}
