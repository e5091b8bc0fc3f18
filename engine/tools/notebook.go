package tools

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-json/jsontext"
	"github.com/google/uuid"

	"takeback/protocol"
)

// notebook is a Jupyter notebook of format 4, as text that is edited cell by cell.
type notebook struct {
	before, after string // white space around it
	top           *container
	array         *container // the cells as text
	cells         []cell
	withIDs       bool // its format wants an id for every cell
	language      string
	style         style
}

// cell is what a cell says of itself. Further members stay in its text.
type cell struct {
	Type    string         `json:"cell_type"`
	ID      string         `json:"id"`
	Source  text           `json:"source"`
	Count   *float64       `json:"execution_count"`
	Outputs jsontext.Value `json:"outputs"`
}

// text is a text as notebooks hold it: a string, or a list of strings that are joined.
type text string

// UnmarshalJSON accepts both.
func (t *text) UnmarshalJSON(data []byte) error {
	if jsontext.Value(data).Kind() != '[' {
		return protocol.Unmarshal(data, (*string)(t))
	}
	var lines []string
	err := protocol.Unmarshal(data, &lines)
	*t = text(strings.Join(lines, ""))
	return err
}

// isNotebook tells whether path names a notebook that NotebookEdit can change.
func isNotebook(path, content string) bool {
	if !namesNotebook(path) {
		return false
	}
	_, err := parseNotebook(content)
	return err == nil
}

func namesNotebook(path string) bool { return strings.EqualFold(filepath.Ext(path), ".ipynb") }

func parseNotebook(content string) (*notebook, error) {
	const white = " \t\r\n"
	n := &notebook{}
	inner := strings.TrimLeft(content, white)
	n.before = content[:len(content)-len(inner)]
	inner, n.after = strings.TrimRight(inner, white), inner[len(strings.TrimRight(inner, white)):]
	var err error
	if n.top, err = parseContainer(inner); err != nil {
		return nil, err
	}
	if n.top.brackets != "{}" {
		return nil, errors.New("it is not an object")
	}
	var head struct {
		Format   float64 `json:"nbformat"`
		Minor    float64 `json:"nbformat_minor"`
		Metadata struct {
			LanguageInfo struct {
				Name string `json:"name"`
			} `json:"language_info"`
			Kernel struct {
				Language string `json:"language"`
			} `json:"kernelspec"`
		} `json:"metadata"`
	}
	if err := protocol.Unmarshal([]byte(inner), &head); err != nil {
		return nil, err
	}
	cells := n.top.find("cells")
	switch {
	case head.Format != 0 && head.Format != 4:
		return nil, fmt.Errorf("its nbformat is %v, and only 4 is understood: `jupyter nbconvert --to notebook` converts it", head.Format)
	case head.Format == 0 || cells < 0:
		return nil, errors.New("nbformat or cells are missing")
	}
	if n.array, err = parseContainer(n.top.items[cells].value); err != nil {
		return nil, err
	}
	if n.array.brackets != "[]" {
		return nil, errors.New("its cells are no list")
	}
	n.cells = make([]cell, len(n.array.items))
	for i, it := range n.array.items {
		if err := protocol.Unmarshal([]byte(it.value), &n.cells[i]); err != nil {
			return nil, fmt.Errorf("cell %d: %w", i, err)
		}
		if n.cells[i].Type == "" {
			return nil, fmt.Errorf("cell %d has no cell_type", i)
		}
	}
	n.withIDs, n.language = head.Minor >= 5, head.Metadata.LanguageInfo.Name
	if n.language == "" {
		n.language = head.Metadata.Kernel.Language
	}
	n.style = styleOf(inner, n.top)
	return n, nil
}

// name is what a cell is called towards the model: its id, else its number.
func (n *notebook) name(i int) string {
	if id := n.cells[i].ID; id != "" {
		return id
	}
	return "cell-" + strconv.Itoa(i)
}

// find gives the index of the cell with a name. Numbers only name cells without an
// id: where there are ids, a number is one that the model made up.
func (n *notebook) find(name string) (int, error) {
	found := -1
	for i := range n.cells {
		if n.name(i) != name && !(n.cells[i].ID == "" && strconv.Itoa(i) == name) {
			continue
		}
		if found >= 0 {
			return 0, refuse("cells %d and %d, counted from 0, both have the id %q. Give them ids of their own with a shell command", found, i, name)
		}
		found = i
	}
	if found < 0 {
		return 0, refuse("it has no cell %q. Read shows the ids of its %d cells", name, len(n.cells))
	}
	return found, nil
}

// String is the text of the notebook.
func (n *notebook) String() string {
	n.top.items[n.top.find("cells")].value = n.array.String()
	return n.before + n.top.String() + n.after
}

// replace gives a cell a new source, and another type unless that is "". A code
// cell loses its outputs: they are not those of the new source.
func (n *notebook) replace(i int, source, kind string) error {
	c, err := parseContainer(n.array.items[i].value)
	if err != nil {
		return err
	}
	if at := c.find("source"); at < 0 {
		c.set("source", n.sourceText(source, c.items[0].lead, nil), n.style)
	} else if old := &c.items[at]; strings.HasPrefix(old.value, "[") {
		old.value = n.sourceText(source, old.lead, literals(old.value))
	} else {
		old.value = n.style.literal(source)
	}
	if kind == "" {
		kind = n.cells[i].Type
	}
	if kind != n.cells[i].Type {
		c.set("cell_type", n.style.literal(kind), n.style)
	}
	if kind == "code" {
		c.set("outputs", "[]", n.style)
		c.set("execution_count", "null", n.style)
		c.unset("attachments")
	} else {
		c.unset("outputs")
		c.unset("execution_count")
	}
	n.array.items[i].value = c.String()
	return nil
}

// insert puts a new cell in at index i, and gives its name.
func (n *notebook) insert(i int, source, kind string) (name string, err error) {
	s := n.style
	// The layout is that of the first cell; in an empty notebook, what follows from the outermost level.
	cells := n.top.items[n.top.find("cells")]
	outer := ""
	if multiline(cells.lead) {
		outer = cells.lead + s.unit
	}
	inner, asList := "", true
	if multiline(outer) {
		inner = outer + s.unit
	}
	if len(n.cells) > 0 {
		first, err := parseContainer(n.array.items[0].value)
		if err != nil {
			return "", err
		}
		outer, inner = n.array.items[0].lead, first.items[0].lead
		if at := first.find("source"); at >= 0 {
			asList = strings.HasPrefix(first.items[at].value, "[")
		}
	}
	text := s.literal(source)
	if asList {
		text = n.sourceText(source, inner, nil)
	}
	fresh := cell{Type: kind}
	members := []string{s.member("cell_type", s.literal(kind))}
	if kind == "code" {
		members = append(members, s.member("execution_count", "null"))
	}
	if n.withIDs {
		fresh.ID = n.newID()
		members = append(members, s.member("id", s.literal(fresh.ID)))
	}
	members = append(members, s.member("metadata", "{}"))
	if kind == "code" {
		members = append(members, s.member("outputs", "[]"))
	}
	members = append(members, s.member("source", text))

	it := item{value: s.join("{}", members, outer)}
	if len(n.cells) > 0 {
		n.array.insert(i, it, s)
	} else {
		it.lead = outer
		n.array.items = []item{it}
		if n.array.end = ""; multiline(outer) {
			n.array.end = cells.lead
		}
	}
	n.cells = slices.Insert(n.cells, i, fresh)
	return n.name(i), nil
}

// delete takes a cell out.
func (n *notebook) delete(i int) {
	n.array.remove(i)
	n.cells = slices.Delete(n.cells, i, i+1)
}

// sourceText makes the list of lines that is a cell's source, in a line indented by
// outer. Lines that were there before are written as they were.
func (n *notebook) sourceText(source, outer string, known map[string]string) string {
	lines := splitLines(source)
	for i, line := range lines {
		text, ok := known[line]
		if !ok {
			text = n.style.literal(line)
		}
		lines[i] = text
	}
	return n.style.join("[]", lines, outer)
}

// literals gives, for each string of a list, the text that it has there.
func literals(list string) map[string]string {
	known := map[string]string{}
	c, err := parseContainer(list)
	if err != nil {
		return known
	}
	for _, it := range c.items {
		if line, err := jsontext.AppendUnquote(nil, it.value); err == nil {
			known[string(line)] = it.value
		}
	}
	return known
}

// newID makes an id as nbformat does.
func (n *notebook) newID() string {
	for {
		id := uuid.NewString()[:8]
		if !slices.ContainsFunc(n.cells, func(c cell) bool { return c.ID == id }) {
			return id
		}
	}
}
