package session

import (
	"path/filepath"
	"strconv"
	"unicode/utf16"

	"golang.org/x/text/unicode/norm"
)

// maxName is how many UTF-16 units of a folder's name are kept before a hash stands for the rest.
const maxName = 200

// projectName is the name of the folder below projects/ that holds the sessions
// of cwd, as the SDKs compute it: the real path in NFC, with '-' for all but
// ASCII letters and digits. JavaScript counts UTF-16 units, and so do we:
// an emoji is two dashes.
func projectName(cwd string) string {
	if real, err := filepath.EvalSymlinks(cwd); err == nil {
		cwd = real
	}
	units := utf16.Encode([]rune(norm.NFC.String(cwd)))
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
