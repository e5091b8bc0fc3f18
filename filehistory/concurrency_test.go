package filehistory

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"
)

// soon is how long a call that must wait is given. It is never waited for when
// the code is right in the other direction.
const soon = 20 * time.Millisecond

func TestB13_rewindWaitsForTheChangeInProgress(t *testing.T) {
	h := newHistory(t)
	h.put("a", "a0")
	h.checkpoint("u1")
	c, err := h.store.Begin(context.Background(), "test", h.path("a"))
	h.must(err)
	ctx, cancel := context.WithTimeout(context.Background(), soon)
	defer cancel()
	if _, err := h.store.Rewind(ctx, "u1", RewindOptions{}); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("rewound in the middle of a write: %v", err)
	}
	h.plan("u1") // does not wait
	result := make(chan *Report)
	go func() {
		defer close(result)
		r, err := h.store.Rewind(context.Background(), "u1", RewindOptions{})
		if err != nil {
			t.Error(err)
			return
		}
		result <- r
	}()
	h.must(WriteFile(h.path("a"), []byte("a1"), 0o644))
	h.must(c.Done())
	if r := <-result; r != nil {
		h.wantFiles(r, "restore a")
	}
	h.holds("a", "a0")
}

// TestB13_endedContext: a rewind whose caller has gone does not begin, and one that
// has begun goes to its end.
func TestB13_endedContext(t *testing.T) {
	for _, c := range []struct {
		at     string // the operation at which the context ends
		begins bool
	}{{"open", false}, {"sync", false}, {"create", true}, {"rename", true}, {"remove", true}} {
		h := newHistory(t)
		h.put("a", "a0")
		h.checkpoint("u1")
		h.write("a", "a1")
		h.write("b", "b1")
		h.restart()
		ctx, cancel := context.WithCancel(context.Background())
		h.onOperation(func(op, path string) error {
			if op == c.at && (c.begins == (filepath.Dir(path) == h.work)) {
				cancel()
			}
			return nil
		})
		r, err := h.store.Rewind(ctx, "u1", RewindOptions{})
		h.store.fs.Fail = nil
		if ctx.Err() == nil {
			t.Fatalf("no %s", c.at)
		}
		if c.begins {
			h.must(err)
			h.wantFiles(r, "restore a", "remove b")
			h.holds("a", "a0")
			continue
		}
		if !errors.Is(err, context.Canceled) {
			t.Errorf("ended at %s: %+v, %v", c.at, r, err)
		}
		h.holds("a", "a1")
		h.holds("b", "b1")
		if _, err := h.store.Plan(context.Background(), Undo, RewindOptions{}); !errors.Is(err, ErrNothingToUndo) {
			t.Errorf("ended at %s: %v", c.at, err)
		}
	}
}

func TestBeginWaitsForARunningRewind(t *testing.T) {
	h := newHistory(t)
	h.put("a", "a0")
	h.checkpoint("u1")
	h.write("a", "a1")
	begun, goOn := make(chan struct{}), make(chan struct{})
	var once sync.Once
	h.onOperation(func(op, _ string) error {
		if op == "rename" {
			once.Do(func() {
				close(begun)
				<-goOn
			})
		}
		return nil
	})
	result := make(chan error)
	go func() {
		_, err := h.store.Rewind(context.Background(), "u1", RewindOptions{})
		result <- err
	}()
	select {
	case <-begun:
	case err := <-result:
		t.Fatalf("nothing was replaced: %v", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), soon)
	defer cancel()
	if _, err := h.store.Begin(ctx, "test", h.path("a")); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a change began in the middle of a rewind: %v", err)
	}
	close(goOn)
	h.must(<-result)
	h.store.fs.Fail = nil
	h.write("a", "a2")
	h.clean("u1")
	h.holds("a", "a0")
}

func TestB49_lockedByAnotherProcess(t *testing.T) {
	h := newHistory(t)
	h.put("a", "a0")
	h.checkpoint("u1")
	h.write("a", "a1")
	other, err := Open(h.dir, Options{})
	h.must(err)
	defer other.Close()
	if _, err := other.Plan(context.Background(), "u1", RewindOptions{}); err != nil {
		t.Fatalf("a plan needs no lock: %v", err)
	}
	other.rewindPatience, other.changePatience = soon, soon
	var locked *LockedError
	_, err = other.Rewind(context.Background(), "u1", RewindOptions{})
	if !errors.As(err, &locked) || locked.PID != os.Getpid() {
		t.Fatal(err)
	}
	if err := other.Checkpoint(context.Background(), "u2", ""); !errors.As(err, &locked) {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	other.changePatience = time.Hour
	if err := other.Checkpoint(ctx, "u2", ""); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	h.checkpoint("u2") // other has not read this
	h.write("a", "a2")
	result := make(chan error)
	go func() {
		other.rewindPatience = time.Hour
		_, err := other.Rewind(context.Background(), "u2", RewindOptions{})
		result <- err
	}()
	h.must(h.store.Close())
	h.must(<-result)
	h.holds("a", "a1")
	h.store = other
	h.clean("u1")
	h.holds("a", "a0")
}

func TestManyAtOnce(t *testing.T) {
	h := newHistory(t)
	const writers, rounds = 8, 20
	for w := range writers {
		h.put(fmt.Sprint(w), "old")
	}
	h.checkpoint("u1")
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			path := h.path(fmt.Sprint(w))
			for i := range rounds {
				c, err := h.store.Begin(context.Background(), "test", path)
				if err == nil {
					err = errors.Join(WriteFile(path, fmt.Append(nil, w, i), 0o644), c.Done())
				}
				if err == nil && w == 0 && i%5 == 0 {
					_, err = h.store.Rewind(context.Background(), "u1", RewindOptions{})
				}
				if err == nil && w == 1 {
					err = h.store.Checkpoint(context.Background(), fmt.Sprint("c", i), "")
				}
				if err == nil && w == 2 {
					_, err = h.store.Plan(context.Background(), "u1", RewindOptions{})
				}
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	h.restart()
	h.clean("u1")
	for w := range writers {
		h.holds(fmt.Sprint(w), "old")
	}
	ids := h.store.Checkpoints()
	if len(ids) != rounds+1 || ids[0].ID != "u1" || !slices.IsSortedFunc(ids, func(a, b CheckpointInfo) int { return a.Time.Compare(b.Time) }) {
		t.Fatalf("%+v", ids)
	}
}
