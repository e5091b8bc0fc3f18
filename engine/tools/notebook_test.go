package tools

import (
	"regexp"
	"strings"
	"testing"

	"github.com/goccy/go-json/jsontext"

	"takeback/engine"
	"takeback/protocol"
)

// notebook45 is as nbformat 4.5 writes it, with things that nobody may lose.
const notebook45 = `{
 "cells": [
  {
   "cell_type": "markdown",
   "id": "intro",
   "metadata": {},
   "source": [
    "# Übersicht\n",
    "tab\there \/ there"
   ]
  },
  {
   "cell_type": "code",
   "execution_count": 3,
   "id": "load",
   "metadata": {
    "tags": ["a", "b"]
   },
   "outputs": [
    {
     "name": "stdout",
     "output_type": "stream",
     "text": [
      "1\n"
     ]
    }
   ],
   "source": [
    "x = 1\n",
    "x"
   ],
   "vendor": 1.50e+2
  },
  {
   "cell_type": "raw",
   "id": "raw",
   "metadata": {},
   "source": []
  }
 ],
 "metadata": {
  "language_info": {
   "name": "julia"
  },
  "zzz": 12345678901234567890.10,
  "aaa": null
 },
 "nbformat": 4,
 "nbformat_minor": 5
}
`

// notebook44 has no ids, and sources that are one string.
const notebook44 = "{\r\n\t\"nbformat\" : 4,\r\n\t\"nbformat_minor\" : 4,\r\n\t\"metadata\" : {},\r\n\t\"cells\" : [\r\n\t\t{\r\n\t\t\t\"cell_type\" : \"code\",\r\n\t\t\t\"metadata\" : {},\r\n\t\t\t\"source\" : \"a\\nb\",\r\n\t\t\t\"outputs\" : [ ],\r\n\t\t\t\"execution_count\" : null\r\n\t\t},\r\n\t\t{\r\n\t\t\t\"cell_type\" : \"markdown\",\r\n\t\t\t\"metadata\" : {},\r\n\t\t\t\"source\" : \"caf\\u00e9\"\r\n\t\t}\r\n\t]\r\n}"

const compact = `{"nbformat":4,"nbformat_minor":2,"metadata":{},"cells":[{"cell_type":"code","metadata":{},"source":["a"],"outputs":[],"execution_count":1}]}`

const inLine = `{"cells": [{"cell_type": "markdown", "attachments": {"a": 1}, "source": "a"}, {"cell_type": "raw", "source": "b"}], "nbformat": 4, "nbformat_minor": 4}`

const withoutCells = "{\n  \"cells\": [],\n  \"metadata\": {},\n  \"nbformat\": 4,\n  \"nbformat_minor\": 4\n}\n"

// A passage of the notebook and what it becomes: all other bytes stay.
func TestNotebookEdit(t *testing.T) {
	b := newBench(t, nil)
	for _, c := range []struct {
		name, notebook string
		in             args
		old, new       string
	}{
		{"source", notebook45, args{"cell_id": "intro", "new_source": "# Übersicht\nnew \"line\"\nmore"},
			`    "tab\there \/ there"`, "    \"new \\\"line\\\"\\n\",\n    \"more\""},
		{"kept lines", notebook45, args{"cell_id": "intro", "new_source": "naïve\ntab\there / there"},
			`"# Übersicht\n"`, `"naïve\n"`},
		{"outputs go", notebook45, args{"cell_id": "load", "new_source": "x = 1\nx"},
			notebook45[strings.Index(notebook45, `3,`):strings.Index(notebook45, "],\n   \"source\": [\n    \"x")],
			"null,\n   \"id\": \"load\",\n   \"metadata\": {\n    \"tags\": [\"a\", \"b\"]\n   },\n   \"outputs\": ["},
		{"emptied", notebook45, args{"cell_id": "intro", "new_source": ""},
			"[\n    \"# Übersicht\\n\",\n    \"tab\\there \\/ there\"\n   ]", "[]"},
		{"empty filled", notebook45, args{"cell_id": "raw", "new_source": "r"},
			`"source": []`, "\"source\": [\n    \"r\"\n   ]"},
		{"code to markdown", notebook44, args{"cell_id": "cell-0", "new_source": "é", "cell_type": "markdown"},
			"\"code\",\r\n\t\t\t\"metadata\" : {},\r\n\t\t\t\"source\" : \"a\\nb\",\r\n\t\t\t\"outputs\" : [ ],\r\n\t\t\t\"execution_count\" : null",
			"\"markdown\",\r\n\t\t\t\"metadata\" : {},\r\n\t\t\t\"source\" : \"\\u00e9\""},
		{"markdown to code", notebook44, args{"cell_id": "1", "new_source": "😀", "cell_type": "code"},
			"\"markdown\",\r\n\t\t\t\"metadata\" : {},\r\n\t\t\t\"source\" : \"caf\\u00e9\"",
			"\"code\",\r\n\t\t\t\"execution_count\" : null,\r\n\t\t\t\"metadata\" : {},\r\n\t\t\t\"outputs\" : [],\r\n\t\t\t\"source\" : \"\\ud83d\\ude00\""},
		{"compact", compact, args{"cell_id": "cell-0", "new_source": "b\nc"},
			`["a"],"outputs":[],"execution_count":1`, `["b\n","c"],"outputs":[],"execution_count":null`},
		{"insert behind", notebook45, args{"cell_id": "intro", "new_source": "y\n", "cell_type": "code", "edit_mode": "insert"},
			"here \\/ there\"\n   ]\n  },", "here \\/ there\"\n   ]\n  },\n  {\n   \"cell_type\": \"code\",\n   \"execution_count\": null,\n   \"id\": \"NEWID\",\n   \"metadata\": {},\n   \"outputs\": [],\n   \"source\": [\n    \"y\\n\"\n   ]\n  },"},
		{"insert last", notebook45, args{"cell_id": "raw", "new_source": "", "cell_type": "markdown", "edit_mode": "insert"},
			"\"source\": []\n  }", "\"source\": []\n  },\n  {\n   \"cell_type\": \"markdown\",\n   \"id\": \"NEWID\",\n   \"metadata\": {},\n   \"source\": []\n  }"},
		{"insert first", notebook44, args{"new_source": "a\nb", "cell_type": "markdown", "edit_mode": "insert"},
			"[\r\n\t\t{", "[\r\n\t\t{\r\n\t\t\t\"cell_type\" : \"markdown\",\r\n\t\t\t\"metadata\" : {},\r\n\t\t\t\"source\" : \"a\\nb\"\r\n\t\t},\r\n\t\t{"},
		{"insert compact", compact, args{"new_source": "# A", "cell_type": "markdown", "edit_mode": "insert"},
			`"cells":[`, `"cells":[{"cell_type":"markdown","metadata":{},"source":["# A"]},`},
		{"insert in line", inLine, args{"cell_id": "0", "new_source": "c", "cell_type": "markdown", "edit_mode": "insert"},
			`"a"}, `, `"a"}, {"cell_type": "markdown", "metadata": {}, "source": "c"}, `},
		{"insert first in line", inLine, args{"new_source": "c", "cell_type": "markdown", "edit_mode": "insert"},
			`[`, `[{"cell_type": "markdown", "metadata": {}, "source": "c"}, `},
		{"delete first in line", inLine, args{"cell_id": "0", "edit_mode": "delete"},
			`{"cell_type": "markdown", "attachments": {"a": 1}, "source": "a"}, `, ""},
		{"attachments", inLine, args{"cell_id": "0", "new_source": "x", "cell_type": "code"},
			`"markdown", "attachments": {"a": 1}, "source": "a"`, `"code", "execution_count": null, "outputs": [], "source": "x"`},
		{"insert the first one", withoutCells, args{"new_source": "# A", "cell_type": "markdown", "edit_mode": "insert"},
			`[]`, "[\n    {\n      \"cell_type\": \"markdown\",\n      \"metadata\": {},\n      \"source\": [\n        \"# A\"\n      ]\n    }\n  ]"},
		{"delete first", notebook45, args{"cell_id": "intro", "edit_mode": "delete"},
			notebook45[strings.Index(notebook45, "  {\n   \"cell_type\": \"markdown\""):strings.Index(notebook45, "  {\n   \"cell_type\": \"code\"")], ""},
		{"delete last", notebook45, args{"cell_id": "raw", "edit_mode": "delete", "new_source": "ignored"},
			",\n  {\n   \"cell_type\": \"raw\",\n   \"id\": \"raw\",\n   \"metadata\": {},\n   \"source\": []\n  }", ""},
		{"delete the only one", compact, args{"cell_id": "0", "edit_mode": "delete"},
			compact[strings.Index(compact, `{"cell_type"`):strings.LastIndex(compact, "]")], ""},
		{"byte order mark", "\xEF\xBB\xBF" + compact, args{"cell_id": "0", "new_source": "b"},
			`["a"],"outputs":[],"execution_count":1`, `["b"],"outputs":[],"execution_count":null`},
	} {
		t.Run(c.name, func(t *testing.T) {
			b.t = t
			b.put("n.ipynb", c.notebook)
			b.ok("Read", args{"file_path": "n.ipynb"})
			c.in["notebook_path"] = "n.ipynb"
			var report notebookEditReport
			b.report("NotebookEdit", c.in, &report)
			if strings.Count(c.notebook, c.old) != 1 {
				t.Fatalf("%q is not once in the notebook", c.old)
			}
			want := strings.Replace(c.notebook, c.old, strings.ReplaceAll(c.new, "NEWID", report.CellID), 1)
			b.holds("n.ipynb", want)
			if strings.Contains(c.new, "NEWID") && !regexp.MustCompile(`^[0-9a-f]{8}$`).MatchString(report.CellID) {
				t.Errorf("new id %q", report.CellID)
			}
			if report.OriginalFile == nil || report.UpdatedFile == nil || *report.OriginalFile != strings.TrimPrefix(c.notebook, "\xEF\xBB\xBF") {
				t.Errorf("report %+v", report)
			}
			// What was written is known: the next edit needs no Read.
			b.ok("NotebookEdit", args{"notebook_path": "n.ipynb", "new_source": "z", "cell_type": "code", "edit_mode": "insert"})
		})
	}
}

func TestNotebookEdit_report(t *testing.T) {
	b := newBench(t, nil)
	b.put("n.ipynb", notebook45)
	b.ok("Read", args{"file_path": "n.ipynb"})
	var report notebookEditReport
	b.report("NotebookEdit", args{"notebook_path": "n.ipynb", "cell_id": "load", "new_source": "y"}, &report)
	report.OriginalFile, report.UpdatedFile = nil, nil
	if want := (notebookEditReport{
		NewSource: "y", CellID: "load", CellType: "code", Language: "julia", EditMode: "replace", NotebookPath: b.path("n.ipynb"),
	}); report != want {
		t.Errorf("report %+v", report)
	}

	b.put("big.ipynb", strings.Replace(notebook45, `"1\n"`, `"`+strings.Repeat("1", maxReported)+`"`, 1))
	b.ok("Read", args{"file_path": "big.ipynb"})
	b.report("NotebookEdit", args{"notebook_path": "big.ipynb", "cell_id": "load", "new_source": "y"}, &report)
	if report.OriginalFile != nil || report.UpdatedFile == nil {
		t.Errorf("report %+v", report)
	}
}

func TestNotebookEdit_refused(t *testing.T) {
	b := newBench(t, nil)
	replace := args{"cell_id": "load", "new_source": "y"}
	for _, c := range []struct {
		name, content string
		in            args
		want          string
	}{
		{"n.ipynb", notebook45, args{"cell_id": "nope", "new_source": ""}, `no cell "nope"`},
		{"n.ipynb", notebook45, args{"cell_id": "cell-1", "new_source": ""}, `no cell "cell-1"`},
		{"n.ipynb", notebook44, args{"cell_id": "cell-2", "new_source": ""}, `no cell "cell-2"`},
		{"n.ipynb", notebook45, args{"new_source": ""}, "cell_id is missing"},
		{"n.ipynb", notebook45, args{"edit_mode": "delete"}, "cell_id is missing"},
		{"n.ipynb", notebook45, args{"cell_id": "load"}, "new_source is missing"},
		{"n.ipynb", notebook45, args{"new_source": "", "edit_mode": "insert"}, "cell_type is missing"},
		{"n.ipynb", notebook45, args{"cell_id": "raw", "new_source": ""}, "like this already"},
		{"n.ipynb", strings.ReplaceAll(notebook45, "intro", "load"), replace, "cells 0 and 1"},
		{"n.ipynb", notebook45[:200], replace, "not a valid notebook"},
		{"n.ipynb", notebook45 + "x", replace, "more behind its end"},
		{"n.ipynb", "[]", replace, "not an object"},
		{"n.ipynb", "{}", replace, "missing"},
		{"n.ipynb", `{"cells": {}, "nbformat": 4}`, replace, "not a valid notebook"},
		{"n.ipynb", strings.Replace(notebook45, `"nbformat": 4`, `"nbformat": 3`, 1), replace, "nbconvert"},
		{"n.ipynb", strings.Replace(notebook45, `"cell_type": "raw"`, `"x": 1`, 1), replace, "cell 2 has no cell_type"},
		{"n.ipynb", "caf\xE9", replace, "not valid UTF-8"},
		{"n.json", notebook45, replace, "does not end in .ipynb"},
	} {
		b.put(c.name, c.content)
		b.run(t.Context(), "Read", args{"file_path": c.name})
		c.in["notebook_path"] = c.name
		b.fails("NotebookEdit", c.in, c.want, b.path(c.name), "was not changed")
		b.holds(c.name, c.content)
	}
	b.put("unread.ipynb", notebook45)
	b.fails("NotebookEdit", args{"notebook_path": "unread.ipynb", "cell_id": "load", "new_source": ""}, "Read it first")
	b.ok("Read", args{"file_path": "unread.ipynb"})
	b.put("unread.ipynb", notebook44)
	b.fails("NotebookEdit", args{"notebook_path": "unread.ipynb", "cell_id": "load", "new_source": ""}, "has changed since")
	b.fails("NotebookEdit", args{"notebook_path": "missing.ipynb", "cell_id": "load", "new_source": ""}, "does not exist", "Write")
}

// A notebook is edited by cells, and a broken one as text.
func TestEdit_notebook(t *testing.T) {
	b := newBench(t, nil)
	b.put("n.ipynb", notebook45)
	b.ok("Read", args{"file_path": "n.ipynb"})
	b.fails("Edit", args{"file_path": "n.ipynb", "old_string": "x = 1", "new_string": "x = 2"}, "NotebookEdit")
	b.holds("n.ipynb", notebook45)

	b.put("n.ipynb", "<<<<<<< ours\n"+notebook45)
	if text := b.ok("Read", args{"file_path": "n.ipynb"}); !strings.HasPrefix(text, "1\t<<<<<<< ours\n2\t{\n") {
		t.Errorf("text %q", text)
	}
	b.ok("Edit", args{"file_path": "n.ipynb", "old_string": "<<<<<<< ours\n", "new_string": ""})
	b.holds("n.ipynb", notebook45)
}

func TestRewind_notebook(t *testing.T) {
	b, store := newHistory(t)
	for name, content := range map[string]string{"a.ipynb": notebook45, "b.ipynb": notebook44} {
		b.put(name, content)
		b.ok("Read", args{"file_path": name})
		b.ok("NotebookEdit", args{"notebook_path": name, "new_source": "new", "cell_type": "code", "edit_mode": "insert"})
	}
	b.ok("NotebookEdit", args{"notebook_path": "a.ipynb", "cell_id": "load", "edit_mode": "delete"})
	b.ok("NotebookEdit", args{"notebook_path": "b.ipynb", "cell_id": "cell-1", "new_source": "changed"})
	if report := b.rewind(store); len(report.Files) != 2 {
		t.Errorf("restored %+v", report.Files)
	}
	b.holds("a.ipynb", notebook45)
	b.holds("b.ipynb", notebook44)
}

func TestNotebookEdit_access(t *testing.T) {
	b := newBench(t, nil)
	got := notebookEditTool{b.set}.Access(jsontext.Value(`{"notebook_path":"d/../n.ipynb"}`))
	if want := (engine.Access{Kind: engine.Edit, Path: b.path("n.ipynb")}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// Whatever the notebook: cutting it up and putting it together gives the same bytes,
// an edit leaves the other cells and all else alone, and its result is a notebook.
func FuzzNotebook(f *testing.F) {
	for _, n := range []string{notebook45, notebook44, compact, withoutCells} {
		f.Add(n, "a\nb", 0)
	}
	f.Add(`{"cells":[{"cell_type":"code","cell_type":"raw","source":"","source":["x" , "y"]}],"cells":[ ],"nbformat":4}`, "é\n", 2)
	f.Fuzz(func(t *testing.T, content, source string, at int) {
		source = strings.ToValidUTF8(source, "\uFFFD")
		n, err := parseNotebook(content)
		if err != nil {
			return
		}
		if got := n.String(); got != content {
			t.Fatalf("put together again: %q", got)
		}
		all := members(t, content)
		check := func(what string, edit func(n *notebook) []cell) {
			n, _ := parseNotebook(content)
			want := edit(n)
			after, err := parseNotebook(n.String())
			if err != nil {
				t.Fatalf("%s: %v in %q", what, err, n.String())
			}
			if len(after.cells) != len(want) {
				t.Fatalf("%s: %d cells, want %d", what, len(after.cells), len(want))
			}
			for i, c := range want {
				if got := after.cells[i]; got.Type != c.Type || got.Source != c.Source || got.ID != c.ID {
					t.Fatalf("%s: cell %d is %+v, want %+v", what, i, got, c)
				}
			}
			for key, value := range members(t, n.String()) {
				if key != "cells" && string(all[key]) != string(value) {
					t.Fatalf("%s: %q became %s", what, key, value)
				}
			}
		}
		at = int(uint(at) % uint(len(n.cells)+1))
		check("insert", func(n *notebook) []cell {
			if _, err := n.insert(at, source, "code"); err != nil {
				t.Fatal(err)
			}
			n.cells[at].Source = text(source)
			return n.cells
		})
		if at == len(n.cells) {
			return
		}
		check("delete", func(n *notebook) []cell { n.delete(at); return n.cells })
		check("replace", func(n *notebook) []cell {
			if err := n.replace(at, source, "markdown"); err != nil {
				t.Fatal(err)
			}
			n.cells[at].Source, n.cells[at].Type = text(source), "markdown"
			return n.cells
		})
	})
}

func members(t *testing.T, object string) map[string]jsontext.Value {
	var m map[string]jsontext.Value
	if err := protocol.Unmarshal([]byte(object), &m); err != nil {
		t.Fatal(err)
	}
	return m
}
