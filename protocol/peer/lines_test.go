package peer

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
)

// readLines gives each line as its length, its error and its text.
func readLines(r *lineReader) (lines []string) {
	for {
		line, length, err := r.next()
		if err != nil && !errors.Is(err, errLongLine) {
			return lines
		}
		lines = append(lines, fmt.Sprintf("%d %v %s", length, err, line))
	}
}

func TestLines(t *testing.T) {
	const limit = 100
	x := func(n int) string { return strings.Repeat("x", n) }
	good := func(s string) string { return fmt.Sprintf("%d <nil> %s", len(s), s) }
	long := func(n int) string { return fmt.Sprintf("%d %v %s", n, errLongLine, x(limit)) }
	for _, tt := range []struct {
		name, input string
		want        []string
	}{
		{"nothing", "", nil},
		{"lines", "a\nbc\n", []string{good("a"), good("bc")}},
		{"no LF at the end", "a\nbc", []string{good("a"), good("bc")}},
		{"blank lines", "\n\na\n\n", []string{good(""), good(""), good("a"), good("")}},
		{"LF only", "a\rb\u2028c\u0085\v\fd\r\n", []string{good("a\rb\u2028c\u0085\v\fd\r")}},
		{"limit -1", x(limit-1) + "\na", []string{good(x(limit - 1)), good("a")}},
		{"limit", x(limit) + "\na", []string{good(x(limit)), good("a")}},
		{"limit at the end", x(limit), []string{good(x(limit))}},
		{"limit +1", x(limit+1) + "\na", []string{long(limit + 1), good("a")}},
		{"limit +1 at the end", x(limit + 1), []string{long(limit + 1)}},
		{"far over the limit", x(10*readSize) + "\na\n", []string{long(10 * readSize), good("a")}},
		{"long lines in a row", x(200) + "\n" + x(300) + "\n" + x(readSize) + "\na\n", []string{long(200), long(300), long(readSize), good("a")}},
	} {
		for chunks, in := range map[string]io.Reader{
			"whole":       strings.NewReader(tt.input),
			"one byte":    iotest.OneByteReader(strings.NewReader(tt.input)),
			"half":        iotest.HalfReader(strings.NewReader(tt.input)),
			"data + EOF":  iotest.DataErrReader(strings.NewReader(tt.input)),
			"with errors": io.MultiReader(strings.NewReader(tt.input), iotest.ErrReader(io.ErrUnexpectedEOF)),
		} {
			got := readLines(newLineReader(in, limit))
			if !slices.Equal(got, tt.want) {
				t.Errorf("%s, %s:\n got %.300q\nwant %.300q", tt.name, chunks, got, tt.want)
			}
		}
	}
}

func TestLinesAroundTheBuffer(t *testing.T) {
	var input, want strings.Builder
	for _, size := range []int{readSize, 2 * readSize, 3*readSize + 7} {
		for n := size - 2; n <= size+2; n++ {
			line := strings.Repeat(string(rune('a'+n%26)), n)
			input.WriteString(line + "\n")
			fmt.Fprintf(&want, "%d <nil> %s\n", n, line)
		}
	}
	got := strings.Join(readLines(newLineReader(strings.NewReader(input.String()), maxLine)), "\n") + "\n"
	if got != want.String() {
		t.Error("lines differ")
	}
}

func TestHugeLineGivesItsBufferBack(t *testing.T) {
	r := newLineReader(strings.NewReader(strings.Repeat("x", 5*bufKept)+"\n"+strings.Repeat("y", 5*bufKept)+"\na\n"), 3*bufKept)
	for _, want := range []int{5 * bufKept, 5 * bufKept, 1} {
		line, length, err := r.next()
		if length != want || (err != nil) != (want > 1) {
			t.Fatalf("got %d bytes, %v", length, err)
		}
		if want > 1 && (len(line) != headLen || cap(r.buf) > bufKept) {
			t.Errorf("a skipped line keeps %d bytes in a buffer of %d", len(line), cap(r.buf))
		}
	}
	r = newLineReader(strings.NewReader(strings.Repeat("x", 5*bufKept)+"\na\n"), maxLine)
	for range 2 {
		if _, _, err := r.next(); err != nil {
			t.Fatal(err)
		}
	}
	if cap(r.buf) > bufKept {
		t.Errorf("a buffer of %d is kept", cap(r.buf))
	}
}

func TestLongLine(t *testing.T) {
	long := strings.Repeat("x", 2000)
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Options{})
		r.conn.in.max = 1000
		r.conn.Serve(r)
		r.run(
			in(prompt("a"), prompt(long), prompt("b")), saw("user a", "user b"), out(),
			complained(fmt.Sprintf("takeback: stdin: line of %d bytes: longer than 1000 bytes\n", len(prompt(long)))),

			in(strings.Replace(request("r"), "work", long, 1), request("s")), saw("request s work"),
			out(failed("r", "the request cannot be read: longer than 1000 bytes")), reply("s"), out(ok("s")),

			in(`{"type":"control_request","request":{"subtype":"`+long+`"},"request_id":"r"}`), saw(), out(),
			eof, saw("eof"), closes(nil),
		)
	})
}

// However input is chopped up, the same comes out.
func TestChunks(t *testing.T) {
	input := strings.Join([]string{
		"\ufeff" + prompt("é✓😀\u2028"), "", request("r") + "\r", "{garbage", cancelled("r"),
		`{"type":"update_environment_variables","variables":{"A":"1"}}`, request("r"), request("s"), "  ", prompt("last"),
	}, "\n")
	want := []string{"user é✓😀\u2028", "request r work", "environment map[A:1]", "request s work", "user last", "eof"}
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 0))
	for name, chunk := range map[string]func() int{
		"1": func() int { return 1 }, "2": func() int { return 2 }, "3": func() int { return 3 }, "7": func() int { return 7 },
		"all": func() int { return len(input) }, fmt.Sprint("random, seed ", seed): func() int { return 1 + random.IntN(40) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, Options{})
				r.conn.Serve(r)
				for rest := []byte(input); len(rest) > 0; {
					n := min(chunk(), len(rest))
					if _, err := r.stdin.Write(rest[:n]); err != nil {
						t.Fatal(err)
					}
					rest = rest[n:]
				}
				r.run(eof, saw(want...), canceled("r", true), reply("r"), reply("s"), closes(nil),
					out(failed("r", "there is already an open request with this request_id"), ok("r"), ok("s")))
			})
		})
	}
}

// FuzzResync puts anything before a good line: what is good is still heard, and what goes out are whole lines.
func FuzzResync(f *testing.F) {
	f.Add([]byte("{\"type\":\"control_request\",\"request_id\":\"r\"}\n{\"type\":\"control_request\",\"request_id\":\"r\""))
	f.Add([]byte("\xff\x00\r\n\n{}"))
	f.Add([]byte(strings.Repeat("x", 2000)))
	f.Fuzz(func(t *testing.T, garbage []byte) {
		in := io.MultiReader(bytes.NewReader(garbage), strings.NewReader("\n"+prompt("still here")+"\n"))
		out := &stdout{}
		conn := New(in, out, Options{MaxFrame: 500})
		conn.in.max = 1000
		h := &lastUser{eof: make(chan struct{})}
		conn.Serve(h)
		<-h.eof
		_ = conn.Close()
		if h.text != "still here" {
			t.Errorf("the last message was %q", h.text)
		}
		for _, line := range out.writes {
			if len(line) > 500 || strings.Count(line, "\n") != 1 || !strings.HasSuffix(line, "}\n") {
				t.Errorf("wrote %q", line)
			}
		}
	})
}
