package tools

import (
	"cmp"
	"context"
	_ "embed"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/bmatcuk/doublestar/v4"
	"github.com/goccy/go-json/jsontext"

	"takeback/engine"
	"takeback/protocol"
)

// maxGlobbed is how many files a Glob shows.
const maxGlobbed = 100

//go:embed glob.md
var globDescription string

//go:embed glob.schema.json
var globSchema []byte

type globTool struct{ *Set }

type globInput struct {
	Pattern string `json:"pattern"`
	Path    string `json:"path"`
}

type globReport struct {
	Filenames  []string `json:"filenames"`
	NumFiles   int      `json:"numFiles"`
	DurationMs int64    `json:"durationMs"`
	Truncated  bool     `json:"truncated"`
}

func (globTool) Spec() engine.ToolSpec {
	return engine.ToolSpec{Name: "Glob", Description: globDescription, InputSchema: globSchema}
}

func (t globTool) Access(input jsontext.Value) engine.Access {
	var in globInput
	if err := protocol.Unmarshal(input, &in); err != nil {
		return engine.Access{Kind: engine.Read, Path: t.cwd}
	}
	root, _ := t.split(in)
	return engine.Access{Kind: engine.Read, Path: root}
}

// split gives the folder to search, with what the pattern begins with up to its
// first wildcard, and the rest of the pattern. So a pattern that begins with ".." or
// with "/" is judged by where it leads, and a folder that it names is searched although it is ignored.
func (t globTool) split(in globInput) (root, pattern string) {
	base, pattern := doublestar.SplitPattern(filepath.ToSlash(in.Pattern))
	if base = filepath.FromSlash(base); filepath.IsAbs(base) || strings.HasPrefix(base, "~") {
		return t.abs(base), pattern
	}
	return filepath.Join(t.abs(in.Path), base), pattern
}

func (t globTool) Run(ctx context.Context, call engine.ToolCall) engine.ToolResult {
	began := time.Now()
	var in globInput
	if err := protocol.Unmarshal(call.Input, &in); err != nil {
		return failure(err)
	}
	if !doublestar.ValidatePattern(filepath.ToSlash(in.Pattern)) {
		return failure(refuse("%q is not a valid pattern: a bracket or brace is not closed, or a backslash stands at its end.", in.Pattern))
	}
	if info, err := os.Stat(t.abs(in.Path)); err != nil {
		return failure(pathError(t.abs(in.Path), err))
	} else if !info.IsDir() {
		return failure(refuse("%s is not a folder. Give the folder to search as path.", t.abs(in.Path)))
	}
	root, pattern := t.split(in)
	found := &newest{limit: maxGlobbed}
	unreadable, err := globbed(ctx, root, pattern, found)
	if err != nil {
		return failure(refuse("The search was interrupted: %w.", err))
	}
	report := globReport{Filenames: found.paths(), Truncated: found.total > maxGlobbed}
	report.NumFiles, report.DurationMs = len(report.Filenames), time.Since(began).Milliseconds()
	text := strings.Join(report.Filenames, "\n")
	switch {
	case report.NumFiles == 0:
		text = "No files found"
	case report.Truncated:
		text += fmt.Sprintf("\n[These are the %d that changed last, of %d. A narrower pattern or path shows others.]", report.NumFiles, found.total)
	}
	return success(strings.ToValidUTF8(text, "\uFFFD")+unreadableNote(unreadable), report)
}

// globbed finds the files below root that match pattern, and counts the folders that could not be read.
func globbed(ctx context.Context, root, pattern string, found *newest) (unreadable int, err error) {
	if !strings.ContainsAny(pattern, `*?[{\`) {
		// A name and no pattern is meant, whether it is ignored or not.
		path := filepath.Join(root, filepath.FromSlash(pattern))
		if info, err := os.Stat(path); err == nil && !info.IsDir() {
			found.add(path, info)
		}
		return 0, nil
	}
	if info, err := os.Stat(root); err != nil || !info.IsDir() {
		return 0, nil
	}
	depth := strings.Count(pattern, "/")
	everywhere := strings.Contains(pattern, "**")
	w := &walk{
		links: true,
		enter: func(dir string) bool {
			return everywhere || strings.Count(below(root, dir), "/") < depth
		},
		pick: func(path string, ignored func() bool) bool {
			return doublestar.MatchUnvalidated(pattern, below(root, path)) && !ignored()
		},
		visit: func(dir string, files []fs.DirEntry) {
			for _, f := range files {
				path := filepath.Join(dir, f.Name())
				info, err := f.Info()
				if f.Type() == fs.ModeSymlink {
					info, err = os.Stat(path)
				}
				if err == nil && info.Mode().IsRegular() {
					found.add(path, info)
				}
			}
		},
	}
	err = w.run(ctx, root)
	return int(w.unreadable.Load()), err
}

// below gives the path of what is below root relative to it, with slashes.
func below(root, path string) string {
	return strings.TrimPrefix(filepath.ToSlash(path[len(root):]), "/")
}

func unreadableNote(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("\n[Files or folders that could not be read: %d.]", n)
}

// newest keeps the files that changed last, and of no more than twice limit.
type newest struct {
	limit int
	mu    sync.Mutex
	files []dated
	total int
}

type dated struct {
	path    string
	changed time.Time
}

func (n *newest) add(path string, info fs.FileInfo) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.total++
	if n.files = append(n.files, dated{path, info.ModTime()}); len(n.files) >= 2*n.limit {
		n.sort()
	}
}

func (n *newest) sort() {
	slices.SortFunc(n.files, func(a, b dated) int {
		return cmp.Or(b.changed.Compare(a.changed), comparePaths(a.path, b.path))
	})
	n.files = n.files[:min(len(n.files), n.limit)]
}

// paths lists the files, the newest first.
func (n *newest) paths() []string {
	n.sort()
	paths := []string{}
	for _, f := range n.files {
		paths = append(paths, f.path)
	}
	return paths
}

// comparePaths orders paths folder by folder: what is in a folder stands together.
func comparePaths(a, b string) int {
	for i := range min(len(a), len(b)) {
		x, y := a[i], b[i]
		switch {
		case x == y:
		case os.IsPathSeparator(x):
			return -1
		case os.IsPathSeparator(y):
			return 1
		default:
			return cmp.Compare(x, y)
		}
	}
	return cmp.Compare(len(a), len(b))
}
