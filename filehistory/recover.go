package filehistory

import (
	"errors"
	"io/fs"
	"slices"

	"takeback/filehistory/internal/disk"
	"takeback/filehistory/internal/journal"
)

// recover ends what a process that died left unfinished. Its temporary files are
// removed, those that the journal names and no others. Files that were to change
// stay as they are: asking again finishes a rewind. What was left at a path is
// unknown where nothing tells, and then the session may have made what stands there.
func (s *Store) recover(remove func(path string)) error {
	return errors.Join(s.recoverRewinds(remove), s.recoverChanges(remove))
}

func (s *Store) recoverChanges(remove func(path string)) error {
	var records []*journal.Record
	for _, c := range s.index.open {
		remove(writeTemporary(c.writer, c.path))
		records = append(records, &journal.Record{
			Type: journal.After, Change: c.number, Path: journal.NewPath(c.path), Parent: c.parent,
			State: journal.State{Kind: journal.Lost, Why: "it was not recorded"},
		})
	}
	return s.record(records...)
}

func (s *Store) recoverRewinds(remove func(path string)) error {
	for _, w := range slices.Clone(s.index.rewinds) { // records that are added here change it
		if w.end != 0 {
			continue
		}
		records, done := s.recoverRewind(w, remove)
		s.log.Warn("a rewind was cut short", "id", w.id, "changed", done)
		if err := s.record(records...); err != nil {
			return err
		}
	}
	return nil
}

func (s *Store) recoverRewind(w *rewind, remove func(path string)) (records []*journal.Record, done int) {
	resolver := newResolver()
	latest := s.index.latest(w.seq)
	for _, c := range w.changes {
		if c.up > 0 {
			temp := temporary(w.id, c.path, c.number, c.up)
			remove(temp)
			remove(temp + asideSuffix)
		}
		after := c.after // there if only the end's record is missing
		if after == nil && latest[c.path] == c {
			if after = s.leftByDead(resolver, w, c); after != nil {
				records = append(records, &journal.Record{
					Type: journal.After, Change: c.number, Path: journal.NewPath(c.path),
					Parent: c.parent, Rewound: true, State: *after,
				})
			}
		}
		if after == nil || !unchanged(c.before, *after) {
			done++
		}
	}
	return append(records, &journal.Record{Type: journal.RewindEnd, ID: w.id, Done: done}), done
}

// leftByDead is what a rewind that died left at a path, the newest change there.
// Where the path holds neither what it held nor what it was to hold, the rewind
// stopped half-way or somebody else wrote since. What was left is not known then,
// and must not be made up.
func (s *Store) leftByDead(resolver *resolver, w *rewind, c *change) *journal.State {
	state := leave(resolver, c.path, c.before)
	if unchanged(c.before, state) || alike(s.goal(w, c), state) {
		return &state
	}
	return nil
}

// goal is what a rewind that died was to make of a path.
func (s *Store) goal(w *rewind, c *change) journal.State {
	if first := s.index.first(c.path, s.index.points[w.target]); first != nil && first != c {
		return first.before
	}
	return journal.State{Kind: journal.Absent}
}

func (s *Store) removeTemporary(path string) {
	if _, err := disk.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		return
	}
	if err := s.fs.Remove(path); err != nil {
		s.log.Warn("a temporary file of a rewind that died is left", "path", path, "error", err)
	}
}
