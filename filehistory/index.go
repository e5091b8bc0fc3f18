package filehistory

import (
	"slices"
	"time"

	"takeback/filehistory/internal/journal"
)

// index is the journal in memory: the changes in their order, and the points
// between them that a rewind can go to.
type index struct {
	seq         int64 // of the last record
	nextChange  int64
	changes     []*change
	open        map[int64]*change // by number, those whose After has not come
	points      map[string]int64  // the sequence number of a checkpoint or rewind
	checkpoints []CheckpointInfo
	rewinds     []*rewind
	gaps        []gap
	process     string                   // that writes
	paths       map[string]string        // one copy of each path
	folders     map[string]journal.State // on the way to paths, as last seen
}

// change is one path, changed once.
type change struct {
	seq    int64
	path   string
	before journal.State
	after  *journal.State // nil if its writer died, or is at work
	parent bool           // a folder that was missing on the way to another path
	rewind *rewind        // nil if a tool made it
	number int64
	up     int
	writer string // the process that began it
}

type rewind struct {
	seq, end   int64 // end is 0 while it is at work, or if its process died
	id, undoes string
	target     string
	changes    []*change
}

// gap is something between checkpoints that the journal does not tell.
type gap struct {
	seq int64
	Uncovered
}

const damaged = "a record of the history is damaged; what it said is unknown"

func newIndex() *index {
	return &index{
		nextChange: 1,
		open:       make(map[int64]*change),
		points:     make(map[string]int64),
		paths:      make(map[string]string),
		folders:    make(map[string]journal.State),
	}
}

// apply adds the next record, nil for a damaged one.
func (x *index) apply(r *journal.Record) {
	x.seq++
	if r == nil {
		x.gaps = append(x.gaps, gap{x.seq, Uncovered{What: "file history", Reason: damaged}})
		return
	}
	switch r.Type {
	case journal.Opened:
		x.process = r.ID
	case journal.Checkpoint:
		if _, ok := x.points[r.ID]; !ok {
			x.points[r.ID] = x.seq
			info := CheckpointInfo{ID: r.ID, Label: r.Label, Time: time.UnixMilli(r.Time)}
			x.checkpoints = append(x.checkpoints, info)
		}
	case journal.Before:
		x.addChange(r)
	case journal.After:
		x.endChange(r)
	case journal.Uncovered:
		x.gaps = append(x.gaps, gap{x.seq, Uncovered{What: r.What, Reason: r.Reason}})
	case journal.Rewind:
		x.points[r.ID] = x.seq
		x.rewinds = append(x.rewinds, &rewind{seq: x.seq, id: r.ID, target: r.Target, undoes: r.Undoes})
	case journal.RewindEnd:
		x.endRewind(r)
	case journal.Folder:
		x.folders[r.Path.String()] = r.State
	case journal.Alias:
		x.alias(r.ID, r.Target)
	}
}

// alias lets a checkpoint be found by another id too, and be listed by it.
func (x *index) alias(id, was string) {
	seq, ok := x.points[was]
	if !ok {
		return
	}
	x.points[id] = seq
	for i := range x.checkpoints {
		if x.checkpoints[i].ID == was {
			x.checkpoints[i].ID = id
		}
	}
}

func (x *index) addChange(r *journal.Record) *change {
	path := r.Path.String()
	if known, ok := x.paths[path]; ok {
		path = known
	} else {
		x.paths[path] = path
	}
	c := &change{
		seq: x.seq, path: path, before: r.State, parent: r.Parent, number: r.Change, up: r.Up,
		writer: x.process,
	}
	if last := len(x.rewinds) - 1; r.Rewound && last >= 0 {
		c.rewind = x.rewinds[last]
		c.rewind.changes = append(c.rewind.changes, c)
	}
	x.changes = append(x.changes, c)
	x.open[r.Change] = c
	x.nextChange = max(x.nextChange, r.Change+1)
	return c
}

func (x *index) endChange(r *journal.Record) {
	c := x.open[r.Change]
	if c == nil || c.path != r.Path.String() {
		// The record of what stood there is damaged. Were it left out, a later
		// change's would be taken for it, and something newer be restored.
		c = x.addChange(r)
		c.before = journal.State{Kind: journal.Lost, Why: damaged}
	}
	state := r.State
	c.after = &state
	delete(x.open, r.Change)
}

func (x *index) endRewind(r *journal.Record) {
	i := slices.IndexFunc(x.rewinds, func(w *rewind) bool { return w.id == r.ID })
	if i < 0 {
		return
	}
	x.rewinds[i].end = x.seq
	if r.Done == 0 {
		delete(x.points, r.ID)
		x.rewinds = slices.Delete(x.rewinds, i, i+1)
	}
}

// target is a path that changed after a point: what stood there then, and what
// the session left there last.
type target struct {
	path        string
	want        journal.State
	left        *journal.State
	parent      bool  // never changed but as a folder on the way
	folder      bool  // the session had nothing but folders there
	first, last int64 // the sequence numbers of its changes
}

// mayHaveLeft says whether what the session left there is of this kind, or may be
// because nothing tells: its process died, or could not write into the journal.
func (t *target) mayHaveLeft(kind journal.Kind) bool { return t.left == nil || t.left.Kind == kind }

// since gives the targets, sorted by path, for the point at seq.
func (x *index) since(seq int64) []*target {
	byPath := make(map[string]*target)
	var targets []*target
	for _, c := range x.changesAfter(seq) {
		if c.after != nil && unchanged(c.before, *c.after) {
			continue
		}
		t := byPath[c.path]
		if t == nil {
			t = &target{path: c.path, want: c.before, parent: true, folder: true, first: c.seq}
			byPath[c.path] = t
			targets = append(targets, t)
		}
		t.left, t.last = c.after, c.seq
		if t.left != nil && t.left.Kind == journal.Lost {
			t.left = nil
		}
		t.parent = t.parent && c.parent
		t.folder = t.folder && folderOrNothing(c.before) && (c.after == nil || folderOrNothing(*c.after))
	}
	slices.SortFunc(targets, func(a, b *target) int { return comparePaths(a.path, b.path) })
	return targets
}

func folderOrNothing(s journal.State) bool { return s.Kind == journal.Absent || s.Kind == journal.Dir }

func (x *index) changesAfter(seq int64) []*change {
	i, _ := slices.BinarySearchFunc(x.changes, seq+1, func(c *change, seq int64) int { return int(c.seq - seq) })
	return x.changes[i:]
}

// latest gives the last change of each path after the point at seq.
func (x *index) latest(seq int64) map[string]*change {
	latest := make(map[string]*change)
	for _, c := range x.changesAfter(seq) {
		latest[c.path] = c
	}
	return latest
}

// first gives the first change of path after the point at seq.
func (x *index) first(path string, seq int64) *change {
	for _, c := range x.changesAfter(seq) {
		if c.path == path && (c.after == nil || !unchanged(c.before, *c.after)) {
			return c
		}
	}
	return nil
}

func (x *index) gapsAfter(seq int64) []Uncovered {
	var gaps []Uncovered
	for _, g := range x.gaps {
		if g.seq > seq && !slices.Contains(gaps, g.Uncovered) {
			gaps = append(gaps, g.Uncovered)
		}
	}
	return gaps
}

// resolve finds the point that id names, and the rewind if it is one's.
func (x *index) resolve(id string) (seq int64, of *rewind, err error) {
	if id == Undo {
		if of = x.undoable(); of == nil {
			return 0, nil, ErrNothingToUndo
		}
		if paths := x.changedSince(of); len(paths) > 0 {
			return 0, nil, &UndoRefusedError{ID: of.id, Paths: paths}
		}
		return of.seq, of, nil
	}
	seq, ok := x.points[id]
	if !ok {
		return 0, nil, ErrNoCheckpoint
	}
	for _, w := range x.rewinds {
		if w.id == id {
			of = w
		}
	}
	return seq, of, nil
}

// undone gives the rewinds that an undo took back which was not taken back itself.
func (x *index) undone() map[string]bool {
	undone := make(map[string]bool)
	for _, w := range slices.Backward(x.rewinds) {
		if w.undoes != "" && !undone[w.id] {
			undone[w.undoes] = true
		}
	}
	return undone
}

func (x *index) undoable() *rewind {
	undone := x.undone()
	for _, w := range slices.Backward(x.rewinds) {
		if w.undoes == "" && !undone[w.id] {
			return w
		}
	}
	return nil
}

// changedSince gives the paths of w that tools changed after it, unless an undo
// that came later took those changes back.
func (x *index) changedSince(w *rewind) []string {
	rewound := make(map[string]bool)
	for _, c := range w.changes {
		rewound[c.path] = true
	}
	undone := x.undone()
	var paths []string
	for _, c := range x.changesAfter(w.seq) {
		changed := c.rewind == nil && (c.after == nil || !unchanged(c.before, *c.after))
		if changed && rewound[c.path] && !x.takenBack(c, undone) && !slices.Contains(paths, c.path) {
			paths = append(paths, c.path)
		}
	}
	return paths
}

func (x *index) takenBack(c *change, undone map[string]bool) bool {
	for _, undo := range x.rewinds {
		if undo.undoes == "" || undo.seq < c.seq || undone[undo.id] {
			continue
		}
		if from, ok := x.points[undo.undoes]; ok && from < c.seq {
			return true
		}
	}
	return false
}
