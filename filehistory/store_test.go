package filehistory

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// TestP1_storeRemovedInUse: what is saved into files that have no name any more is
// not saved.
func TestP1_storeRemovedInUse(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("files in use cannot be removed")
	}
	away := func(h *history) { h.must(os.Rename(h.dir, h.dir+"-away")) }
	for name, remove := range map[string]func(*history){
		"removed": func(h *history) { h.must(os.RemoveAll(filepath.Dir(h.dir))) },
		"moved":   away,
		"replaced": func(h *history) {
			away(h)
			s, err := Open(h.dir, Options{})
			h.must(err)
			h.must(errors.Join(s.Checkpoint(context.Background(), "theirs", ""), s.Close()))
		},
		"packs": func(h *history) { h.must(os.RemoveAll(filepath.Join(h.dir, "packs"))) },
	} {
		t.Run(name, func(t *testing.T) {
			h := newHistory(t)
			h.put("a", "a0")
			h.checkpoint("u1")
			h.write("a", "a1")
			remove(h)
			for range 2 {
				_, err := h.store.Begin(context.Background(), "test", h.path("a"))
				if err == nil || !strings.Contains(err.Error(), h.dir) {
					t.Fatalf("saved nowhere: %v", err)
				}
			}
			if err := h.store.Checkpoint(context.Background(), "u2", ""); err == nil && name != "packs" {
				t.Fatal("a checkpoint nowhere")
			}
			r, err := h.store.Rewind(context.Background(), "u1", RewindOptions{})
			if err == nil && len(r.Problems) == 0 {
				t.Fatalf("%+v", r)
			}
			h.holds("a", "a1")
		})
	}
}
