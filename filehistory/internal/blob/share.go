package blob

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/google/uuid"

	"takeback/filehistory/internal/disk"
)

// Share gives the store all that the one in dir has saved so far: by hard links,
// since saved bytes are never written to again, or else as copies. That store may
// be at work, or be removed at the same time: what is no longer there is left
// out, and missed only by whom asks for it.
func (s *Store) Share(dir string) error {
	from := New(s.fs, dir)
	for _, pair := range [][2]string{{from.packDir(), s.packDir()}, {from.fileDir(), s.fileDir()}} {
		entries, err := os.ReadDir(pair[0])
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("share saved content: %w", err)
		}
		for _, entry := range entries {
			err := s.share(filepath.Join(pair[0], entry.Name()), filepath.Join(pair[1], entry.Name()))
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("share saved content: %w", err)
			}
		}
		if err := s.fs.SyncDir(pair[1]); err != nil {
			return fmt.Errorf("share saved content: %w", err)
		}
	}
	return nil
}

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
	dst, err := s.fs.Create(filepath.Join(s.tempDir(), uuid.NewString()))
	if err != nil {
		return err
	}
	err = errors.Join(s.fs.Copy(dst, src), s.fs.Sync(dst), dst.Close())
	if err == nil {
		err = s.fs.Rename(dst.Name(), to)
	}
	if err != nil {
		_ = s.fs.Remove(dst.Name()) // else Prepare does
	}
	return err
}
