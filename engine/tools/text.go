package tools

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"unicode/utf16"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"
)

// Text is UTF-8, or UTF-16 behind a byte order mark, and holds no NUL. Everything
// else is left alone: guessing a legacy encoding goes wrong in silence, and a wrong
// guess, written back, destroys every character that the edit did not touch.
var (
	errInvalidUTF8  = errors.New("it is not valid UTF-8")
	errInvalidUTF16 = errors.New("it is not valid UTF-16, though it begins with that byte order mark")
	errNUL          = errors.New("it contains NUL bytes")
)

// format is how a file stores its text.
type format struct {
	mark  string            // byte order mark
	codec encoding.Encoding // of UTF-16; nil for UTF-8
	order binary.ByteOrder  // of UTF-16
}

var formats = []format{
	{"\xEF\xBB\xBF", nil, nil},
	{"\xFF\xFE", unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM), binary.LittleEndian},
	{"\xFE\xFF", unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM), binary.BigEndian},
}

// formatOf tells the format of a file that begins with head.
func formatOf(head []byte) format {
	for _, f := range formats {
		if bytes.HasPrefix(head, []byte(f.mark)) {
			return f
		}
	}
	return format{}
}

// decode gives the text of a whole file, without its byte order mark.
func (f format) decode(raw []byte) (string, error) {
	text, err := io.ReadAll(f.reader(bytes.NewReader(raw[len(f.mark):])))
	return string(text), err
}

// encode is decode's inverse. Every text that was decoded comes back byte for byte.
func (f format) encode(text string) ([]byte, error) {
	if f.codec != nil {
		var err error
		if text, err = f.codec.NewEncoder().String(text); err != nil {
			return nil, err
		}
	}
	return []byte(f.mark + text), nil
}

// reader decodes what follows the byte order mark. It ends with an error of those
// above at the first thing that is not text.
func (f format) reader(r io.Reader) io.Reader {
	decoder := encoding.UTF8Validator
	if f.codec != nil {
		decoder = transform.Chain(strictUTF16{f.order}, f.codec.NewDecoder())
	}
	return textReader{transform.NewReader(r, decoder)}
}

// textReader words the errors of a decoder, and refuses NUL.
type textReader struct{ r io.Reader }

func (t textReader) Read(p []byte) (int, error) {
	n, err := t.r.Read(p)
	if bytes.IndexByte(p[:n], 0) >= 0 {
		return n, errNUL
	}
	if errors.Is(err, encoding.ErrInvalidUTF8) {
		err = errInvalidUTF8
	}
	return n, err
}

// notText tells whether err says that a file is not text.
func notText(err error) bool {
	return errors.Is(err, errInvalidUTF8) || errors.Is(err, errInvalidUTF16) || errors.Is(err, errNUL)
}

// strictUTF16 passes valid UTF-16 on and refuses half a character, which the
// decoder of x/text would turn into U+FFFD.
type strictUTF16 struct{ order binary.ByteOrder }

func (strictUTF16) Reset() {}

func (s strictUTF16) Transform(dst, src []byte, atEOF bool) (nDst, nSrc int, err error) {
	n := 0
	for n < len(src) {
		size, err := s.character(src[n:])
		if err == transform.ErrShortSrc && atEOF {
			err = errInvalidUTF16
		}
		if err == nil && n+size > len(dst) {
			err = transform.ErrShortDst
		}
		if err != nil {
			copy(dst, src[:n])
			return n, n, err
		}
		n += size
	}
	copy(dst, src)
	return n, n, nil
}

// character gives the size in bytes of the first character of src.
func (s strictUTF16) character(src []byte) (size int, err error) {
	if len(src) < 2 {
		return 0, transform.ErrShortSrc
	}
	first := rune(s.order.Uint16(src))
	if !utf16.IsSurrogate(first) {
		return 2, nil
	}
	if len(src) < 4 {
		return 0, transform.ErrShortSrc
	}
	if utf16.DecodeRune(first, rune(s.order.Uint16(src[2:]))) == '\uFFFD' {
		return 0, errInvalidUTF16
	}
	return 4, nil
}
