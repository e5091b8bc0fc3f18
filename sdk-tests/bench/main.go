// Command bench measures takeback from outside, as a host sees it, and prints a
// table of medians. Times drift with the machine; what can be compared is what ran side by side, so
// `cp -r` of the same files stands beside the rewinds, and another executable that speaks
// the same protocol can be measured in the same run:
//
//	bench [-runs 20] [-files 2000] [-api] EXECUTABLE…
//
// takeback plays the script of a session itself; with -api the executables ask a Messages API on loopback, which
// plays the same script.
package main

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"takeback/protocol"
	"takeback/sdk-tests/fakeapi"
)

func main() {
	runs := flag.Int("runs", 20, "how often the short ones are measured")
	files := flag.Int("files", 2000, "files to track and rewind")
	api := flag.Bool("api", false, "ask a Messages API on loopback")
	flag.Parse()
	if flag.NArg() == 0 {
		fmt.Fprintln(os.Stderr, "usage: bench [-runs N] [-files N] EXECUTABLE…")
		os.Exit(2)
	}
	var tables [][]row
	for _, executable := range flag.Args() {
		rows, err := measure(executable, *runs, *files, *api)
		if err != nil {
			fmt.Fprintf(os.Stderr, "bench: %s: %v\n", executable, err)
			os.Exit(1)
		}
		tables = append(tables, rows)
	}
	printTables(flag.Args(), tables)
}

// row is one line of the table.
type row struct{ work, value string }

func (b *bench) timed(work string, times ...time.Duration) {
	if b.times[work] == nil {
		b.order = append(b.order, work)
	}
	b.times[work] = append(b.times[work], times...)
}

func (b *bench) sized(work string, bytes int64) {
	if b.sizes[work] == 0 {
		b.order = append(b.order, work)
	}
	b.sizes[work] = max(b.sizes[work], bytes)
}

// table gives medians and 95th percentiles, and of sizes the largest.
func (b *bench) table() []row {
	ms := func(d time.Duration) string { return fmt.Sprintf("%.2f ms", float64(d.Microseconds())/1000) }
	var rows []row
	for _, work := range b.order {
		value := fmt.Sprintf("%.1f MB", float64(b.sizes[work])/1e6)
		if times := b.times[work]; times != nil {
			slices.Sort(times)
			value = fmt.Sprintf("%s (p95 %s)", ms(times[len(times)/2]), ms(times[len(times)*95/100]))
		}
		rows = append(rows, row{work, value})
	}
	return rows
}

func printTables(names []string, tables [][]row) {
	fmt.Printf("| work |")
	for _, name := range names {
		fmt.Printf(" %s |", filepath.Base(name))
	}
	fmt.Printf("\n|---|%s\n", strings.Repeat("---|", len(names)))
	for i, r := range tables[0] {
		fmt.Printf("| %s |", r.work)
		for _, table := range tables {
			fmt.Printf(" %s |", table[i].value)
		}
		fmt.Println()
	}
}

// bench is one executable, with what was measured of it.
type bench struct {
	executable            string
	api                   string // "": the executable plays scripts itself
	runs, files           int
	root, project, config string // of the session that is measured
	script                string // file
	order                 []string
	times                 map[string][]time.Duration
	sizes                 map[string]int64
}

// sessions is how many whole sessions are measured.
const sessions = 3

func measure(executable string, runs, files int, api bool) ([]row, error) {
	executable, err := filepath.Abs(executable)
	if err != nil {
		return nil, err
	}
	b := &bench{
		executable: executable, runs: runs, files: files,
		times: map[string][]time.Duration{}, sizes: map[string]int64{},
	}
	for range sessions {
		err := b.inNewFolder(func() error {
			b.script, b.api = "", ""
			if err := cmp.Or(b.starts(), b.writeScript()); err != nil {
				return err
			}
			if api {
				server, err := fakeapi.New(fakeapi.Options{Script: b.script})
				if err != nil {
					return err
				}
				defer server.Close()
				b.api = server.URL
			}
			return cmp.Or(b.session(), b.copies())
		})
		if err != nil {
			return nil, err
		}
	}
	return b.table(), nil
}

// each is how many files a prompt writes.
const each = 20

// writeScript writes what the model does at each prompt of session.
func (b *bench) writeScript() error {
	var turns [][]step
	replays := func() {
		for range b.runs {
			turns = append(turns, []step{{"text": "x"}})
		}
	}
	writes := func(letter string) {
		line := strings.Repeat(letter, 63) + "\n"
		for n := 0; n < b.files; n += each {
			var steps []step
			for i := n; i < min(n+each, b.files); i++ {
				path := filepath.Join(b.project, fmt.Sprintf("file-%04d.txt", i))
				steps = append(steps, step{"tool": "Write", "input": step{"file_path": path, "content": strings.Repeat(line, 64)}})
			}
			turns = append(turns, append(steps, step{"text": "done"}))
		}
	}
	replays()
	writes("x")
	writes("y")
	replays()
	data, err := protocol.Marshal(turns)
	if err != nil {
		return err
	}
	b.script = filepath.Join(b.root, "script.json")
	return os.WriteFile(b.script, data, 0o600)
}

func (b *bench) inNewFolder(do func() error) error {
	root, err := os.MkdirTemp("", "takeback-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(root)
	b.root, b.project, b.config = root, filepath.Join(root, "project"), filepath.Join(root, "config")
	if err := os.Mkdir(b.project, 0o755); err != nil {
		return err
	}
	return do()
}

// starts measures from spawn to the reply to initialize.
func (b *bench) starts() error {
	for range b.runs {
		began := time.Now()
		h, err := b.start()
		if err != nil {
			return err
		}
		if _, err := h.control(map[string]any{"subtype": "initialize", "hooks": nil}); err != nil {
			return err
		}
		b.timed("spawn to initialize reply", time.Since(began))
		b.sized("resident after initialize", h.memory("VmRSS"))
		if err := h.end(); err != nil {
			return err
		}
	}
	return nil
}

// session measures one session that makes files, writes them again, and rewinds.
func (b *bench) session() error {
	h, err := b.start()
	if err != nil {
		return err
	}
	defer h.kill()
	if err := b.replays(h, "nothing tracked"); err != nil {
		return err
	}
	first, err := b.writes(h, fmt.Sprintf("a Write of 4 KiB, whole round, %d new files", b.files))
	if err != nil {
		return err
	}
	second, err := b.writes(h, "a Write of 4 KiB, whole round, over those")
	if err != nil {
		return err
	}
	if err := b.replays(h, fmt.Sprintf("%d files tracked", b.files)); err != nil {
		return err
	}
	kept, err := sizeOf(b.config)
	if err != nil {
		return err
	}
	for _, r := range []struct {
		work, id string
		dryRun   bool
	}{
		{fmt.Sprintf("dry run over %d changed files", b.files), second, true},
		{fmt.Sprintf("rewind of %d changed files", b.files), second, false},
		{fmt.Sprintf("rewind that removes %d files", b.files), first, false},
		{fmt.Sprintf("rewind that makes %d files", b.files), second, false},
	} {
		took, err := h.rewind(r.id, r.dryRun)
		if err != nil {
			return err
		}
		b.timed(r.work, took)
	}
	b.sized("peak resident", h.memory("VmHWM"))
	b.sized(fmt.Sprintf("transcript and history of %d writes on disk", 2*b.files), kept)
	return h.end()
}

// replays measures from a user line to its replay.
func (b *bench) replays(h *host, when string) error {
	for range b.runs {
		t, err := h.prompt()
		if err != nil {
			return err
		}
		b.timed("user line to its replay, "+when, t.replayed)
	}
	return nil
}

// writes writes every file, 20 a prompt, and gives the first prompt's uuid.
func (b *bench) writes(h *host, work string) (first string, err error) {
	for n := 0; n < b.files; n += each {
		t, err := h.prompt()
		if err != nil {
			return "", err
		}
		if t.failed > 0 {
			return "", fmt.Errorf("%d writes were refused", t.failed)
		}
		first = cmp.Or(first, t.uuid)
		b.timed(work, t.whole/time.Duration(min(each, b.files-n)))
	}
	return first, nil
}

// copies measures `cp -r` of the same files, for comparison.
func (b *bench) copies() error {
	began := time.Now()
	if out, err := exec.Command("cp", "-r", b.project, filepath.Join(b.root, "copy")).CombinedOutput(); err != nil {
		return fmt.Errorf("cp: %w: %s", err, out)
	}
	b.timed(fmt.Sprintf("cp -r of those %d files", b.files), time.Since(began))
	return nil
}

func sizeOf(dir string) (int64, error) {
	var sum int64
	err := filepath.WalkDir(dir, func(_ string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			sum += info.Size()
		}
		return err
	})
	return sum, err
}
