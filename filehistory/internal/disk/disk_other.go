//go:build !linux

package disk

import (
	"errors"
	"os"
)

func clone(_, _ *os.File) error { return errors.ErrUnsupported }

func datasync(f *os.File) error { return f.Sync() }

func syncTogether(paths []string) error { return syncEach(paths) }

// Hold keeps an inode alive where that saves time; here it does not.
func Hold(string) (*os.File, error) { return nil, errors.ErrUnsupported }
