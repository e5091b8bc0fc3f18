package disk

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

func ctime(st *syscall.Stat_t) int64 { return st.Ctim.Nano() }

func timesRaw(st *unix.Stat_t) (mtime, ctime int64) { return st.Mtim.Nano(), st.Ctim.Nano() }

const searchOnly = unix.O_PATH

// openDirectly opens a folder, over no link, in one call.
func openDirectly(path string) (int, error) {
	how := unix.OpenHow{Flags: folderFlags, Resolve: unix.RESOLVE_NO_SYMLINKS}
	for {
		fd, err := unix.Openat2(unix.AT_FDCWD, path, &how)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case errors.Is(err, unix.ENOSYS), errors.Is(err, unix.EPERM): // an old kernel, a filter of system calls
			return fd, errors.ErrUnsupported
		}
		return fd, err
	}
}

// Born tells when what stands at path was made, where the file system knows.
func Born(path string) (int64, bool) {
	var st unix.Statx_t
	err := unix.Statx(unix.AT_FDCWD, path, unix.AT_SYMLINK_NOFOLLOW, unix.STATX_BTIME, &st)
	return time.Unix(st.Btime.Sec, int64(st.Btime.Nsec)).UnixNano(), err == nil && st.Mask&unix.STATX_BTIME != 0
}

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

// Held keeps inodes alive: giving their blocks back is most of what renaming over
// them costs, and can wait. It may be used from several goroutines.
type Held struct {
	mu  sync.Mutex
	fds []int
}

// The whole process shares one bound, and most files stay for others to open.
const (
	maxHeld  = 4096
	heldPart = 4 // one in so many
)

var held atomic.Int64

// Add holds the inode at path, if another one may be held.
func (h *Held) Add(path string) {
	if held.Add(1) > min(maxHeld, openFiles()/heldPart) {
		held.Add(-1)
		return
	}
	fd, err := unix.Open(path, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		held.Add(-1)
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.fds = append(h.fds, fd)
}

// openFiles is how many files the process may have open.
func openFiles() int64 {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return 0
	}
	return int64(min(limit.Cur, math.MaxInt64))
}

// Release lets the inodes go.
func (h *Held) Release() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, fd := range h.fds {
		unix.Close(fd)
		held.Add(-1)
	}
	h.fds = nil
}
