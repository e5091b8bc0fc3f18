package blob

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"takeback/filehistory/internal/disk"
)

func newStore(t *testing.T) *Store {
	t.Helper()
	s := New(&disk.FS{}, t.TempDir())
	if err := s.Prepare(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func put(t *testing.T, s *Store, content []byte) Ref {
	t.Helper()
	b := s.Batch()
	ref, err := tryPut(t, b, content)
	if err := errors.Join(err, b.Sync()); err != nil {
		t.Fatal(err)
	}
	return ref
}

func tryPut(t *testing.T, b *Batch, content []byte) (Ref, error) {
	t.Helper()
	if len(content) <= SmallSize {
		return b.Put(sha256.Sum256(content), content)
	}
	path := filepath.Join(t.TempDir(), "source")
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	return b.PutFile(f)
}

func holds(t *testing.T, s *Store, ref Ref, content []byte) {
	t.Helper()
	c, err := s.Open(ref)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	got, err := io.ReadAll(io.NewSectionReader(c, 0, c.Size))
	if err != nil || !bytes.Equal(got, content) {
		t.Fatalf("%d bytes, %v; want %d", len(got), err, len(content))
	}
}

func TestSizes(t *testing.T) {
	s := newStore(t)
	for _, size := range []int{0, 1, SmallSize - 1, SmallSize, SmallSize + 1, 3 * SmallSize} {
		content := bytes.Repeat([]byte{byte(size)}, size)
		ref := put(t, s, content)
		holds(t, s, ref, content)
		if again := put(t, s, content); again != ref {
			t.Errorf("%d bytes were kept twice", size)
		}
	}
}

func TestManyPacks(t *testing.T) {
	dir := t.TempDir()
	var refs []Ref
	for i := range 3 * maxPacks {
		s := New(&disk.FS{}, dir)
		if err := s.Prepare(); err != nil {
			t.Fatal(err)
		}
		refs = append(refs, put(t, s, []byte{byte(i)}))
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	s := New(&disk.FS{}, dir)
	for i, ref := range refs {
		holds(t, s, ref, []byte{byte(i)})
		if len(s.packs) > maxPacks {
			t.Fatalf("%d packs are open", len(s.packs))
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestPrepareRemovesLeftovers(t *testing.T) {
	s := newStore(t)
	if err := os.WriteFile(filepath.Join(s.tempDir(), "half"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := s.Prepare(); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(s.tempDir()); err != nil || len(left) > 0 {
		t.Fatal(left, err)
	}
}

// TestFailedFlush puts the same content again after a flush failed: it must not
// be taken for saved.
func TestFailedFlush(t *testing.T) {
	for _, size := range []int{10, SmallSize + 10} {
		for _, fail := range []string{"sync", "write", "rename", "copy", "syncfs"} {
			s := newStore(t)
			first := put(t, s, []byte("first"))
			s.fs.Fail = func(op, _ string) error {
				if op == fail {
					return syscall.EIO
				}
				return nil
			}
			content := bytes.Repeat([]byte{7}, size)
			early := s.Batch()
			if _, err := early.Put(sha256.Sum256([]byte("early")), []byte("early")); err != nil {
				t.Fatal(err)
			}
			b := s.Batch()
			lost, err := tryPut(t, b, content)
			if err == nil {
				err = b.Sync()
			}
			s.fs.Fail = nil
			if small := size <= SmallSize; err == nil && (small == (fail == "sync" || fail == "write") || !small && fail != "sync" && fail != "write") {
				t.Fatalf("%d bytes, failing %s: no error", size, fail)
			}
			if err != nil && (fail == "sync" || fail == "write" || fail == "syncfs") && early.Sync() == nil {
				t.Fatalf("failing %s: a batch that was put before counts as safe", fail)
			}
			ref := put(t, s, content)
			if err != nil && lost.Pack != "" && ref == lost {
				t.Fatalf("failing %s: what may not be on disk stands for what is", fail)
			}
			holds(t, s, ref, content)
			holds(t, s, first, []byte("first"))
			if temps, _ := os.ReadDir(s.tempDir()); len(temps) > 0 {
				t.Fatalf("failing %s leaves %v", fail, temps)
			}
		}
	}
}

func TestDamage(t *testing.T) {
	s := newStore(t)
	for _, size := range []int{100, SmallSize + 100} {
		ref := put(t, s, bytes.Repeat([]byte{1}, size))
		path := s.path(ref)
		whole, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		at := ref.Offset + 50
		flipped := bytes.Clone(whole)
		flipped[at] ^= 1
		for name, damage := range map[string]func() error{
			"flip": func() error { return os.WriteFile(path, flipped, 0o600) },
			"cut":  func() error { return os.WriteFile(path, whole[:at], 0o600) },
			"gone": func() error { return errors.Join(s.Close(), os.Remove(path)) },
		} {
			if err := errors.Join(os.WriteFile(path, whole, 0o600), damage()); err != nil {
				t.Fatal(err)
			}
			if c, err := s.Open(ref); !errors.Is(err, ErrCorrupt) {
				t.Errorf("%d bytes, %s: %v, %v", size, name, c, err)
			}
			dst, err := os.Create(filepath.Join(t.TempDir(), "dst"))
			if err != nil {
				t.Fatal(err)
			}
			if err := s.CopyTo(dst, ref); !errors.Is(err, ErrCorrupt) {
				t.Errorf("%d bytes, %s: %v", size, name, err)
			}
			dst.Close()
		}
		s.pack = ""
	}
}
