package main

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// rooms says which of our packages each package may import: the layers of the
// program, from the wire and the disk up to the command. A name that ends in /... stands for
// all below it. Tests may import what they like.
var rooms = map[string][]string{
	"cmd/takeback":           {"..."},
	"schemas":                {},
	"protocol":               {"schemas"},
	"protocol/peer":          {"protocol"},
	"filehistory":            {"filehistory/..."},
	"filehistory/...":        {"filehistory/..."},
	"engine":                 {"protocol", "protocol/peer", "filehistory", "engine/session", "schemas"},
	"engine/session":         {"protocol"},
	"engine/model":           {}, // tests that both models pass
	"engine/model/anthropic": {"engine", "protocol"},
	"engine/model/script":    {"engine", "protocol"},
	"engine/tools":           {"engine", "protocol", "filehistory", "schemas"},
	"sdk-tests/...":          {"..."},
}

// owners are the packages that may import an SDK, or say something of the process.
var owners = map[string]string{
	"github.com/anthropics/anthropic-sdk-go": "engine/model/anthropic",
	"github.com/spf13/pflag":                 "cmd/takeback",
}

func TestImportsFollowTheRooms(t *testing.T) {
	out, err := exec.Command("go", "list", "-f", `{{.ImportPath}} {{join .Imports " "}}`, "takeback/...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	packages := 0
	for line := range strings.Lines(string(out)) {
		fields := strings.Fields(line)
		from := strings.TrimPrefix(fields[0], "takeback/")
		packages++
		allowed, ok := room(from)
		if !ok {
			t.Errorf("%s has no room: add it to the table, or move it", from)
		}
		for _, imported := range fields[1:] {
			if to, ours := strings.CutPrefix(imported, "takeback/"); ours {
				if to == "filehistory" && strings.HasPrefix(from, "filehistory/") || !matchesAny(allowed, to) {
					t.Errorf("%s must not import %s", from, to)
				}
			}
			for library, owner := range owners {
				if strings.HasPrefix(imported, library) && from != owner && !strings.HasPrefix(from, "sdk-tests/") {
					t.Errorf("%s must not import %s, which is for %s alone", from, imported, owner)
				}
			}
		}
	}
	if packages < 10 {
		t.Errorf("go list told of %d packages only", packages)
	}
}

func room(pkg string) ([]string, bool) {
	if allowed, ok := rooms[pkg]; ok {
		return allowed, true
	}
	for pattern, allowed := range rooms {
		if strings.HasSuffix(pattern, "/...") && matches(pattern, pkg) {
			return allowed, true
		}
	}
	return nil, false
}

func matchesAny(patterns []string, pkg string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return matches(p, pkg) })
}

func matches(pattern, pkg string) bool {
	if prefix, ok := strings.CutSuffix(pattern, "..."); ok {
		return strings.HasPrefix(pkg, prefix)
	}
	return pattern == pkg
}
