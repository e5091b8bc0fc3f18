package filehistory

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"runtime"
	"slices"

	"golang.org/x/sync/errgroup"

	"takeback/filehistory/internal/blob"
	"takeback/filehistory/internal/disk"
	"takeback/filehistory/internal/journal"
)

// verdict is what a plan decides for one path.
type verdict int

const (
	same    verdict = iota // it holds what it should
	differs                // it must change: see the action
	skipped                // it is, or lies behind, something that is not the session's
	failed                 // see the error
)

// step is one path of a plan, and how far a rewind came with it.
type step struct {
	*target
	now     journal.State
	verdict verdict
	err     error
	drift   string // what somebody else did to it
	change  FileChange

	record     *journal.Record
	staged     string // a temporary file with the new content
	inPlace    bool   // the file can be written to, but not replaced
	torn       bool   // that failed half-way
	obstructed bool   // what stands there has to be moved aside first
	aside      string // where that was moved
	done       bool
	lost       error // what of it could not be kept, though it came back
}

func (st *step) fail(err error) { st.verdict, st.err = failed, err }

// plan is one look at the disk. A dry run shows it, a rewind carries it out.
type plan struct {
	blobs     *blob.Store
	batch     *blob.Batch // takes what will be overwritten; nil in a dry run
	id        string
	undoes    string
	steps     []*step
	byPath    map[string]*step
	ways      map[string]way
	uncovered []Uncovered
}

// Plan tells what Rewind would do, and touches nothing.
func (s *Store) Plan(ctx context.Context, id string, _ RewindOptions) (*Report, error) {
	if s == nil {
		return nil, ErrNoCheckpoint
	}
	s.mu.Lock()
	err := s.ready()
	s.mu.Unlock()
	if err != nil {
		return nil, fmt.Errorf("plan: %w", err)
	}
	p, err := s.newPlan(ctx, id, nil)
	if err != nil {
		return nil, fmt.Errorf("plan: %w", err)
	}
	return p.report(), nil
}

func (s *Store) newPlan(ctx context.Context, id string, batch *blob.Batch) (*plan, error) {
	p := &plan{batch: batch, id: id, byPath: make(map[string]*step), ways: make(map[string]way)}
	s.mu.Lock()
	p.blobs = s.blobs
	seq, of, err := s.index.resolve(id)
	if err != nil {
		s.mu.Unlock()
		return nil, err
	}
	if of != nil {
		p.id, p.undoes = of.id, of.id
	}
	targets := s.index.since(seq)
	p.uncovered = s.index.gapsAfter(seq)
	s.mu.Unlock()
	for _, t := range targets {
		st := &step{target: t}
		p.steps = append(p.steps, st)
		p.byPath[t.path] = st
		p.survey(st)
	}
	p.joinSpellings()
	if err := p.compareAll(ctx); err != nil {
		return nil, err
	}
	p.settleFolders()
	return p, nil
}

// way is what leads to a path.
type way int

const (
	open    way = iota
	missing     // a folder is not there; a rewind makes it
	linked      // a link that is not the session's
	blocked     // something else stands where a folder is needed
)

// wayTo looks at dir and all above it. Steps come sorted, so what is planned for a
// folder is known before what is in it.
func (p *plan) wayTo(dir string) way {
	if known, ok := p.ways[dir]; ok {
		return known
	}
	found := open
	if parent := filepath.Dir(dir); parent != dir {
		if found = p.wayTo(parent); found == open {
			found = p.enter(dir)
		}
	}
	p.ways[dir] = found
	return found
}

func (p *plan) enter(dir string) way {
	info, err := disk.Lstat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return missing
	case err != nil:
		return blocked
	case info.Mode.IsDir():
		return open
	}
	if st := p.byPath[dir]; st != nil && st.want.Kind == journal.Dir && st.verdict == differs && !st.done {
		return missing // the session left it so, and the folder comes back first
	}
	if info.Mode.IsRegular() {
		return blocked
	}
	return linked
}

// survey decides what can be decided without reading content.
func (p *plan) survey(st *step) {
	st.now = journal.State{Kind: journal.Absent}
	switch p.wayTo(filepath.Dir(st.path)) {
	case linked:
		st.verdict = skipped
		return
	case blocked:
		if st.want.Kind != journal.Absent {
			st.fail(errors.New("something else stands where its folder was"))
		}
		return
	case open:
		var err error
		if st.now, err = look(st.path); err != nil {
			st.fail(err)
			return
		}
	}
	st.judge()
}

// joinSpellings makes one step of those that name one file: by names that differ
// in case only, where the file system takes them for the same. What stood there
// is known to the change that came first, what was left to the one that came last.
func (p *plan) joinSpellings() {
	type inode struct{ dev, ino uint64 }
	files := make(map[inode]*step)
	for _, st := range p.steps {
		if st.now.Kind != journal.File || st.now.Links != 1 || st.now.Ino == 0 {
			continue
		}
		id := inode{st.now.Dev, st.now.Ino}
		first := files[id]
		if first == nil {
			files[id] = st
			continue
		}
		other := st
		if other.first < first.first {
			first, other = other, first
		}
		if other.last > first.last {
			first.left, first.last = other.left, other.last
		}
		*first, *other = step{target: first.target, now: first.now}, step{target: other.target, now: other.now}
		p.byPath[other.path], files[id] = first, first
		first.judge()
	}
}

func (st *step) judge() {
	want, now, left := st.want, st.now, st.left
	switch {
	case st.parent && !st.mayHaveLeft(journal.Dir): // the change did not make it after all
	case want.Kind == journal.Absent && (now.Kind == journal.Dir || st.folder) && left != nil && left.Kind == journal.Absent:
		// The session made a folder and removed it; what is there now is somebody else's.
	case want.Kind == journal.Lost:
		st.fail(fmt.Errorf("what stood here was not captured: %s", want.Why))
	case now.Kind == want.Kind && now.Kind != journal.File && alike(now, want):
	case now.Kind == journal.Special:
		st.verdict = skipped
	case want.Kind == journal.Special:
		st.fail(errors.New("a pipe, socket or device cannot be restored"))
	case now.Kind == journal.Link && !(left != nil && alike(now, *left)):
		st.verdict = skipped
	case now.Kind == journal.Dir && !st.mayHaveLeft(journal.Dir) && want.Kind != journal.Dir:
		st.verdict = skipped
	case now.Kind == journal.File && want.Kind != journal.File && st.leftFolder(): // as a folder in a file's place
		st.verdict = skipped
	default:
		st.verdict = differs
		st.obstructed = now.Kind == journal.Dir && want.Kind != journal.Absent && want.Kind != journal.Dir ||
			want.Kind == journal.Dir && now.Kind != journal.Absent && now.Kind != journal.Dir
		st.decide()
	}
}

// leftFolder says whether it is a folder that the session left, if anything.
func (st *step) leftFolder() bool { return st.parent || st.left != nil && st.left.Kind == journal.Dir }

// decide fills in the action.
func (st *step) decide() {
	st.change = FileChange{Path: st.path, Kind: typeBits(st.want.Kind), Action: Restore, Insertions: -1, Deletions: -1}
	switch {
	case st.want.Kind == journal.Absent:
		st.change.Action, st.change.Kind = Remove, typeBits(st.now.Kind)
	case st.want.Kind == journal.Dir && st.now.Kind == journal.Dir:
		st.change.Action = Chmod
	}
	if st.left != nil && !alike(*st.left, st.now) {
		st.drift = driftOf(*st.left, st.now)
	}
}

func driftOf(left, now journal.State) string {
	switch {
	case now.Kind == journal.Absent:
		return "removed by somebody else"
	case left.Kind == journal.Absent:
		return "made by somebody else"
	}
	return "changed by somebody else"
}

// compareAll reads contents.
func (p *plan) compareAll(ctx context.Context) error {
	return sideBySide(p.steps, func(st *step) error {
		if st.verdict == differs {
			p.compare(st)
		}
		return ctx.Err()
	})
}

// sideBySide does something with each step, on all processors. It goes through
// them in shares: handing over a step costs more than a small file does.
func sideBySide(steps []*step, do func(*step) error) error {
	var g errgroup.Group
	const most = 16 // each may have two files open
	g.SetLimit(min(runtime.GOMAXPROCS(0), most))
	const share = 64
	for steps := range slices.Chunk(steps, share) {
		g.Go(func() error {
			for _, st := range steps {
				if err := do(st); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return g.Wait()
}

func (st *step) madeFolder() bool {
	return st.want.Kind == journal.Absent && st.left != nil && st.left.Kind == journal.Dir
}

func (p *plan) report() *Report {
	r := &Report{ID: p.id, Uncovered: p.uncovered}
	for _, st := range p.steps {
		switch st.verdict {
		case same:
			continue
		case skipped:
			// A folder that was made for a file, and lies behind a link now, counts as that file does.
			if !(st.madeFolder() && st.now.Kind == journal.Absent) {
				r.SkippedLinks = append(r.SkippedLinks, st.path)
			}
			continue
		case failed:
			r.Problems = append(r.Problems, Problem{Path: st.path, Err: oneLine{st.err}})
		case differs:
			r.Files = append(r.Files, st.change)
			if st.lost != nil {
				err := fmt.Errorf("restored, but not wholly: %w", st.lost)
				r.Problems = append(r.Problems, Problem{Path: st.path, Err: oneLine{err}, Restored: true})
			}
		}
		if st.drift != "" {
			r.Conflicts = append(r.Conflicts, Conflict{Path: st.path, Reason: st.drift})
		}
	}
	slices.SortFunc(r.Files, func(a, b FileChange) int { return comparePaths(a.Path, b.Path) })
	return r
}
