//go:build !linux && !darwin

package disk

import "os"

// Xattrs reads nothing: this system has no extended attributes that we know.
func Xattrs(string) (map[string][]byte, error) { return nil, nil }

// SetXattrs does nothing.
func (d *FS) SetXattrs(string, map[string][]byte) error { return nil }

// XattrsFile reads nothing.
func XattrsFile(*os.File) (map[string][]byte, error) { return nil, nil }

// SetXattrsFile does nothing.
func (d *FS) SetXattrsFile(*os.File, map[string][]byte) error { return nil }
