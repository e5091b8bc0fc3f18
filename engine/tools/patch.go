package tools

import (
	"strings"

	"github.com/sergi/go-diff/diffmatchpatch"
)

const (
	// maxReported bounds, in bytes, an original and a patch. A host gets neither beyond it: it has the
	// file, and megabytes for each edit are of no use to it.
	maxReported = 256 << 10
	// maxCompared bounds, in bytes, what is compared for a patch.
	maxCompared = 8 << 20
	// maxDiffed bounds the lines that differ: the time grows with the square.
	maxDiffed = 4000
	// contextLines surround every change of a patch.
	contextLines = 3
)

// hunk is one part of a patch, as jsdiff shapes it: starts count from 1 also where there are no lines.
type hunk struct {
	OldStart int      `json:"oldStart"`
	OldLines int      `json:"oldLines"`
	NewStart int      `json:"newStart"`
	NewLines int      `json:"newLines"`
	Lines    []string `json:"lines"`
}

// lineDiff is one line of a comparison: ' ', '-' or '+', and its text with its ending.
type lineDiff struct {
	op   byte
	text string
}

// patch shows how old became new. It is empty if that is too much to be shown.
func patch(old, new string) []hunk {
	hunks := []hunk{}
	if len(old)+len(new) > maxCompared {
		return hunks
	}
	size := 0
	diffs := compareLines(splitLines(old), splitLines(new))
	oldLine, newLine := 1, 1
	for i := 0; i < len(diffs); {
		if diffs[i].op == ' ' {
			oldLine, newLine, i = oldLine+1, newLine+1, i+1
			continue
		}
		from, to := max(0, i-contextLines), hunkEnd(diffs, i)
		h := hunk{OldStart: oldLine - (i - from), NewStart: newLine - (i - from)}
		if size += h.add(diffs[from:to]); size > maxReported {
			return []hunk{}
		}
		hunks = append(hunks, h)
		oldLine, newLine, i = h.OldStart+h.OldLines, h.NewStart+h.NewLines, to
	}
	return hunks
}

// hunkEnd is the end of the hunk whose first change is diffs[i]: changes whose
// surroundings touch are shown together.
func hunkEnd(diffs []lineDiff, i int) int {
	changed := i
	for ; i < len(diffs) && i <= changed+2*contextLines; i++ {
		if diffs[i].op != ' ' {
			changed = i
		}
	}
	return min(len(diffs), changed+1+contextLines)
}

// add adds lines and gives their size in bytes.
func (h *hunk) add(diffs []lineDiff) (size int) {
	for _, d := range diffs {
		if d.op != '+' {
			h.OldLines++
		}
		if d.op != '-' {
			h.NewLines++
		}
		size += len(d.text)
		text, ended := strings.CutSuffix(d.text, "\n")
		h.Lines = append(h.Lines, string(d.op)+strings.TrimSuffix(text, "\r"))
		if !ended {
			h.Lines = append(h.Lines, `\ No newline at end of file`)
		}
	}
	return size
}

// compareLines compares line by line. Equal ends are set aside first, which is
// cheap and leaves little of most edits; if what remains is too much, it counts
// as replaced as a whole.
func compareLines(old, new []string) []lineDiff {
	var diffs []lineDiff
	add := func(op byte, lines []string) {
		for _, text := range lines {
			diffs = append(diffs, lineDiff{op, text})
		}
	}
	head, tail := sharedEnds(old, new)
	add(' ', old[:head])
	oldMiddle, newMiddle := old[head:len(old)-tail], new[head:len(new)-tail]
	if len(oldMiddle)+len(newMiddle) > maxDiffed {
		add('-', oldMiddle)
		add('+', newMiddle)
	} else {
		for _, d := range diffLines(strings.Join(oldMiddle, ""), strings.Join(newMiddle, "")) {
			add(map[diffmatchpatch.Operation]byte{
				diffmatchpatch.DiffEqual: ' ', diffmatchpatch.DiffDelete: '-', diffmatchpatch.DiffInsert: '+',
			}[d.Type], splitLines(d.Text))
		}
	}
	add(' ', old[len(old)-tail:])
	return diffs
}

func diffLines(old, new string) []diffmatchpatch.Diff {
	dmp := diffmatchpatch.New()
	dmp.DiffTimeout = 0 // a time limit would make the patch depend on the load of the machine
	oldRunes, newRunes, lines := dmp.DiffLinesToRunes(old, new)
	return dmp.DiffCharsToLines(dmp.DiffMainRunes(oldRunes, newRunes, false), lines)
}

// splitLines cuts text behind each line feed.
func splitLines(text string) []string {
	lines := strings.SplitAfter(text, "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	return lines
}
