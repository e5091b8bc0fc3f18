package filehistory

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"
)

func newBench(b *testing.B) (*Store, string) {
	b.Helper()
	work, err := filepath.EvalSymlinks(b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	s, err := Open(filepath.Join(b.TempDir(), "store"), Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { s.Close() })
	if err := s.Checkpoint(b.Context(), "start", ""); err != nil {
		b.Fatal(err)
	}
	return s, work
}

func content4K(seed int) []byte {
	line := fmt.Appendf(nil, "%-63d\n", seed)
	return bytes.Repeat(line, 64)
}

func must(b *testing.B, err error) {
	if err != nil {
		b.Helper()
		b.Fatal(err)
	}
}

func BenchmarkCheckpoint(b *testing.B) {
	s, _ := newBench(b)
	n := 0
	for b.Loop() {
		n++
		must(b, s.Checkpoint(context.Background(), "u"+strconv.Itoa(n), "a prompt"))
	}
}

func BenchmarkChange4K(b *testing.B) {
	s, work := newBench(b)
	path := filepath.Join(work, "file")
	n := 0
	for b.Loop() {
		b.StopTimer()
		n++
		must(b, os.WriteFile(path, content4K(n), 0o644))
		b.StartTimer()
		c, err := s.Begin(context.Background(), "bench", path)
		must(b, err)
		must(b, c.Done())
	}
}

func BenchmarkBegin100Files(b *testing.B) {
	s, work := newBench(b)
	n := 0
	for b.Loop() {
		b.StopTimer()
		var paths []string
		for i := range 100 {
			n++
			paths = append(paths, filepath.Join(work, strconv.Itoa(i)))
			must(b, os.WriteFile(paths[i], content4K(n), 0o644))
		}
		b.StartTimer()
		c, err := s.Begin(context.Background(), "bench", paths...)
		must(b, err)
		b.StopTimer()
		must(b, c.Done())
		b.StartTimer()
	}
}

const benchFiles = 2000

// rewritten is a session that changed one line in each of many files.
func rewritten(b *testing.B) (*Store, string, []string) {
	s, work := newBench(b)
	var paths []string
	for i := range benchFiles {
		dir := filepath.Join(work, strconv.Itoa(i/100))
		must(b, os.MkdirAll(dir, 0o755))
		paths = append(paths, filepath.Join(dir, strconv.Itoa(i)))
		must(b, os.WriteFile(paths[i], content4K(i), 0o644))
	}
	rewrite(b, s, paths, 1)
	return s, work, paths
}

func rewrite(b *testing.B, s *Store, paths []string, round int) {
	c, err := s.Begin(context.Background(), "bench", paths...)
	must(b, err)
	for i, path := range paths {
		changed := content4K(i)
		copy(changed[1024:], fmt.Sprintf("%010d", round))
		must(b, WriteFile(path, changed, 0o644))
	}
	must(b, c.Done())
}

func BenchmarkPlan2000(b *testing.B) {
	s, _, _ := rewritten(b)
	for b.Loop() {
		r, err := s.Plan(context.Background(), "start", RewindOptions{})
		must(b, err)
		if len(r.Files) != benchFiles {
			b.Fatal(len(r.Files))
		}
	}
}

func BenchmarkRewind2000(b *testing.B) {
	s, _, paths := rewritten(b)
	round := 1
	for b.Loop() {
		r, err := s.Rewind(context.Background(), "start", RewindOptions{})
		must(b, err)
		if len(r.Files) != benchFiles || len(r.Problems) > 0 {
			b.Fatal(len(r.Files), r.Problems)
		}
		b.StopTimer()
		round++
		rewrite(b, s, paths, round)
		b.StartTimer()
	}
}

func BenchmarkReopen100000(b *testing.B) {
	s, work := newBench(b)
	path := filepath.Join(work, "file")
	var paths []string
	for i := range 1000 {
		paths = append(paths, filepath.Join(work, strconv.Itoa(i)))
	}
	for n := range 100 {
		for i := range paths {
			must(b, os.WriteFile(paths[i], fmt.Appendf(nil, "%d.%d", n, i), 0o644))
		}
		c, err := s.Begin(context.Background(), "bench", paths...)
		must(b, err)
		must(b, c.Done())
	}
	must(b, s.Close())
	_ = path
	for b.Loop() {
		s, err := Open(s.dir, Options{})
		must(b, err)
		if len(s.index.changes) != 100_000 {
			b.Fatal(len(s.index.changes))
		}
	}
}
