package tools

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

const (
	// listedAtOnce bounds the entries of one folder that are held: a folder can have millions.
	listedAtOnce = 4096
	// visitedAtOnce is how many files of a folder a worker takes, so that those of a big one are shared.
	visitedAtOnce = 64
)

// metadataFolders belong to version control systems: nothing there is a file of the project.
var metadataFolders = []string{".git", ".hg", ".svn", ".jj", ".sl", ".bzr"}

// walk goes through the files below a folder, with as many workers as there are
// processors, and about in the order of their paths. It follows no links: they
// could lead around in circles, or to where nobody has allowed to look.
type walk struct {
	enter func(dir string) bool                       // whether to look into a folder; nil: into every one
	pick  func(path string, ignored func() bool) bool // whether to visit a file
	visit func(dir string, files []fs.DirEntry)       // visits some of the files of a folder; many at a time
	links bool                                        // links are visited as files

	unreadable atomic.Int64 // folders that could not be listed

	mu    sync.Mutex
	wake  sync.Cond // a task was added, or all is done
	todo  []task    // a stack, the next one last
	busy  int       // workers with a task
	panic any
}

// task is a folder to list, the rest of one, or files to visit.
type task struct {
	dir   string
	rules *ignores
	rest  *os.File
	files []fs.DirEntry
}

// run goes through root, an absolute path, until ctx ends.
func (w *walk) run(ctx context.Context, root string) error {
	w.wake.L = &w.mu
	w.todo = []task{{dir: root, rules: ignoresAbove(root)}}
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() { w.work(ctx) })
	}
	workers.Wait()
	for _, t := range w.todo {
		if t.rest != nil {
			t.rest.Close()
		}
	}
	if w.panic != nil {
		panic(w.panic) // where the engine expects it
	}
	return ctx.Err()
}

func (w *walk) work(ctx context.Context) {
	for {
		t, ok := w.take(ctx)
		if !ok {
			return
		}
		w.do(t)
	}
}

// take waits for a task; there is none once all are done, or ctx has ended.
func (w *walk) take(ctx context.Context) (t task, ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for len(w.todo) == 0 && w.busy > 0 {
		w.wake.Wait()
	}
	if len(w.todo) == 0 || w.panic != nil || ctx.Err() != nil {
		return task{}, false
	}
	t, w.todo = w.todo[len(w.todo)-1], w.todo[:len(w.todo)-1]
	w.busy++
	return t, true
}

// do carries a task out, and adds those that follow from it.
func (w *walk) do(t task) {
	var more []task
	defer func() {
		p := recover()
		w.mu.Lock()
		defer w.mu.Unlock()
		if p != nil {
			w.panic = fmt.Sprintf("%v\n%s", p, debug.Stack())
		}
		slices.Reverse(more)
		w.todo = append(w.todo, more...)
		w.busy--
		w.wake.Broadcast()
	}()
	if t.files != nil {
		w.visit(t.dir, t.files)
		return
	}
	more = w.list(t)
}

// list gives what there is to do in a folder, in the order of the names.
func (w *walk) list(t task) (more []task) {
	f := t.rest
	if f == nil {
		var err error
		if f, err = os.Open(t.dir); err != nil {
			w.unreadable.Add(1)
			return nil
		}
		t.rules = t.rules.in(t.dir)
	}
	entries, err := f.ReadDir(listedAtOnce)
	if err != nil && err != io.EOF {
		w.unreadable.Add(1)
	}
	if len(entries) < listedAtOnce {
		f.Close()
	} else {
		defer func() { more = append(more, task{dir: t.dir, rules: t.rules, rest: f}) }()
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	for _, e := range entries {
		if slices.Contains(metadataFolders, e.Name()) {
			continue
		}
		path := filepath.Join(t.dir, e.Name())
		if e.IsDir() {
			if (w.enter == nil || w.enter(path)) && !t.rules.ignored(path, true) {
				more = append(more, task{dir: path, rules: t.rules})
			}
			continue
		}
		regular := e.Type().IsRegular() || w.links && e.Type() == fs.ModeSymlink
		if !regular || !w.pick(path, func() bool { return t.rules.ignored(path, false) }) {
			continue
		}
		if last := len(more) - 1; last >= 0 && 0 < len(more[last].files) && len(more[last].files) < visitedAtOnce {
			more[last].files = append(more[last].files, e)
		} else {
			more = append(more, task{dir: t.dir, files: []fs.DirEntry{e}})
		}
	}
	return more
}
