//go:build linux || darwin

package disk

import (
	"bytes"
	"errors"
	"strings"

	"golang.org/x/sys/unix"
)

// Xattrs reads the extended attributes of what stands at path, access lists
// among them. Labels that the system puts on every file by its own rules are
// left out: it puts them on the restored file too.
func Xattrs(path string) (map[string][]byte, error) {
	names, err := readSized(func(b []byte) (int, error) { return unix.Llistxattr(path, b) })
	if err != nil || len(names) == 0 {
		return nil, ignoreUnsupported(err)
	}
	attrs := make(map[string][]byte)
	for name := range bytes.SplitSeq(bytes.TrimSuffix(names, []byte{0}), []byte{0}) {
		key := string(name)
		if key == "security.selinux" || strings.HasPrefix(key, "com.apple.provenance") {
			continue
		}
		value, err := readSized(func(b []byte) (int, error) { return unix.Lgetxattr(path, key, b) })
		if errors.Is(err, noAttr) || errors.Is(err, unix.EPERM) || errors.Is(err, unix.EACCES) {
			continue
		}
		if err != nil {
			return nil, err
		}
		attrs[key] = value
	}
	return attrs, nil
}

// SetXattrs gives path, which is not a link, these attributes and no access
// list but theirs, as far as the system lets it.
func (d *FS) SetXattrs(path string, attrs map[string][]byte) error {
	if err := d.allow("setxattr", path); err != nil {
		return err
	}
	inherited, err := Xattrs(path)
	if err != nil {
		return err
	}
	var errs []error
	for key := range inherited {
		if _, ok := attrs[key]; !ok { // from the default access list of the folder
			errs = append(errs, unix.Lremovexattr(path, key))
		}
	}
	for key, value := range attrs {
		errs = append(errs, unix.Lsetxattr(path, key, value, 0))
	}
	return errors.Join(errs...)
}

func readSized(read func([]byte) (int, error)) ([]byte, error) {
	for {
		n, err := read(nil)
		if err != nil || n == 0 {
			return nil, err
		}
		b := make([]byte, n)
		n, err = read(b)
		if errors.Is(err, unix.ERANGE) { // it grew in between
			continue
		}
		if err != nil {
			return nil, err
		}
		return b[:n], nil
	}
}

func ignoreUnsupported(err error) error {
	if errors.Is(err, unix.ENOTSUP) || errors.Is(err, unix.EPERM) || errors.Is(err, unix.EACCES) {
		return nil
	}
	return err
}
