package tools

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/goccy/go-json/jsontext"

	"takeback/engine"
	"takeback/protocol"
)

// unlimitedLines is what "all" means: more would not fit into an answer.
const unlimitedLines = 50_000

//go:embed grep.md
var grepDescription string

//go:embed grep.schema.json
var grepSchema []byte

type grepTool struct{ *Set }

type grepInput struct {
	Pattern    string  `json:"pattern"`
	Path       string  `json:"path"`
	Glob       string  `json:"glob"`
	Type       string  `json:"type"`
	Mode       string  `json:"output_mode"`
	Before     float64 `json:"-B"` // integers, which may be written 3.0
	After      float64 `json:"-A"`
	Around     float64 `json:"-C"`
	Context    float64 `json:"context"`
	Numbers    bool    `json:"-n"`
	IgnoreCase bool    `json:"-i"`
	Multiline  bool    `json:"multiline"`
	Limit      float64 `json:"head_limit"`
	Offset     float64 `json:"offset"`
}

// grepReport tells the host what a Grep found. NumFiles counts the Filenames, which
// are those that the answer shows.
type grepReport struct {
	Mode       string   `json:"mode"`
	Filenames  []string `json:"filenames"`
	NumFiles   int      `json:"numFiles"`
	Content    *string  `json:"content,omitzero"`
	NumLines   *int     `json:"numLines,omitzero"`
	NumMatches *int     `json:"numMatches,omitzero"`
}

func (grepTool) Spec() engine.ToolSpec {
	return engine.ToolSpec{Name: "Grep", Description: grepDescription, InputSchema: grepSchema}
}

func (t grepTool) Access(input jsontext.Value) engine.Access {
	var in grepInput
	if err := protocol.Unmarshal(input, &in); err != nil {
		return engine.Access{Kind: engine.Read, Path: t.cwd}
	}
	return engine.Access{Kind: engine.Read, Path: t.abs(in.Path)}
}

func (t grepTool) Run(ctx context.Context, call engine.ToolCall) engine.ToolResult {
	in := grepInput{Mode: "files_with_matches", Numbers: true, Limit: 250}
	if err := protocol.Unmarshal(call.Input, &in); err != nil {
		return failure(err)
	}
	g, err := t.prepare(in)
	if err != nil {
		return failure(err)
	}
	info, err := os.Stat(g.root)
	switch {
	case err != nil:
		return failure(pathError(g.root, err))
	case info.IsDir():
		err = g.walk(ctx)
	default:
		err = g.search.only(ctx, g)
	}
	if err != nil {
		return failure(err)
	}
	return g.result(in.Mode)
}

// grep is one call.
type grep struct {
	search
	root   string
	filter *fileFilter
	name   func(path string) string // as it is shown

	offset, limit int
	newest        *newest // where files are listed
	inOrder       inOrder // where their lines are

	mu         sync.Mutex
	unreadable int
	cut        int // files of which something was too long
}

func (t grepTool) prepare(in grepInput) (*grep, error) {
	g := &grep{root: t.abs(in.Path), name: t.shownName, offset: int(in.Offset), limit: int(in.Limit)}
	if g.limit == 0 {
		g.limit = unlimitedLines
	}
	var err error
	if g.filter, err = newFileFilter(in.Glob, in.Type); err != nil {
		return nil, err
	}
	m, err := newMatcher(in.Pattern, in.IgnoreCase, in.Multiline)
	if err != nil {
		return nil, refuse("Grep cannot search for %q: %w.", in.Pattern, err)
	}
	g.search = search{matcher: m, multiline: in.Multiline, literalCR: strings.Contains(in.Pattern, `\r`), numbers: in.Numbers}
	wanted := g.offset + g.limit + 1 // one more tells that there is more
	switch in.Mode {
	case "content":
		around := int(max(in.Around, in.Context))
		g.before, g.after = max(int(in.Before), around), max(int(in.After), around)
		g.maxLines = wanted
		g.inOrder.wanted = wanted
	case "count":
		g.count = true
		g.inOrder.wanted = wanted
	default:
		g.newest = &newest{limit: wanted}
	}
	return g, nil
}

// shownName is a path as an answer shows it: relative inside the working folder,
// where most are, and it stands in front of every line.
func (t grepTool) shownName(path string) string {
	if rel, err := filepath.Rel(t.cwd, path); err == nil && filepath.IsLocal(rel) {
		return rel
	}
	return path
}

// only searches the one file that was named.
func (s *search) only(ctx context.Context, g *grep) error {
	found, err := s.file(ctx, g.root, g.name(g.root))
	if err == nil {
		err = g.add(g.root, found)
	}
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return interruptedSearch(ctx)
	case errors.Is(err, errBinary) || errors.Is(err, errTooLong):
		return refuse("%s was not searched: %w. A shell command can look into it.", g.root, err)
	}
	return pathError(g.root, err)
}

func interruptedSearch(ctx context.Context) error {
	return refuse("The search was interrupted: %w.", ctx.Err())
}

// walk searches the files of a folder.
func (g *grep) walk(ctx context.Context) error {
	w := &walk{
		enter: func(dir string) bool { return g.inOrder.wants(dir) && g.filter.enters(below(g.root, dir)) },
		pick: func(path string, ignored func() bool) bool {
			return g.filter.takes(below(g.root, path), ignored)
		},
		visit: func(dir string, files []fs.DirEntry) {
			for _, f := range files {
				if path := filepath.Join(dir, f.Name()); ctx.Err() == nil && g.inOrder.wants(path) {
					g.visit(ctx, path)
				}
			}
		},
	}
	if err := w.run(ctx, g.root); err != nil {
		return interruptedSearch(ctx)
	}
	g.unreadable += int(w.unreadable.Load())
	return nil
}

func (g *grep) visit(ctx context.Context, path string) {
	found, err := g.file(ctx, path, g.name(path))
	if err == nil {
		err = g.add(path, found)
	}
	if err == nil && !found.cut || errors.Is(err, errBinary) {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if err == nil || errors.Is(err, errTooLong) {
		g.cut++
	} else {
		g.unreadable++
	}
}

// add keeps what was found in a file.
func (g *grep) add(path string, found hits) error {
	if found.matched == 0 {
		return nil
	}
	if g.newest == nil {
		if g.count {
			found.lines = []string{fmt.Sprintf("%s:%d", strings.ToValidUTF8(g.name(path), "\uFFFD"), found.matched)}
		}
		g.inOrder.add(fileHits{path, found})
		return nil
	}
	info, err := os.Stat(path)
	if err == nil {
		g.newest.add(path, info)
	}
	return err
}

// fileHits are the hits of a file.
type fileHits struct {
	path string
	hits
}

// inOrder keeps the hits of the files that come first in the order of paths, as
// many as it takes for the wanted lines. So the answer is the same however the workers
// take turns, and the search ends once nothing can come in front.
type inOrder struct {
	wanted int
	mu     sync.Mutex
	files  []fileHits
	lines  int
}

// wants tells whether hits at path, or below it, would still be kept.
func (o *inOrder) wants(path string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.lines < o.wanted || o.wanted == 0 || comparePaths(path, o.files[len(o.files)-1].path) < 0
}

func (o *inOrder) add(f fileHits) {
	o.mu.Lock()
	defer o.mu.Unlock()
	at, _ := slices.BinarySearchFunc(o.files, f, func(a, b fileHits) int { return comparePaths(a.path, b.path) })
	o.files = slices.Insert(o.files, at, f)
	o.lines += len(f.lines)
	for {
		last := o.files[len(o.files)-1]
		if o.lines-len(last.lines) < o.wanted {
			return
		}
		o.files = o.files[:len(o.files)-1]
		o.lines -= len(last.lines)
	}
}
