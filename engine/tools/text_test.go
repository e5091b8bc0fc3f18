package tools

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestFormats(t *testing.T) {
	for _, c := range []struct {
		name, raw, text string
		err             error
	}{
		{"empty", "", "", nil},
		{"UTF-8", "é\r\n", "é\r\n", nil},
		{"UTF-8 with mark", "\xEF\xBB\xBFé", "é", nil},
		{"two marks", "\xEF\xBB\xBF\xEF\xBB\xBFa", "\uFEFFa", nil},
		{"mark alone", "\xFF\xFE", "", nil},
		{"UTF-16 LE", "\xFF\xFEa\x00\x3D\xD8\x00\xDE", "a😀", nil},
		{"UTF-16 BE", "\xFE\xFF\x00a\xD8\x3D\xDE\x00", "a😀", nil},
		{"replacement character", "\xFF\xFE\xFD\xFF", "\uFFFD", nil},
		{"odd length", "\xFF\xFEa", "", errInvalidUTF16},
		{"half a pair at the end", "\xFF\xFE\x3D\xD8", "", errInvalidUTF16},
		{"half a pair", "\xFF\xFE\x3D\xD8a\x00", "", errInvalidUTF16},
		{"pair turned round", "\xFF\xFE\x00\xDE\x3D\xD8", "", errInvalidUTF16},
		{"UTF-32", "\xFF\xFE\x00\x00a\x00\x00\x00", "", errNUL},
		{"UTF-16 without mark", "a\x00b\x00", "", errNUL},
		{"GB18030", "\xB9\xAB\xB9\xB2", "", errInvalidUTF8},
		{"cut UTF-8", "a\xC3", "", errInvalidUTF8},
	} {
		f := formatOf([]byte(c.raw))
		text, err := f.decode([]byte(c.raw))
		if !errors.Is(err, c.err) || err == nil && text != c.text {
			t.Errorf("%s: %q, %v", c.name, text, err)
		}
		if raw, err := f.encode(c.text); c.err == nil && (err != nil || string(raw) != c.raw) {
			t.Errorf("%s: encodes to %q, %v", c.name, raw, err)
		}
	}
}

// Buffers of the decoders end in the middle of characters, wherever that is.
func TestFormats_longTexts(t *testing.T) {
	for _, f := range append(formats, format{}) {
		for shift := range 8 {
			want := strings.Repeat("x", shift) + strings.Repeat("aé公😀", 10_000)
			raw, err := f.encode(want)
			if err != nil {
				t.Fatal(err)
			}
			if text, err := f.decode(raw); err != nil || text != want {
				t.Errorf("%q, shift %d: %d bytes, %v", f.mark, shift, len(text), err)
			}
		}
	}
}

func TestFormats_property(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		mark := rapid.SampledFrom([]string{"", "\xEF\xBB\xBF", "\xFF\xFE", "\xFE\xFF"}).Draw(t, "mark")
		raw := append([]byte(mark), rapid.SliceOf(rapid.Byte()).Draw(t, "raw")...)
		f := formatOf(raw)
		text, err := f.decode(raw)
		if err != nil {
			return
		}
		if again, err := f.encode(text); err != nil || !bytes.Equal(again, raw) {
			t.Fatalf("%q decodes to %q and encodes to %q (%v)", raw, text, again, err)
		}
	})
}
