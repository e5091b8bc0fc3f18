package filehistory

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"

	"takeback/filehistory/internal/blob"
	"takeback/filehistory/internal/disk"
	"takeback/filehistory/internal/journal"
)

// source is the folder that the history is read from: the parent's until the
// first change makes a store of its own.
func (s *Store) source() string {
	_, own := disk.Lstat(s.journalPath())
	if s.parent == "" || own == nil {
		return s.dir
	}
	if _, err := disk.Lstat(filepath.Join(s.parent, "journal")); err != nil {
		return s.dir
	}
	return s.parent
}

// inherit makes the store out of its parent's, which may be in use by another
// process and may be removed afterwards. The journal comes last: without it there
// is no store yet, and the next process begins anew. Since that process takes what
// is unfinished in the journal for its own, it gets none that has such.
func (s *Store) inherit() error {
	from, _, err := disk.OpenRegular(filepath.Join(s.parent, "journal"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil // removed just now
	}
	if err != nil {
		return err
	}
	defer from.Close()
	blobs := blob.New(s.fs, s.dir)
	if err := errors.Join(blobs.Prepare(), blobs.Share(s.parent)); err != nil {
		return err
	}
	temp := s.journalPath() + ".new"
	if err := s.fs.Remove(temp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := s.copyJournal(temp, from); err != nil {
		return err
	}
	if s.journal, err = journal.Append(s.fs, temp, s.whole, s.whole); err != nil {
		return err
	}
	theirs := func(string) {} // temporary files may be in use
	err = errors.Join(s.recover(theirs), s.record(s.aliasRecords()...), s.journal.Close())
	s.journal = nil
	if err != nil {
		return err
	}
	return errors.Join(s.fs.Rename(temp, s.journalPath()), s.fs.SyncDir(s.dir))
}

func (s *Store) copyJournal(to string, from io.Reader) error {
	f, err := s.fs.Create(to)
	if err != nil {
		return err
	}
	if _, err := io.CopyN(f, from, s.whole); err != nil {
		return errors.Join(fmt.Errorf("copy journal: %w", err), f.Close())
	}
	return errors.Join(s.fs.Sync(f), f.Close())
}

// aliasRecords give the checkpoints of the parent the ids that they have here.
func (s *Store) aliasRecords() []*journal.Record {
	var records []*journal.Record
	for _, id := range slices.Sorted(maps.Keys(s.aliases)) {
		records = append(records, &journal.Record{Type: journal.Alias, ID: id, Target: s.aliases[id]})
	}
	return records
}
