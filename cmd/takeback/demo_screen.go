package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/sergi/go-diff/diffmatchpatch"
)

// screen is where the demo is shown; in colour if a person is likely to see it.
type screen struct {
	out    io.Writer
	colour bool
}

func newScreen() *screen {
	info, err := os.Stdout.Stat()
	terminal := err == nil && info.Mode()&os.ModeCharDevice != 0
	return &screen{out: os.Stdout, colour: terminal && os.Getenv("NO_COLOR") == ""}
}

const (
	bold  = "1"
	red   = "31"
	green = "32"
	blue  = "34"
)

func (s *screen) paint(code, text string) string {
	if !s.colour || code == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

func (s *screen) title(format string, args ...any) {
	fmt.Fprintf(s.out, "\n%s\n", s.paint(bold, fmt.Sprintf(format, args...)))
}

func (s *screen) line(format string, args ...any) {
	fmt.Fprintf(s.out, "  %s\n", fmt.Sprintf(format, args...))
}

func (s *screen) change(verb, path string) {
	fmt.Fprintf(s.out, "  %s %s\n", s.paint(blue, fmt.Sprintf("%-8s", verb)), path)
}

func (s *screen) proof(format string, args ...any) {
	fmt.Fprintf(s.out, "  %s %s\n", s.paint(green, "✓"), fmt.Sprintf(format, args...))
}

// diff shows how the lines of a file would change.
func (s *screen) diff(path string, from, to entry) {
	if from.mode.IsDir() || to.mode.IsDir() {
		s.line("%s%c", path, os.PathSeparator)
		return
	}
	s.line("%s", path)
	lines := diffmatchpatch.New()
	a, b, table := lines.DiffLinesToChars(string(from.content), string(to.content))
	for _, d := range lines.DiffCharsToLines(lines.DiffMain(a, b, false), table) {
		sign, colour := " ", ""
		switch d.Type {
		case diffmatchpatch.DiffInsert:
			sign, colour = "+", green
		case diffmatchpatch.DiffDelete:
			sign, colour = "-", red
		}
		for text := bufio.NewScanner(strings.NewReader(d.Text)); text.Scan(); {
			s.line("  %s", s.paint(colour, sign+" "+text.Text()))
		}
	}
}
