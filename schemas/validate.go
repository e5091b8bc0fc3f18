package schemas

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	gojson "github.com/goccy/go-json"
	"github.com/goccy/go-json/jsontext"
	json "github.com/goccy/go-json/v2"
	"github.com/santhosh-tekuri/jsonschema/v5"
)

// Validate checks one JSON value. The error is a sentence that names the field at fault.
func (s *Schema) Validate(value []byte) error {
	v, err := decode(value)
	if err != nil {
		return err
	}
	err = s.compiled().Validate(v)
	var invalid *jsonschema.ValidationError
	if errors.As(err, &invalid) {
		return errors.New(sentence(invalid))
	}
	return err
}

// The validator computes with exact fractions: a number of 1 MB takes it more
// than a second, and it panics at an exponent of 7 digits where an integer is wanted.
const (
	maxNumber   = 100 // characters
	maxExponent = 4   // digits
)

// decode keeps numbers as they are written, for they may be beyond float64.
func decode(value []byte) (any, error) {
	var v any
	err := json.Unmarshal(value, &v, options)
	var number numberError
	if errors.As(err, &number) {
		return nil, number
	}
	if err != nil {
		return nil, fmt.Errorf("not valid JSON: %w", err)
	}
	return v, nil
}

var options = json.JoinOptions(
	jsontext.AllowDuplicateNames(true),
	jsontext.AllowInvalidUTF8(true),
	json.WithUnmarshalers(json.UnmarshalFromFunc(decodeNumber)),
)

func decodeNumber(dec *jsontext.Decoder, v *any) error {
	if dec.PeekKind() != '0' {
		*v = nil                     // else the second of two equal keys would be decoded into the first
		return errors.ErrUnsupported // so it is decoded as ever
	}
	text, err := dec.ReadValue()
	if err != nil {
		return err
	}
	_, exponent, _ := strings.Cut(strings.ToLower(string(text)), "e")
	if len(text) > maxNumber || len(strings.TrimLeft(exponent, "+-0")) > maxExponent {
		return numberError(fieldName(string(dec.StackPointer())))
	}
	*v = gojson.Number(text)
	return nil
}

// numberError is a number that is kept from the validator. It is the name of its field.
type numberError string

func (field numberError) Error() string {
	return cmp.Or(string(field), "the value") + ": the number is too long or too large"
}

// maxSentence is how long the text of an error gets; a host may send long names.
const maxSentence = 300

// sentence says what is wrong first of all that is.
func sentence(e *jsonschema.ValidationError) string {
	leaf := slices.MinFunc(leaves(e), func(a, b *jsonschema.ValidationError) int {
		// The library walks maps, so its order varies.
		return strings.Compare(a.InstanceLocation+"\n"+a.Message, b.InstanceLocation+"\n"+b.Message)
	})
	location := leaf.InstanceLocation
	if plain, err := url.PathUnescape(location); err == nil {
		location = plain // the library's pointers are escaped as in URLs
	}
	field, problem := fieldName(location), leaf.Message
	if missing, ok := strings.CutPrefix(problem, "missing properties: "); ok {
		name, _, _ := strings.Cut(missing, ",")
		field, problem = strings.TrimPrefix(field+"."+strings.Trim(name, "'"), "."), "missing"
	}
	text := problem
	if field != "" {
		text = field + ": " + problem
	}
	if len(text) > maxSentence {
		text = strings.ToValidUTF8(text[:maxSentence], "") + "…"
	}
	return text
}

func leaves(e *jsonschema.ValidationError) []*jsonschema.ValidationError {
	if len(e.Causes) == 0 {
		return []*jsonschema.ValidationError{e}
	}
	var all []*jsonschema.ValidationError
	for _, cause := range e.Causes {
		all = append(all, leaves(cause)...)
	}
	return all
}

var names = strings.NewReplacer("/", ".", "~1", "/", "~0", "~")

// fieldName turns a JSON pointer into a name that people write: edits.0.old_string.
func fieldName(pointer string) string {
	return names.Replace(strings.TrimPrefix(pointer, "/"))
}
