package tools

import "strings"

// span is a part of a text.
type span struct{ start, end int }

// replace puts new in the place of old in text, and counts the places.
//
// The model sees and writes line feeds only. So a line feed in old also matches
// CRLF, and new gets the line endings that are in use where it goes. Strings with
// CR in them are meant to the letter.
func replace(text, old, new string, all bool) (edited string, count int, err error) {
	if old == "" {
		if text != "" {
			return "", 0, refuse("old_string is empty, but the file is not: give the text to replace, or use Write")
		}
		return new, 1, nil
	}
	literal := strings.Contains(old, "\r")
	var places []span
	if literal {
		places = occurrences(text, old)
	} else {
		places = occurrencesOfLines(text, old)
	}
	switch {
	case len(places) == 0:
		return "", 0, refuse("old_string does not occur in it")
	case len(places) > 1 && !all:
		return "", 0, refuse("old_string occurs %d times. Give more of the lines around the place that is meant, or set replace_all", len(places))
	}
	var b strings.Builder
	end := 0
	for _, place := range places {
		b.WriteString(text[end:place.start])
		if literal {
			b.WriteString(new)
		} else {
			b.WriteString(fit(text, place, old, new))
		}
		end = place.end
	}
	b.WriteString(text[end:])
	return b.String(), len(places), nil
}

func occurrences(text, old string) []span {
	var found []span
	for from := 0; ; {
		i := strings.Index(text[from:], old)
		if i < 0 {
			return found
		}
		found = append(found, span{from + i, from + i + len(old)})
		from += i + len(old)
	}
}

// occurrencesOfLines finds old, whose line feeds stand for any line ending.
func occurrencesOfLines(text, old string) []span {
	plain := strings.ReplaceAll(text, "\r\n", "\n")
	found := occurrences(plain, old)
	at, plainAt := 0, 0
	for i, place := range found {
		start := skip(text, at, plain[plainAt:place.start])
		at, plainAt = skip(text, start, old), place.end
		found[i] = span{start, at}
	}
	return found
}

// skip is the offset in text behind passage, which stands at from with any line endings.
func skip(text string, from int, passage string) int {
	for {
		i := strings.IndexByte(passage, '\n')
		if i < 0 {
			return from + len(passage)
		}
		from += i
		if text[from] == '\r' {
			from++
		}
		from++
		passage = passage[i+1:]
	}
}

// fit is what replaces place, where old stands. The beginning and the end that old
// and new share are left as they are in the file: the model gives them for
// context, and their line endings may differ from those between them.
func fit(text string, place span, old, new string) string {
	head, tail := sharedEnds([]byte(old), []byte(new))
	start := skip(text, place.start, old[:head])
	end := skip(text, start, old[head:len(old)-tail])
	middle := new[head : len(new)-tail]
	if lineEnding(text, start) == "\r\n" {
		middle = strings.ReplaceAll(strings.ReplaceAll(middle, "\r\n", "\n"), "\n", "\r\n")
	}
	return text[place.start:start] + middle + text[end:place.end]
}

// sharedEnds counts what two sequences share at the beginning, and then at the end.
func sharedEnds[E comparable](a, b []E) (head, tail int) {
	for head < min(len(a), len(b)) && a[head] == b[head] {
		head++
	}
	for tail < min(len(a), len(b))-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	return head, tail
}

// lineEnding is the line ending in use at an offset of text: the next one, else
// the one before.
func lineEnding(text string, offset int) string {
	at := offset + strings.IndexByte(text[offset:], '\n')
	if at < offset {
		at = strings.LastIndexByte(text[:offset], '\n')
	}
	if at > 0 && text[at-1] == '\r' {
		return "\r\n"
	}
	return "\n"
}
