package blob

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"takeback/filehistory/internal/disk"
)

// Content is saved bytes, checked against their hash.
type Content struct {
	io.ReaderAt
	Size int64
	file *os.File // of large content
}

// Close ends the use of the content.
func (c *Content) Close() error {
	if c.file == nil {
		return nil
	}
	return c.file.Close()
}

// Open gives saved content after reading all of it once. Damage is [ErrCorrupt].
func (s *Store) Open(ref Ref) (*Content, error) {
	if ref.Pack != "" {
		b, err := s.packed(ref)
		if err != nil {
			return nil, err
		}
		return &Content{ReaderAt: bytes.NewReader(b), Size: ref.Size}, nil
	}
	f, err := s.openSaved(ref)
	if err != nil {
		return nil, err
	}
	if err := verify(f, ref); err != nil {
		f.Close()
		return nil, err
	}
	return &Content{ReaderAt: f, Size: ref.Size, file: f}, nil
}

// openSaved tells damage from a refusal, such as one for having too many files open.
func (s *Store) openSaved(ref Ref) (*os.File, error) {
	f, _, err := disk.OpenRegular(s.path(ref))
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, disk.ErrNotRegular) {
		return nil, fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	if err != nil {
		return nil, fmt.Errorf("open saved content: %w", err)
	}
	return f, nil
}

func (s *Store) packed(ref Ref) ([]byte, error) {
	if ref.Size > SmallSize {
		return nil, fmt.Errorf("%w: a pack holds no %d bytes", ErrCorrupt, ref.Size)
	}
	s.mu.Lock()
	b, err := s.readPack(ref)
	s.mu.Unlock()
	if err != nil {
		return nil, err
	}
	if sha256.Sum256(b) != ref.Hash {
		return nil, fmt.Errorf("%w: its hash differs", ErrCorrupt)
	}
	return b, nil
}

// CopyTo fills dst, an empty file, and checks what arrived there.
func (s *Store) CopyTo(dst *os.File, ref Ref) error {
	if ref.Pack != "" {
		b, err := s.packed(ref)
		if err != nil {
			return err
		}
		return s.fs.Write(dst, b, 0)
	}
	src, err := s.openSaved(ref)
	if err != nil {
		return err
	}
	defer src.Close()
	if err := s.fs.Copy(dst, src); err != nil {
		return err
	}
	return verify(dst, ref)
}

func verify(f *os.File, ref Ref) error {
	hash, size, err := HashFile(f)
	if err != nil {
		return err
	}
	if hash != ref.Hash || size != ref.Size {
		return fmt.Errorf("%w: its hash differs", ErrCorrupt)
	}
	return nil
}
