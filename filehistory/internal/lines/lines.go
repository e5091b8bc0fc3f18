// Package lines counts the lines by which two contents differ.
package lines

import (
	"bytes"
	"io"
	"unicode/utf8"

	"github.com/sergi/go-diff/diffmatchpatch"
)

const (
	// sniffSize is how much of a content decides whether it is text.
	sniffSize = 8 << 10
	// maxMiddle bounds the bytes that are compared line by line, after equal
	// ends are cut off; maxLines the lines given to the diff, whose time grows
	// with their square: 8,000 that all differ in order take about 0.1 s.
	maxMiddle = 8 << 20
	maxLines  = 8000
)

// Source is one side. The zero value is an empty one.
type Source struct {
	io.ReaderAt
	Size int64
}

// Binary says whether the content is not text: it holds a NUL, or bytes that are
// not UTF-8, in its first 8 KiB. UTF-16 counts as binary.
func (s Source) Binary() (bool, error) {
	b, err := s.read(0, min(s.Size, sniffSize))
	if err != nil {
		return false, err
	}
	if bytes.IndexByte(b, 0) >= 0 {
		return true, nil
	}
	if s.Size > int64(len(b)) { // the cut may go through a character
		for i := 1; i < utf8.UTFMax && i <= len(b); i++ {
			if utf8.RuneStart(b[len(b)-i]) {
				if !utf8.FullRune(b[len(b)-i:]) {
					b = b[:len(b)-i]
				}
				break
			}
		}
	}
	return !utf8.Valid(b), nil
}

func (s Source) read(from, to int64) ([]byte, error) {
	b := make([]byte, to-from)
	if len(b) == 0 {
		return b, nil
	}
	n, err := s.ReadAt(b, from)
	if n == len(b) {
		err = nil
	}
	return b, err
}

// Count tells how many lines go from a to b: inserted and deleted. A changed
// line is both. A last line without its line feed differs from one with it. The
// counts are the least possible, unless the changed part is too large to
// compare, and then all its lines count.
func Count(a, b Source) (inserted, deleted int, err error) {
	start, err := commonStart(a, b)
	if err != nil {
		return 0, 0, err
	}
	end, err := commonEnd(a, b, start)
	if err != nil {
		return 0, 0, err
	}
	aEnd, bEnd := a.Size-end, b.Size-end
	if aEnd-start > maxMiddle || bEnd-start > maxMiddle {
		if deleted, err = a.lines(start, aEnd); err == nil {
			inserted, err = b.lines(start, bEnd)
		}
		return inserted, deleted, err
	}
	old, err := a.read(start, aEnd)
	if err != nil {
		return 0, 0, err
	}
	now, err := b.read(start, bEnd)
	if err != nil {
		return 0, 0, err
	}
	inserted, deleted = diff(split(old), split(now))
	return inserted, deleted, nil
}

const blockSize = 64 << 10

// commonStart gives the position behind the last line feed of the equal start.
func commonStart(a, b Source) (int64, error) {
	var at, line int64
	for limit := min(a.Size, b.Size); at < limit; {
		n := min(blockSize, limit-at)
		x, y, err := readBoth(a, at, b, at, n)
		if err != nil {
			return 0, err
		}
		equal := commonPrefix(x, y)
		if feed := bytes.LastIndexByte(x[:equal], '\n'); feed >= 0 {
			line = at + int64(feed) + 1
		}
		at += int64(equal)
		if int64(equal) < n {
			return line, nil
		}
	}
	if a.Size == b.Size {
		return at, nil
	}
	return line, nil
}

// commonEnd gives the length of the equal end, which begins behind a line feed
// on both sides and does not reach into the equal start.
func commonEnd(a, b Source, start int64) (int64, error) {
	var length, whole int64
	limit := min(a.Size, b.Size) - start
	for length < limit {
		n := min(blockSize, limit-length)
		x, y, err := readBoth(a, a.Size-length-n, b, b.Size-length-n, n)
		if err != nil {
			return 0, err
		}
		equal := commonSuffix(x, y)
		if feed := bytes.IndexByte(x[len(x)-equal:], '\n'); feed >= 0 {
			whole = length + int64(equal-feed-1)
		}
		length += int64(equal)
		if int64(equal) < n {
			return whole, nil
		}
	}
	// One side's rest is all equal; it begins at a line. The other side's must too.
	if a.Size == b.Size {
		return length, nil
	}
	longer := a
	if b.Size > a.Size {
		longer = b
	}
	before := longer.Size - length
	c, err := longer.read(before-1, before)
	if err != nil || c[0] != '\n' {
		return whole, err
	}
	return length, nil
}

func readBoth(a Source, atA int64, b Source, atB int64, n int64) (x, y []byte, err error) {
	if x, err = a.read(atA, atA+n); err == nil {
		y, err = b.read(atB, atB+n)
	}
	return x, y, err
}

func commonPrefix(x, y []byte) int {
	for i := range x {
		if x[i] != y[i] {
			return i
		}
	}
	return len(x)
}

func commonSuffix(x, y []byte) int {
	for i := range x {
		if x[len(x)-1-i] != y[len(y)-1-i] {
			return i
		}
	}
	return len(x)
}

func (s Source) lines(from, to int64) (int, error) {
	n, last := 0, byte('\n')
	for at := from; at < to; {
		b, err := s.read(at, min(at+blockSize, to))
		if err != nil {
			return 0, err
		}
		n += bytes.Count(b, []byte{'\n'})
		last = b[len(b)-1]
		at += int64(len(b))
	}
	if last != '\n' {
		n++
	}
	return n, nil
}

func split(b []byte) [][]byte {
	if len(b) == 0 {
		return nil
	}
	lines := bytes.SplitAfter(b, []byte{'\n'})
	if len(lines[len(lines)-1]) == 0 {
		lines = lines[:len(lines)-1]
	}
	return lines
}

// diff first counts the lines that stand on one side only: no alignment can
// match them, so leaving them out changes nothing but the time.
func diff(a, b [][]byte) (inserted, deleted int) {
	if len(a) == 0 || len(b) == 0 {
		return len(b), len(a)
	}
	ids := make(map[string]rune, len(a))
	for _, line := range a {
		if _, ok := ids[string(line)]; !ok {
			ids[string(line)] = rune(len(ids) + 1)
		}
	}
	shared := make(map[rune]bool)
	y := make([]rune, 0, len(b))
	for _, line := range b {
		id, ok := ids[string(line)]
		if !ok {
			inserted++
			continue
		}
		shared[id] = true
		y = append(y, id)
	}
	x := make([]rune, 0, len(y))
	for _, line := range a {
		id := ids[string(line)]
		if !shared[id] {
			deleted++
			continue
		}
		x = append(x, id)
	}
	i, d := align(x, y)
	return inserted + i, deleted + d
}

func align(x, y []rune) (inserted, deleted int) {
	for len(x) > 0 && len(y) > 0 && x[0] == y[0] {
		x, y = x[1:], y[1:]
	}
	for len(x) > 0 && len(y) > 0 && x[len(x)-1] == y[len(y)-1] {
		x, y = x[:len(x)-1], y[:len(y)-1]
	}
	if len(x) == 0 || len(y) == 0 || len(x)+len(y) > maxLines {
		return len(y), len(x)
	}
	// The diff packs its runes into strings, where the numbers of surrogates have
	// no place: number the lines that are left anew, from below.
	ids := make(map[rune]rune)
	renumber := func(in []rune) []rune {
		out := make([]rune, len(in))
		for i, id := range in {
			if ids[id] == 0 {
				ids[id] = rune(len(ids) + 1)
			}
			out[i] = ids[id]
		}
		return out
	}
	dmp := diffmatchpatch.New()
	dmp.DiffTimeout = 0 // with a time limit the counts depend on the machine's load
	for _, d := range dmp.DiffMainRunes(renumber(x), renumber(y), false) {
		n := utf8.RuneCountInString(d.Text)
		switch d.Type {
		case diffmatchpatch.DiffInsert:
			inserted += n
		case diffmatchpatch.DiffDelete:
			deleted += n
		}
	}
	return inserted, deleted
}
