package filehistory

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"runtime"
	"strings"

	"takeback/filehistory/internal/disk"
)

// resolver turns the ways to spell a path into one: absolute, clean, behind no
// link but perhaps itself one. It looks at each folder once.
type resolver struct{ folders map[string]folder }

type folder struct {
	real    string
	missing []string // folders on the way that do not exist, outermost first
}

func newResolver() *resolver { return &resolver{folders: make(map[string]folder)} }

func (r *resolver) resolve(path string) (string, []string, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", nil, err
	}
	if filepath.Dir(abs) == abs {
		return "", nil, &fs.PathError{Op: "resolve", Path: path, Err: errors.New("a root folder has no history")}
	}
	dir, err := r.find(filepath.Dir(abs))
	if err != nil {
		return "", nil, err
	}
	return filepath.Join(dir.real, filepath.Base(abs)), dir.missing, nil
}

func (r *resolver) find(dir string) (folder, error) {
	if known, ok := r.folders[dir]; ok {
		return known, nil
	}
	found, err := r.lookUp(dir)
	if err == nil {
		r.folders[dir] = found
	}
	return found, err
}

func (r *resolver) lookUp(dir string) (folder, error) {
	real, err := filepath.EvalSymlinks(dir)
	if err == nil {
		return folder{real: upperVolume(real)}, nil
	}
	parent := filepath.Dir(dir)
	_, lerr := disk.Lstat(dir)
	if parent == dir || lerr != nil && !errors.Is(lerr, fs.ErrNotExist) {
		return folder{}, fmt.Errorf("resolve folder: %w", err)
	}
	up, err := r.find(parent)
	if err != nil {
		return folder{}, err
	}
	here := folder{real: filepath.Join(up.real, filepath.Base(dir)), missing: up.missing}
	if lerr != nil { // else a link that leads nowhere: no change will make a folder of it
		here.missing = append(append([]string(nil), up.missing...), here.real)
	}
	return here, nil
}

// upperVolume makes d:\x and D:\x one path.
func upperVolume(path string) string {
	volume := filepath.VolumeName(path)
	return strings.ToUpper(volume) + path[len(volume):]
}

// metadata says whether path is, or lies in, what a version control system
// keeps its own history in. Putting that back would destroy commits.
func metadata(path string) bool {
	for name := range strings.SplitSeq(path, string(filepath.Separator)) {
		if runtime.GOOS != "linux" { // names differ in case only: one file
			name = strings.ToLower(name)
		}
		switch name {
		case ".git", ".hg", ".svn", ".jj":
			return true
		}
	}
	return false
}

func inside(dir, path string) bool {
	return path == dir || strings.HasPrefix(path, strings.TrimSuffix(dir, string(filepath.Separator))+string(filepath.Separator))
}

// comparePaths sorts a folder before what is in it, and that before whatever
// else follows the folder.
func comparePaths(a, b string) int {
	for i := range min(len(a), len(b)) {
		if a[i] == b[i] {
			continue
		}
		switch {
		case a[i] == filepath.Separator:
			return -1
		case b[i] == filepath.Separator:
			return 1
		}
		return int(a[i]) - int(b[i])
	}
	return len(a) - len(b)
}
