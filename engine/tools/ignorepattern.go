package tools

import (
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"
)

// compileIgnore translates a pattern of git's into a regular expression; nil if it can
// match nothing. Not doublestar: that has braces, lacks [[:alpha:]], and lets "a/**" match a
// itself. A regular expression cannot be made to take long, either.
func compileIgnore(glob string) *regexp.Regexp {
	var b strings.Builder
	b.WriteString(`(?s)\A`)
	for i := 0; i < len(glob); {
		switch c := glob[i]; c {
		case '*':
			stars := len(glob[i:]) - len(strings.TrimLeft(glob[i:], "*"))
			expr, n := starsExpr(glob, i, stars)
			b.WriteString(expr)
			i += n
		case '?':
			b.WriteString(`[^/]`)
			i++
		case '[':
			expr, n := classExpr(glob[i:])
			if n == 0 {
				return nil
			}
			b.WriteString(expr)
			i += n
		case '\\':
			if i++; i == len(glob) {
				return nil
			}
			fallthrough
		default:
			_, n := utf8.DecodeRuneInString(glob[i:])
			b.WriteString(regexp.QuoteMeta(glob[i : i+n]))
			i += n
		}
	}
	b.WriteString(`\z`)
	compiled, err := regexp.Compile(b.String())
	if err != nil {
		return nil
	}
	return compiled
}

// starsExpr translates the asterisks at glob[i:], and tells how much of glob that is.
// Two or more between slashes stand for any number of folders.
func starsExpr(glob string, i, stars int) (expr string, n int) {
	rest := glob[i+stars:]
	if stars < 2 || i > 0 && glob[i-1] != '/' || rest != "" && rest[0] != '/' {
		return `[^/]*`, stars
	}
	if rest == "" {
		return `.*`, stars
	}
	return `(?:.*/)?`, stars + 1
}

// posixClasses are the named classes, without the slash, which no class matches.
var posixClasses = map[string]string{
	"alnum": `0-9A-Za-z`, "alpha": `A-Za-z`, "blank": `\t `, "cntrl": `\x00-\x1F\x7F`, "digit": `0-9`,
	"graph": `!-.0-~`, "lower": `a-z`, "print": ` -.0-~`, "punct": `!-.:-@\[-` + "`" + `{-~`,
	"space": `\t\n\v\f\r `, "upper": `A-Z`, "xdigit": `0-9A-Fa-f`,
}

// classExpr translates the bracket expression that glob begins with, and tells its length; 0 if it is none.
func classExpr(glob string) (expr string, n int) {
	var set strings.Builder
	i := 1
	negated := i < len(glob) && (glob[i] == '!' || glob[i] == '^')
	if negated {
		i++
	}
	for first := true; ; first = false {
		if i >= len(glob) {
			return "", 0
		}
		if glob[i] == ']' && !first {
			break
		}
		if strings.HasPrefix(glob[i:], "[:") {
			name, _, closed := strings.Cut(glob[i+2:], ":]")
			if members, ok := posixClasses[name]; closed && ok {
				set.WriteString(members)
				i += len(name) + len("[::]")
				continue
			}
			if closed && !strings.Contains(name, "]") {
				return "", 0
			}
		}
		low, size := classMember(glob[i:])
		i += size
		high := low
		if i+1 < len(glob) && glob[i] == '-' && glob[i+1] != ']' {
			high, size = classMember(glob[i+1:])
			i += 1 + size
		}
		if size == 0 {
			return "", 0
		}
		addRange(&set, low, high)
	}
	switch {
	case negated:
		expr = `[^/` + set.String() + `]`
	case set.Len() == 0:
		expr = `[^\x00-\x{10FFFF}]`
	default:
		expr = `[` + set.String() + `]`
	}
	return expr, i + 1
}

// classMember reads a character of a bracket expression; its size is 0 if there is none.
func classMember(glob string) (r rune, size int) {
	escaped := 0
	if strings.HasPrefix(glob, `\`) {
		escaped = 1
	}
	r, size = utf8.DecodeRuneInString(glob[escaped:])
	if size == 0 {
		return 0, 0
	}
	return r, escaped + size
}

// addRange adds the characters from low to high to a class, without the slash.
func addRange(set *strings.Builder, low, high rune) {
	if low <= '/' && '/' <= high {
		addRange(set, low, '/'-1)
		addRange(set, '/'+1, high)
	} else if low <= high {
		fmt.Fprintf(set, `\x{%X}-\x{%X}`, low, high)
	}
}
