package disk

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

func ctime(st *syscall.Stat_t) int64 { return st.Ctim.Nano() }

func timesRaw(st *unix.Stat_t) (mtime, ctime int64) { return st.Mtim.Nano(), st.Ctim.Nano() }

func clone(dst, src *os.File) error {
	return unix.IoctlFileClone(int(dst.Fd()), int(src.Fd()))
}

func datasync(f *os.File) error {
	for {
		err := unix.Fdatasync(int(f.Fd()))
		if err == nil {
			return nil
		}
		if !errors.Is(err, unix.EINTR) {
			return &os.PathError{Op: "fdatasync", Path: f.Name(), Err: err}
		}
	}
}

// Below this many files, flushing them one by one is cheaper than flushing
// whatever else the machine has written.
const fewFiles = 4

func syncTogether(paths []string) error {
	if len(paths) < fewFiles {
		return syncEach(paths)
	}
	dirs := make(map[string]bool)
	devices := make(map[uint64]bool)
	for _, path := range paths {
		dir := filepath.Dir(path)
		if dirs[dir] {
			continue
		}
		dirs[dir] = true
		f, err := os.Open(dir)
		if err != nil {
			return err
		}
		st, err := f.Stat()
		if err == nil {
			if dev := uint64(st.Sys().(*syscall.Stat_t).Dev); !devices[dev] {
				devices[dev] = true
				err = unix.Syncfs(int(f.Fd()))
			}
		}
		if err := errors.Join(err, f.Close()); err != nil {
			return err
		}
	}
	return nil
}

// Held is an inode that is kept alive.
type Held int

// Hold keeps the inode at path alive until it is closed.
func Hold(path string) (Held, error) {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	return Held(fd), err
}

// Close lets the inode go.
func (h Held) Close() error { return unix.Close(int(h)) }
