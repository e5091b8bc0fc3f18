package tools

import (
	"encoding/base64"
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/goccy/go-json/jsontext"

	"takeback/protocol"
)

const (
	// maxOutputText bounds, in bytes, the text of one output of a cell: data that
	// was printed is rarely what a notebook is read for.
	maxOutputText = 10_000
	// maxNotebookImages bounds the images of one Read. The API takes more only if they are small.
	maxNotebookImages = 16
)

type notebookFile struct {
	FilePath string       `json:"filePath"`
	Cells    []cellReport `json:"cells"`
}

type cellReport struct {
	CellType string         `json:"cellType"`
	Source   string         `json:"source"`
	Count    *float64       `json:"execution_count,omitzero"`
	CellID   string         `json:"cell_id"`
	Language string         `json:"language,omitzero"`
	Outputs  []outputReport `json:"outputs,omitzero"`
}

type outputReport struct {
	OutputType string       `json:"output_type"`
	Text       string       `json:"text,omitzero"`
	Image      *imageReport `json:"image,omitzero"`
}

type imageReport struct {
	Data      string `json:"image_data"`
	MediaType string `json:"media_type"`
}

// outputOfCell is an output as notebooks hold it.
type outputOfCell struct {
	Type      string                    `json:"output_type"`
	Text      text                      `json:"text"` // stream
	Data      map[string]jsontext.Value `json:"data"` // display_data, execute_result: by media type
	Name      string                    `json:"ename"`
	Value     string                    `json:"evalue"`
	Traceback []string                  `json:"traceback"`
}

// notebookPage shows some cells of a notebook, as blocks for the model and as a report for the host.
type notebookPage struct {
	content protocol.Content
	pending strings.Builder // text that no block holds yet
	size    int             // of all text
	images  int
	report  notebookFile
}

// showNotebook shows up to limit cells from cell start on, which counts from 1.
func showNotebook(path string, n *notebook, start, limit int) (*notebookPage, error) {
	p := &notebookPage{report: notebookFile{FilePath: path, Cells: []cellReport{}}}
	if len(n.cells) == 0 {
		p.say(fmt.Sprintf("%s is a notebook without cells.", path))
	} else if start > len(n.cells) {
		return nil, refuse("%s has only %d cells; it was asked for from cell %d on.", path, len(n.cells), start)
	}
	i := start - 1
	for shown := 0; i < len(n.cells) && shown < limit && (shown == 0 || p.size < maxPageBytes); shown++ {
		p.show(n, i)
		i++
	}
	if i < len(n.cells) {
		p.say(fmt.Sprintf("\n[These are cells %d to %d of %d. To read on, give offset %d.]", start, i, len(n.cells), i+1))
	}
	p.flush()
	return p, nil
}

func (p *notebookPage) show(n *notebook, i int) {
	c := &n.cells[i]
	report := cellReport{CellType: c.Type, CellID: n.name(i), Count: c.Count, Source: cutText(string(c.Source), maxPageBytes)}
	kind := c.Type
	if c.Type == "code" {
		report.Language = n.language
		kind = strings.TrimSpace("code " + n.language)
	}
	p.say(fmt.Sprintf("<cell id=%q type=%q>\n%s\n</cell>\n", report.CellID, kind, report.Source))

	var outputs []outputOfCell
	if err := protocol.Unmarshal(c.Outputs, &outputs); c.Outputs != nil && err != nil {
		p.say("[The outputs of this cell are not what a notebook may hold.]\n")
	}
	for o, out := range outputs {
		if p.size > 2*maxPageBytes {
			p.say(fmt.Sprintf("[%d more outputs of this cell are not shown.]\n", len(outputs)-o))
			break
		}
		r := outputReport{OutputType: out.Type, Text: cutText(out.text(), maxOutputText)}
		if r.Text != "" {
			p.say(fmt.Sprintf("<output of=%q>\n%s\n</output>\n", report.CellID, strings.TrimRight(r.Text, "\n")))
		}
		r.Image = p.addImage(out.Data)
		report.Outputs = append(report.Outputs, r)
	}
	p.report.Cells = append(p.report.Cells, report)
}

// addImage shows the first of the images, which are one picture in several formats.
func (p *notebookPage) addImage(data map[string]jsontext.Value) *imageReport {
	for _, mediaType := range []string{"image/png", "image/jpeg", "image/gif", "image/webp"} {
		var encoded text
		if err := protocol.Unmarshal(data[mediaType], &encoded); err != nil {
			continue
		}
		raw, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(string(encoded)), ""))
		found := ""
		if err == nil {
			found, err = checkImage(raw)
		}
		if err == nil && p.images == maxNotebookImages {
			err = refuse("there are too many in one answer. Read the cell alone")
		}
		if err != nil {
			p.say(fmt.Sprintf("[An image (%s) is not shown: %v.]\n", mediaType, err))
			return nil
		}
		p.images++
		p.flush()
		block, report := imageBlock(found, raw)
		p.content = append(p.content, block)
		return &imageReport{report.Base64, found}
	}
	return nil
}

func (p *notebookPage) say(text string) {
	p.size += len(text)
	p.pending.WriteString(text)
}

func (p *notebookPage) flush() {
	if p.pending.Len() > 0 {
		p.content = append(p.content, protocol.Text(p.pending.String())...)
		p.pending.Reset()
	}
}

// textTypes are the media types that are shown as text, the most readable first.
var textTypes = []string{"text/plain", "text/markdown", "text/html", "text/latex", "image/svg+xml"}

// text is what a person would read in an output.
func (o *outputOfCell) text() string {
	shown := string(o.Text)
	if o.Type == "error" {
		shown = strings.Join(o.Traceback, "\n")
		if shown == "" {
			shown = o.Name + ": " + o.Value
		}
	}
	for _, mediaType := range textTypes {
		var data text
		if err := protocol.Unmarshal(o.Data[mediaType], &data); err == nil && shown == "" {
			shown = string(data)
		}
	}
	if data, ok := o.Data["application/json"]; ok && shown == "" {
		shown = string(data)
	}
	return plain(shown)
}

// escapeSequence is how a terminal is told of colours.
var escapeSequence = regexp.MustCompile(`\x1b\[[0-9;?]*[ -/]*[@-~]`)

// plain is text without what only a terminal understands.
func plain(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			return -1
		}
		return r
	}, escapeSequence.ReplaceAllString(text, ""))
}

// cutText keeps the first bytes of a text, and says so.
func cutText(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	for !utf8.RuneStart(text[limit]) {
		limit--
	}
	return fmt.Sprintf("%s\n[%d more bytes are not shown. A shell command can get them out of the file.]", text[:limit], len(text)-limit)
}
