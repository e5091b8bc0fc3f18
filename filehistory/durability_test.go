package filehistory

import (
	"bufio"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"takeback/filehistory/internal/blob"
)

// tree is the files of a folder, by name.
func tree(dir string) (map[string]string, error) {
	files := make(map[string]string)
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		b, err := os.ReadFile(path)
		files[name] = string(b)
		return err
	})
	return files, err
}

func differences(got, want map[string]string) (names []string) {
	for name, content := range want {
		if c, ok := got[name]; !ok || c != content {
			names = append(names, name)
		}
	}
	for name := range got {
		if _, ok := want[name]; !ok {
			names = append(names, name)
		}
	}
	return names
}

// TestErrorSweep fails the n-th operation, for each n, and then asks: is every
// file either back where it was, or named?
func TestErrorSweep(t *testing.T) {
	large := strings.Repeat("large\n", blob.SmallSize/6+1)
	for n := 0; ; n++ {
		h := newHistory(t)
		h.put("a", "a0")
		h.put("big", large)
		h.put("d/gone", "g0")
		start, err := tree(h.work)
		h.must(err)
		failed := ""
		left := n
		h.onOperation(func(op, path string) error {
			if left--; left == -1 {
				failed = op + " " + filepath.Base(path)
				return []error{syscall.EIO, syscall.ENOSPC}[n%2]
			}
			return nil
		})
		h.sweep(n, &failed, start)
		h.noTemps()
		if failed == "" {
			if n < 60 {
				t.Fatalf("only %d operations", n)
			}
			return
		}
	}
}

// try changes a file as a tool does, if the store lets it. What was left may
// stay unknown, what stood there not.
func (h *history) try(name string, do func(path string) error) {
	h.Helper()
	c, err := h.store.Begin(context.Background(), "test", h.path(name))
	if err != nil {
		return
	}
	h.must(do(h.path(name)))
	_ = c.Done()
}

func (h *history) sweep(n int, failed *string, start map[string]string) {
	h.Helper()
	checkpoint := func(id string) bool { return h.store.Checkpoint(context.Background(), id, "") == nil }
	write := func(name, content string) {
		h.try(name, func(path string) error { return WriteFile(path, []byte(content), 0o644) })
	}
	first := checkpoint("u1")
	write("a", "a1")
	write("big", start["big"]+"!")
	write("new/er", "n")
	second := checkpoint("u2")
	atSecond, err := tree(h.work)
	h.must(err)
	write("a", "a2")
	write("big", start["big"]+"?")
	write("d/gone", "g1")
	h.try("d/gone", os.Remove)
	beforeRewind, err := tree(h.work)
	h.must(err)
	var undo string
	if second {
		if r, err := h.store.Rewind(context.Background(), "u2", RewindOptions{}); err == nil {
			undo = r.UndoID
			h.told(n, *failed, r, atSecond)
		}
	}
	_ = h.store.Close()
	h.open()
	if second {
		h.told(n, *failed, h.rewind("u2"), atSecond)
	}
	if undo != "" {
		h.told(n, *failed, h.rewind(undo), beforeRewind)
	}
	if first {
		h.told(n, *failed, h.rewind("u1"), start)
		h.rewind(Undo)
		h.told(n, *failed, h.rewind("u1"), start)
	}
}

// told checks that what is not as wanted is named in the report.
func (h *history) told(n int, failed string, r *Report, want map[string]string) {
	h.Helper()
	got, err := tree(h.work)
	h.must(err)
	named := make(map[string]bool)
	for _, p := range r.Problems {
		named[p.Path] = true
	}
	for _, name := range differences(got, want) {
		if !named[h.path(name)] {
			h.Errorf("operation %d (%s) failed: %s holds %.20q, and nothing is said: %+v", n, failed, name, got[name], r)
		}
	}
}

// TestEveryByteOfTheJournal flips and cuts: nothing panics, and a rewind never
// gives wrong content without a word.
func TestEveryByteOfTheJournal(t *testing.T) {
	h := newHistory(t)
	h.put("a", "a0")
	h.checkpoint("u1")
	h.write("a", "a1")
	h.checkpoint("u2")
	h.write("a", "a2")
	h.write("new", "n")
	h.must(h.store.Close())
	journal, err := os.ReadFile(h.store.journalPath())
	h.must(err)
	want := map[string]string{"u1": "a0", "u2": "a1"}
	for at := range journal {
		for _, cut := range []bool{false, true} {
			damaged := append([]byte(nil), journal...)
			if cut {
				damaged = damaged[:at]
			} else {
				damaged[at] ^= 1 << (at % 8)
			}
			h.must(os.WriteFile(h.store.journalPath(), damaged, 0o600))
			s, err := Open(h.dir, Options{})
			if err != nil {
				t.Fatalf("byte %d, cut %v: %v", at, cut, err)
			}
			for id, content := range want {
				r, err := s.Plan(context.Background(), id, RewindOptions{})
				if errors.Is(err, ErrNoCheckpoint) {
					continue
				}
				h.must(err)
				if !cut && len(r.Uncovered)+len(r.Problems) == 0 && len(r.Files) != 2 {
					t.Fatalf("byte %d flipped, rewind to %s: %+v", at, id, r)
				}
				c := s.index.first(h.path("a"), s.index.points[id])
				if !cut && len(r.Uncovered) == 0 && c.before.Hash != sha256.Sum256([]byte(content)) {
					t.Fatalf("byte %d flipped, %s: %+v and no word", at, id, c.before)
				}
			}
			h.must(s.Close())
		}
	}
}

// TestDamagedEndOfRewind loses the last record of a rewind, not the way back.
func TestDamagedEndOfRewind(t *testing.T) {
	h := newHistory(t)
	h.put("a", "a0")
	h.checkpoint("u1")
	h.write("a", "a1")
	var ids []string
	for range 3 {
		ids = append(ids, h.clean("u1").UndoID)
		h.write("a", "a1")
	}
	h.must(h.store.Close())
	text, err := os.ReadFile(h.store.journalPath())
	h.must(err)
	damaged := strings.ReplaceAll(string(text), `"r":"rewound"`, `"r":"rewOund"`)
	h.must(os.WriteFile(h.store.journalPath(), []byte(damaged), 0o600))
	h.open()
	h.checkpoint("u2")
	for _, id := range ids {
		h.rewind(id)
		h.holds("a", "a1")
		h.rewind("u1")
	}
}

// TestB21_kill kills a process that changes and rewinds at random, and asks
// whether every checkpoint that it told of can still be reached.
func TestB21_kill(t *testing.T) {
	if dir := os.Getenv("TESTONLY_FILEHISTORY_CHILD"); dir != "" {
		childMain(dir)
	}
	rounds := 20
	if testing.Short() {
		rounds = 3
	}
	random := rand.New(rand.NewPCG(uint64(os.Getpid()), 7))
	h := newHistory(t)
	for i := range 5 {
		h.put(fmt.Sprintf("d%d/f", i), "original")
	}
	states := make(map[string]map[string]string)
	for round := range rounds {
		h.killChild(round, 1+random.IntN(60), states)
		h.open()
		for id, want := range states {
			if random.IntN(len(states)) > 3 {
				continue
			}
			r := h.rewind(id)
			if len(r.Problems)+len(r.SkippedLinks) > 0 {
				t.Fatalf("round %d, %s: %+v", round, id, r)
			}
			got, err := tree(h.work)
			h.must(err)
			if names := differences(got, want); len(names) > 0 {
				t.Fatalf("round %d: at %s these differ: %q", round, id, names)
			}
		}
		h.must(h.store.Close())
	}
}

// killChild lets a child tell of some checkpoints, and kills it.
func (h *history) killChild(round, after int, states map[string]map[string]string) {
	h.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=TestB21_kill")
	cmd.Env = append(os.Environ(), "TESTONLY_FILEHISTORY_CHILD="+h.dir, "TESTONLY_FILEHISTORY_WORK="+h.work,
		"TESTONLY_FILEHISTORY_ROUND="+strconv.Itoa(round))
	out, err := cmd.StdoutPipe()
	h.must(err)
	cmd.Stderr = os.Stderr
	h.must(cmd.Start())
	lines := bufio.NewReader(out)
	for range after {
		line, err := lines.ReadString('\n')
		h.must(err)
		id, state, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		if id == "-" {
			continue
		}
		files := make(map[string]string)
		for field := range strings.SplitSeq(state, "\x00") {
			if name, content, ok := strings.Cut(field, "="); ok {
				files[name] = content
			}
		}
		states[id] = files
	}
	h.must(cmd.Process.Kill())
	_, _ = lines.WriteTo(nullWriter{})
	_ = cmd.Wait() // it was killed
}

type nullWriter struct{}

func (nullWriter) Write(b []byte) (int, error) { return len(b), nil }

func childMain(dir string) {
	work, round := os.Getenv("TESTONLY_FILEHISTORY_WORK"), os.Getenv("TESTONLY_FILEHISTORY_ROUND")
	s, err := Open(dir, Options{})
	check := func(errs ...error) {
		if err := errors.Join(errs...); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	check(err)
	random := rand.New(rand.NewPCG(uint64(os.Getpid()), 8))
	var ids []string
	for turn := 0; ; turn++ {
		id := "r" + round + "t" + strconv.Itoa(turn)
		check(s.Checkpoint(context.Background(), id, ""))
		ids = append(ids, id)
		files, err := tree(work)
		check(err)
		line := id + " "
		for name, content := range files {
			line += name + "=" + content + "\x00"
		}
		fmt.Println(line)
		for range 1 + random.IntN(4) {
			path := filepath.Join(work, "d"+strconv.Itoa(random.IntN(8)), "f")
			c, err := s.Begin(context.Background(), "test", path)
			check(err)
			if random.IntN(5) == 0 {
				_ = os.Remove(path) // may not be there
			} else {
				check(WriteFile(path, []byte(id+strings.Repeat("x", random.IntN(3)*40_000)), 0o644))
			}
			check(c.Done())
			fmt.Println("-")
		}
		if random.IntN(3) == 0 {
			_, err := s.Rewind(context.Background(), ids[random.IntN(len(ids))], RewindOptions{})
			check(err)
			fmt.Println("-")
		}
	}
}
