package filehistory

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

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
// process and may be removed afterwards. Saved bytes are shared by hard links, since
// nothing that is saved is ever written to again. The journal comes
// last, whole records only: without it there is no store yet, and the next
// process begins anew.
func (s *Store) inherit() error {
	for _, name := range []string{"packs", "files"} {
		if err := s.shareFolder(name); err != nil {
			return err
		}
	}
	f, _, err := disk.OpenRegular(filepath.Join(s.parent, "journal"))
	if err != nil {
		return err
	}
	defer f.Close()
	temp := s.journalPath() + ".new"
	if err := s.fs.Remove(temp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	copied, err := s.fs.Create(temp)
	if err != nil {
		return err
	}
	if _, err := io.CopyN(copied, f, s.whole); err != nil {
		return errors.Join(err, copied.Close())
	}
	if err := errors.Join(s.fs.Sync(copied), copied.Close()); err != nil {
		return err
	}
	return errors.Join(s.fs.Rename(temp, s.journalPath()), s.fs.SyncDir(s.dir))
}

func (s *Store) shareFolder(name string) error {
	from, to := filepath.Join(s.parent, name), filepath.Join(s.dir, name)
	entries, err := os.ReadDir(from)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := s.fs.MkdirPrivate(to); err != nil {
		return err
	}
	for _, entry := range entries {
		if err := s.share(filepath.Join(from, entry.Name()), filepath.Join(to, entry.Name())); err != nil {
			return fmt.Errorf("share saved content: %w", err)
		}
	}
	return s.fs.SyncDir(to)
}

// share links a file, or copies it where the file system has no links.
func (s *Store) share(from, to string) error {
	err := s.fs.Link(from, to)
	if err == nil || errors.Is(err, fs.ErrExist) { // an earlier attempt was cut short
		return nil
	}
	src, _, err := disk.OpenRegular(from)
	if err != nil {
		return err
	}
	defer src.Close()
	dst, err := s.fs.Create(to)
	if err != nil {
		return err
	}
	err = errors.Join(s.fs.Copy(dst, src), s.fs.Sync(dst), dst.Close())
	if err != nil {
		_ = s.fs.Remove(to) // half a copy must not pass for the whole one
	}
	return err
}

// aliasRecords give the checkpoints of the parent the ids that they have here.
func (s *Store) aliasRecords() []*journal.Record {
	var records []*journal.Record
	for id, was := range s.aliases {
		records = append(records, &journal.Record{Type: journal.Alias, ID: id, Target: was})
	}
	return records
}
