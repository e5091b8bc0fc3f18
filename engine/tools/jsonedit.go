package tools

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/goccy/go-json/jsontext"
)

// container is the text of a JSON object or array, cut at its commas. What nobody
// edits is put together again as it was: decoding and encoding would lose the order of keys,
// the spelling of numbers and the layout.
type container struct {
	brackets string // {} or []
	items    []item
	end      string // white space in front of the closing bracket
}

// item is an element of an array, or a member of an object.
type item struct {
	lead  string // white space in front of it
	key   string // of a member: its name
	name  string // of a member: its name as text, and the colon with the white space around it
	value string // text
	trail string // white space in front of the comma
}

func parseContainer(text string) (*container, error) {
	dec := jsontext.NewDecoder(bytes.NewBufferString(text), jsontext.AllowDuplicateNames(true))
	c := &container{}
	switch open, err := dec.ReadToken(); {
	case err != nil:
		return nil, syntaxError(err)
	case open.Kind() == '{':
		c.brackets = "{}"
	case open.Kind() == '[':
		c.brackets = "[]"
	default:
		return nil, errors.New("neither an object nor an array")
	}
	at := 1
	for kind := dec.PeekKind(); kind != '}' && kind != ']'; kind = dec.PeekKind() {
		var it item
		start, end, err := next(dec)
		if err != nil {
			return nil, err
		}
		gap := text[at:start]
		if before, after, ok := strings.Cut(gap, ","); ok {
			c.items[len(c.items)-1].trail, gap = before, after
		}
		it.lead = gap
		if c.brackets == "{}" {
			key, err := jsontext.AppendUnquote(nil, text[start:end])
			if err != nil {
				return nil, err
			}
			name := start
			if start, end, err = next(dec); err != nil {
				return nil, err
			}
			it.key, it.name = string(key), text[name:start]
		}
		it.value, at = text[start:end], end
		c.items = append(c.items, it)
	}
	if _, err := dec.ReadToken(); err != nil {
		return nil, syntaxError(err)
	}
	c.end = text[at : dec.InputOffset()-1]
	if _, err := dec.ReadToken(); err != io.EOF {
		return nil, fmt.Errorf("there is more behind its end, at byte %d", dec.InputOffset())
	}
	return c, nil
}

// next reads a value, and tells where it stands.
func next(dec *jsontext.Decoder) (start, end int, err error) {
	value, err := dec.ReadValue()
	if err != nil {
		return 0, 0, syntaxError(err)
	}
	end = int(dec.InputOffset())
	return end - len(value), end, nil
}

func syntaxError(err error) error {
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return fmt.Errorf("broken JSON (%w)", err)
}

// String is the text.
func (c *container) String() string {
	var b strings.Builder
	b.WriteByte(c.brackets[0])
	for i, it := range c.items {
		if i > 0 {
			b.WriteByte(',')
		}
		for _, part := range []string{it.lead, it.name, it.value, it.trail} {
			b.WriteString(part)
		}
	}
	b.WriteString(c.end)
	b.WriteByte(c.brackets[1])
	return b.String()
}

// find gives the index of a member, -1 if there is none. Of several the last one counts.
func (c *container) find(key string) int {
	for i, it := range slices.Backward(c.items) {
		if it.key == key {
			return i
		}
	}
	return -1
}

// remove takes an item out.
func (c *container) remove(i int) {
	if i == 0 && len(c.items) > 1 {
		c.items[1].lead = c.items[0].lead
	}
	c.items = slices.Delete(c.items, i, i+1)
	if len(c.items) == 0 {
		c.end = ""
	}
}

// insert puts an item in at index i. There must be others, whose layout it takes.
func (c *container) insert(i int, it item, s style) {
	it.lead = c.items[0].lead
	if !multiline(it.lead) && i > 0 {
		it.lead = s.gap
	} else if !multiline(it.lead) {
		c.items[0].lead = s.gap
	}
	c.items = slices.Insert(c.items, i, it)
}

// set gives a member of an object a value. A new member goes where it belongs by the alphabet, which is
// how nbformat orders them.
func (c *container) set(key, value string, s style) {
	if i := c.find(key); i >= 0 {
		c.items[i].value = value
		return
	}
	i := slices.IndexFunc(c.items, func(it item) bool { return it.key > key })
	if i < 0 {
		i = len(c.items)
	}
	c.insert(i, item{key: key, name: s.literal(key) + s.colon, value: value}, s)
}

// unset takes a member out, as often as it occurs.
func (c *container) unset(key string) {
	for i := c.find(key); i >= 0; i = c.find(key) {
		c.remove(i)
	}
}

// style is how a text of JSON is laid out.
type style struct {
	unit  string // of indentation
	colon string // with the white space around it
	gap   string // between the comma and what follows in the same line
	ascii bool   // other characters are written as escapes
}

// styleOf is the style of text, whose outermost object is top and has two members or more.
func styleOf(text string, top *container) style {
	lead, first := top.items[0].lead, top.items[0].name
	s := style{
		unit:  lead[strings.LastIndexByte(lead, '\n')+1:],
		colon: first[strings.LastIndexByte(first, '"')+1:],
		gap:   top.items[1].lead,
	}
	if multiline(lead) {
		s.gap = " "
	}
	raw := strings.IndexFunc(text, func(r rune) bool { return r >= utf8.RuneSelf }) >= 0
	s.ascii = !raw && escaped(text)
	return s
}

// escaped tells whether text has the escape of a character that is not ASCII.
func escaped(text string) bool {
	for i := 0; i+4 < len(text); i++ {
		if text[i] != '\\' {
			continue
		}
		if i++; text[i] == 'u' && (text[i+1:i+3] != "00" || text[i+3] >= '8') {
			return true
		}
	}
	return false
}

// multiline tells whether items that have lead in front of them stand in lines of their own.
func multiline(lead string) bool { return strings.Contains(lead, "\n") }

// join makes the text of an object or array that stands in a line indented by outer.
func (s style) join(brackets string, items []string, outer string) string {
	between, end := s.gap, ""
	inner := ""
	if multiline(outer) {
		inner, end = outer+s.unit, outer
		between = inner
	}
	if len(items) == 0 {
		end = ""
		inner = ""
	}
	return brackets[:1] + inner + strings.Join(items, ","+between) + end + brackets[1:]
}

// member makes the text of a member.
func (s style) member(key, value string) string { return s.literal(key) + s.colon + value }

// literal makes the text of a string.
func (s style) literal(text string) string {
	quoted, _ := jsontext.AppendQuote(nil, strings.ToValidUTF8(text, "\uFFFD"))
	if !s.ascii {
		return string(quoted)
	}
	var b strings.Builder
	for _, r := range string(quoted) {
		switch {
		case r < utf8.RuneSelf:
			b.WriteRune(r)
		case r <= 0xFFFF:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
		}
	}
	return b.String()
}
