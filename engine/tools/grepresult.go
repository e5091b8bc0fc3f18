package tools

import (
	"fmt"
	"strings"

	"takeback/engine"
)

// result tells what was found.
func (g *grep) result(mode string) engine.ToolResult {
	report := grepReport{Mode: mode, Filenames: []string{}}
	var text string
	switch mode {
	case "content":
		text = g.content(&report)
	case "count":
		text = g.counts(&report)
	default:
		text = g.names(&report)
	}
	report.NumFiles = len(report.Filenames)
	if g.cut > 0 {
		text += fmt.Sprintf("\n[Files that were not searched to their end, or not at all, since they or their lines are too long: %d.]", g.cut)
	}
	return success(text+unreadableNote(g.unreadable), report)
}

// names lists the files that have a match.
func (g *grep) names(report *grepReport) string {
	paths := g.newest.paths()
	for i, path := range paths {
		paths[i] = strings.ToValidUTF8(g.name(path), "\uFFFD")
	}
	p := g.page(paths, g.newest.total)
	report.Filenames = append(report.Filenames, p.shown...)
	switch g.newest.total {
	case 0:
		return "No files found"
	case 1:
		return "Found 1 file" + p.text()
	}
	return fmt.Sprintf("Found %d files", g.newest.total) + p.text()
}

// content shows the lines that match.
func (g *grep) content(report *grepReport) string {
	var lines, from []string // from: the file of each line
	for i, f := range g.inOrder.files {
		if i > 0 && g.before+g.after > 0 {
			lines, from = append(lines, separator), append(from, "")
		}
		for _, line := range f.lines {
			lines, from = append(lines, line), append(from, f.path)
		}
	}
	p := g.page(lines, 0)
	g.report(report, from[p.first:p.first+len(p.shown)])
	content, n := strings.Join(p.shown, "\n"), len(p.shown)
	report.Content, report.NumLines = &content, &n
	if len(lines) == 0 {
		return "No matches found"
	}
	return strings.TrimPrefix(p.text(), "\n")
}

// counts tells how often each file matches.
func (g *grep) counts(report *grepReport) string {
	var lines, from []string
	for _, f := range g.inOrder.files {
		lines, from = append(lines, f.lines...), append(from, f.path)
	}
	p := g.page(lines, 0)
	g.report(report, from[p.first:p.first+len(p.shown)])
	content, total := strings.Join(p.shown, "\n"), 0
	for _, f := range g.inOrder.files[p.first : p.first+len(p.shown)] {
		total += f.matched
	}
	report.Content, report.NumMatches = &content, &total
	if len(lines) == 0 {
		return "No matches found"
	}
	return strings.TrimPrefix(p.text(), "\n") + fmt.Sprintf("\nMatches: %d, files: %d.", total, len(p.shown))
}

// report names each file of from once.
func (g *grep) report(report *grepReport, from []string) {
	last := ""
	for _, path := range from {
		if path != last && path != "" {
			report.Filenames = append(report.Filenames, g.name(path))
			last = path
		}
	}
}

// resultPage is the part of a result that is shown.
type resultPage struct {
	shown        []string
	first, total int
	more         bool
}

// page cuts the wanted part out of all that was found; total is 0 if it is not known.
func (g *grep) page(all []string, total int) resultPage {
	p := resultPage{first: min(g.offset, len(all)), total: total}
	size := 0
	for _, entry := range all[p.first:] {
		if size += len(entry) + 1; len(p.shown) == g.limit || size > maxPageBytes && len(p.shown) > 0 {
			p.more = true
			break
		}
		p.shown = append(p.shown, entry)
	}
	return p
}

// text is the page, each entry behind a line feed, and what lies around it.
func (p *resultPage) text() string {
	var b strings.Builder
	for _, entry := range p.shown {
		b.WriteString("\n" + entry)
	}
	last := p.first + len(p.shown)
	switch {
	case len(p.shown) == 0:
		fmt.Fprintf(&b, "\n[There is nothing from offset %d on.]", p.first)
	case p.more && p.total > 0:
		fmt.Fprintf(&b, "\n[These are %d to %d of %d. For more, give offset %d.]", p.first+1, last, p.total, last)
	case p.more:
		fmt.Fprintf(&b, "\n[These are %d to %d. For more, give offset %d.]", p.first+1, last, last)
	}
	return b.String()
}
