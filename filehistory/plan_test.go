package filehistory

import (
	"testing"

	"takeback/filehistory/internal/journal"
)

// TestJoinSpellings: two names that a file system takes for one are one step,
// whichever of them was changed first.
func TestJoinSpellings(t *testing.T) {
	file := func(name string, ino uint64) journal.State {
		return journal.State{Kind: journal.File, Size: 1, Hash: journal.Hash{name[0]}, Dev: 1, Ino: ino, Links: 1}
	}
	older, newer := file("o", 0), file("n", 0)
	for _, swapped := range []bool{false, true} {
		first := &step{target: &target{path: "/w/A", want: older, left: &newer, first: 1, last: 1}, now: file("n", 7)}
		second := &step{target: &target{path: "/w/a", want: newer, left: &older, first: 2, last: 2}, now: file("n", 7)}
		alone := &step{target: &target{path: "/w/b", want: older, left: &newer, first: 3, last: 3}, now: file("n", 8)}
		p := &plan{steps: []*step{first, second, alone}, byPath: make(map[string]*step)}
		if swapped {
			p.steps = []*step{second, first, alone}
		}
		for _, st := range p.steps {
			p.byPath[st.path] = st
			st.judge()
		}
		p.joinSpellings()
		if r := p.report(); len(r.Files) != 2 || r.Files[0].Path != "/w/A" || r.Files[1].Path != "/w/b" {
			t.Fatalf("%+v", r)
		}
		if first.want.Hash != older.Hash || first.left.Hash != older.Hash || p.byPath["/w/a"] != first {
			t.Fatalf("%+v", first)
		}
	}
}
