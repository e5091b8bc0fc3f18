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
// Links on the way to path are resolved once, here; [Change.WriteFile] takes them as
// [Store.Begin] did. One that comes up later is not followed but an error.
//
// Nothing is flushed: should power fail, [Store.Begin] has what stood there.
func WriteFile(path string, content []byte, perm fs.FileMode) error {
	real, _, err := newResolver().resolve(path)
	if err == nil {
		err = writeFile(real, content, perm)
	}
	if err != nil {
		return fmt.Errorf("write file: %w", err)
	}
	return nil
}

// WriteFile is the function of this name for a path that was given to [Store.Begin],
// and writes where that saved what stands there, wherever links lead by now. A nil
// change saved nothing.
func (c *Change) WriteFile(path string, content []byte, perm fs.FileMode) error {
	if c == nil {
		return WriteFile(path, content, perm)
	}
	real, ok := c.resolved[path]
	if !ok {
		return fmt.Errorf("write file: %s is not part of the change", path)
	}
	if err := writeFile(real, content, perm); err != nil {
		return fmt.Errorf("write file: %w", err)
	}
	return nil
}

// writeFile writes to a path that leads over no link.
func writeFile(path string, content []byte, perm fs.FileMode) error {
	dir, err := disk.MakeDir(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer dir.Close()
	name := filepath.Base(path)
	info, err := dir.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return swapIn(dir, name, content, perm, func(*os.File) error { return nil })
	case err != nil:
		return err
	case !info.Mode.IsRegular():
		return &fs.PathError{Op: "write", Path: path, Err: ErrNotRegular}
	}
	return writeOver(dir, name, content, info)
}

func writeOver(dir *disk.Dir, name string, content []byte, old disk.Info) error {
	const private = 0o600 // until it has its owner and its lists
	err := swapIn(dir, name, content, private, func(f *os.File) error { return dressAs(dir, name, f, old) })
	if inPlace(err) {
		return overwrite(dir, name, content)
	}
	return err
}

// inPlace says whether a file that cannot be replaced may perhaps be written to: it
// is a mount of its own, its folder cannot be written, or its owner not be kept.
func inPlace(err error) bool {
	return errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EBUSY) || errors.Is(err, syscall.EROFS)
}

// dressAs gives f what the file of this name has, but its content.
func dressAs(dir *disk.Dir, name string, f *os.File, old disk.Info) error {
	from, err := dir.OpenFile(name, os.O_RDONLY)
	if err != nil {
		return err
	}
	defer from.Close()
	attrs, err := disk.XattrsFile(from)
	if err != nil {
		return err
	}
	var d disk.FS
	if err := errors.Join(d.ChownFile(f, old.UID, old.GID), d.SetXattrsFile(f, attrs)); err != nil {
		return err
	}
	return d.ChmodFile(f, old.Mode&modeBits)
}

func overwrite(dir *disk.Dir, name string, content []byte) error {
	f, err := dir.OpenFile(name, os.O_WRONLY)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(content, 0)
	if err == nil {
		err = f.Truncate(int64(len(content)))
	}
	return errors.Join(err, f.Close())
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

func swapIn(dir *disk.Dir, name string, content []byte, perm fs.FileMode, dress func(*os.File) error) (err error) {
	lock := &swapping[baseHash(name)[0]%byte(len(swapping))]
	lock.Lock()
	defer lock.Unlock()
	temp := writeTemporary(process(), name)
	f, err := dir.Create(temp, perm)
	if errors.Is(err, fs.ErrExist) && dir.Remove(temp) == nil { // ours, which could not be removed before
		f, err = dir.Create(temp, perm)
	}
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, dir.Remove(temp))
		}
	}()
	_, err = f.Write(content)
	if err == nil {
		err = dress(f)
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	return dir.Rename(temp, dir, name)
}
