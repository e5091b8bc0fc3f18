package filehistory

import (
	"context"
	"fmt"
	"io"
	"io/fs"

	"takeback/filehistory/internal/disk"
	"takeback/filehistory/internal/journal"
)

// ReadFile gives the bytes that stood at path when the checkpoint was made, for
// showing a diff. It fails with [ErrNoCheckpoint], or fs.ErrNotExist where
// nothing stood there.
func (s *Store) ReadFile(ctx context.Context, id, path string) ([]byte, error) {
	if s == nil {
		return nil, ErrNoCheckpoint
	}
	content, err := s.readFile(ctx, id, path)
	if err != nil {
		return nil, fmt.Errorf("read file as of a checkpoint: %w", err)
	}
	return content, nil
}

func (s *Store) readFile(ctx context.Context, id, path string) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	path, _, err := newResolver().resolve(path)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	seq, _, err := s.index.resolve(id)
	if err != nil {
		s.mu.Unlock()
		return nil, err
	}
	c := s.index.first(path, seq)
	blobs := s.blobs
	s.mu.Unlock()
	if c == nil { // not changed since: it still stands there
		return readWhole(path)
	}
	switch c.before.Kind {
	case journal.File:
	case journal.Absent:
		return nil, &fs.PathError{Op: "read", Path: path, Err: fs.ErrNotExist}
	default:
		return nil, &fs.PathError{Op: "read", Path: path, Err: disk.ErrNotRegular}
	}
	saved, err := blobs.Open(refOf(c.before))
	if err != nil {
		return nil, err
	}
	defer saved.Close()
	return io.ReadAll(io.NewSectionReader(saved, 0, saved.Size))
}

func readWhole(path string) ([]byte, error) {
	info, err := disk.Lstat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode.IsRegular() {
		return nil, &fs.PathError{Op: "read", Path: path, Err: ErrNotRegular}
	}
	f, _, err := disk.OpenRegular(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(f)
}
