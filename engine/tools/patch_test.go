package tools

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestPatch(t *testing.T) {
	got := patch("1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n13\n14", "1\n2\n3\n4\nfive\n6\n7\n8\n9\n10\n11\n12\n13\n14\n")
	want := []hunk{
		{2, 7, 2, 7, []string{" 2", " 3", " 4", "-5", "+five", " 6", " 7", " 8"}},
		{11, 4, 11, 4, []string{" 11", " 12", " 13", "-14", `\ No newline at end of file`, "+14"}},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
}

func TestPatch_bounds(t *testing.T) {
	long := strings.Repeat("x\n", 100)
	if got := patch(long, strings.Repeat("y\n", maxReported)); len(got) != 0 {
		t.Errorf("a patch of %d lines for too long a change", len(got[0].Lines))
	}
	big := strings.Repeat("context\n", maxCompared/40)
	if got := patch(big+"a\n"+big, big+"b\n"+big); len(got) != 1 || len(got[0].Lines) != 8 {
		t.Errorf("no patch for a small change in a big file: %v", got)
	}
	if got := patch(big+big+big+big, big); len(got) != 0 {
		t.Error("a patch for too big a file")
	}
	var old, new strings.Builder
	for i := range 6000 {
		fmt.Fprintf(&old, "%d\n", i)
		fmt.Fprintf(&new, "%d\n", -i*7919%6000)
	}
	start := time.Now()
	if got := patch(old.String(), new.String()); len(got) != 1 || got[0].OldLines < 5990 {
		t.Errorf("not replaced as a whole: %d hunks", len(got))
	}
	if took := time.Since(start); took > 5*time.Second {
		t.Errorf("took %v", took)
	}
}

func TestPatch_property(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		old := toLF(lines.Draw(t, "old") + lines.Draw(t, "old") + lines.Draw(t, "old"))
		new := toLF(lines.Draw(t, "new"))
		if rapid.Bool().Draw(t, "similar") {
			new = strings.Replace(old, "a", "b\n", 1)
		}
		old, new = strings.ReplaceAll(old, "\r", ""), strings.ReplaceAll(new, "\r", "")
		if got := apply(old, patch(old, new)); got != new {
			t.Fatalf("patched to %q", got)
		}
	})
}

// apply carries a patch out, as a host would that shows or repeats the change.
func apply(old string, hunks []hunk) string {
	rest, at := splitLines(old), 1
	var b strings.Builder
	take := func() string {
		text := rest[0]
		rest, at = rest[1:], at+1
		return text
	}
	for _, h := range hunks {
		for at < h.OldStart {
			b.WriteString(take())
		}
		for i, l := range h.Lines {
			switch l[0] {
			case ' ':
				b.WriteString(take())
			case '-':
				take()
			case '+':
				b.WriteString(l[1:])
				if i+1 == len(h.Lines) || h.Lines[i+1][0] != '\\' {
					b.WriteByte('\n')
				}
			}
		}
	}
	return b.String() + strings.Join(rest, "")
}
