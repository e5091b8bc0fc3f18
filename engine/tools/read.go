package tools

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	_ "embed"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-json/jsontext"

	"takeback/engine"
	"takeback/protocol"
)

// What one Read shows, at most. A file has any size: nothing else of it is held.
const (
	defaultLines = 2000
	maxLineBytes = 2000
	maxPageBytes = 100_000
)

//go:embed read.md
var readDescription string

//go:embed read.schema.json
var readSchema []byte

type readTool struct{ *Set }

type readReport struct {
	Type string `json:"type"`
	File any    `json:"file"` // textFile, notebookFile or imageFile
}

type textFile struct {
	FilePath   string `json:"filePath"`
	Content    string `json:"content"`
	NumLines   int    `json:"numLines"`
	StartLine  int    `json:"startLine"`
	TotalLines int    `json:"totalLines"`
}

func (readTool) Spec() engine.ToolSpec {
	return engine.ToolSpec{Name: "Read", Description: readDescription, InputSchema: readSchema}
}

func (t readTool) Access(input jsontext.Value) engine.Access { return t.fileAccess(engine.Read, input) }

func (t readTool) Run(ctx context.Context, call engine.ToolCall) engine.ToolResult {
	in := struct {
		FilePath string  `json:"file_path"`
		Offset   float64 `json:"offset"` // an integer, which may be written 3.0
		Limit    float64 `json:"limit"`
	}{Limit: defaultLines}
	if err := protocol.Unmarshal(call.Input, &in); err != nil {
		return failure(err)
	}
	path, start, limit := t.abs(in.FilePath), max(int(in.Offset), 1), int(in.Limit)
	content, report, err := t.read(ctx, path, start, limit)
	if err != nil {
		return failure(err)
	}
	result := success("", report)
	result.Content = content
	return result
}

// read reads a file as what it is.
func (t readTool) read(ctx context.Context, path string, start, limit int) (protocol.Content, *readReport, error) {
	head, err := readHead(path)
	switch {
	case err != nil:
		return nil, nil, err
	case imageType(head) != "":
		return t.readImage(ctx, path)
	case bytes.HasPrefix(head, []byte("%PDF-")):
		return nil, nil, refuse("%s is a PDF, which Read cannot show yet. A shell command may get its text, such as pdftotext.", path)
	case namesNotebook(path):
		content, report, err := t.readNotebook(ctx, path, start, limit)
		if err != nil || content != nil {
			return content, report, err
		}
	}
	p, err := t.readText(ctx, path, start, limit)
	if err != nil {
		return nil, nil, err
	}
	if p.total > 0 && p.lines == 0 {
		return nil, nil, refuse("%s has only %d lines; it was asked for from line %d on.", path, p.total, p.start)
	}
	return protocol.Text(p.text(path)), &readReport{"text", textFile{
		FilePath: path, Content: p.content.String(), NumLines: p.lines, StartLine: p.start, TotalLines: p.total,
	}}, nil
}

// readHead reads what tells what a file is.
func readHead(path string) ([]byte, error) {
	f, err := openFile(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	head := make([]byte, 16)
	n, err := io.ReadFull(f, head)
	if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
		return nil, pathError(path, err)
	}
	return head[:n], nil
}

// readImage shows an image. Like a file that is not text, it counts as seen even if it cannot be shown.
func (t readTool) readImage(ctx context.Context, path string) (protocol.Content, *readReport, error) {
	file, err := load(ctx, path, maxImageBytes+1)
	if err != nil {
		return nil, nil, err
	}
	t.known.learn(path, file.digest)
	mediaType, err := checkImage(file.raw)
	if !file.whole() {
		err = refuse("it has %d bytes, more than %d: make a smaller copy with a shell command and Read that", file.size, maxImageBytes)
	}
	if err != nil {
		return nil, nil, refuse("%s cannot be shown as an image: %w.", path, err)
	}
	block, report := imageBlock(mediaType, file.raw)
	return protocol.Content{block}, &readReport{"image", report}, nil
}

// readNotebook shows a notebook. There is no content if it is none, but a broken
// one, that is to be repaired as text.
func (t readTool) readNotebook(ctx context.Context, path string, start, limit int) (protocol.Content, *readReport, error) {
	file, err := load(ctx, path, maxEdited)
	if err != nil {
		return nil, nil, err
	}
	content, ok := file.text()
	if !ok {
		return nil, nil, nil
	}
	book, err := parseNotebook(content)
	if err != nil {
		return nil, nil, nil
	}
	p, err := showNotebook(path, book, start, limit)
	if err != nil {
		return nil, nil, err
	}
	t.known.learn(path, file.digest)
	return p.content, &readReport{"notebook", p.report}, nil
}

// readText reads the whole file, shows a page of it and remembers all of it. A file
// that is not text counts as seen too: a Write over it is then meant.
func (t readTool) readText(ctx context.Context, path string, start, limit int) (*page, error) {
	f, err := openFile(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()

	hash := sha256.New()
	raw := io.TeeReader(reader{ctx, f}, hash)
	p, pageErr := readPage(raw, start, limit)
	if pageErr != nil && !notText(pageErr) {
		return nil, pathError(path, pageErr)
	}
	if _, err := io.Copy(io.Discard, raw); err != nil {
		return nil, pathError(path, err)
	}
	t.known.learn(path, digest(hash.Sum(nil)))
	if pageErr != nil {
		return nil, refuse("%s cannot be shown as text: %w. A shell command can look into it.", path, pageErr)
	}
	return p, nil
}

// page is some lines of a file.
type page struct {
	start, lines, total int
	numbered, content   strings.Builder
	full                bool // of bytes
}

// readPage reads text to its end and keeps up to limit lines from line start on.
func readPage(raw io.Reader, start, limit int) (*page, error) {
	buffered := bufio.NewReaderSize(raw, 64<<10)
	head, err := buffered.Peek(3)
	if err != nil && err != io.EOF {
		return nil, err
	}
	f := formatOf(head)
	buffered.Discard(len(f.mark))

	text := bufio.NewReaderSize(f.reader(buffered), 64<<10)
	p := &page{start: start}
	for {
		line, err := readLine(text)
		if err != nil && err != io.EOF {
			return nil, err
		}
		if line.size > 0 || line.ended {
			p.total++
			if p.total >= start && p.lines < limit && !p.full {
				p.add(line)
			}
		}
		if err == io.EOF {
			return p, nil
		}
	}
}

// line is a line of any length. Its ending does not count, and is shown as LF whatever it is.
type line struct {
	head  []byte // its beginning, valid until the next one is read
	size  int
	ended bool
}

func readLine(r *bufio.Reader) (line, error) {
	part, err := r.ReadSlice('\n')
	l := line{head: part, size: len(part)}
	if err == bufio.ErrBufferFull {
		l.head = bytes.Clone(part[:maxLineBytes+utf8.UTFMax])
		for err == bufio.ErrBufferFull {
			part, err = r.ReadSlice('\n')
			l.size += len(part)
		}
	}
	if err == nil {
		l.ended = true
		l.size--
		l.head = l.head[:min(len(l.head), l.size)]
	}
	return l, err
}

func (p *page) add(l line) {
	var shown string
	if l.size <= maxLineBytes {
		shown = string(bytes.TrimSuffix(l.head, []byte("\r")))
	} else {
		end := maxLineBytes
		for !utf8.RuneStart(l.head[end]) {
			end--
		}
		shown = fmt.Sprintf("%s… [%d more bytes in this line]", l.head[:end], l.size-end)
	}
	if p.lines > 0 && p.numbered.Len()+len(shown) > maxPageBytes {
		p.full = true
		return
	}
	fmt.Fprintf(&p.numbered, "%d\t%s\n", p.total, shown)
	p.content.WriteString(shown)
	if l.ended {
		p.content.WriteByte('\n')
	}
	p.lines++
}

// text is the page for the model.
func (p *page) text(path string) string {
	if p.total == 0 {
		return fmt.Sprintf("%s is empty.", path)
	}
	last := p.start + p.lines - 1
	if last == p.total {
		return p.numbered.String()
	}
	return fmt.Sprintf("%s\n[These are lines %d to %d of %d. To read on, give offset %d.]",
		p.numbered.String(), p.start, last, p.total, last+1)
}
