package tools

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestReplace(t *testing.T) {
	for _, c := range []struct{ name, text, old, new, want string }{
		{"one line", "a b c", "b", "B", "a B c"},
		{"CRLF file", "a\r\nb\r\nc\r\n", "a\nb", "a\nx\ny", "a\r\nx\r\ny\r\nc\r\n"},
		{"CRLF file, lines taken out", "a\r\nb\r\nc\r\n", "b\n", "", "a\r\nc\r\n"},
		{"CRLF file, line at the end", "a\r\nb", "b", "b\nc", "a\r\nb\r\nc"},
		{"CRLF file, match begins with a line end", "a\r\nb\r\n", "\nb", "\nB", "a\r\nB\r\n"},
		{"CRLF file, match is a line end", "a\r\nb", "\n", " ", "a b"},
		{"LF file, CRLF given", "a\nb\n", "a", "x\r\ny", "x\r\ny\nb\n"},
		{"mixed, context keeps its endings", "a\r\nb\nc\r\nd\n", "a\nb\nc", "a\nB\nc", "a\r\nB\nc\r\nd\n"},
		{"mixed, endings of the neighbourhood", "a\nb\r\nc\r\n", "b", "b\nB", "a\nb\r\nB\r\nc\r\n"},
		{"CR alone", "a\rb\rc", "b", "x\ny", "a\rx\ny\rc"},
		{"CR to the letter", "a\r\nb\r\n", "a\r\nb", "a\nb", "a\nb\r\n"},
		{"CR doubled", "a\r\r\nb", "b", "B", "a\r\r\nB"},
		{"into an empty file", "", "", "new\n", "new\n"},
		{"parts of a character", "é", "é", "è", "è"},
	} {
		got, count, err := replace(c.text, c.old, c.new, false)
		if err != nil || got != c.want || count != 1 {
			t.Errorf("%s: %q, %d, %v; want %q", c.name, got, count, err, c.want)
		}
	}
}

func TestReplace_refused(t *testing.T) {
	for _, c := range []struct{ text, old, want string }{
		{"abc", "x", "does not occur"},
		{"a a a", "a", "occurs 3 times"},
		{"a\r\na\n", "a\n", "occurs 2 times"},
		{"a\n", "a\r\n", "does not occur"},
		{"abc", "", "old_string is empty"},
	} {
		if got, _, err := replace(c.text, c.old, "new", false); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q in %q: %q, %v", c.old, c.text, got, err)
		}
	}
}

// lines are texts with few different characters and many line endings.
var lines = rapid.Custom(func(t *rapid.T) string {
	parts := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "é", "\n", "\r\n", "\r"}), 0, 12)
	return strings.Join(parts.Draw(t, "parts"), "")
})

func toLF(text string) string { return strings.ReplaceAll(text, "\r\n", "\n") }

// Seen with line feeds only, as the model sees it, a replacement is the plain one.
func TestReplace_property(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		before, after := lines.Draw(t, "before"), lines.Draw(t, "after")
		old := strings.ReplaceAll(lines.Draw(t, "old"), "\r", "") + "z" // a mark, so that it occurs once
		new := strings.ReplaceAll(lines.Draw(t, "new"), "\r", "")
		var stored strings.Builder // old, as the file has it
		for _, r := range old {
			if r == '\n' && rapid.Bool().Draw(t, "CRLF") {
				stored.WriteByte('\r')
			}
			stored.WriteRune(r)
		}
		if strings.HasSuffix(before, "\r") && strings.HasPrefix(old, "\n") {
			t.Skip("the CR before belongs to the first line ending of old")
		}
		text := before + stored.String() + after

		got, count, err := replace(text, old, new, false)
		if err != nil || count != 1 {
			t.Fatalf("%d places, %v", count, err)
		}
		if !strings.HasPrefix(got, before) || !strings.HasSuffix(got, after) {
			t.Fatalf("%q became %q: the surroundings changed", text, got)
		}
		if strings.HasSuffix(before, "\r") && strings.HasPrefix(new+after, "\n") {
			return // a CR and a line feed that were apart have met
		}
		if want := toLF(before) + new + toLF(after); toLF(got) != want {
			t.Fatalf("%q became %q, want %q but for line endings", text, got, want)
		}
	})
}

// In a file with one kind of line ending, all that is put in has it too.
func TestReplace_uniformEndings(t *testing.T) {
	plain := rapid.Map(lines, func(s string) string { return strings.ReplaceAll(s, "\r", "") })
	rapid.Check(t, func(t *rapid.T) {
		text, new := "a\n"+plain.Draw(t, "text"), plain.Draw(t, "new")
		start := rapid.IntRange(0, len(text)-1).Draw(t, "start")
		old := text[start:rapid.IntRange(start+1, len(text)).Draw(t, "end")]
		want := strings.ReplaceAll(text, old, new)
		if got, _, err := replace(text, old, new, true); err != nil || got != want {
			t.Fatalf("LF: %q, %v; want %q", got, err, want)
		}
		wantCRLF := strings.ReplaceAll(want, "\n", "\r\n")
		if got, _, err := replace(strings.ReplaceAll(text, "\n", "\r\n"), old, new, true); err != nil || got != wantCRLF {
			t.Fatalf("CRLF: %q, %v; want %q", got, err, wantCRLF)
		}
	})
}
