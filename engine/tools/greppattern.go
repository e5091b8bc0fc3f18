package tools

import (
	"bytes"
	"errors"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"unicode/utf8"
)

// matcher finds what a pattern matches.
//
// Go's regular expressions take linear time whatever the pattern, but not a short
// one: most lines are passed over by looking for the strings without which
// there can be no match.
type matcher struct {
	re      *regexp.Regexp
	needles [][]byte // one of them is in every match; none: nothing is known
	fold    bool     // they are in lower case, and so must be the text that is searched for them
}

func newMatcher(pattern string, ignoreCase, multiline bool) (*matcher, error) {
	pattern = unicodeEscape.ReplaceAllString(pattern, `$1\x{$2$3$4}`)
	if _, err := syntax.Parse(pattern, syntax.Perl); err != nil { // alone, for the error shows all of it
		return nil, patternError(err)
	}
	prefix := "(?m"
	if multiline {
		prefix += "s"
	}
	if ignoreCase {
		prefix += "i"
	}
	prefix += ")"
	re, err := regexp.Compile(prefix + pattern)
	if err != nil {
		return nil, patternError(err)
	}
	parsed, err := syntax.Parse(prefix+pattern, syntax.Perl)
	if err != nil {
		return nil, patternError(err)
	}
	parsed = parsed.Simplify()
	if !multiline && wantsNewline(parsed) {
		return nil, refuse(`the pattern has a line feed in it, and is matched against one line at a time. Set multiline to match across lines`)
	}
	m := &matcher{re: re}
	literals := required(parsed)
	for _, l := range literals {
		m.fold = m.fold || l.fold
	}
	for _, l := range literals {
		if m.fold && !l.fold {
			l = foldable(l.text)
		}
		m.needles = append(m.needles, []byte(l.text))
	}
	return m, nil
}

// unicodeEscape is an escape that ripgrep knows and Go does not: \u0041, \U00000041, \u{41}.
var unicodeEscape = regexp.MustCompile(`((?:^|[^\\])(?:\\\\)*)\\(?:u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|[uU]\{([0-9A-Fa-f]+)\})`)

// patternError words what is wrong with a pattern.
func patternError(err error) error {
	var wrong *syntax.Error
	if !errors.As(err, &wrong) {
		return err
	}
	switch part := wrong.Expr; {
	case strings.HasPrefix(part, "(?=") || strings.HasPrefix(part, "(?!") || strings.HasPrefix(part, "(?<"):
		return refuse("it has look-around (%s), which Grep does not know. Search for a simpler pattern and look through the result", part)
	case wrong.Code == syntax.ErrInvalidEscape && len(part) > 1 && '1' <= part[1] && part[1] <= '9':
		return refuse("it has a backreference (%s), which Grep does not know. Search for a simpler pattern and look through the result", part)
	case wrong.Code == syntax.ErrInvalidPerlOp:
		return refuse("it has %s, which Grep does not know", part)
	}
	return refuse("%s: %s. Put a backslash in front of characters that are meant literally", wrong.Code, wrong.Expr)
}

func wantsNewline(re *syntax.Regexp) bool {
	return re.Op == syntax.OpLiteral && slices.Contains(re.Rune, '\n') || slices.ContainsFunc(re.Sub, wantsNewline)
}

// literal is a text that is in every match. If fold, it is in lower case, and so may not be the match.
type literal struct {
	text string
	fold bool
}

// maxNeedles bounds the alternatives that are looked for one by one.
const maxNeedles = 16

// required gives texts of which every match of re has at least one, nil if nothing is known.
func required(re *syntax.Regexp) []literal {
	switch re.Op {
	case syntax.OpLiteral:
		text := string(re.Rune)
		if strings.ContainsRune(text, utf8.RuneError) { // matches bytes that are no UTF-8 too
			return nil
		}
		if re.Flags&syntax.FoldCase != 0 {
			return []literal{foldable(text)}
		}
		return []literal{{text: text}}
	case syntax.OpCapture, syntax.OpPlus:
		return required(re.Sub[0])
	case syntax.OpConcat:
		var best []literal
		for _, sub := range re.Sub {
			if found := required(sub); shortest(found) > shortest(best) {
				best = found
			}
		}
		return best
	case syntax.OpAlternate:
		var all []literal
		for _, sub := range re.Sub {
			found := required(sub)
			if shortest(found) == 0 || len(all)+len(found) > maxNeedles {
				return nil
			}
			all = append(all, found...)
		}
		return all
	}
	return nil
}

func shortest(all []literal) int {
	least := 0
	for i, l := range all {
		if i == 0 || len(l.text) < least {
			least = len(l.text)
		}
	}
	return least
}

// foldable is the longest part of text that is ASCII, to be looked for in lower case.
func foldable(text string) literal {
	best := ""
	for part := range strings.FieldsFuncSeq(text, func(r rune) bool { return r >= utf8.RuneSelf }) {
		if len(part) > len(best) {
			best = part
		}
	}
	return literal{strings.ToLower(best), true}
}

// lowerCase has every byte in lower case, if it is ASCII.
var lowerCase = func() (table [256]byte) {
	for i := range table {
		table[i] = byte(i)
		if 'A' <= i && i <= 'Z' {
			table[i] += 'a' - 'A'
		}
	}
	return table
}()

// otherCases are the letters that are not ASCII and have an ASCII letter as another case: k and s.
var otherCases = [][]byte{[]byte("\u212A"), []byte("\u017F")}

// scanner goes through a block of text by the lines that may match.
type scanner struct {
	*matcher
	buffer []byte // for the user of the scanner
	block  []byte
	lower  []byte // block in lower case, if the needles are
	ahead  []int  // for each needle, where it is next
	blind  bool   // the needles are of no use in this block
}

func (s *scanner) reset(block []byte) {
	s.block = block
	s.blind = len(s.needles) == 0
	if s.fold {
		s.lower = slices.Grow(s.lower[:0], len(block))[:len(block)]
		for i, c := range block {
			s.lower[i] = lowerCase[c]
		}
		for _, letter := range otherCases {
			s.blind = s.blind || bytes.Contains(block, letter)
		}
	}
	s.ahead = s.ahead[:0]
	for range s.needles {
		s.ahead = append(s.ahead, -1)
	}
}

// candidate is where, from an offset on, there may be a match; the end of the block if nowhere.
func (s *scanner) candidate(from int) int {
	if s.blind {
		return from
	}
	block, nearest := s.block, len(s.block)
	if s.fold {
		block = s.lower
	}
	for i, needle := range s.needles {
		if s.ahead[i] < from {
			s.ahead[i] = len(block)
			if at := bytes.Index(block[from:], needle); at >= 0 {
				s.ahead[i] = from + at
			}
		}
		nearest = min(nearest, s.ahead[i])
	}
	return nearest
}

// line gives the next line that matches, from the beginning of one on.
func (s *scanner) line(from int) (line span, ok bool) {
	for from < len(s.block) {
		at := s.candidate(from)
		if at == len(s.block) {
			return span{}, false
		}
		line := lineAround(s.block, from, at)
		if s.re.Match(ended(s.block[line.start:line.end])) {
			return line, true
		}
		from = line.end
	}
	return span{}, false
}

// lineAround is the line at an offset of text, with its ending; from is the beginning of that line or of one before.
func lineAround(text []byte, from, at int) span {
	start := from + bytes.LastIndexByte(text[from:at], '\n') + 1
	if end := bytes.IndexByte(text[at:], '\n'); end >= 0 {
		return span{start, at + end + 1}
	}
	return span{start, len(text)}
}

// ended is a line without its ending, whichever it is.
func ended(line []byte) []byte {
	return bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r"))
}
