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

// Chown gives f to an owner, where it has another.
func (d *FS) Chown(f *os.File, uid, gid int) error {
	st, err := f.Stat()
	if err != nil {
		return err
	}
	if sys := st.Sys().(*syscall.Stat_t); int(sys.Uid) == uid && int(sys.Gid) == gid {
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
