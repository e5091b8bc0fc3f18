package disk

import (
	"io/fs"
	"path/filepath"
)

// What follows is for paths that lead over no link. Where one stands on the way now,
// somebody put it there since, and it is an error.

// Move moves from over to.
func (d *FS) Move(from, to string) error {
	if err := d.allow("rename", to); err != nil {
		return err
	}
	return in(from, func(dir *Dir, name string) error {
		if filepath.Dir(from) == filepath.Dir(to) {
			return dir.Rename(name, dir, filepath.Base(to))
		}
		return in(to, func(into *Dir, as string) error { return dir.Rename(name, into, as) })
	})
}

// Delete removes a file or an empty folder.
func (d *FS) Delete(path string) error {
	if err := d.allow("remove", path); err != nil {
		return err
	}
	return in(path, (*Dir).Remove)
}

// MakeFolder makes a folder.
func (d *FS) MakeFolder(path string, perm fs.FileMode) error {
	if err := d.allow("mkdir", path); err != nil {
		return err
	}
	return in(path, func(dir *Dir, name string) error { return dir.Mkdir(name, perm) })
}

// Chmod sets the mode of what stands at path, unless that is a link.
func (d *FS) Chmod(path string, mode fs.FileMode) error {
	if err := d.allow("chmod", path); err != nil {
		return err
	}
	return in(path, func(dir *Dir, name string) error { return dir.Chmod(name, mode) })
}

func in(path string, do func(dir *Dir, name string) error) error {
	dir, err := OpenDir(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer dir.Close()
	return do(dir, filepath.Base(path))
}
