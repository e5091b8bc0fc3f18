package protocol

import (
	json "github.com/goccy/go-json/v2"
	"github.com/goccy/go-json/jsontext"
)

// lenient is how everything here reads and writes JSON: keys match exactly, the
// last of two equal keys counts, and a byte that is not UTF-8 becomes U+FFFD in
// both directions, since one such byte on stdout ends a Python session.
var lenient = json.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))

// Marshal encodes v as one line of valid UTF-8.
func Marshal(v any) ([]byte, error) { return json.Marshal(v, lenient) }

// Unmarshal decodes data into v. Unknown members are ignored.
func Unmarshal(data []byte, v any) error { return json.Unmarshal(data, v, lenient) }
