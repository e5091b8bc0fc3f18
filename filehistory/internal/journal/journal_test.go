package journal

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"

	"takeback/filehistory/internal/disk"
)

func sample(i int) *Record {
	return &Record{
		Type: Before, Change: int64(i), Path: NewPath(fmt.Sprintf("/some/where/%d\n{\"r\":", i)), By: "Write",
		State: State{
			Kind: File, Mode: 0o644, Size: 12, Hash: Hash{1, 2, byte(i)}, Pack: "pack", Offset: int64(i) << 32,
			Link: []byte("\xff"), Xattrs: map[string][]byte{"user.x": {0, 1}}, Mtime: 1e18, Links: 1,
		},
	}
}

func readAll(t testing.TB, path string) (records []*Record, whole, size int64) {
	t.Helper()
	whole, size, err := Read(path, func(r *Record) {
		if r != nil {
			c := *r
			r = &c
		}
		records = append(records, r)
	})
	if err != nil {
		t.Fatal(err)
	}
	return records, whole, size
}

// TestRoundTrip is longer than the buffers that reading uses again and again.
func TestRoundTrip(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal")
	d := &disk.FS{}
	w, err := Append(d, path, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	want := []*Record{{Type: Head, Version: Version}, {Type: Checkpoint, ID: "é", Label: strings.Repeat("l", 2*chunkSize)}}
	for i := range 20_000 {
		want = append(want, sample(i))
	}
	want = append(want, &Record{Type: After, Path: NewPath("\xff\x00")})
	if err := w.Add(want[1:]...); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	got, whole, size := readAll(t, path)
	if whole != size || len(got) != len(want) {
		t.Fatal(whole, size, len(got))
	}
	for i := range want {
		if !reflect.DeepEqual(got[i], want[i]) {
			t.Fatalf("record %d: %+v, want %+v", i, got[i], want[i])
		}
	}
	if got[len(got)-1].Path.String() != "\xff\x00" {
		t.Fatal(got[len(got)-1].Path)
	}
}

func TestOtherVersion(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal")
	b, err := appendFrame(nil, &Record{Type: Head, Version: Version + 1})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := Read(path, func(*Record) {}); err == nil {
		t.Fatal("read a journal of another version")
	}
}

// TestTornHead cuts the first line at each byte: the journal begins anew.
func TestTornHead(t *testing.T) {
	head, err := appendFrame(nil, &Record{Type: Head, Version: Version})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "journal")
	for cut := range head {
		if err := os.WriteFile(path, head[:cut], 0o600); err != nil {
			t.Fatal(err)
		}
		_, whole, size := readAll(t, path)
		w, err := Append(&disk.FS{}, path, whole, size)
		if err != nil {
			t.Fatalf("cut to %d bytes: %v", cut, err)
		}
		if err := w.Add(sample(1)); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		records, whole, size := readAll(t, path)
		if whole != size || len(records) != 2 || records[0].Type != Head || !reflect.DeepEqual(records[1], sample(1)) {
			t.Fatalf("cut to %d bytes: %d of %d, %+v", cut, whole, size, records)
		}
	}
}

// TestDamageCostsItself damages one byte: all records but the one that holds it
// are read, and, if it holds a line feed, those on both its sides.
func TestDamageCostsItself(t *testing.T) {
	var whole []byte
	var ends []int
	const records = 5
	for i := range records {
		var err error
		if whole, err = appendFrame(whole, sample(i)); err != nil {
			t.Fatal(err)
		}
		ends = append(ends, len(whole))
	}
	path := filepath.Join(t.TempDir(), "journal")
	hit := 0
	for at := range whole {
		if at == ends[hit] {
			hit++
		}
		for _, flip := range []byte{1, 0x80, whole[at] ^ '\n', whole[at] ^ '{'} {
			if flip == 0 {
				continue
			}
			damaged := bytes.Clone(whole)
			damaged[at] ^= flip
			if err := os.WriteFile(path, damaged, 0o600); err != nil {
				t.Fatal(err)
			}
			got, _, _ := readAll(t, path)
			told, seen := false, make(map[int64]bool)
			for _, r := range got {
				if told = told || r == nil; r != nil {
					seen[r.Change] = true
				}
			}
			feed := at == ends[hit]-1
			for i := range records {
				if want := i != hit || feed; seen[int64(i)] != want {
					t.Fatalf("byte %d of record %d ^ %#x: record %d read: %v", at, hit, flip, i, !want)
				}
			}
			torn := hit == records-1 && flip != whole[at]^'\n'
			if !feed && !told && !torn {
				t.Fatalf("byte %d of record %d ^ %#x: nothing told", at, hit, flip)
			}
		}
	}
}

// TestFailedWritesLeaveNothing fails each operation once, and goes on.
func TestFailedWritesLeaveNothing(t *testing.T) {
	for n := 0; ; n++ {
		left := n
		failed := false
		d := &disk.FS{Fail: func(string, string) error {
			if left--; left == -1 {
				failed = true
				return syscall.ENOSPC
			}
			return nil
		}}
		path := filepath.Join(t.TempDir(), "journal")
		w, err := Append(d, path, 0, 0)
		for i := 0; err == nil && i < 5; i++ {
			if w.Add(sample(2*i), sample(2*i+1)) == nil {
				err = w.Sync()
				if err != nil { // the next one makes it good
					err = w.Sync()
				}
			}
		}
		if w != nil {
			if err != nil {
				t.Fatal(err)
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			records, whole, size := readAll(t, path)
			if whole != size || len(records)%2 != 1 || len(records) < 9 {
				t.Fatalf("operation %d: %d of %d bytes, %d records", n, whole, size, len(records))
			}
			for i, r := range records {
				if r == nil {
					t.Fatalf("operation %d: record %d is damaged", n, i)
				}
			}
		}
		if !failed {
			return
		}
	}
}

func FuzzRead(f *testing.F) {
	b, err := appendFrame(nil, sample(1))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Add(append(bytes.Clone(b[:len(b)-1]), b...))
	f.Add([]byte("00000000 {}\n12345678 {\"r\":\"bef"))
	path := filepath.Join(f.TempDir(), "journal")
	f.Fuzz(func(t *testing.T, data []byte) {
		// What stands around the damage is read whatever the damage is.
		around := bytes.Clone(b)
		around = append(append(around, data...), '\n')
		around = append(around, b...)
		if err := os.WriteFile(path, around, 0o600); err != nil {
			t.Fatal(err)
		}
		var records []*Record
		_, _, err := Read(path, func(r *Record) {
			if r != nil {
				c := *r
				r = &c
			}
			records = append(records, r)
		})
		if err != nil { // a head of another version
			return
		}
		last := len(records) - 1
		if last < 1 || !reflect.DeepEqual(records[0], sample(1)) || !reflect.DeepEqual(records[last], sample(1)) {
			t.Fatalf("%d records around %q", len(records), data)
		}
	})
}
