package tools

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"
)

// ignorePatterns are pieces of which patterns are made, with all that git gives a meaning.
var ignorePatterns = rapid.Custom(func(t *rapid.T) string {
	if rapid.IntRange(0, 3).Draw(t, "kind") == 0 {
		return rapid.SampledFrom([]string{
			"# comment", "", "   ", "/", "!", "!/", `\#a`, `\!a`, `a\ `, "a ", `a\`, "[", "[a", "[]a]", "[!]a]", "[a-c]", "[!a-c]", "[^b]*",
			"[[:alpha:]]", "[[:digit:][:upper:]]x", "[[:nonsense:]]", "[[:punct:]]a", "[+-9]", "a/[!x]b", `[\]a]`, `\a`, `\*`, "{a,b}", "a.{x,y}", "**", "**/", "/**", "**a", "a**", "***/a",
			"a/**", "a/**/b", "**/a", "**/a/**", "!a/**", "!**/a", "*", "*/", "/*", "!/*", "*/*", "a/*/", "!*/", "éxy", "?", "??", "*.x", "!*.x",
		}).Draw(t, "special")
	}
	var b strings.Builder
	b.WriteString(rapid.SampledFrom([]string{"", "", "", "!", "/", "!/"}).Draw(t, "prefix"))
	b.WriteString(strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c", "a.x", "*.x", "a*", "*b", "?", "**", "[ab]", "[!a]", "éxy"}), 1, 3).Draw(t, "parts"), "/"))
	b.WriteString(rapid.SampledFrom([]string{"", "", "/", "/**", "/*", " ", "\r"}).Draw(t, "suffix"))
	return b.String()
})

// The rules decide as git does, on random trees and patterns.
func TestIgnore_asGit(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	root := t.TempDir()
	if out, err := exec.Command("git", "-C", root, "init", "-q").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	// git counts bytes where we, like ripgrep, count characters: no name has one or two that are not ASCII.
	names := []string{"a", "b", "c", "a.x", "b.x", "éxy", "[", "#a", "!a", "a ", "-", "B"}
	var dirs, files []string
	for _, x := range names {
		for _, y := range names[:6] {
			dirs = append(dirs, filepath.Join("d"+x, y), filepath.Join(x, y))
			for _, z := range names[:4] {
				files = append(files, filepath.Join(x, y, z))
			}
		}
		files = append(files, filepath.Join("d"+x, "file"), "f"+x)
	}
	for _, dir := range dirs {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range files {
		if err := os.WriteFile(filepath.Join(root, file), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	ignoreFiles := []string{".gitignore", "a/.gitignore", "a/b/.gitignore", ".git/info/exclude"}
	rapid.Check(t, func(r *rapid.T) {
		for _, name := range ignoreFiles {
			lines := rapid.SliceOfN(ignorePatterns, 0, 4).Draw(r, name)
			if err := os.WriteFile(filepath.Join(root, name), []byte(strings.Join(lines, "\n")), 0o644); err != nil {
				r.Fatal(err)
			}
		}
		got := visible(t, root)
		if want := gitVisible(t, root); !slices.Equal(got, want) {
			r.Fatalf("visible are\n%q, for git\n%q", got, want)
		}
	})
}

// visible lists the files that a walk visits.
func visible(t *testing.T, root string) []string {
	var mu sync.Mutex
	var found []string
	w := &walk{
		pick: func(path string, ignored func() bool) bool { return !ignored() },
		visit: func(dir string, files []os.DirEntry) {
			mu.Lock()
			defer mu.Unlock()
			for _, f := range files {
				rel, err := filepath.Rel(root, filepath.Join(dir, f.Name()))
				if err != nil {
					t.Error(err)
				}
				found = append(found, rel)
			}
		},
	}
	if err := w.run(t.Context(), root); err != nil {
		t.Fatal(err)
	}
	slices.Sort(found)
	return found
}

func gitVisible(t *testing.T, root string) []string {
	out, err := exec.Command("git", "-C", root, "ls-files", "-z", "--others", "--exclude-standard").Output()
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for name := range bytes.SplitSeq(bytes.TrimSuffix(out, []byte{0}), []byte{0}) {
		if len(name) > 0 {
			found = append(found, string(name))
		}
	}
	slices.Sort(found)
	return found
}

// What git does not decide, as ripgrep does it.
func TestIgnore_files(t *testing.T) {
	b := newBench(t, nil)
	b.tree("repo/sub/a", "repo/sub/a.log", "repo/sub/b.log", "repo/sub/c.tmp", "repo/sub/inner/a.log", "repo/sub/inner/c.tmp", "repo/out/x")
	for _, dir := range []string{"repo/.git/info", "repo/sub/inner/.git"} {
		if err := os.MkdirAll(b.path(dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	b.put(".gitignore", "a\n")                // above the repository: not its business
	b.put(".rgignore", "d.tmp\n")             // but this is
	b.put("repo/.gitignore", "*.log\nout/\n") // not of the repository inside
	b.put("repo/.git/info/exclude", "c.tmp\n")
	b.put("repo/sub/.ignore", "!b.log\n") // stronger than .gitignore, wherever that is
	b.put("repo/sub/.gitignore", "b.log\n")
	b.put("repo/sub/d.tmp", "")
	for root, want := range map[string][]string{
		"repo/sub": {".gitignore", ".ignore", "a", "b.log", "inner/a.log", "inner/c.tmp"},
		"repo":     {".gitignore", "sub/.gitignore", "sub/.ignore", "sub/a", "sub/b.log", "sub/inner/a.log", "sub/inner/c.tmp"},
		"repo/out": {"x"}, // it was named
	} {
		if got := visible(t, b.path(root)); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", root, got, want)
		}
	}
	// Outside any repository, a .gitignore counts from the searched folder on.
	b.put("repo/out/.gitignore", "*.log\n")
	b.tree("plain/sub/a.log", "plain/sub/b.log")
	b.put("plain/.gitignore", "a.log\n")
	if got := visible(t, b.path("plain/sub")); !slices.Equal(got, []string{"a.log", "b.log"}) {
		t.Errorf("%q", got)
	}
	if got := visible(t, b.path("plain")); !slices.Equal(got, []string{".gitignore", "sub/b.log"}) {
		t.Errorf("%q", got)
	}
}

func TestWalk_troubles(t *testing.T) {
	w := &walk{pick: func(string, func() bool) bool { return true }}
	if err := w.run(t.Context(), filepath.Join(t.TempDir(), "missing")); err != nil || w.unreadable.Load() != 1 {
		t.Errorf("%v, unreadable: %d", err, w.unreadable.Load())
	}

	// A panic comes out where the engine catches it, and not in a worker, where it would end the process.
	b := newBench(t, nil)
	b.tree("a", "b/c", "d/e")
	defer func() {
		if p := recover(); p == nil || !strings.Contains(p.(string), "TestWalk_troubles") {
			t.Errorf("recovered %v", p)
		}
	}()
	w = &walk{
		pick:  func(string, func() bool) bool { return true },
		visit: func(string, []os.DirEntry) { panic("trouble") },
	}
	w.run(t.Context(), b.dir)
	t.Error("no panic")
}
