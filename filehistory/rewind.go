package filehistory

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"

	"github.com/google/uuid"

	"takeback/filehistory/internal/disk"
	"takeback/filehistory/internal/journal"
)

// Rewind puts every path that was changed after id back to what stood there
// just before its first change after id. id is a checkpoint, the UndoID of an
// earlier rewind, or [Undo]. The error is non-nil only if nothing was done, as
// when ctx ends before the first path is touched; once that is done, a rewind
// goes to its end. What could not be done for single paths is in the report.
// What cannot be replaced is written in place, as [WriteFile] does it.
func (s *Store) Rewind(ctx context.Context, id string, _ RewindOptions) (*Report, error) {
	if s == nil {
		return nil, ErrNoCheckpoint
	}
	if err := s.progress.Acquire(ctx, everything); err != nil {
		return nil, fmt.Errorf("rewind: %w", err)
	}
	defer s.progress.Release(everything)
	report, err := s.rewindTo(ctx, id)
	if err != nil {
		return nil, fmt.Errorf("rewind: %w", err)
	}
	return report, nil
}

func (s *Store) rewindTo(ctx context.Context, id string) (*Report, error) {
	if err := s.knows(id); err != nil {
		return nil, err // before the lock is waited for, and a store made
	}
	if err := s.acquire(ctx, s.rewindPatience); err != nil {
		return nil, err
	}
	batch := s.blobs.Batch()
	p, err := s.newPlan(ctx, id, batch)
	if err != nil {
		return nil, err
	}
	steps := p.differing()
	if len(steps) == 0 {
		return p.report(), nil
	}
	if err := batch.Sync(); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err // the last moment: what is announced goes to its end
	}
	w := &work{s: s, plan: p, steps: steps, id: uuid.NewString(), moved: make(map[string]string)}
	if err := w.announce(); err != nil {
		return nil, err
	}
	w.stage()
	w.replace()
	return w.finish(), nil
}

func (s *Store) knows(id string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.ready(); err != nil {
		return err
	}
	_, _, err := s.index.resolve(id)
	return err
}

func (p *plan) differing() []*step {
	var steps []*step
	for _, st := range p.steps {
		if st.verdict == differs {
			steps = append(steps, st)
		}
	}
	return steps
}

func (p *plan) saveXattrs(st *step) (err error) {
	if st.now.Kind == journal.File || st.now.Kind == journal.Dir {
		st.now.Xattrs, err = disk.Xattrs(st.path)
	}
	return err
}

// work is a rewind being carried out.
type work struct {
	s        *Store
	plan     *plan
	id       string
	steps    []*step
	parents  []*journal.Record // folders to make that are no steps, outermost first
	made     []string          // of those
	moved    map[string]string // what was moved aside, and where to
	problems []Problem         // of folders that are no steps

	mu   sync.Mutex // files are replaced side by side
	held disk.Held  // until after the reply
}

// announce writes into the journal what is about to change and where temporary
// files will lie, before there are any.
func (w *work) announce() error {
	saver := saver{s: w.s, by: "rewind", seen: make(map[string]bool), rewound: true}
	for _, st := range w.steps {
		saver.first(st.path)
	}
	var befores []*journal.Record
	for _, st := range w.steps {
		if st.want.Kind != journal.Absent {
			saver.records = nil
			saver.addParents(w.missingAbove(st.path))
			w.parents = append(w.parents, saver.records...)
			befores = append(befores, saver.records...)
		}
		st.record = saver.add(st.path, st.now)
		st.record.Up = w.stagingDistance(st)
		befores = append(befores, st.record)
	}
	first := &journal.Record{Type: journal.Rewind, ID: w.id, Target: w.plan.id, Undoes: w.plan.undoes}
	w.s.mu.Lock()
	err := w.s.record(append([]*journal.Record{first}, befores...)...)
	j := w.s.journal
	w.s.mu.Unlock()
	if err != nil {
		return err
	}
	if err := j.Sync(); err != nil {
		return errors.Join(err, w.abandon(befores))
	}
	return nil
}

// abandon takes back an announcement that may not be on disk: all stands as it stood.
func (w *work) abandon(befores []*journal.Record) error {
	var records []*journal.Record
	for _, before := range befores {
		records = append(records, afterRewind(before, before.State))
	}
	w.s.mu.Lock()
	defer w.s.mu.Unlock()
	return w.s.conclude(append(records, &journal.Record{Type: journal.RewindEnd, ID: w.id})...)
}

func (w *work) missingAbove(path string) []string {
	var dirs []string
	for dir := filepath.Dir(path); w.plan.wayTo(dir) == missing; dir = filepath.Dir(dir) {
		dirs = append([]string{dir}, dirs...)
	}
	return dirs
}

// stagingDistance is how many folders above the path the nearest one lies that
// exists: a new file is staged there, to be renamed within one file system.
func (w *work) stagingDistance(st *step) int {
	if st.want.Kind != journal.File && st.want.Kind != journal.Link && !st.obstructed {
		return 0
	}
	return 1 + len(w.missingAbove(st.path))
}

// temporary names the file that a change stages, from what the journal holds.
func temporary(rewindID, path string, number int64, up int) string {
	dir := path
	for range up {
		dir = filepath.Dir(dir)
	}
	return filepath.Join(dir, fmt.Sprintf(".takeback-%s-%d", strings.ReplaceAll(rewindID, "-", ""), number))
}

const asideSuffix = "-old"
