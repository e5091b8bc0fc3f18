//go:build linux

package filehistory

import (
	"encoding/binary"
	"maps"
	"os"
	"syscall"
	"testing"

	"takeback/filehistory/internal/disk"
)

// accessList is a POSIX access list: its owner, user 1234 and nobody else.
func accessList() []byte {
	const anyone = 0xffffffff
	b := binary.LittleEndian.AppendUint32(nil, 2)
	for _, entry := range []struct {
		tag, perm uint16
		id        uint32
	}{{1, 7, anyone}, {2, 5, 1234}, {4, 0, anyone}, {16, 5, anyone}, {32, 0, anyone}} {
		b = binary.LittleEndian.AppendUint16(b, entry.tag)
		b = binary.LittleEndian.AppendUint16(b, entry.perm)
		b = binary.LittleEndian.AppendUint32(b, entry.id)
	}
	return b
}

// TestP12_foldersKeepAttributes removes a folder by a rewind, and brings it back.
func TestP12_foldersKeepAttributes(t *testing.T) {
	h := newHistory(t)
	attrs := map[string][]byte{"user.of": []byte("the parent"), "system.posix_acl_default": accessList()}
	if err := h.store.fs.SetXattrs(h.work, attrs); err != nil {
		t.Skip(err)
	}
	h.checkpoint("u1")
	h.write("d/e/f", "x") // d and e inherit the list
	h.must(syscall.Setxattr(h.path("d"), "user.note", []byte("kept"), 0))
	want := make(map[string]map[string][]byte)
	for _, name := range []string{"d", "d/e", "d/e/f"} {
		attrs, err := disk.Xattrs(h.path(name))
		h.must(err)
		want[name] = attrs
	}
	if len(want["d"]) != 3 || len(want["d/e"]) != 2 {
		t.Skipf("lists are not inherited here: %v", want)
	}
	h.clean("u1")
	h.absent("d")
	h.restart()
	h.clean(Undo)
	for name, attrs := range want {
		got, err := disk.Xattrs(h.path(name))
		h.must(err)
		if !maps.EqualFunc(got, attrs, func(a, b []byte) bool { return string(a) == string(b) }) {
			t.Errorf("%s has %q, want %q", name, got, attrs)
		}
	}

	h.checkpoint("u2")
	h.change(func() { h.must(os.Chmod(h.path("d"), 0o711)) }, "d")
	h.clean("u2") // of a folder that stays only the mode changes
	if got, err := disk.Xattrs(h.path("d")); err != nil || string(got["user.note"]) != "kept" {
		t.Errorf("%q, %v", got, err)
	}
}
