package session

import (
	"path/filepath"
	"runtime"
	"strconv"
	"unicode/utf16"

	"golang.org/x/text/unicode/norm"
)

// maxName is how many UTF-16 units of a folder's name are kept before a hash stands for the rest.
const maxName = 200

// projectNames are the names of the folder below projects/ that holds the sessions of cwd. The TypeScript SDK
// takes the real path, normalised (NFC) on macOS only, and name follows it; the Python SDK
// normalises everywhere, so where that makes a difference alias is what it looks for.
func projectNames(cwd string) (name, alias string) {
	if real, err := filepath.EvalSymlinks(cwd); err == nil {
		cwd = real
	}
	alias = projectName(norm.NFC.String(cwd))
	if runtime.GOOS == "darwin" {
		return alias, alias
	}
	return projectName(cwd), alias
}

// projectName puts '-' for all but ASCII letters and digits. JavaScript counts UTF-16 units, and so do we:
// an emoji is two dashes.
func projectName(path string) string {
	units := utf16.Encode([]rune(path))
	name := make([]byte, len(units))
	var hash int32
	for i, u := range units {
		hash = hash*31 + int32(u)
		switch {
		case 'a' <= u && u <= 'z', 'A' <= u && u <= 'Z', '0' <= u && u <= '9':
			name[i] = byte(u)
		default:
			name[i] = '-'
		}
	}
	if len(name) <= maxName {
		return string(name)
	}
	abs := int64(hash)
	if abs < 0 {
		abs = -abs
	}
	return string(name[:maxName]) + "-" + strconv.FormatInt(abs, 36)
}
