package disk

import (
	"errors"
	"syscall"

	"golang.org/x/sys/unix"
)

const searchOnly = 0x40000000 // O_EXEC: of a folder, the right to go through it

func openDirectly(string) (int, error) { return -1, errors.ErrUnsupported }

func ctime(st *syscall.Stat_t) int64 { return st.Ctimespec.Nano() }

func timesRaw(st *unix.Stat_t) (mtime, ctime int64) { return st.Mtim.Nano(), st.Ctim.Nano() }
