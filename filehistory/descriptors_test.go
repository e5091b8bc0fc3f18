//go:build unix

package filehistory

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"

	"takeback/filehistory/internal/blob"
)

// limitDescriptors lets the process have few files open, until the test ends.
func limitDescriptors(t *testing.T, n uint64) {
	t.Helper()
	var old syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &old); err != nil {
		t.Fatal(err)
	}
	small := old
	small.Cur = n
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &small); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &old); err != nil {
			t.Fatal(err)
		}
	})
}

// takeDescriptors leaves only so many, and gives the others back when asked to.
func takeDescriptors(t *testing.T, left int) (giveBack func()) {
	t.Helper()
	var taken []*os.File
	for {
		f, err := os.Open(os.DevNull)
		if errors.Is(err, syscall.EMFILE) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		taken = append(taken, f)
	}
	if left > len(taken) {
		t.Fatalf("only %d descriptors are free", len(taken))
	}
	free := func(files []*os.File) {
		for _, f := range files {
			f.Close()
		}
	}
	free(taken[:left])
	return func() { free(taken[left:]) }
}

// TestP6_descriptorsForOthers: a rewind of many files leaves half the descriptors
// to the tools that run at the same time.
func TestP6_descriptorsForOthers(t *testing.T) {
	const files, limit = 700, 256
	h := newHistory(t)
	for i := range files {
		h.put(fmt.Sprint(i), "old")
	}
	h.checkpoint("u1")
	var paths []string
	for i := range files {
		paths = append(paths, fmt.Sprint(i))
	}
	h.change(func() {
		for i, name := range paths {
			if i%2 == 0 {
				h.must(os.Chmod(h.path(name), 0o600))
			} else {
				h.must(WriteFile(h.path(name), []byte("new"), 0o644))
			}
		}
	}, paths...)
	limitDescriptors(t, limit)
	h.onOperation(func(op, _ string) error {
		if op == "rename" || op == "chmod" {
			return openSome(limit / 2)
		}
		return nil
	})
	if r := h.clean("u1"); len(r.Files) != files {
		t.Fatal(len(r.Files))
	}
	h.must(openSome(limit / 2))
}

func openSome(n int) error {
	for range n {
		f, err := os.Open(os.DevNull)
		if err != nil {
			return err
		}
		defer f.Close()
	}
	return nil
}

// TestP6_noDescriptorLeft: what could not be opened is told, and asking again
// finishes the job.
func TestP6_noDescriptorLeft(t *testing.T) {
	limitDescriptors(t, 64)
	for left := range 10 {
		h := newHistory(t)
		h.put("a/0", "old")
		h.put("big", strings.Repeat("large", blob.SmallSize))
		h.put("mode", "m")
		h.checkpoint("u1")
		start, err := tree(h.work)
		h.must(err)
		h.write("a/0", "new")
		h.write("big", "new")
		h.write("made/deep", "new")
		h.change(func() { h.must(os.Chmod(h.path("mode"), 0o600)) }, "mode")
		giveBack := takeDescriptors(t, left)
		c, err := h.store.Begin(context.Background(), "test", h.path("a/0"))
		h.must(c.Done())
		if left == 0 && !errors.Is(err, syscall.EMFILE) {
			t.Fatalf("begun without saving: %v", err)
		}
		plan, perr := h.store.Plan(context.Background(), "u1", RewindOptions{})
		r, rerr := h.store.Rewind(context.Background(), "u1", RewindOptions{})
		giveBack()
		h.must(errors.Join(perr, rerr))
		if left == 0 && (len(plan.Problems) == 0 || len(r.Problems) == 0) {
			t.Fatalf("plan %+v\nrewind %+v", plan, r)
		}
		for _, p := range r.Problems {
			if !errors.Is(p.Err, syscall.EMFILE) || errors.Is(p.Err, blob.ErrCorrupt) {
				t.Errorf("%d left: %+v", left, p)
			}
		}
		h.told(left, "EMFILE", r, start)
		h.told(left, "EMFILE, then nothing", h.clean("u1"), start)
		h.must(h.store.Close())
	}
}
