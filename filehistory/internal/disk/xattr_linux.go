package disk

import "golang.org/x/sys/unix"

const noAttr = unix.ENODATA
