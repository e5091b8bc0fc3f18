// Package disk is the one door through which a file history changes the file
// system. It opens regular files only, never through a link and never so that
// a pipe or a device could make it wait.
package disk

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// FS carries out changes. The zero value works.
type FS struct {
	// Fail is asked before every operation that changes or flushes something;
	// its error takes the operation's place. Tests fail the n-th operation by
	// it. An interface of every operation was the alternative: far wider, and
	// a second implementation would only forward.
	Fail func(op, path string) error
}

func (d *FS) allow(op, path string) error {
	if d.Fail == nil {
		return nil
	}
	if err := d.Fail(op, path); err != nil {
		return &fs.PathError{Op: op, Path: path, Err: err}
	}
	return nil
}

// Create makes a new file that only its owner can read and write.
func (d *FS) Create(path string) (*os.File, error) {
	if err := d.allow("create", path); err != nil {
		return nil, err
	}
	return os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL|noFollow, 0o600)
}

// OpenPrivate opens a file for reading and writing, and makes it, for its owner
// only whatever the umask, if it is missing.
func (d *FS) OpenPrivate(path string) (*os.File, error) {
	if err := d.allow("open", path); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|noFollow, 0o600)
	if err != nil {
		return nil, err
	}
	if err := f.Chmod(0o600); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// Write writes all of b at off. A refused write leaves half of b behind, as a
// full disk does.
func (d *FS) Write(f *os.File, b []byte, off int64) error {
	if err := d.allow("write", f.Name()); err != nil {
		_, _ = f.WriteAt(b[:len(b)/2], off)
		return err
	}
	_, err := f.WriteAt(b, off)
	return err
}

// Truncate cuts f.
func (d *FS) Truncate(f *os.File, size int64) error {
	if err := d.allow("truncate", f.Name()); err != nil {
		return err
	}
	return f.Truncate(size)
}

// Copy makes dst, an empty file, hold what src holds: by sharing the blocks
// where the file system can, else inside the kernel, else through memory.
func (d *FS) Copy(dst, src *os.File) error {
	if err := d.allow("copy", dst.Name()); err != nil {
		return err
	}
	if clone(dst, src) == nil {
		return nil
	}
	if _, err := src.Seek(0, io.SeekStart); err != nil {
		return err
	}
	_, err := dst.ReadFrom(src)
	return err
}

// Overwrite makes dst hold what src holds, in place.
func (d *FS) Overwrite(dst, src *os.File) error {
	if err := d.allow("overwrite", dst.Name()); err != nil {
		_ = dst.Truncate(0) // as far as it may have come
		return err
	}
	size, err := io.Copy(dst, src)
	if err != nil {
		return err
	}
	return dst.Truncate(size)
}

// Sync flushes the content of f.
func (d *FS) Sync(f *os.File) error {
	if err := d.allow("sync", f.Name()); err != nil {
		return err
	}
	return datasync(f)
}

// SyncDir flushes the names in a folder.
func (d *FS) SyncDir(dir string) error {
	if err := d.allow("syncdir", dir); err != nil {
		return err
	}
	return syncDir(dir)
}

// SyncTogether flushes files that were written and closed, together with their
// folders: with one call per file system where the system offers that.
func (d *FS) SyncTogether(paths []string) error {
	if len(paths) == 0 {
		return nil
	}
	if err := d.allow("syncfs", paths[0]); err != nil {
		return err
	}
	return syncTogether(paths)
}

func syncEach(paths []string) error {
	dirs := make(map[string]bool)
	for _, path := range paths {
		dirs[filepath.Dir(path)] = true
		info, err := os.Lstat(path)
		if err != nil {
			return err
		}
		if !info.Mode().IsRegular() {
			continue
		}
		f, err := os.OpenFile(path, os.O_RDWR, 0)
		if errors.Is(err, fs.ErrPermission) { // its final mode may forbid writing
			f, err = os.Open(path)
		}
		if err != nil {
			return err
		}
		if err := errors.Join(f.Sync(), f.Close()); err != nil {
			return err
		}
	}
	for dir := range dirs {
		if err := syncDir(dir); err != nil {
			return err
		}
	}
	return nil
}

// Rename moves from over to.
func (d *FS) Rename(from, to string) error {
	if err := d.allow("rename", to); err != nil {
		return err
	}
	return rename(from, to)
}

// Remove removes a file or an empty folder.
func (d *FS) Remove(path string) error {
	if err := d.allow("remove", path); err != nil {
		return err
	}
	return os.Remove(path)
}

// Mkdir makes a folder.
func (d *FS) Mkdir(path string, perm fs.FileMode) error {
	if err := d.allow("mkdir", path); err != nil {
		return err
	}
	return os.Mkdir(path, perm)
}

// MkdirPrivate makes a folder and its missing parents, for their owner only
// whatever the umask.
func (d *FS) MkdirPrivate(dir string) error {
	_, err := os.Lstat(dir)
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	parent := filepath.Dir(dir)
	if err := d.MkdirPrivate(parent); err != nil {
		return err
	}
	if err := d.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	if err := os.Chmod(dir, 0o700); err != nil {
		return err
	}
	return d.SyncDir(parent)
}

// Link gives a file a second name.
func (d *FS) Link(from, to string) error {
	if err := d.allow("link", to); err != nil {
		return err
	}
	return os.Link(from, to)
}

// Symlink makes a symbolic link.
func (d *FS) Symlink(target, path string) error {
	if err := d.allow("symlink", path); err != nil {
		return err
	}
	return os.Symlink(target, path)
}

// ChmodFile sets the mode of an open file.
func (d *FS) ChmodFile(f *os.File, mode fs.FileMode) error {
	if err := d.allow("chmod", f.Name()); err != nil {
		return err
	}
	return f.Chmod(mode)
}

// OpenRegular opens a regular file for reading. A link or anything else fails
// with [ErrNotRegular]. The caller has looked with [Lstat] what the path holds:
// merely opening a device may do something.
func OpenRegular(path string) (*os.File, Info, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|noFollow|noWait, 0)
	if err != nil {
		return nil, Info{}, linkError(err)
	}
	st, err := f.Stat()
	if err == nil && !st.Mode().IsRegular() {
		err = &fs.PathError{Op: "open", Path: path, Err: ErrNotRegular}
	}
	if err != nil {
		return nil, Info{}, errors.Join(err, f.Close())
	}
	return f, infoOf(st), nil
}

// StillThere fails if the path that f was opened by names another file by now, or
// none. What is written to f then is lost with it.
func StillThere(f *os.File) error {
	opened, err := f.Stat()
	if err != nil {
		return err
	}
	there, err := os.Lstat(f.Name())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err != nil || !os.SameFile(opened, there) {
		return &fs.PathError{Op: "write", Path: f.Name(), Err: errGone}
	}
	return nil
}

var errGone = errors.New("it was removed or replaced while in use")

// ErrNotRegular says that a path holds something other than a regular file.
var ErrNotRegular = errors.New("not a regular file")

// Info is what one lstat tells.
type Info struct {
	Mode         fs.FileMode
	Size         int64
	Dev, Ino     uint64
	Links        uint64
	Mtime, Ctime int64 // nanoseconds
	UID, GID     int
}

// Stat looks at an open file.
func Stat(f *os.File) (Info, error) {
	st, err := f.Stat()
	if err != nil {
		return Info{}, err
	}
	return infoOf(st), nil
}

// Lstat looks at path itself. A parent that is no folder means that nothing is
// there: fs.ErrNotExist, as for a missing one.
func Lstat(path string) (Info, error) {
	st, err := os.Lstat(path)
	if errors.Is(err, syscall.ENOTDIR) {
		return Info{}, &fs.PathError{Op: "lstat", Path: path, Err: fs.ErrNotExist}
	}
	if err != nil {
		return Info{}, err
	}
	return infoOf(st), nil
}
