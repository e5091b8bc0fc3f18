package filehistory

import (
	"errors"
	"io/fs"

	"takeback/filehistory/internal/disk"
	"takeback/filehistory/internal/journal"
)

// recover ends rewinds whose process died in the middle. Their temporary files
// are removed, those that the journal names and no others; the files that they
// were to change are left as they are, since asking again finishes the job.
func (s *Store) recover() error {
	for _, w := range s.index.rewinds {
		if w.end != 0 {
			continue
		}
		done := 0
		var records []*journal.Record
		resolver := newResolver()
		for _, c := range w.changes {
			if c.up > 0 {
				temp := temporary(w.id, c.path, c.number, c.up)
				s.removeTemporary(temp)
				s.removeTemporary(temp + asideSuffix)
			}
			if c.after != nil {
				continue
			}
			state := leave(resolver, c.path, c.before)
			if state.Kind == journal.Lost {
				continue
			}
			// Content tells whether the rewind came this far. Where somebody else
			// wrote since, what it left is not known, and must not be made up.
			if !unchanged(c.before, state) && !alike(state, s.goal(w, c)) {
				done++
				continue
			}
			if !unchanged(c.before, state) {
				done++
			}
			records = append(records, &journal.Record{
				Type: journal.After, Change: c.number, Path: journal.NewPath(c.path),
				Parent: c.parent, Rewound: true, State: state,
			})
		}
		records = append(records, &journal.Record{Type: journal.RewindEnd, ID: w.id, Done: done})
		s.log.Warn("a rewind was cut short", "id", w.id, "changed", done)
		if err := s.record(records...); err != nil {
			return err
		}
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
