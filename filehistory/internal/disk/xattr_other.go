//go:build !linux && !darwin

package disk

// Xattrs reads nothing: this system has no extended attributes that we know.
func Xattrs(string) (map[string][]byte, error) { return nil, nil }

// SetXattrs does nothing.
func (d *FS) SetXattrs(string, map[string][]byte) error { return nil }
