package protocol

import (
	"github.com/goccy/go-json/jsontext"
	json "github.com/goccy/go-json/v2"
)

// lenient is how everything here reads and writes JSON: keys match exactly, the
// last of two equal keys counts, and what is not UTF-8 is written as U+FFFD,
// since one such byte on stdout ends a Python session. Maps are written in the
// order of their keys, so that equal frames are equal lines.
var lenient = json.JoinOptions(
	jsontext.AllowDuplicateNames(true),
	jsontext.AllowInvalidUTF8(true),
	json.Deterministic(true),
)

// Marshal encodes v as one line of valid UTF-8.
func Marshal(v any) ([]byte, error) { return json.Marshal(v, lenient) }

// Unmarshal decodes data into v. Unknown members are ignored.
func Unmarshal(data []byte, v any) error { return json.Unmarshal(data, v, lenient) }
