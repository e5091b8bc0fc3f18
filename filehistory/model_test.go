package filehistory

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// node is what stands at a path of the model. Folders stand wherever something
// is in them, and nowhere else.
type node struct {
	content string
	mode    os.FileMode
}

// model knows what "what stood before the first change after U" means, and
// nothing of how that is kept.
type model struct {
	*rapid.T
	h      *history
	disk   map[string]node
	points []*point
	last   *point // the newest rewind, while "undo" is sure to mean it
}

// point is a checkpoint, or the state before a rewind.
type point struct {
	id     string
	before map[string]*node // of the paths that the session changed since; nil: absent
}

func (m *model) at(path string) *node {
	if n, ok := m.disk[path]; ok {
		return &n
	}
	return nil
}

// touch notes that the session changes path.
func (m *model) touch(path string) {
	for _, p := range m.points {
		if _, ok := p.before[path]; !ok {
			p.before[path] = m.at(path)
		}
	}
}

func (m *model) set(path string, n *node) {
	if n == nil {
		delete(m.disk, path)
	} else {
		m.disk[path] = *n
	}
}

var modelPaths = []string{"a", "b", "d/a", "d/b", "d/e/a", "f/a", "f/g/h/a"}

func (m *model) drawPath() string { return rapid.SampledFrom(modelPaths).Draw(m.T, "path") }

func (m *model) session(path string, do func()) {
	c, err := m.h.store.Begin(context.Background(), "model", m.h.path(path))
	m.h.must(err)
	do()
	m.h.must(c.Done())
}

func (m *model) Write(t *rapid.T) {
	m.T = t
	path, content := m.drawPath(), rapid.SampledFrom([]string{"", "x\n", "y\nz", "w"}).Draw(t, "content")
	next := node{content, 0o644}
	if old := m.at(path); old != nil {
		next.mode = old.mode
		if *old == next {
			t.Skip("a write that changes nothing is no change")
		}
	}
	m.session(path, func() { m.h.must(WriteFile(m.h.path(path), []byte(content), 0o644)) })
	m.touch(path)
	m.set(path, &next)
	m.last = nil
}

func (m *model) Remove(t *rapid.T) {
	m.T = t
	path := m.drawPath()
	if m.at(path) == nil {
		t.Skip("nothing there")
	}
	m.session(path, func() { m.h.must(os.Remove(m.h.path(path))) })
	m.touch(path)
	m.set(path, nil)
	m.last = nil
}

func (m *model) Chmod(t *rapid.T) {
	m.T = t
	path := m.drawPath()
	old := m.at(path)
	next := os.FileMode(rapid.SampledFrom([]int{0o600, 0o755, 0o444}).Draw(t, "mode"))
	if old == nil || old.mode == next {
		t.Skip("nothing to do")
	}
	m.session(path, func() { m.h.must(os.Chmod(m.h.path(path), next)) })
	m.touch(path)
	m.set(path, &node{old.content, next})
	m.last = nil
}

func (m *model) FailedWrite(t *rapid.T) {
	m.T = t
	m.session(m.drawPath(), func() {})
}

func (m *model) OutsideEdit(t *rapid.T) {
	m.T = t
	path := m.drawPath()
	if m.at(path) == nil {
		m.h.must(os.MkdirAll(filepath.Dir(m.h.path(path)), 0o755))
	}
	m.h.must(os.RemoveAll(m.h.path(path)))
	m.h.must(os.WriteFile(m.h.path(path), []byte("outside"), 0o644))
	m.set(path, &node{"outside", 0o644})
}

func (m *model) OutsideRemove(t *rapid.T) {
	m.T = t
	path := m.drawPath()
	m.h.must(os.RemoveAll(m.h.path(path)))
	m.set(path, nil)
}

func (m *model) Checkpoint(t *rapid.T) {
	id := "u" + string(rune('A'+len(m.points)))
	m.h.checkpoint(id)
	m.points = append(m.points, &point{id, make(map[string]*node)})
}

func (m *model) Reopen(t *rapid.T) { m.h.restart() }

func (m *model) Rewind(t *rapid.T) {
	m.T = t
	if len(m.points) == 0 {
		t.Skip("no checkpoint")
	}
	m.rewindTo(rapid.SampledFrom(m.points).Draw(t, "point"), "")
}

func (m *model) Undo(t *rapid.T) {
	m.T = t
	if m.last == nil {
		t.Skip("nothing that undo surely means")
	}
	m.rewindTo(m.last, Undo)
	m.last = nil
}

func (m *model) rewindTo(p *point, word string) {
	id := p.id
	if word != "" {
		id = word
	}
	plan := m.h.plan(id)
	r := m.h.rewind(id)
	if len(r.Problems)+len(r.SkippedLinks) > 0 {
		m.Fatalf("%+v", r)
	}
	if !slices.Equal(plan.Files, r.Files) || !slices.Equal(plan.Conflicts, r.Conflicts) {
		m.Fatalf("plan %+v\nrewind %+v", plan, r)
	}
	undo := &point{r.UndoID, make(map[string]*node)}
	isUndo := slices.ContainsFunc(m.points, func(q *point) bool { return q == p && len(p.id) > 2 })
	m.points = append(m.points, undo)
	changed := false
	for path, want := range maps.Clone(p.before) {
		now := m.at(path)
		if now == nil && want == nil || now != nil && want != nil && *now == *want {
			continue
		}
		m.touch(path)
		m.set(path, want)
		changed = true
	}
	if r.UndoID == "" {
		if changed {
			m.Fatalf("something changed, and there is no undo: %+v", r)
		}
		m.points = m.points[:len(m.points)-1]
		return
	}
	m.last = nil
	if !isUndo && word == "" {
		m.last = undo
	}
}

// Check compares the disk.
func (m *model) Check(t *rapid.T) {
	for _, path := range modelPaths {
		b, err := os.ReadFile(m.h.path(path))
		want := m.at(path)
		if want == nil {
			if !errors.Is(err, os.ErrNotExist) {
				t.Fatalf("%s is there: %q, %v", path, b, err)
			}
			continue
		}
		if err != nil || string(b) != want.content {
			t.Fatalf("%s: %q, %v; want %+v", path, b, err, want)
		}
		info, err := os.Stat(m.h.path(path))
		if err != nil || info.Mode().Perm() != want.mode {
			t.Fatalf("%s: %v, %v; want %+v", path, info.Mode(), err, want)
		}
	}
}

func TestModel(t *testing.T) {
	rapid.Check(t, func(t2 *rapid.T) {
		h := newHistory(t)
		defer os.RemoveAll(h.work)
		defer os.RemoveAll(h.dir)
		defer func() { h.store.Close() }()
		m := &model{T: t2, h: h, disk: make(map[string]node)}
		t2.Repeat(rapid.StateMachineActions(m))
		h.noTemps()
	})
}
