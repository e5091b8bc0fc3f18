package engine

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// The permission modes that the SDKs know.
const (
	ModeAcceptEdits = "acceptEdits"
	ModeAuto        = "auto"
	ModeBypass      = "bypassPermissions"
	ModeDefault     = "default"
	ModeDontAsk     = "dontAsk"
	ModePlan        = "plan"
)

// ValidMode tells whether the SDKs know a permission mode by this name.
func ValidMode(mode string) bool {
	return slices.Contains([]string{ModeAcceptEdits, ModeAuto, ModeBypass, ModeDefault, ModeDontAsk, ModePlan}, mode)
}

// permissions are what decides whether a tool call may run. The host may change them while a turn runs.
type permissions struct {
	mu            sync.Mutex
	mode          string
	bypassAllowed bool
	rules         map[string][]rule // by behavior: allow, deny, ask
	folders       []string          // where files may be worked on: the working directory first
	private       []string          // where no tool may write
}

func newPermissions(cfg Config) *permissions {
	p := &permissions{
		mode:          cfg.PermissionMode,
		bypassAllowed: cfg.BypassAllowed,
		rules:         map[string][]rule{},
		folders:       append([]string{cfg.Cwd}, cfg.Folders...),
		private:       cfg.Private,
	}
	if p.mode == "" {
		p.mode = ModeDefault
	}
	for _, text := range cfg.AllowedTools {
		p.rules["allow"] = append(p.rules["allow"], parseRule(text))
	}
	for _, text := range cfg.DisallowedTools {
		p.rules["deny"] = append(p.rules["deny"], parseRule(text))
	}
	return p
}

func (p *permissions) currentMode() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.mode
}

// modeError is why the mode cannot be switched, in the peer's words.
type modeError struct{ message, code string }

func (e *modeError) Error() string { return e.message }

// setMode tells whether the mode has changed.
func (p *permissions) setMode(mode string) (changed bool, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case !ValidMode(mode):
		return false, &modeError{"Cannot set permission mode: must be one of acceptEdits, auto, bypassPermissions, default, dontAsk, plan", "invalid_mode"}
	case mode == ModeBypass && !p.bypassAllowed:
		return false, &modeError{"Cannot set permission mode to bypassPermissions because the session was not launched with --dangerously-skip-permissions", "bypass_not_launched"}
	}
	changed = mode != p.mode
	p.mode = mode
	return changed, nil
}

// decision is what is to become of a tool call.
type decision struct {
	outcome     outcomeKind
	reason      string // a sentence: for the model where denied, for the host where it is asked
	reasonType  string // workingDir, mode or rule
	blockedPath string
	suggestions []permissionUpdate // with any of which the host would not be asked again
}

type outcomeKind int

const (
	denied outcomeKind = iota
	allowed
	asks
)

// decide is the one place where it is settled whether a call may run: deny rules first, then ask
// rules, allow rules, and the mode. Hooks will come in behind the deny rules.
func (p *permissions) decide(tool string, a Access) decision {
	p.mu.Lock()
	defer p.mu.Unlock()
	cwd := p.folders[0]
	if why := p.forbidden(tool, a); why != "" {
		return decision{outcome: denied, reason: why}
	}
	if r, ok := p.match("ask", tool, a); ok {
		return decision{outcome: asks, reason: fmt.Sprintf("The rule %s asks for it.", r), reasonType: "rule"}
	}
	if _, ok := p.match("allow", tool, a); ok {
		return decision{outcome: allowed}
	}
	inside := a.Path == "" || slices.ContainsFunc(p.folders, func(folder string) bool { return within(folder, a.Path) })
	switch {
	case p.mode == ModeBypass, a.Kind == Read && inside, p.mode == ModeAcceptEdits && a.Kind == Edit && inside && !runsCode(a.Path):
		return decision{outcome: allowed}
	case p.mode == ModePlan && a.Kind != Read:
		return decision{outcome: denied, reason: fmt.Sprintf("%s was not run: in plan mode nothing is changed. Tell the user what you would do.", tool)}
	case p.mode == ModeDontAsk:
		return decision{outcome: denied, reason: fmt.Sprintf("%s was not run: nothing allows it, and in mode dontAsk nobody is asked.", tool)}
	case !inside:
		return decision{
			outcome: asks, reasonType: "workingDir", blockedPath: a.Path,
			reason:      fmt.Sprintf("%s is outside the working directory %s.", a.Path, cwd),
			suggestions: suggest(p.mode, tool, a, false),
		}
	}
	if p.mode == ModeAcceptEdits && a.Kind == Edit {
		return decision{outcome: asks, reasonType: "safetyCheck", reason: fmt.Sprintf("%s is a file that other programs run or obey.", a.Path)}
	}
	return decision{
		outcome: asks, reasonType: "mode",
		reason:      fmt.Sprintf("Permission mode %s does not allow %s without asking.", p.mode, tool),
		suggestions: suggest(p.mode, tool, a, true),
	}
}

// forbids says why nobody's word allows a call, "" if nothing forbids it.
func (p *permissions) forbids(tool string, a Access) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.forbidden(tool, a)
}

func (p *permissions) forbidden(tool string, a Access) string {
	if a.Kind == Edit && slices.ContainsFunc(p.private, func(folder string) bool { return within(folder, a.Path) }) {
		return fmt.Sprintf("%s was not run: %s belongs to takeback itself, which keeps the file history and the conversation there.", tool, a.Path)
	}
	if r, ok := p.match("deny", tool, a); ok {
		return fmt.Sprintf("%s was not run: the rule %s forbids it.", tool, r)
	}
	return ""
}

// match finds a rule for a call. A rule whose pattern cannot be judged forbids, but never allows.
func (p *permissions) match(behavior, tool string, a Access) (rule, bool) {
	for _, r := range p.rules[behavior] {
		switch r.covers(tool, a, p.folders[0]) {
		case yes:
			return r, true
		case unsure:
			if behavior != "allow" {
				return r, true
			}
		}
	}
	return rule{}, false
}

// runsCode tells of files through which an edit becomes a command: hooks and settings of version
// control, of agents and of shells. To accept edits is not to accept those.
func runsCode(path string) bool {
	parts := strings.Split(strings.ToLower(RealPath(path)), string(filepath.Separator)) // some file systems know no case
	if slices.Contains([]string{
		".mcp.json", ".gitconfig", ".gitmodules", ".gitattributes", ".pre-commit-config.yaml", ".npmrc", ".envrc",
		".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".profile",
		".zshrc", ".zprofile", ".zshenv", ".zlogin", ".zlogout", "config.fish",
	}, parts[len(parts)-1]) {
		return true
	}
	return slices.ContainsFunc(parts, func(part string) bool {
		return slices.Contains([]string{
			".git", ".hg", ".svn", ".jj", ".claude", ".cursor", ".vscode", ".idea", ".husky", ".devcontainer", ".ssh",
		}, part)
	})
}

// within tells whether path lies in folder once links are resolved.
func within(folder, path string) bool {
	rel, err := filepath.Rel(RealPath(folder), RealPath(path))
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}

// RealPath resolves the links in path, as far as it exists.
func RealPath(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	parent := filepath.Dir(path)
	if parent == path {
		return path
	}
	return filepath.Join(RealPath(parent), filepath.Base(path))
}
