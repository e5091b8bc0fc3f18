package tools

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"image"
	"image/gif"
	"image/jpeg"
	"image/png"
	"strings"
	"testing"

	"takeback/protocol"
)

func encodeImage(t *testing.T, format string, width, height int) string {
	t.Helper()
	var b bytes.Buffer
	pixels := image.NewGray(image.Rect(0, 0, width, height))
	var err error
	switch format {
	case "png":
		err = png.Encode(&b, pixels)
	case "jpeg":
		err = jpeg.Encode(&b, pixels, nil)
	case "gif":
		err = gif.Encode(&b, pixels, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// webP is a picture of one pixel.
var webP, _ = base64.StdEncoding.DecodeString("UklGRiQAAABXRUJQVlA4IBgAAAAwAQCdASoBAAEAAgA0JaQAA3AA/vuUAAA=")

// source is the source of an image block, as the API gets it from the result of a tool.
func source(t *testing.T, content protocol.Content) (mediaType, raw string) {
	t.Helper()
	encoded, err := protocol.Marshal(protocol.ToolResult("id", content, false))
	if err != nil {
		t.Fatal(err)
	}
	var block struct {
		Content []struct {
			Type   string `json:"type"`
			Source struct {
				Type      string `json:"type"`
				MediaType string `json:"media_type"`
				Data      []byte `json:"data"`
			} `json:"source"`
		} `json:"content"`
	}
	if err := protocol.Unmarshal(encoded, &block); err != nil {
		t.Fatal(err)
	}
	for _, b := range block.Content {
		if b.Type == "image" && b.Source.Type == "base64" {
			return b.Source.MediaType, string(b.Source.Data)
		}
	}
	t.Fatalf("no image in %s", encoded)
	return "", ""
}

func TestRead_image(t *testing.T) {
	b := newBench(t, nil)
	for format, content := range map[string]string{
		"png": encodeImage(t, "png", 8000, 10), "jpeg": encodeImage(t, "jpeg", 3, 2), "gif": encodeImage(t, "gif", 3, 2), "webp": string(webP),
	} {
		b.put("picture.txt", content)
		result := b.run(t.Context(), "Read", args{"file_path": "picture.txt"})
		if mediaType, raw := source(t, result.Content); mediaType != "image/"+format || raw != content {
			t.Errorf("%s: %d bytes of %s", format, len(raw), mediaType)
		}
		var report struct {
			Type string    `json:"type"`
			File imageFile `json:"file"`
		}
		if err := protocol.Unmarshal(result.Report, &report); err != nil {
			t.Fatal(err)
		}
		want := imageFile{base64.StdEncoding.EncodeToString([]byte(content)), "image/" + format, int64(len(content))}
		if report.Type != "image" || report.File != want {
			t.Errorf("%s: report %s", format, shorten(string(result.Report)))
		}
		b.ok("Write", args{"file_path": "picture.txt", "content": "it was seen"})
	}
}

// Every image that the API might refuse is refused here: it would stay in the conversation.
func TestRead_imageRefused(t *testing.T) {
	b := newBench(t, nil)
	small := encodeImage(t, "png", 3, 2)
	for name, c := range map[string]struct{ content, want string }{
		"wide":     {encodeImage(t, "png", 8001, 1), "8001 × 1 pixels"},
		"high":     {encodeImage(t, "gif", 1, 8001), "1 × 8001 pixels"},
		"heavy":    {small + strings.Repeat("x", maxImageBytes), fmt.Sprintf("%d bytes, more than %d", len(small)+maxImageBytes, maxImageBytes)},
		"cut":      {small[:len(small)-5], "not complete"},
		"cut jpeg": {strings.TrimSuffix(encodeImage(t, "jpeg", 3, 2), "\xff\xd9"), "not complete"},
		"cut webp": {string(webP[:40]), "not complete"},
		"garbled":  {"\x89PNG\r\n\x1a\n" + strings.Repeat("x", 100), "damaged"},
		"pdf":      {"%PDF-1.7\n", "is a PDF"},
	} {
		b.put(name, c.content)
		b.fails("Read", args{"file_path": name}, c.want, b.path(name))
	}
	b.put("fits", small+strings.Repeat("x", maxImageBytes-len(small)))
	b.ok("Read", args{"file_path": "fits"})
}

func TestRead_notebook(t *testing.T) {
	b := newBench(t, nil)
	picture := encodeImage(t, "png", 3, 2)
	encoded := base64.StdEncoding.EncodeToString([]byte(picture))
	b.put("n.ipynb", strings.Replace(notebook45, `      "1\n"
     ]
    }`, `"\u001b[31mred\u001b[0m\n"]},
    {"output_type": "display_data", "metadata": {}, "data": {"text/plain": ["<Figure>"], "image/png": "`+encoded[:20]+`\n`+encoded[20:]+`\n"}},
    {"output_type": "execute_result", "data": {"text/html": "<b>", "text/plain": "bold", "image/png": "AAAA"}},
    {"output_type": "error", "ename": "E", "evalue": "v", "traceback": []}`, 1))
	result := b.run(t.Context(), "Read", args{"file_path": "n.ipynb"})
	want := `<cell id="intro" type="markdown">
# Übersicht
tab	here / there
</cell>
<cell id="load" type="code julia">
x = 1
x
</cell>
<output of="load">
red
</output>
<output of="load">
<Figure>
</output>
IMAGE<output of="load">
bold
</output>
[An image (image/png) is not shown: it is not PNG, JPEG, GIF or WebP.]
<output of="load">
E: v
</output>
<cell id="raw" type="raw">

</cell>
`
	var got strings.Builder
	for _, block := range result.Content {
		if block.Type == "image" {
			got.WriteString("IMAGE")
		} else {
			got.WriteString(*block.Text)
		}
	}
	if got.String() != want {
		t.Errorf("text\n%s", got.String())
	}
	if _, raw := source(t, result.Content); raw != picture {
		t.Error("another picture")
	}
	var report struct {
		Type string       `json:"type"`
		File notebookFile `json:"file"`
	}
	if err := protocol.Unmarshal(result.Report, &report); err != nil {
		t.Fatal(err)
	}
	cells := report.File.Cells
	if report.Type != "notebook" || report.File.FilePath != b.path("n.ipynb") || len(cells) != 3 || cells[1].CellID != "load" ||
		*cells[1].Count != 3 || len(cells[1].Outputs) != 4 || cells[1].Outputs[1].Image.Data != encoded {
		t.Errorf("report %s", result.Report)
	}
}

func TestRead_notebookBounds(t *testing.T) {
	b := newBench(t, nil)
	cell := `{"cell_type":"code","metadata":{},"source":"` + strings.Repeat("x", 20_000) + `","outputs":[{"output_type":"stream","text":"` + strings.Repeat("é", 20_000) + `"}],"execution_count":1}`
	b.put("n.ipynb", `{"cells":[`+strings.Repeat(cell+",", 19)+cell+`],"nbformat":4,"nbformat_minor":4}`)
	text := b.ok("Read", args{"file_path": "n.ipynb"})
	if len(text) > 2*maxPageBytes || !strings.Contains(text, "cells 1 to 4 of 20. To read on, give offset 5.") || !strings.Contains(text, "[30000 more bytes are not shown") {
		t.Errorf("%d bytes, ends in %q", len(text), text[len(text)-200:])
	}
	if text := b.ok("Read", args{"file_path": "n.ipynb", "offset": 20, "limit": 1}); !strings.HasPrefix(text, `<cell id="cell-19"`) {
		t.Errorf("text %s", shorten(text))
	}
	b.fails("Read", args{"file_path": "n.ipynb", "offset": 21}, "only 20 cells")
	b.put("empty.ipynb", withoutCells)
	if text := b.ok("Read", args{"file_path": "empty.ipynb"}); !strings.Contains(text, "without cells") {
		t.Errorf("text %q", text)
	}

	many := strings.Repeat(`{"output_type":"stream","text":"`+strings.Repeat("x", 9999)+`"},`, 999) + `{}`
	b.put("n.ipynb", `{"cells":[{"cell_type":"code","source":"","outputs":[`+many+`]}],"nbformat":4}`)
	if text := b.ok("Read", args{"file_path": "n.ipynb"}); len(text) > 3*maxPageBytes || !strings.Contains(text, "more outputs of this cell") {
		t.Errorf("%d bytes", len(text))
	}
	b.put("n.ipynb", `{"cells":[{"cell_type":"code","source":"","outputs":[`+many+`]}],"nbformat":4}`)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if result := b.run(ctx, "Read", args{"file_path": "n.ipynb"}); !result.IsError {
		t.Error("a Read went on that was cancelled")
	}
}
