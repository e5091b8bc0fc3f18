package filehistory

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"

	"github.com/google/uuid"

	"takeback/filehistory/internal/disk"
)

// ErrNotRegular says that [WriteFile] met a link, a folder, a pipe or the like.
var ErrNotRegular = disk.ErrNotRegular

// WriteFile makes path hold content: a temporary file beside it is renamed over
// it, so that a reader sees it wholly old or wholly new. Mode, owner and extended
// attributes of a file that stood there are kept; where that, or a file beside
// it, is not allowed, it is written in place. A new file gets perm less the
// umask. Missing parents are made. A path that is not a regular file is refused
// with [ErrNotRegular].
//
// Nothing is flushed: should power fail, [Store.Begin] has what stood there.
func WriteFile(path string, content []byte, perm fs.FileMode) error {
	path = filepath.Clean(path)
	info, err := disk.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		err = writeNew(path, content, perm)
	case err == nil && !info.Mode.IsRegular():
		err = &fs.PathError{Op: "write", Path: path, Err: ErrNotRegular}
	case err == nil:
		err = writeOver(path, content, info)
	}
	if err != nil {
		return fmt.Errorf("write file: %w", err)
	}
	return nil
}

func writeNew(path string, content []byte, perm fs.FileMode) error {
	if err := os.MkdirAll(filepath.Dir(path), fs.ModePerm); err != nil {
		return err
	}
	return swapIn(path, content, perm, func(*os.File) error { return nil })
}

func writeOver(path string, content []byte, old disk.Info) error {
	const private = 0o600 // until it has its owner and its lists
	err := swapIn(path, content, private, func(f *os.File) error {
		var d disk.FS
		attrs, err := disk.Xattrs(path)
		if err != nil {
			return err
		}
		if err := errors.Join(d.Chown(f.Name(), old.UID, old.GID), d.SetXattrs(f.Name(), attrs)); err != nil {
			return err
		}
		return d.ChmodFile(f, old.Mode&modeBits)
	})
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EBUSY) { // EBUSY: it is a mount of its own
		return disk.Overwrite(path, content)
	}
	return err
}

// process names this process in each journal that it writes.
var process = sync.OnceValue(func() string { return strings.ReplaceAll(uuid.NewString(), "-", "") })

// writeTemporary names the file through which a process writes path. It follows
// from the journal, so that the next process can remove what a killed one left.
// The target's own name is no part of it: that may be as long as names can be.
func writeTemporary(process, path string) string {
	base := baseHash(path)
	return filepath.Join(filepath.Dir(path), fmt.Sprintf(".takeback-%s-%x", process, base[:8]))
}

func baseHash(path string) [sha256.Size]byte { return sha256.Sum256([]byte(filepath.Base(path))) }

// swapping lets one call at a time have a temporary name. Which lock it is follows
// from the base name, since a folder can be spelled in many ways.
var swapping [64]sync.Mutex

func swapIn(path string, content []byte, perm fs.FileMode, dress func(*os.File) error) (err error) {
	lock := &swapping[baseHash(path)[0]%byte(len(swapping))]
	lock.Lock()
	defer lock.Unlock()
	temp := writeTemporary(process(), path)
	create := func() (*os.File, error) { return os.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm) }
	f, err := create()
	if errors.Is(err, fs.ErrExist) && os.Remove(temp) == nil { // ours, which could not be removed before
		f, err = create()
	}
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(temp))
		}
	}()
	_, err = f.Write(content)
	if err == nil {
		err = dress(f)
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	return os.Rename(temp, path)
}
