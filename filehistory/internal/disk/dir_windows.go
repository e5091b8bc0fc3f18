package disk

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// Dir is a folder. On this system it is known by its path only, and links that
// somebody puts there meanwhile are followed: making them is a privilege here.
type Dir struct{ path string }

// OpenDir gives the folder at path.
func OpenDir(path string) (*Dir, error) { return &Dir{path}, nil }

// MakeDir is [OpenDir], and makes what is missing.
func MakeDir(path string) (*Dir, error) {
	if err := os.MkdirAll(path, fs.ModePerm); err != nil {
		return nil, err
	}
	return &Dir{path}, nil
}

// Close has nothing to close.
func (d *Dir) Close() {}

// Lstat is [Lstat] of a name in the folder.
func (d *Dir) Lstat(name string) (Info, error) { return Lstat(filepath.Join(d.path, name)) }

// Create makes a new file for writing.
func (d *Dir) Create(name string, perm fs.FileMode) (*os.File, error) {
	return os.OpenFile(filepath.Join(d.path, name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
}

// OpenFile opens a regular file, for reading or for writing.
func (d *Dir) OpenFile(name string, flag int) (*os.File, error) {
	path := filepath.Join(d.path, name)
	if info, err := Lstat(path); err != nil || !info.Mode.IsRegular() {
		return nil, errors.Join(ErrNotRegular, err)
	}
	return os.OpenFile(path, flag, 0)
}

// Rename moves a name of the folder into another one, or the same.
func (d *Dir) Rename(from string, into *Dir, to string) error {
	return os.Rename(filepath.Join(d.path, from), filepath.Join(into.path, to))
}

// Mkdir makes a folder in the folder.
func (d *Dir) Mkdir(name string, perm fs.FileMode) error {
	return os.Mkdir(filepath.Join(d.path, name), perm)
}

// Chmod sets the mode of what has this name.
func (d *Dir) Chmod(name string, mode fs.FileMode) error {
	return os.Chmod(filepath.Join(d.path, name), mode)
}

// Remove removes a file or an empty folder.
func (d *Dir) Remove(name string) error { return os.Remove(filepath.Join(d.path, name)) }
