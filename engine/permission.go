package engine

import (
	"fmt"
	"path/filepath"
	"strings"
)

// decision is whether a tool call may run. The message of a denial is for the model.
type decision struct {
	allowed bool
	message string
}

// decide is the one place where it is settled whether a call may run.
// Rules, hooks and the host's own word come in here, in front of the mode.
func (e *Engine) decide(tool string, a Access) decision {
	mode := e.settings.permissionMode()
	inside := a.Path == "" || within(e.cfg.Cwd, a.Path)
	switch {
	case mode == ModeBypass:
		return decision{allowed: true}
	case a.Kind == Read && inside:
		return decision{allowed: true}
	case mode == ModePlan:
		return decision{message: fmt.Sprintf("%s was not run: in plan mode files are only read.", tool)}
	case mode == ModeAcceptEdits && a.Kind == Edit && inside:
		return decision{allowed: true}
	case !inside:
		return decision{message: fmt.Sprintf("%s was not run: %s is outside the working directory %s, and nobody has allowed that.", tool, a.Path, e.cfg.Cwd)}
	}
	return decision{message: fmt.Sprintf("%s was not run: permission mode %q does not allow it without asking, and there is nobody to ask.", tool, mode)}
}

// within tells whether path lies in folder once links are resolved. What does not exist
// yet is where its deepest existing parent is.
func within(folder, path string) bool {
	rel, err := filepath.Rel(resolve(folder), resolve(path))
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}

func resolve(path string) string {
	rest := ""
	for dir := filepath.Clean(path); ; dir = filepath.Dir(dir) {
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			return filepath.Join(real, rest)
		}
		if dir == filepath.Dir(dir) {
			return filepath.Clean(path)
		}
		rest = filepath.Join(filepath.Base(dir), rest)
	}
}
