//go:build linux || darwin

package disk

import (
	"bytes"
	"errors"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// attributed is something that has extended attributes.
type attributed struct {
	list   func([]byte) (int, error)
	get    func(string, []byte) (int, error)
	set    func(string, []byte) error
	remove func(string) error
}

func attributedPath(path string) attributed {
	return attributed{
		list:   func(b []byte) (int, error) { return unix.Llistxattr(path, b) },
		get:    func(key string, b []byte) (int, error) { return unix.Lgetxattr(path, key, b) },
		set:    func(key string, value []byte) error { return unix.Lsetxattr(path, key, value, 0) },
		remove: func(key string) error { return unix.Lremovexattr(path, key) },
	}
}

func attributedFile(f *os.File) attributed {
	fd := int(f.Fd())
	return attributed{
		list:   func(b []byte) (int, error) { return unix.Flistxattr(fd, b) },
		get:    func(key string, b []byte) (int, error) { return unix.Fgetxattr(fd, key, b) },
		set:    func(key string, value []byte) error { return unix.Fsetxattr(fd, key, value, 0) },
		remove: func(key string) error { return unix.Fremovexattr(fd, key) },
	}
}

// Xattrs reads the extended attributes of what stands at path, access lists
// among them. Labels that the system puts on every file by its own rules are
// left out: it puts them on the restored file too.
func Xattrs(path string) (map[string][]byte, error) { return attributedPath(path).read() }

// XattrsFile is [Xattrs] of an open file.
func XattrsFile(f *os.File) (map[string][]byte, error) { return attributedFile(f).read() }

func (a attributed) read() (map[string][]byte, error) {
	names, err := readSized(a.list)
	if err != nil || len(names) == 0 {
		return nil, ignoreUnsupported(err)
	}
	attrs := make(map[string][]byte)
	for name := range bytes.SplitSeq(bytes.TrimSuffix(names, []byte{0}), []byte{0}) {
		key := string(name)
		if key == "security.selinux" || strings.HasPrefix(key, "com.apple.provenance") {
			continue
		}
		value, err := readSized(func(b []byte) (int, error) { return a.get(key, b) })
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
	return attributedPath(path).write(attrs)
}

// SetXattrsFile is [FS.SetXattrs] of an open file.
func (d *FS) SetXattrsFile(f *os.File, attrs map[string][]byte) error {
	if err := d.allow("setxattr", f.Name()); err != nil {
		return err
	}
	return attributedFile(f).write(attrs)
}

func (a attributed) write(attrs map[string][]byte) error {
	inherited, err := a.read()
	if err != nil {
		return err
	}
	var errs []error
	for key := range inherited {
		if _, ok := attrs[key]; !ok { // from the default access list of the folder
			errs = append(errs, a.remove(key))
		}
	}
	for key, value := range attrs {
		if old, ok := inherited[key]; !ok || !bytes.Equal(old, value) {
			errs = append(errs, a.set(key, value))
		}
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
