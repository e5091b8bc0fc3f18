package lines

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func source(text string) Source {
	return Source{ReaderAt: strings.NewReader(text), Size: int64(len(text))}
}

// shortest is the textbook table.
func shortest(a, b [][]byte) (inserted, deleted int) {
	common := make([][]int, len(a)+1)
	for i := range common {
		common[i] = make([]int, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if bytes.Equal(a[i], b[j]) {
				common[i][j] = common[i+1][j+1] + 1
			} else {
				common[i][j] = max(common[i+1][j], common[i][j+1])
			}
		}
	}
	return len(b) - common[0][0], len(a) - common[0][0]
}

func TestCountIsLeast(t *testing.T) {
	text := rapid.Custom(func(t *rapid.T) string {
		lines := rapid.SliceOfN(rapid.SampledFrom([]string{"", "a", "b", "c", "long line", "é"}), 0, 12).Draw(t, "lines")
		text := strings.Join(lines, "\n")
		if rapid.Bool().Draw(t, "feed") {
			text += "\n"
		}
		return text
	})
	rapid.Check(t, func(t *rapid.T) {
		a, b := text.Draw(t, "a"), text.Draw(t, "b")
		inserted, deleted, err := Count(source(a), source(b))
		if err != nil {
			t.Fatal(err)
		}
		wantInserted, wantDeleted := shortest(split([]byte(a)), split([]byte(b)))
		if inserted != wantInserted || deleted != wantDeleted {
			t.Fatalf("+%d -%d, want +%d -%d", inserted, deleted, wantInserted, wantDeleted)
		}
	})
}

func TestCountLarge(t *testing.T) {
	var same strings.Builder
	for i := range 300_000 {
		fmt.Fprintf(&same, "line %d of a long file\n", i)
	}
	long := same.String()
	half := strings.Index(long, "line 150000 ")
	for _, c := range []struct {
		name, a, b        string
		inserted, deleted int
	}{
		{"equal", long, long, 0, 0},
		{"one line changed", long, long[:half] + "x" + long[half:], 1, 1},
		{"one line added", long, long[:half] + "new\n" + long[half:], 1, 0},
		{"cut in a line", long, long[:half+3], 1, 150_000},
		{"emptied", long, "", 0, 300_000},
		{"no last feed", long, long[:len(long)-1], 1, 1},
		{"moved, too long to align", long, long[half:] + long[:half], 150_000, 150_000},
		{"other from end to end", strings.Repeat("a\n", 5<<20), strings.Repeat("b\n", 5<<20), 5 << 20, 5 << 20},
	} {
		inserted, deleted, err := Count(source(c.a), source(c.b))
		if err != nil {
			t.Fatal(err)
		}
		if c.name == "moved, too long to align" { // counted whole
			c.inserted, c.deleted = 300_000, 300_000
		}
		if inserted != c.inserted || deleted != c.deleted {
			t.Errorf("%s: +%d -%d, want +%d -%d", c.name, inserted, deleted, c.inserted, c.deleted)
		}
	}
}

func TestBinary(t *testing.T) {
	for text, want := range map[string]bool{
		"": false, "text\n": false, "a\x00b": true, "\xff\xfea\x00": true, "\xc4\xe3": true, "公共": false,
		strings.Repeat("公", sniffSize):                    false,
		strings.Repeat("x", sniffSize-1) + "é" + "\x00":   false,
		strings.Repeat("x", sniffSize-1) + "\xff" + "abc": true,
	} {
		if got, err := source(text).Binary(); got != want || err != nil {
			t.Errorf("%.20q: %v, %v", text, got, err)
		}
	}
}

func BenchmarkCountAlign(b *testing.B) {
	var x, y strings.Builder
	for i := range maxLines / 2 {
		fmt.Fprintln(&x, i)
		fmt.Fprintln(&y, maxLines/2-i)
	}
	for b.Loop() {
		if _, _, err := Count(source(x.String()), source(y.String())); err != nil {
			b.Fatal(err)
		}
	}
}
