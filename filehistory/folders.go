package filehistory

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"takeback/filehistory/internal/disk"
	"takeback/filehistory/internal/journal"
)

// settleFolders keeps folders that would not be empty: nothing is removed that
// the plan does not name.
func (p *plan) settleFolders() {
	filled := p.filled()
	for _, st := range slices.Backward(p.steps) {
		if st.verdict != differs || st.now.Kind != journal.Dir || st.want.Kind == journal.Dir {
			continue
		}
		bare, empty, err := p.emptied(st.path)
		empty = empty && !filled[st.path]
		switch {
		case err != nil:
			st.fail(err)
		case bare && st.madeAnew():
			st.verdict = same
		case !empty && st.want.Kind == journal.Absent:
			st.verdict = same
		case !empty:
			st.fail(errors.New("a folder that is not empty stands in its place"))
		}
	}
}

// madeAnew says whether somebody removed the folder that the session left there, and
// made another one.
func (st *step) madeAnew() bool {
	if st.left == nil || st.left.Kind != journal.Dir {
		return false
	}
	born, ok := disk.Born(st.path)
	return st.now.Dev != st.left.Dev || st.now.Ino != st.left.Ino || ok && born > st.left.Ctime // numbers are used again
}

// filled gives the folders that something comes back to. One of them may count
// as absent: where somebody else removed it, and a later change made it anew.
func (p *plan) filled() map[string]bool {
	folders := make(map[string]bool)
	for _, st := range p.steps {
		if st.verdict != differs || st.want.Kind == journal.Absent {
			continue
		}
		for dir := filepath.Dir(st.path); !folders[dir]; dir = filepath.Dir(dir) {
			folders[dir] = true
		}
	}
	return folders
}

// emptied says whether nothing is in a folder, and whether nothing will be.
func (p *plan) emptied(dir string) (bare, empty bool, err error) {
	f, err := os.Open(dir)
	if err != nil {
		return false, false, err
	}
	defer f.Close()
	for bare = true; ; {
		const some = 256
		names, err := f.Readdirnames(some)
		bare = bare && len(names) == 0
		for _, name := range names {
			st := p.byPath[filepath.Join(dir, name)]
			if st == nil || st.verdict != differs || st.want.Kind != journal.Absent {
				return false, false, nil
			}
		}
		if len(names) == 0 {
			if err != nil && !errors.Is(err, io.EOF) {
				return false, false, err
			}
			return bare, true, nil
		}
	}
}

// folderNow is what a history keeps of a folder that a change is not about.
func folderNow(path string) (journal.State, error) {
	info, err := disk.Lstat(path)
	return journal.State{Kind: journal.Dir, Mode: info.Mode & modeBits, UID: info.UID, GID: info.GID}, err
}

// noteFolders notes what the folders on the way to path are like, as far as they
// exist: somebody may remove them, and a rewind has to make them again.
func (v *saver) noteFolders(path string, missing int) {
	dir := filepath.Dir(path)
	for range missing {
		dir = filepath.Dir(dir)
	}
	for ; v.folders[dir].Kind == "" && filepath.Dir(dir) != dir; dir = filepath.Dir(dir) {
		state, err := folderNow(dir)
		if err != nil {
			return // then the change will not get there either
		}
		v.folders[dir] = state
	}
}

// folderRecords are those that say something new.
func (x *index) folderRecords(folders map[string]journal.State) []*journal.Record {
	var records []*journal.Record
	for path, state := range folders {
		if known := x.folders[path]; known.Kind == "" || known.Mode != state.Mode || known.UID != state.UID || known.GID != state.GID {
			records = append(records, &journal.Record{Type: journal.Folder, Path: journal.NewPath(path), State: state})
		}
	}
	return records
}

func (w *work) makeFolders() {
	type dir struct {
		path string
		st   *step
	}
	var dirs []dir
	for _, r := range w.parents {
		dirs = append(dirs, dir{path: r.Path.String()})
	}
	for _, st := range w.steps {
		if st.want.Kind == journal.Dir && st.change.Action == Restore && st.verdict == differs {
			dirs = append(dirs, dir{st.path, st})
		}
	}
	slices.SortFunc(dirs, func(a, b dir) int { return comparePaths(a.path, b.path) })
	for _, d := range dirs {
		if d.st == nil {
			w.makeParent(d.path)
			continue
		}
		if err := w.s.fs.MakeFolder(d.path, whileFilling); err != nil {
			d.st.fail(err)
			continue
		}
		d.st.done = true
	}
}

const whileFilling = 0o700

// makeParent makes a folder that stood there when the files in it were changed. One of
// which no more is known is for nobody else.
func (w *work) makeParent(path string) {
	w.s.mu.Lock()
	known := w.s.index.folders[path]
	w.s.mu.Unlock()
	if w.s.fs.MakeFolder(path, known.Mode.Perm()|whileFilling) == nil { // else the files that need it will tell
		w.made = append(w.made, path)
	}
}

// finishParent gives a folder on the way the mode and the owner that it had.
func (w *work) finishParent(path string) {
	w.s.mu.Lock()
	known, ok := w.s.index.folders[path]
	w.s.mu.Unlock()
	if now, err := folderNow(path); err != nil || !ok || now.Mode == known.Mode && now.UID == known.UID && now.GID == known.GID {
		return
	}
	if err := errors.Join(w.s.fs.Chown(path, known.UID, known.GID), w.s.fs.Chmod(path, known.Mode)); err != nil {
		err = fmt.Errorf("made again, but not as it was: %w", err)
		w.problems = append(w.problems, Problem{Path: path, Err: oneLine{err}, Restored: true})
	}
}

// finishFolder gives a folder its mode, and one that came back its owner.
func (w *work) finishFolder(st *step) error {
	if st.change.Action == Chmod {
		return w.chmod(st)
	}
	st.lost = errors.Join(st.lost, w.s.fs.Chown(st.path, st.want.UID, st.want.GID), w.s.fs.SetXattrs(st.path, st.want.Xattrs))
	return w.s.fs.Chmod(st.path, st.want.Mode)
}
