package engine

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// rule speaks of a tool, or of some of its calls: "Bash", "Bash(git status)", "Read(/etc/hosts)".
type rule struct {
	Tool    string `json:"toolName"`
	Content string `json:"ruleContent,omitzero"` // a command or a path, "" for all calls
}

func (r rule) String() string {
	if r.Content == "" {
		return r.Tool
	}
	return r.Tool + "(" + r.Content + ")"
}

func parseRule(text string) rule {
	text = strings.TrimSpace(text)
	if tool, rest, ok := strings.Cut(text, "("); ok && strings.HasSuffix(rest, ")") {
		return rule{Tool: tool, Content: strings.TrimSpace(strings.TrimSuffix(rest, ")"))}
	}
	return rule{Tool: text}
}

var toolName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]*$`)

// CheckRule tells what is wrong with a rule. A tool that does not exist is not: hosts forbid tools of Claude Code
// that are not here.
func CheckRule(text string) error {
	r := parseRule(text)
	switch {
	case !toolName.MatchString(r.Tool):
		return fmt.Errorf("%q is no rule: write Tool or Tool(content)", text)
	case r.Tool == strings.ToLower(r.Tool) && !strings.HasPrefix(r.Tool, "mcp__"):
		return fmt.Errorf("no tool is named %s: names begin with a capital letter", r.Tool)
	}
	return nil
}

type certainty int

const (
	no certainty = iota
	yes
	unsure // it has a pattern, and patterns are not read yet
)

// covers tells whether the rule speaks of a call. What a rule says of the Edit of a path goes for all tools that
// edit files, what it says of Read for all that read them. A bare name is the tool of that name.
func (r rule) covers(tool string, a Access, cwd string) certainty {
	kind := r.Content != "" && (r.Tool == "Edit" && a.Kind == Edit || r.Tool == "Read" && a.Kind == Read)
	switch {
	case r.Tool != tool && !kind:
		return no
	case r.Content == "" || r.Content == "*":
		return yes
	case a.Command != "":
		if r.Content == a.Command {
			return yes
		}
	case a.Path != "":
		// One slash at the start is the project's root, as Claude Code has it, or the system's; two are the system's.
		for _, path := range []string{filepath.Join(cwd, r.Content), filepath.Clean(r.Content)} {
			switch {
			case !filepath.IsAbs(path):
			case RealPath(path) == RealPath(a.Path): // a link must not lead around a rule
				return yes
			case a.Kind == Read && tool != r.Tool && within(a.Path, path):
				return unsure // a search that comes by it
			}
		}
	}
	if strings.ContainsAny(r.Content, "*?[{~") {
		return unsure
	}
	return no
}

// permissionUpdate changes permissions, in the shape that the SDKs know.
type permissionUpdate struct {
	Type        string   `json:"type"`                 // addRules, replaceRules, removeRules, setMode, addDirectories, removeDirectories
	Rules       []rule   `json:"rules,omitzero"`       // …Rules
	Behavior    string   `json:"behavior,omitzero"`    // …Rules: allow, deny, ask
	Mode        string   `json:"mode,omitzero"`        // setMode
	Directories []string `json:"directories,omitzero"` // …Directories
	Destination string   `json:"destination"`          // session is all there is yet
}

// suggest offers the updates after which a call like this would run unasked.
func suggest(mode, tool string, a Access, inside bool) []permissionUpdate {
	const here = "session"
	var updates []permissionUpdate
	if a.Kind == Execute && (a.Command == "*" || strings.HasSuffix(a.Command, ":*")) {
		return nil // as a rule it would mean more than this command
	}
	if a.Kind == Execute {
		return []permissionUpdate{{Type: "addRules", Rules: []rule{{tool, a.Command}}, Behavior: "allow", Destination: here}}
	}
	if !inside {
		updates = append(updates, permissionUpdate{Type: "addDirectories", Directories: []string{filepath.Dir(a.Path)}, Destination: here})
	}
	if a.Kind == Edit && mode != ModeAcceptEdits {
		updates = append(updates, permissionUpdate{Type: "setMode", Mode: ModeAcceptEdits, Destination: here})
	}
	return updates
}

// update applies what a host sends. modeChanged tells whether the mode is another one now.
func (p *permissions) update(u permissionUpdate) (modeChanged bool, err error) {
	if u.Type == "setMode" {
		return p.setMode(u.Mode)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	listed := func(r rule) bool { return slices.Contains(u.Rules, r) }
	switch u.Type {
	case "addRules", "replaceRules", "removeRules":
		if !slices.Contains([]string{"allow", "deny", "ask"}, u.Behavior) {
			return false, fmt.Errorf("a rule cannot %q: it is one of allow, deny, ask", u.Behavior)
		}
	}
	switch u.Type {
	case "addRules":
		p.rules[u.Behavior] = append(slices.DeleteFunc(p.rules[u.Behavior], listed), u.Rules...)
	case "replaceRules":
		p.rules[u.Behavior] = slices.Clone(u.Rules)
	case "removeRules":
		p.rules[u.Behavior] = slices.DeleteFunc(p.rules[u.Behavior], listed)
	case "addDirectories":
		p.folders = append(p.folders, u.Directories...)
	case "removeDirectories":
		p.folders = append(p.folders[:1:1], slices.DeleteFunc(slices.Clone(p.folders[1:]), func(f string) bool { return slices.Contains(u.Directories, f) })...)
	default:
		return false, fmt.Errorf("permissions have no update %q", u.Type)
	}
	return false, nil
}
