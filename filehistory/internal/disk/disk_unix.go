//go:build unix

package disk

import (
	"errors"
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

const (
	noFollow = unix.O_NOFOLLOW
	noWait   = unix.O_NONBLOCK
)

func infoOf(st fs.FileInfo) Info {
	info := Info{Mode: st.Mode(), Size: st.Size(), Mtime: st.ModTime().UnixNano()}
	sys := st.Sys().(*syscall.Stat_t)
	info.Dev, info.Ino, info.Links = uint64(sys.Dev), uint64(sys.Ino), uint64(sys.Nlink)
	info.UID, info.GID = int(sys.Uid), int(sys.Gid)
	info.Ctime = ctime(sys)
	return info
}

// Chown gives what stands at path, be it a link, to an owner, where it has another.
func (d *FS) Chown(path string, uid, gid int) error {
	info, err := Lstat(path)
	if err != nil || info.UID == uid && info.GID == gid {
		return err
	}
	if err := d.allow("chown", path); err != nil {
		return err
	}
	return os.Lchown(path, uid, gid)
}

// ChownFile gives an open file to an owner, where it has another.
func (d *FS) ChownFile(f *os.File, uid, gid int) error {
	st, err := f.Stat()
	if err != nil {
		return err
	}
	if info := infoOf(st); info.UID == uid && info.GID == gid {
		return nil
	}
	if err := d.allow("chown", f.Name()); err != nil {
		return err
	}
	return f.Chown(uid, gid)
}

func syncDir(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	err = f.Sync()
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOTSUP) { // some network file systems
		err = nil
	}
	return errors.Join(err, f.Close())
}

// linkError puts the way in which O_NOFOLLOW fails into our words.
func linkError(err error) error {
	if errors.Is(err, unix.ELOOP) {
		return errors.Join(ErrNotRegular, err)
	}
	return err
}

// rename spares the look at the target that os.Rename takes for a kinder message.
func rename(from, to string) error {
	for {
		err := unix.Rename(from, to)
		if err == nil {
			return nil
		}
		if !errors.Is(err, unix.EINTR) {
			return &os.LinkError{Op: "rename", Old: from, New: to, Err: err}
		}
	}
}

// ReadRegular is [OpenRegular] and, for what is no longer than limit, the reading
// of it: then there is no file to close. Going past package os spares the
// registration with the poller, most of what reading a small file costs.
func ReadRegular(path string, limit int64) ([]byte, *os.File, Info, error) {
	fd, err := openRaw(path)
	if err != nil {
		return nil, nil, Info{}, linkError(&fs.PathError{Op: "open", Path: path, Err: err})
	}
	info, err := statRaw(fd)
	if err == nil && !info.Mode.IsRegular() {
		err = ErrNotRegular
	}
	if err != nil {
		unix.Close(fd)
		return nil, nil, Info{}, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	if info.Size <= limit {
		content, err := readRaw(fd, int(info.Size), int(limit))
		if err != nil {
			unix.Close(fd)
			return nil, nil, Info{}, &fs.PathError{Op: "read", Path: path, Err: err}
		}
		if content != nil {
			return content, nil, info, unix.Close(fd)
		}
	}
	return nil, os.NewFile(uintptr(fd), path), info, nil
}

func openRaw(path string) (int, error) {
	for {
		fd, err := unix.Open(path, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
		if !errors.Is(err, unix.EINTR) {
			return fd, err
		}
	}
}

// readRaw reads to the end, or gives nil if that lies behind limit: the file is
// growing.
func readRaw(fd, size, limit int) ([]byte, error) {
	b := make([]byte, size+1)
	n := 0
	for {
		got, err := unix.Read(fd, b[n:])
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil:
			return nil, err
		}
		n += got
		switch {
		case n < len(b): // a regular file gives less than asked for at its end only
			return b[:n], nil
		case n > limit:
			return nil, nil
		}
		b = append(b, make([]byte, limit+1-n)...)
	}
}

func statRaw(fd int) (Info, error) {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return Info{}, err
	}
	return infoRaw(&st), nil
}

func infoRaw(st *unix.Stat_t) Info {
	info := Info{
		Size: st.Size, Dev: uint64(st.Dev), Ino: uint64(st.Ino), Links: uint64(st.Nlink),
		UID: int(st.Uid), GID: int(st.Gid), Mode: fileMode(uint32(st.Mode)),
	}
	info.Mtime, info.Ctime = timesRaw(st)
	return info
}

func fileMode(bits uint32) fs.FileMode {
	mode := fs.FileMode(bits & 0o777)
	for _, m := range []struct {
		bit  uint32
		mode fs.FileMode
	}{{unix.S_ISUID, fs.ModeSetuid}, {unix.S_ISGID, fs.ModeSetgid}, {unix.S_ISVTX, fs.ModeSticky}} {
		if bits&m.bit != 0 {
			mode |= m.mode
		}
	}
	switch bits & unix.S_IFMT {
	case unix.S_IFREG:
	case unix.S_IFDIR:
		mode |= fs.ModeDir
	case unix.S_IFLNK:
		mode |= fs.ModeSymlink
	default:
		mode |= fs.ModeIrregular
	}
	return mode
}
