package filehistory

import (
	"bytes"
	"errors"
	"fmt"

	"takeback/filehistory/internal/journal"
	"takeback/filehistory/internal/lines"
)

// compare reads what a step's path holds and what it should hold, and saves the
// former if the plan is to be carried out.
func (p *plan) compare(st *step) {
	var now lines.Source
	if st.now.Kind == journal.File {
		r, err := openReading(st.path)
		if err != nil {
			st.fail(fmt.Errorf("read what stands there: %w", err))
			return
		}
		defer r.close()
		if err := p.compareFile(st, r); err != nil {
			st.fail(fmt.Errorf("read what stands there: %w", err))
			return
		}
		now = r.source()
	} else if p.batch != nil {
		if err := p.saveXattrs(st); err != nil {
			st.fail(fmt.Errorf("read what stands there: %w", err))
			return
		}
	}
	if st.verdict != differs || st.change.Action == Chmod {
		return
	}
	if err := p.count(st, now); err != nil {
		st.fail(err)
	}
}

// compareFile decides on a regular file that stands at the path.
func (p *plan) compareFile(st *step, r *reading) error {
	left, want := st.left, st.want
	sized := want.Kind == journal.File && want.Size == r.state.Size
	doubted := left != nil && left.Hash.Known() && !sameFile(*left, r.state)
	if sized || doubted {
		if err := r.hash(); err != nil {
			return err
		}
	}
	st.now, st.drift = r.state, ""
	if left != nil && !alike(*left, st.now) {
		st.drift = driftOf(*left, st.now)
	}
	if sized && st.now.Hash == want.Hash {
		if st.now.Mode == want.Mode {
			st.verdict, st.drift = same, ""
			return nil
		}
		st.change.Action, st.change.Insertions, st.change.Deletions = Chmod, 0, 0
	}
	if st.now.Links > 1 && !(left != nil && left.Links > 1 && left.Dev == st.now.Dev && left.Ino == st.now.Ino) {
		st.verdict = skipped
		return nil
	}
	if p.batch == nil {
		return nil
	}
	if err := r.saveTo(p.batch); err != nil {
		return err
	}
	st.now = r.state
	return p.saveXattrs(st)
}

func (r *reading) source() lines.Source {
	if r.small {
		return lines.Source{ReaderAt: bytes.NewReader(r.content), Size: r.state.Size}
	}
	return lines.Source{ReaderAt: r.file, Size: r.state.Size}
}

var errUncounted = errors.New("count lines")

// count checks the saved content by reading it, and counts lines on the way.
func (p *plan) count(st *step, now lines.Source) error {
	var want lines.Source
	if st.want.Kind == journal.File {
		saved, err := p.blobs.Open(refOf(st.want))
		if err != nil {
			return err
		}
		defer saved.Close()
		want = lines.Source{ReaderAt: saved, Size: saved.Size}
	}
	if st.want.Kind != journal.File && st.now.Kind != journal.File {
		return nil // no lines on either side
	}
	for _, side := range []lines.Source{now, want} {
		binary, err := side.Binary()
		if err != nil {
			return errors.Join(errUncounted, err)
		}
		if binary {
			return nil
		}
	}
	var err error
	if st.change.Insertions, st.change.Deletions, err = lines.Count(now, want); err != nil {
		return errors.Join(errUncounted, err)
	}
	return nil
}
