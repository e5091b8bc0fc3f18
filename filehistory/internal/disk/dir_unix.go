//go:build unix

package disk

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// Dir is an opened folder. What is done in it stays in it, whatever somebody makes of
// the names that led there.
type Dir struct {
	fd   int
	path string
}

const (
	folderFlags = searchOnly | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC
	fileFlags   = unix.O_NOFOLLOW | unix.O_NONBLOCK | unix.O_CLOEXEC
)

// OpenDir opens the folder at path, which is absolute and leads over no link: one that
// stands there now was put there since, and is an error.
func OpenDir(path string) (*Dir, error) {
	if fd, err := openDirectly(path); !errors.Is(err, errors.ErrUnsupported) {
		if err != nil {
			return nil, &fs.PathError{Op: "open", Path: path, Err: err}
		}
		return &Dir{fd: fd, path: path}, nil
	}
	return walk(path, (*Dir).enter)
}

// MakeDir is [OpenDir], and makes what is missing.
func MakeDir(path string) (*Dir, error) { return walk(path, (*Dir).makeAndEnter) }

func walk(path string, enter func(*Dir, string) (*Dir, error)) (*Dir, error) {
	fd, err := openAt(unix.AT_FDCWD, "/", folderFlags, 0)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: "/", Err: err}
	}
	d := &Dir{fd: fd, path: "/"}
	for name := range strings.SplitSeq(strings.Trim(path, "/"), "/") {
		if name == "" {
			continue
		}
		next, err := enter(d, name)
		d.Close()
		if err != nil {
			return nil, err
		}
		d = next
	}
	return d, nil
}

func (d *Dir) enter(name string) (*Dir, error) {
	fd, err := openAt(d.fd, name, folderFlags, 0)
	if err != nil {
		return nil, d.fail("open", name, err)
	}
	return &Dir{fd: fd, path: filepath.Join(d.path, name)}, nil
}

func (d *Dir) makeAndEnter(name string) (*Dir, error) {
	next, err := d.enter(name)
	if !errors.Is(err, fs.ErrNotExist) {
		return next, err
	}
	if err := unix.Mkdirat(d.fd, name, uint32(fs.ModePerm)); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, d.fail("mkdir", name, err)
	}
	return d.enter(name)
}

func openAt(dir int, name string, flags int, perm fs.FileMode) (int, error) {
	for {
		fd, err := unix.Openat(dir, name, flags, uint32(perm.Perm()))
		if !errors.Is(err, unix.EINTR) {
			return fd, err
		}
	}
}

func (d *Dir) fail(op, name string, err error) error {
	if err == nil {
		return nil
	}
	return &fs.PathError{Op: op, Path: filepath.Join(d.path, name), Err: err}
}

// Close closes the folder.
func (d *Dir) Close() { unix.Close(d.fd) }

// Lstat is [Lstat] of a name in the folder.
func (d *Dir) Lstat(name string) (Info, error) {
	var st unix.Stat_t
	if err := unix.Fstatat(d.fd, name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return Info{}, d.fail("lstat", name, err)
	}
	return infoRaw(&st), nil
}

// Create makes a new file for writing.
func (d *Dir) Create(name string, perm fs.FileMode) (*os.File, error) {
	return d.open(name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_CLOEXEC, perm)
}

// OpenFile opens a regular file, for reading or for writing.
func (d *Dir) OpenFile(name string, flag int) (*os.File, error) {
	f, err := d.open(name, flag|fileFlags, 0)
	if err != nil {
		return nil, linkError(err)
	}
	if st, err := f.Stat(); err != nil || !st.Mode().IsRegular() {
		return nil, errors.Join(ErrNotRegular, err, f.Close())
	}
	return f, nil
}

func (d *Dir) open(name string, flags int, perm fs.FileMode) (*os.File, error) {
	fd, err := openAt(d.fd, name, flags, perm)
	if err != nil {
		return nil, d.fail("open", name, err)
	}
	return os.NewFile(uintptr(fd), filepath.Join(d.path, name)), nil
}

// Rename moves a name of the folder into another one, or the same.
func (d *Dir) Rename(from string, into *Dir, to string) error {
	for {
		err := unix.Renameat(d.fd, from, into.fd, to)
		if !errors.Is(err, unix.EINTR) {
			return into.fail("rename", to, err)
		}
	}
}

// Mkdir makes a folder in the folder.
func (d *Dir) Mkdir(name string, perm fs.FileMode) error {
	return d.fail("mkdir", name, unix.Mkdirat(d.fd, name, uint32(perm.Perm())))
}

// Chmod sets the mode of what has this name, unless that is a link.
func (d *Dir) Chmod(name string, mode fs.FileMode) error {
	f, err := d.open(name, unix.O_RDONLY|fileFlags, 0)
	if err != nil {
		return err
	}
	return errors.Join(f.Chmod(mode), f.Close())
}

// Remove removes a file or an empty folder.
func (d *Dir) Remove(name string) error {
	err := unix.Unlinkat(d.fd, name, 0)
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		return d.fail("remove", name, err)
	}
	if rmdir := unix.Unlinkat(d.fd, name, unix.AT_REMOVEDIR); !errors.Is(rmdir, unix.ENOTDIR) {
		err = rmdir
	}
	return d.fail("remove", name, err)
}
