package session

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"takeback/protocol"
)

// The expected names were computed with the SDKs' own rule in Node.
func TestProjectName(t *testing.T) {
	long := "/" + strings.Repeat("abcdefghi/", 25)
	for cwd, want := range map[string]string{
		"/home/me/My.Project_1": "-home-me-My-Project-1",
		"/tmp/😀":                "-tmp---",
		"/tmp/e\u0301":          "-tmp--", // NFC: one letter
		"/tmp/漢字":               "-tmp---",
		long:                    strings.ReplaceAll(long, "/", "-")[:200] + "-uwz0zt",
	} {
		if _, got := projectNames(cwd); got != want {
			t.Errorf("%q: %q, want %q", cwd, got, want)
		}
	}
}

// The SDKs do not agree on folders whose names are not normalised: each finds the session.
func TestProjectNames_notNormalised(t *testing.T) {
	p := place(t)
	p.Cwd = filepath.Join(p.Cwd, "cafe\u0301")
	if err := os.Mkdir(p.Cwd, 0o755); err != nil {
		t.Fatal(err)
	}
	tr, _ := Create(p, uuid.NewString())
	fill(t, tr, line("user", ask))
	base := projectName(filepath.Dir(p.Cwd))
	for _, name := range []string{"-cafe-", "-caf-"} {
		if runtime.GOOS == "darwin" && name == "-cafe-" {
			continue
		}
		if _, err := os.Stat(filepath.Join(p.projects(), base+name, tr.ID()+".jsonl")); err != nil {
			t.Error(err)
		}
	}
}

func TestResume_notes(t *testing.T) {
	p := place(t)
	first, second := line("user", notice), line("user", `{"role":"user","content":"another"}`)
	first.IsMeta, second.IsMeta = true, true
	tr, _ := Create(p, uuid.NewString())
	last := line("assistant", done)
	fill(t, tr, line("user", ask), last, first, second)
	again, err := Resume(p, tr.ID())
	if err != nil {
		t.Fatal(err)
	}
	if got := shape(again.History()); got != "u(text)a(text)" || again.Last() != last.UUID {
		t.Errorf("history %s, last %s", got, again.Last())
	}
	if got := again.Notes(); !slices.Equal(got, []string{"note", "another"}) {
		t.Errorf("notes %q", got)
	}
}

func place(t *testing.T) Place {
	return Place{ConfigDir: filepath.Join(t.TempDir(), "config"), Cwd: t.TempDir(), Version: "1", Entrypoint: "test"}
}

func line(kind, message string) Line {
	return Line{Type: kind, UUID: uuid.NewString(), Message: []byte(message)}
}

func fill(t *testing.T, tr *Transcript, lines ...Line) {
	t.Helper()
	for _, l := range lines {
		if err := tr.Append(l); err != nil {
			t.Fatal(err)
		}
	}
	if err := tr.Close(); err != nil {
		t.Fatal(err)
	}
}

const (
	ask     = `{"role":"user","content":"do it"}`
	call1   = `{"id":"m1","role":"assistant","model":"x","content":[{"type":"tool_use","id":"t1","name":"Read","input":{}}]}`
	call2   = `{"id":"m1","role":"assistant","model":"x","content":[{"type":"tool_use","id":"t2","name":"Read","input":{}}]}`
	result1 = `{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"one"}]}`
	result2 = `{"role":"user","content":[{"type":"tool_result","tool_use_id":"t2","content":"two"}]}`
	done    = `{"id":"m2","role":"assistant","model":"x","content":[{"type":"text","text":"done"}]}`
	notice  = `{"role":"user","content":[{"type":"text","text":"note"}]}`
)

// shape tells a conversation in short: a letter for the role, the blocks' types behind it.
func shape(messages []protocol.Message) string {
	var b strings.Builder
	for _, m := range messages {
		fmt.Fprintf(&b, "%c(", m.Role[0])
		for i, block := range m.Content {
			if i > 0 {
				b.WriteByte(' ')
			}
			b.WriteString(block.Type)
			if block.IsError {
				b.WriteByte('!')
			}
		}
		b.WriteByte(')')
	}
	return b.String()
}

func TestResume(t *testing.T) {
	note := line("user", notice)
	note.IsMeta = true
	failure := line("assistant", `{"id":"e","role":"assistant","content":[{"type":"text","text":"529"}]}`)
	failure.IsAPIError = true
	for name, c := range map[string]struct {
		lines []Line
		want  string
	}{
		"a whole turn":        {[]Line{line("user", ask), line("assistant", call1), line("assistant", call2), line("user", result1), line("user", result2), line("assistant", done)}, "u(text)a(tool_use tool_use)u(tool_result tool_result)a(text)"},
		"two prompts":         {[]Line{line("user", ask), line("user", ask)}, "u(text)u(text)"},
		"a note":              {[]Line{note, line("user", ask), line("assistant", done)}, "u(text text)a(text)"},
		"killed in a call":    {[]Line{line("user", ask), line("assistant", call1)}, "u(text)a(tool_use)u(tool_result!)"},
		"killed between two":  {[]Line{line("user", ask), line("assistant", call1), line("assistant", call2), line("user", result2), line("user", ask)}, "u(text)a(tool_use tool_use)u(tool_result tool_result!)u(text)"},
		"killed, then a turn": {[]Line{line("user", ask), line("assistant", call1), line("user", ask), line("assistant", done)}, "u(text)a(tool_use)u(tool_result! text)a(text)"},
		"a stray result":      {[]Line{line("user", ask), line("user", result1), line("assistant", done)}, "u(text)a(text)"},
		"an API failure":      {[]Line{line("user", ask), failure, line("user", ask), line("assistant", done)}, "u(text)u(text)a(text)"},
	} {
		t.Run(name, func(t *testing.T) {
			p := place(t)
			tr, err := Create(p, uuid.NewString())
			if err != nil {
				t.Fatal(err)
			}
			fill(t, tr, c.lines...)
			again, err := Resume(p, tr.ID())
			if err != nil {
				t.Fatal(err)
			}
			if got := shape(again.History()); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
			if last := c.lines[len(c.lines)-1].UUID; again.Last() != last {
				t.Errorf("last %s, want %s", again.Last(), last)
			}
		})
	}
}

// Claude Code hangs calls that were made at once each to the one before, and a result to its call.
func TestResume_parallelCalls(t *testing.T) {
	const call3 = `{"id":"m1","role":"assistant","model":"x","content":[{"type":"tool_use","id":"t3","name":"Read","input":{}}]}`
	const result3 = `{"role":"user","content":[{"type":"tool_result","tool_use_id":"t3","content":"three"}]}`
	const want = "u(text)a(tool_use tool_use tool_use)u(tool_result tool_result tool_result)a(text)u(text)"
	for name, order := range map[string][]string{ // line: parent
		"results in any order":      {"U:", "A1:U", "A2:A1", "A3:A2", "R3:A3", "R2:A2", "R1:A1", "D:R1", "V:D"},
		"results as they were made": {"U:", "A1:U", "A2:A1", "A3:A2", "R1:A1", "R2:A2", "R3:A3", "D:R3", "V:D"},
		"results before all calls":  {"U:", "A1:U", "R1:A1", "A2:A1", "R2:A2", "A3:A2", "R3:A3", "D:R3", "V:D"},
		"an abandoned branch":       {"U:", "A1:U", "A2:A1", "A3:A2", "R1:A1", "R2:A2", "R3:A3", "X:U", "D:R3", "V:D"},
	} {
		t.Run(name, func(t *testing.T) {
			messages := map[string]string{"U": ask, "A1": call1, "A2": call2, "A3": call3, "R1": result1, "R2": result2, "R3": result3, "D": done, "V": ask, "X": done}
			p := place(t)
			id := uuid.NewString()
			if err := os.MkdirAll(p.folder(), 0o700); err != nil {
				t.Fatal(err)
			}
			var file strings.Builder
			for _, entry := range order {
				name, parent, _ := strings.Cut(entry, ":")
				kind := "user"
				if strings.Contains(messages[name], "assistant") {
					kind = "assistant"
				}
				fmt.Fprintf(&file, `{"type":%q,"uuid":%q,"parentUuid":%q,"message":%s}`+"\n", kind, name, parent, messages[name])
			}
			if err := os.WriteFile(filepath.Join(p.folder(), id+".jsonl"), []byte(file.String()), 0o600); err != nil {
				t.Fatal(err)
			}
			resumed, err := Resume(p, id)
			if err != nil {
				t.Fatal(err)
			}
			if got := shape(resumed.History()); got != want {
				t.Errorf("resumed: %s", got)
			}
			fork, err := Fork(p, id, uuid.NewString())
			if err != nil {
				t.Fatal(err)
			}
			fill(t, fork, line("assistant", done))
			again, err := Resume(p, fork.ID())
			if err != nil {
				t.Fatal(err)
			}
			if got := shape(again.History()); got != want+"a(text)" {
				t.Errorf("forked: %s", got)
			}
		})
	}
}

// Damage costs the lines that it hit, and nothing else.
func TestResume_damage(t *testing.T) {
	for name, c := range map[string]struct{ damage, by, want string }{
		"a prompt":           {`"uuid":"U2"`, "\x00", "u(text)a(text)u(text)a(text)u(text)a(text)"},
		"an answer":          {`"uuid":"A1"`, "\x00", "u(text)u(text)a(text)u(text)a(text)"},
		"the first prompt":   {`"uuid":"U1"`, "\x00", "u(text)a(text)u(text)a(text)u(text)a(text)"},
		"a number's type":    {`"version":"1"`, `"version":3`, "u(text)a(text)u(text)a(text)u(text)a(text)"},
		"a flag's type":      {`"isSidechain":false`, `"isSidechain":"false"`, "u(text)a(text)u(text)a(text)u(text)a(text)"},
		"a mark at the head": {`{"parentUuid":null`, "\ufeff" + `{"parentUuid":null`, "u(text)a(text)u(text)a(text)u(text)a(text)"},
	} {
		t.Run(name, func(t *testing.T) {
			p := place(t)
			tr, _ := Create(p, uuid.NewString())
			for _, id := range []string{"U1", "A1", "U2", "A2", "U3", "A3"} {
				l := Line{Type: "user", UUID: id, Message: []byte(ask)}
				if id[0] == 'A' {
					l = Line{Type: "assistant", UUID: id, Message: []byte(strings.Replace(done, "m2", id, 1))}
				}
				if err := tr.Append(l); err != nil {
					t.Fatal(err)
				}
			}
			data, err := os.ReadFile(tr.path)
			if err != nil || !strings.Contains(string(data), c.damage) {
				t.Fatal(err, string(data))
			}
			if err := os.WriteFile(tr.path, []byte(strings.ReplaceAll(string(data), c.damage, c.by)), 0o600); err != nil {
				t.Fatal(err)
			}
			again, err := Resume(p, tr.ID())
			if err != nil {
				t.Fatal(err)
			}
			if got := shape(again.History()); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

func TestResume_answered(t *testing.T) {
	p := place(t)
	tr, _ := Create(p, uuid.NewString())
	first, second := line("user", ask), line("user", ask)
	fill(t, tr, first, line("assistant", done), second)
	again, err := Resume(p, tr.ID())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		uuid            string
		known, answered bool
	}{{first.UUID, true, true}, {second.UUID, true, false}, {uuid.NewString(), false, false}} {
		if known, answered := again.Prompt(c.uuid); known != c.known || answered != c.answered {
			t.Errorf("%s: %v %v", c.uuid, known, answered)
		}
	}
}

// Others write to the file too, and a crash may cut its last line.
func TestResume_foreignLines(t *testing.T) {
	for name, foreign := range map[string]string{
		"torn":           `{"type":"user","uuid":"x","message":{"role":"us`,
		"title":          `{"type":"custom-title","customTitle":"T","sessionId":"s"}` + "\n",
		"garbage":        "\x00\xff not JSON\n\n[]\nnull\n",
		"its own parent": `{"type":"progress","uuid":"p","parentUuid":"p"}` + "\n",
		"a sidechain":    `{"type":"user","uuid":"s","isSidechain":true,"message":{"role":"user","content":"x"}}` + "\n",
	} {
		t.Run(name, func(t *testing.T) {
			p := place(t)
			tr, _ := Create(p, uuid.NewString())
			prompt := line("user", ask)
			fill(t, tr, prompt, line("assistant", done))
			f, err := os.OpenFile(tr.path, os.O_APPEND|os.O_WRONLY, 0)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := f.WriteString(foreign); err != nil {
				t.Fatal(err)
			}
			f.Close()

			again, err := Resume(p, tr.ID())
			if err != nil {
				t.Fatal(err)
			}
			fill(t, again, line("user", ask), line("assistant", done))
			data, err := os.ReadFile(tr.path)
			if err != nil || !strings.Contains(string(data), foreign) {
				t.Errorf("what others wrote is gone (%v)", err)
			}
			last, err := Resume(p, tr.ID())
			if err != nil {
				t.Fatal(err)
			}
			if got := shape(last.History()); got != "u(text)a(text)u(text)a(text)" {
				t.Errorf("got %s", got)
			}
		})
	}
}

func TestResume_fromAnotherFolder(t *testing.T) {
	p := place(t)
	tr, _ := Create(p, uuid.NewString())
	fill(t, tr, line("user", ask), line("assistant", done))
	elsewhere := p
	elsewhere.Cwd = t.TempDir()
	again, err := Resume(elsewhere, tr.ID())
	if err != nil {
		t.Fatal(err)
	}
	if again.path != tr.path {
		t.Errorf("goes on in %s, began in %s", again.path, tr.path)
	}
	if _, err := Create(elsewhere, tr.ID()); !errors.Is(err, ErrExists) {
		t.Errorf("Create: %v", err)
	}
	for _, id := range []string{uuid.NewString(), "", "../x", "x"} {
		if _, err := Resume(p, id); !errors.Is(err, ErrNotFound) {
			t.Errorf("Resume(%q): %v", id, err)
		}
	}
}

func TestAppend_isPrivate(t *testing.T) {
	p := place(t)
	tr, _ := Create(p, uuid.NewString())
	if _, err := os.Stat(p.ConfigDir); err == nil {
		t.Error("a session that nobody used left a folder")
	}
	fill(t, tr, line("user", ask))
	info, err := os.Stat(tr.path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if dir, err := os.Stat(filepath.Dir(tr.path)); err != nil || dir.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", dir.Mode(), err)
	}
}
