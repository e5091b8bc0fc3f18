package filehistory

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"takeback/filehistory/internal/journal"
)

// stage makes all new content ready beside its place, checked and flushed,
// before anything is replaced: what cannot be read or has no room fails here,
// where it costs nothing.
func (w *work) stage() {
	_ = sideBySide(w.steps, func(st *step) error { // each step keeps its own error
		if st.want.Kind != journal.File && st.want.Kind != journal.Link || st.change.Action == Chmod {
			return nil
		}
		temp := temporary(w.id, st.path, st.record.Change, st.record.Up)
		err := w.s.fillStaged(temp, st)
		if inPlace(err) && st.overFile() { // its folder takes no new file
			_ = w.s.fs.Remove(temp) // is not even there
			temp = w.s.blobs.Temporary(filepath.Base(temp))
			st.inPlace = true
			err = w.s.fillStaged(temp, st)
		}
		if err != nil {
			_ = w.s.fs.Remove(temp) // may not even be there
			st.fail(fmt.Errorf("stage: %w", err))
			return nil
		}
		st.staged = temp
		return nil
	})
	var staged []string
	for _, st := range w.steps {
		if st.staged != "" {
			staged = append(staged, st.staged)
		}
	}
	if err := w.s.fs.SyncTogether(staged); err != nil {
		for _, st := range w.steps {
			if st.staged != "" {
				w.unstage(st, fmt.Errorf("flush what was staged: %w", err))
			}
		}
	}
}

func (w *work) unstage(st *step, err error) {
	st.fail(err)
	if st.staged != "" {
		_ = w.s.fs.Remove(st.staged) // else the next process that writes removes it
		st.staged = ""
	}
}

func (s *Store) fillStaged(temp string, st *step) error {
	if st.want.Kind == journal.Link {
		if err := s.fs.Symlink(string(st.want.Link), temp); err != nil {
			return err
		}
		st.lost = s.fs.Chown(temp, st.want.UID, st.want.GID)
		return nil
	}
	f, err := s.fs.Create(temp)
	if err != nil {
		return err
	}
	if err := s.blobs.CopyTo(f, refOf(st.want)); err != nil {
		return errors.Join(err, f.Close())
	}
	if st.inPlace {
		return f.Close()
	}
	mode := st.want.Mode
	st.lost = s.fs.Chown(temp, st.want.UID, st.want.GID)
	if inPlace(st.lost) && st.overFile() && st.now.UID == st.want.UID && st.now.GID == st.want.GID {
		st.inPlace, st.lost = true, nil // what stands there has the owner
		return f.Close()
	}
	if st.lost != nil { // these bits would now lend the rights of another user
		mode &^= fs.ModeSetuid | fs.ModeSetgid
	}
	st.lost = errors.Join(st.lost, s.fs.SetXattrs(temp, st.want.Xattrs))
	return errors.Join(s.fs.ChmodFile(f, mode), f.Close())
}

// replace changes what stands at the paths: folders and replacements first, then
// removals, so that whatever goes wrong there is more than needed, not less. A
// folder gets its mode last, as that may forbid changes in it.
func (w *work) replace() {
	w.each(w.steps, func(st *step) bool { return st.obstructed }, w.moveAside)
	w.makeFolders()
	w.plan.ways = make(map[string]way)
	w.each(w.steps, func(st *step) bool { return st.change.Action == Chmod && st.now.Kind != journal.Dir }, w.chmod)
	_ = sideBySide(w.steps, func(st *step) error { // each step keeps its own error
		if st.verdict == differs && st.staged != "" {
			if err := w.swap(st); err != nil {
				w.unstage(st, err)
			}
		}
		return nil
	})
	backward := slices.Clone(w.steps)
	slices.Reverse(backward)
	w.each(backward, func(st *step) bool { return st.change.Action == Remove }, w.remove)
	for _, st := range backward {
		if st.aside != "" {
			w.settleAside(st)
		}
	}
	w.each(backward, func(st *step) bool { return st.want.Kind == journal.Dir }, w.finishFolder)
	for _, parent := range slices.Backward(w.made) {
		w.finishParent(parent)
	}
}

func (w *work) each(steps []*step, which func(*step) bool, do func(*step) error) {
	for _, st := range steps {
		if st.verdict != differs || !which(st) {
			continue
		}
		if err := do(st); err != nil {
			w.unstage(st, err)
		}
	}
}

var errChanging = errors.New("it is being changed by somebody else; ask again")

// check looks once more before a path is touched.
//
// RACE: between this look and the change somebody may still put something
// there, and what they wrote then is lost. So is what they wrote in place right
// after the saving, if it has the old size: times count in ticks of the kernel's
// clock, up to 10 ms, and two writes in one tick look like one. A link that they
// put there is itself replaced, never followed. Where a folder on the way becomes a
// link in that moment, what lies behind it is not changed. Two things still go by the
// path: a temporary file may be staged there, and a folder of this name get an owner.
func (w *work) check(st *step, path string) error {
	w.mu.Lock()
	leads := w.plan.wayTo(filepath.Dir(path))
	w.mu.Unlock()
	if leads == linked || leads == blocked {
		return errors.New("its folder was replaced")
	}
	now, err := look(path)
	if err != nil {
		return err
	}
	if now.Kind == journal.Dir && st.now.Kind == journal.Dir && now.Ino == st.now.Ino {
		return nil // its times move with what is in it
	}
	if now.Kind == journal.Absent && st.now.Kind == journal.Absent || sameFile(now, st.now) {
		return nil
	}
	return errChanging
}

// actual is where a path is now, if a folder on its way was moved aside.
func (w *work) actual(path string) string {
	if len(w.moved) == 0 {
		return path
	}
	for dir := filepath.Dir(path); dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if aside, ok := w.moved[dir]; ok {
			return aside + path[len(dir):]
		}
	}
	return path
}

func (w *work) moveAside(st *step) error {
	if err := w.check(st, st.path); err != nil {
		return err
	}
	aside := temporary(w.id, st.path, st.record.Change, st.record.Up) + asideSuffix
	if err := w.s.fs.Move(st.path, aside); err != nil {
		return err
	}
	st.aside, w.moved[st.path] = aside, aside
	return nil
}

func (w *work) swap(st *step) error {
	if st.aside == "" {
		if err := w.check(st, st.path); err != nil {
			return err
		}
	}
	if st.inPlace {
		return w.overwrite(st)
	}
	if st.now.Kind == journal.File {
		w.held.Add(st.path)
	}
	err := w.s.fs.Move(st.staged, st.path)
	if inPlace(err) && st.overFile() {
		return w.overwrite(st)
	}
	if err != nil {
		return err
	}
	st.staged, st.done = "", true
	return nil
}

func (w *work) chmod(st *step) error {
	if err := w.check(st, st.path); err != nil {
		return err
	}
	if err := w.s.fs.Chmod(st.path, st.want.Mode); err != nil {
		return err
	}
	st.done = true
	return nil
}

func (w *work) remove(st *step) error {
	path := w.actual(st.path)
	if err := w.check(st, path); err != nil {
		return err
	}
	if st.now.Kind == journal.File {
		w.held.Add(path)
	}
	if err := w.s.fs.Delete(path); err != nil {
		return err
	}
	st.done = true
	return nil
}

// settleAside removes what was in the way, or puts it back if nothing came.
func (w *work) settleAside(st *step) {
	if st.done {
		if err := w.s.fs.Delete(st.aside); err != nil {
			st.lost = fmt.Errorf("what stood in its place is left as %s: %w", st.aside, err)
		}
		return
	}
	if err := w.s.fs.Move(st.aside, st.path); err != nil {
		st.err = errors.Join(st.err, fmt.Errorf("what stood there is now %s: %w", st.aside, err))
	}
}

// finish records what was left, and reports.
func (w *work) finish() *Report {
	resolver := newResolver()
	var records []*journal.Record
	for _, parent := range w.parents {
		records = append(records, afterRewind(parent, leave(resolver, parent.Path.String(), parent.State)))
	}
	done := 0
	for _, st := range w.steps {
		records = append(records, afterRewind(st.record, st.outcome(resolver)))
		if st.done {
			done++
		}
	}
	records = append(records, &journal.Record{Type: journal.RewindEnd, ID: w.id, Done: done})
	report := w.plan.report()
	report.Problems = append(report.Problems, w.problems...)
	if err := w.commit(records); err != nil {
		report.Problems = append(report.Problems, Problem{Path: w.s.journalPath(), Err: oneLine{err}})
	}
	if done > 0 {
		report.UndoID = w.id
	}
	w.s.freeing.Go(w.held.Release)
	w.s.log.Debug("rewound", "to", w.plan.id, "changed", done, "problems", len(report.Problems))
	return report
}

func afterRewind(before *journal.Record, state journal.State) *journal.Record {
	return &journal.Record{
		Type: journal.After, Change: before.Change, Path: before.Path, Parent: before.Parent, Rewound: true,
		State: state,
	}
}

// outcome is what stands at the path after the rewind.
func (st *step) outcome(r *resolver) journal.State {
	if !st.done || st.torn || st.want.Kind != journal.File {
		return leave(r, st.path, st.record.State)
	}
	state, err := look(st.path)
	if err != nil || state.Kind != journal.File || state.Size != st.want.Size {
		return journal.State{Kind: journal.Lost, Why: "changed right after it was restored"}
	}
	state.Hash = st.want.Hash // staged content was checked: no need to read it again
	return state
}

func (w *work) commit(records []*journal.Record) error {
	w.s.mu.Lock()
	err := w.s.conclude(records...)
	j := w.s.journal
	w.s.mu.Unlock()
	if err == nil {
		err = j.Sync()
	}
	return err
}
