package tools

import (
	"fmt"
	"strings"
	"testing"
)

func TestOutput(t *testing.T) {
	for shift := range 8 {
		for _, chunk := range []int{1, 7, 4096, 1 << 20} {
			text := strings.Repeat("x", shift) + strings.Repeat("😀", 100_000)
			var o output
			for rest := []byte(text); len(rest) > 0; {
				n, err := o.Write(rest[:min(chunk, len(rest))])
				if err != nil {
					t.Fatal(err)
				}
				rest = rest[n:]
			}
			head, tail, _ := strings.Cut(o.String(), "\n… ")
			_, tail, _ = strings.Cut(tail, " …\n")
			note := fmt.Sprintf("\n… %d bytes cut …\n", len(text)-len(head)-len(tail))
			if got := o.String(); got != head+note+tail || !strings.HasPrefix(text, head) || !strings.HasSuffix(text, tail) ||
				len(head)+len(tail) < maxOutput-8 {
				t.Fatalf("shift %d, chunks of %d: %s", shift, chunk, shorten(got))
			}
		}
	}
	for _, size := range []int{0, 1, maxOutput / 2, maxOutput/2 + 1, maxOutput} {
		var o output
		o.Write([]byte(strings.Repeat("x", size)))
		if got := o.String(); got != strings.Repeat("x", size) {
			t.Errorf("%d bytes come back as %d", size, len(got))
		}
	}
}
