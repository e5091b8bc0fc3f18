package tools

import (
	"bytes"
	"io"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Searching leaves out what git ignores, as ripgrep does: by .gitignore files up to the
// root of the repository, by .git/info/exclude, and by .ignore and .rgignore
// files, which win over git's. The user's own excludes file of git is not read:
// what is found must not depend on whose machine it is.

// The kinds of ignore rules, the strongest first.
const (
	rgignore = iota
	dotIgnore
	gitignore
	gitExclude
	ignoreKinds
)

var ignoreFiles = [ignoreKinds]string{".rgignore", ".ignore", ".gitignore", ".git/info/exclude"}

// maxIgnoreFile bounds, in bytes, what is read of one.
const maxIgnoreFile = 1 << 20

// ignores are the rules that hold in a folder: its own, and those of the folders above it.
type ignores struct {
	above *ignores
	dir   string // with slashes
	repo  bool   // a repository begins here: git's rules from above end
	rules [ignoreKinds][]ignoreRule
}

// ignoresAbove collects the rules of the folders above dir, an absolute path.
func ignoresAbove(dir string) *ignores {
	var above *ignores
	var chain []string
	for parent := filepath.Dir(dir); parent != dir; dir, parent = parent, filepath.Dir(parent) {
		chain = append(chain, parent)
	}
	for _, parent := range slices.Backward(chain) {
		above = above.in(parent)
	}
	inRepo := false
	for at := above; at != nil; at = at.above {
		inRepo = inRepo || at.repo
	}
	for at := above; at != nil && !inRepo; at = at.above {
		at.rules[gitignore] = nil // no repository that it could be part of
	}
	return above
}

// in adds the rules of a folder below those of g.
func (g *ignores) in(dir string) *ignores {
	own := &ignores{above: g, dir: filepath.ToSlash(dir)}
	found := false
	for kind, name := range ignoreFiles {
		// Most folders have none: to try is cheaper than to list first.
		if content, err := readIgnoreFile(filepath.Join(dir, filepath.FromSlash(name))); err == nil {
			own.rules[kind] = parseIgnore(content)
			found = true
		}
	}
	_, err := os.Lstat(filepath.Join(dir, ".git"))
	if own.repo = err == nil; !own.repo && !found {
		return g
	}
	return own
}

func readIgnoreFile(path string) ([]byte, error) {
	f, err := openFile(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxIgnoreFile))
}

// ignored tells whether a path below the folder of g is ignored, by itself and not for a folder that it is in.
func (g *ignores) ignored(name string, isDir bool) bool {
	name = filepath.ToSlash(name)
	for kind := range ignoreKinds {
		for at := g; at != nil; at = at.above {
			if rule := at.decisive(kind, name, isDir); rule != nil {
				return !rule.negated
			}
			if at.repo && kind >= gitignore {
				break
			}
		}
	}
	return false
}

// decisive gives the rule that has the last word on a path, nil if none speaks of it.
func (g *ignores) decisive(kind int, name string, isDir bool) *ignoreRule {
	rules := g.rules[kind]
	rel := strings.TrimPrefix(name[len(g.dir):], "/")
	for i := len(rules) - 1; i >= 0; i-- {
		if rules[i].matches(rel, isDir) {
			return &rules[i]
		}
	}
	return nil
}

// ignoreRule is one line of an ignore file.
type ignoreRule struct {
	negated  bool
	dirOnly  bool
	anywhere bool           // it is about names, in whatever folder
	literal  string         // what it matches; if there are wildcards,
	pattern  *regexp.Regexp // this does
}

func (r *ignoreRule) matches(rel string, isDir bool) bool {
	if r.dirOnly && !isDir {
		return false
	}
	if r.anywhere {
		rel = path.Base(rel)
	}
	if r.pattern == nil {
		return rel == r.literal
	}
	return r.pattern.MatchString(rel)
}

func parseIgnore(content []byte) []ignoreRule {
	var rules []ignoreRule
	content = bytes.TrimPrefix(content, []byte("\xEF\xBB\xBF"))
	for line := range strings.Lines(string(content)) {
		line = strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r")
		if rule, ok := parseIgnoreRule(line); ok {
			rules = append(rules, rule)
		}
	}
	return rules
}

// parseIgnoreRule reads a line. What cannot match anything is no rule.
func parseIgnoreRule(line string) (rule ignoreRule, ok bool) {
	if strings.HasPrefix(line, "#") {
		return rule, false
	}
	glob := trimSpaces(line)
	glob, rule.negated = strings.CutPrefix(glob, "!")
	glob, rule.dirOnly = strings.CutSuffix(glob, "/")
	rule.anywhere = !strings.Contains(glob, "/")
	glob = strings.TrimPrefix(glob, "/")
	if glob == "" {
		return rule, false
	}
	if !strings.ContainsAny(glob, `*?[\`) {
		rule.literal = glob
		return rule, true
	}
	rule.pattern = compileIgnore(glob)
	return rule, rule.pattern != nil
}

// trimSpaces takes the spaces at the end away, except those behind a backslash.
func trimSpaces(line string) string {
	end := 0
	for i := 0; i < len(line); i++ {
		if line[i] == '\\' && i+1 < len(line) {
			i++
			end = i + 1
		} else if line[i] != ' ' {
			end = i + 1
		}
	}
	return line[:end]
}
