package filehistory

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"takeback/filehistory/internal/disk"
	"takeback/filehistory/internal/journal"
)

func (st *step) overFile() bool {
	return st.now.Kind == journal.File && st.want.Kind == journal.File
}

// overwrite puts staged content into the file that stands there, as [WriteFile] does
// where a file cannot be replaced. Should the process die in this moment, the file is
// neither old nor new: what stood there is saved, and asking again finishes the job.
func (w *work) overwrite(st *step) error {
	dir, err := disk.OpenDir(filepath.Dir(st.path))
	if err != nil {
		return err
	}
	defer dir.Close()
	f, err := dir.OpenFile(filepath.Base(st.path), os.O_WRONLY)
	if err != nil {
		return err
	}
	err = w.overwriteFile(f, st)
	return errors.Join(err, f.Close())
}

func (w *work) overwriteFile(f *os.File, st *step) error {
	if info, err := disk.Stat(f); err != nil || !sameFile(stateOf(info), st.now) {
		return errors.Join(errChanging, err)
	}
	staged, _, err := disk.OpenRegular(st.staged)
	if err != nil {
		return err
	}
	defer staged.Close()
	st.done, st.torn = true, true
	if err := errors.Join(w.s.fs.Overwrite(f, staged), w.s.fs.Sync(f)); err != nil {
		return fmt.Errorf("it could only be written in place, and is half-written: %w", err)
	}
	st.torn = false
	st.lost = errors.Join(w.s.fs.ChownFile(f, st.want.UID, st.want.GID), w.s.fs.SetXattrsFile(f, st.want.Xattrs))
	if info, err := disk.Stat(f); err != nil || info.Mode&modeBits != st.want.Mode { // writing takes some bits away
		st.lost = errors.Join(st.lost, err, w.s.fs.ChmodFile(f, st.want.Mode))
	}
	_ = w.s.fs.Remove(st.staged) // else the next process that writes removes it
	st.staged = ""
	return nil
}
