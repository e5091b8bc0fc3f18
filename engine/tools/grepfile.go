package tools

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"
)

// A file has any size: it is searched block by block, and nothing else of it is held.
const (
	blockSize    = 128 << 10
	maxLine      = 8 << 20  // of a longer line, only so much is searched
	maxMultiline = 16 << 20 // a longer file is not searched across lines
	maxMatches   = 1 << 18  // in one file, across lines
	maxContext   = 64 << 10 // bytes of context in front of a match
	maxLineShown = 500      // bytes
	leadShown    = 100      // bytes in front of a match that is far behind in a line
)

var (
	errBinary  = errors.New("it is not text")
	errTooLong = errors.New("it is too long to be searched across lines")
)

// search is what is looked for, and what is wanted of it.
type search struct {
	*matcher
	multiline     bool
	literalCR     bool // the pattern names carriage returns; else CRLF is as good as LF
	before, after int  // lines of context
	numbers       bool
	maxLines      int  // that are shown of a file; 0: whether there is a match is enough
	count         bool // how often there is one matters
}

// hits are what was found in a file.
type hits struct {
	lines   []string // as they are shown
	matched int      // lines; across lines, matches
	cut     bool     // something was too long to be searched
}

// fileSearch is the search of one file.
type fileSearch struct {
	*search
	hits
	name   string // for the lines that are shown
	number int    // of the line that comes next, counted from 1
	last   int    // number of the last line that was shown
	until  int    // number of the last line that is shown as context behind a match
}

// file searches a file. It is an error if it is no text, unless there was a match in front of that.
func (s *search) file(ctx context.Context, path, name string) (hits, error) {
	file, err := openFile(path)
	if err != nil {
		return hits{}, err
	}
	defer file.Close()
	raw := bufio.NewReader(reader{ctx, file})
	head, err := raw.Peek(3)
	if err != nil && err != io.EOF {
		return hits{}, err
	}
	format := formatOf(head)
	raw.Discard(len(format.mark))
	if format.codec != nil {
		raw = bufio.NewReader(format.reader(raw))
	}
	f := &fileSearch{search: s, name: name, number: 1}
	if s.multiline {
		err = f.across(raw)
	} else {
		err = f.byLines(raw)
	}
	return f.hits, err
}

// byLines searches line by line.
func (f *fileSearch) byLines(r *bufio.Reader) error {
	scan := scanners.Get().(*scanner)
	defer scanners.Put(scan)
	scan.matcher = f.matcher
	buf, held := scan.buffer[:0], 0 // held: as many bytes were searched before, and may be shown as context
	for first := true; ; first = false {
		if len(buf) == cap(buf) {
			buf = slices.Grow(buf, cap(buf))
		}
		n, err := r.Read(buf[len(buf):cap(buf)])
		end := err == io.EOF || notText(err)
		if err != nil && !end {
			return err
		}
		fresh := buf[len(buf) : len(buf)+n]
		if nul := bytes.IndexByte(fresh, 0); nul >= 0 {
			if first {
				return errBinary
			}
			fresh, end = fresh[:nul], true // far behind: what stands in front of it counts
		}
		searchable := held
		if newline := bytes.LastIndexByte(fresh, '\n'); newline >= 0 {
			searchable = len(buf) + newline + 1
		}
		buf = buf[:len(buf)+len(fresh)]
		if end {
			searchable = len(buf)
		}
		if searchable == held && len(buf)-held >= maxLine {
			if err := f.longLine(r, scan, buf, held); err != nil {
				return err
			}
			searchable = len(buf)
		} else {
			f.block(scan, buf[:searchable], held)
		}
		if end || f.done() {
			return nil
		}
		keep := f.contextStart(buf[:searchable])
		held = searchable - keep
		buf = buf[:copy(buf, buf[keep:])]
	}
}

// done tells whether no more is wanted of the file.
func (f *fileSearch) done() bool {
	return !f.count && f.matched > 0 && len(f.lines) >= f.maxLines
}

// block searches the lines of buf from an offset on.
func (f *fileSearch) block(scan *scanner, buf []byte, from int) {
	scan.reset(buf)
	for !f.done() {
		line, ok := scan.line(from)
		if !ok {
			f.pass(buf, from, len(buf))
			return
		}
		f.pass(buf, from, line.start)
		f.matched++
		f.showMatch(buf, line)
		from = line.end
	}
}

// longLine searches the beginning of a line, and passes over the rest.
func (f *fileSearch) longLine(r *bufio.Reader, scan *scanner, buf []byte, from int) error {
	f.cut = true
	number := f.number
	f.block(scan, buf, from)
	f.number = number + 1
	_, err := r.ReadSlice('\n')
	for err == bufio.ErrBufferFull {
		_, err = r.ReadSlice('\n')
	}
	if err == io.EOF || notText(err) {
		return nil
	}
	return err
}

// contextStart is where in buf the lines begin that may be shown in front of the next match.
func (f *fileSearch) contextStart(buf []byte) int {
	start := len(buf)
	for n := 0; n < f.before && start > 0; n++ {
		line := bytes.LastIndexByte(buf[:start-1], '\n') + 1
		if len(buf)-line > maxContext {
			break
		}
		start = line
	}
	return start
}

// across searches a whole file for what may go across lines.
func (f *fileSearch) across(r io.Reader) error {
	text, err := io.ReadAll(io.LimitReader(r, maxMultiline+1))
	if err != nil && !notText(err) {
		return err
	}
	if nul := bytes.IndexByte(text, 0); nul >= 0 {
		if nul < blockSize {
			return errBinary
		}
		text = text[:nul]
	}
	if len(text) > maxMultiline {
		return errTooLong
	}
	if !f.literalCR {
		text = bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n"))
	}
	scan := &scanner{matcher: f.matcher}
	if scan.reset(text); scan.candidate(0) == len(text) {
		return nil
	}
	most := maxMatches
	if f.maxLines == 0 && !f.count {
		most = 1
	}
	places := f.re.FindAllIndex(text, most)
	f.cut = most > 1 && len(places) == most
	from := 0
	for _, place := range places {
		if place[0] == len(text) && bytes.HasSuffix(text, []byte("\n")) || f.done() {
			break // behind the last line there is none
		}
		f.matched++
		first, last := lineAround(text, 0, place[0]), lineAround(text, 0, max(place[0], place[1]-1))
		if first.start > from {
			f.pass(text, from, first.start)
			from = first.start
		}
		for from < last.end {
			line := lineAround(text, from, from)
			f.showMatch(text, line)
			from = line.end
		}
	}
	f.pass(text, from, len(text))
	return nil
}

// pass goes over lines that do not match, and shows those that follow a match.
func (f *fileSearch) pass(buf []byte, from, to int) {
	for f.number <= f.until && from < to && !f.done() {
		line := lineAround(buf, from, from)
		f.show(buf[line.start:line.end], '-')
		from = line.end
	}
	f.number += bytes.Count(buf[min(from, to):to], []byte("\n"))
}

// showMatch shows a line that matches, and those in front of it. It comes next.
func (f *fileSearch) showMatch(buf []byte, line span) {
	if f.maxLines == 0 {
		f.number++
		return
	}
	start, number := line.start, f.number
	for start > 0 && f.number > max(f.last+1, number-f.before) {
		start = bytes.LastIndexByte(buf[:start-1], '\n') + 1
		f.number--
	}
	if f.last > 0 && f.number > f.last+1 && f.before+f.after > 0 {
		f.lines = append(f.lines, separator)
	}
	for f.number < number {
		before := lineAround(buf, start, start)
		f.show(buf[before.start:before.end], '-')
		start = before.end
	}
	f.show(buf[line.start:line.end], ':')
	f.until = f.last + f.after
}

// separator stands between lines that are not neighbours, if lines around matches are shown.
const separator = "--"

// show shows the line that comes next.
func (f *fileSearch) show(line []byte, sign byte) {
	line = ended(line)
	at := 0
	if sign == ':' && len(line) > maxLineShown {
		if place := f.re.FindIndex(line); place != nil {
			at = place[0]
		}
	}
	text := f.name + string(sign)
	if f.numbers {
		text += fmt.Sprintf("%d%c", f.number, sign)
	}
	f.lines = append(f.lines, strings.ToValidUTF8(text+shownPart(line, at), "\uFFFD"))
	f.last = f.number
	f.number++
}

// shownPart is a line, or of a long one the part around an offset.
func shownPart(line []byte, at int) string {
	if len(line) <= maxLineShown {
		return string(line)
	}
	start := 0
	if at > maxLineShown-leadShown {
		start = min(at-leadShown, len(line)-maxLineShown)
	}
	end := characterAt(line, min(len(line), start+maxLineShown))
	start = characterAt(line, start)
	shown := string(line[start:end])
	if start > 0 {
		shown = fmt.Sprintf("[%d bytes] …%s", start, shown)
	}
	if left := len(line) - end; left > 0 {
		shown += fmt.Sprintf("… [%d more bytes in this line]", left)
	}
	return shown
}

// characterAt is where the character at an offset begins.
func characterAt(text []byte, offset int) int {
	for at := offset; at < len(text) && at >= 0 && offset-at < utf8.UTFMax; at-- {
		if utf8.RuneStart(text[at]) {
			return at
		}
	}
	return offset
}

var scanners = sync.Pool{New: func() any { return &scanner{buffer: make([]byte, 0, blockSize)} }}
