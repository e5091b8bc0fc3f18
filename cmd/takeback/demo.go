package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"takeback/protocol"
)

// demo shows the whole job in a temporary folder: it starts takeback as an SDK would, has a scripted
// agent change files, and takes the changes back. It fails if any byte is wrong.
func demo(args []string) int {
	fs := pflag.NewFlagSet("demo", pflag.ContinueOnError)
	keep := fs.Bool("keep", false, "leave the folder, and say how to look further")
	fs.Usage = func() { fmt.Fprint(os.Stderr, "usage: takeback demo [--keep]\n") }
	if err := fs.Parse(args); err != nil {
		return exitError
	}
	root, err := os.MkdirTemp("", "takeback-demo-")
	if err != nil {
		fmt.Fprintf(os.Stderr, "Error: no temporary folder for the demo: %v\n", err)
		return exitError
	}
	d := &demonstration{root: root, project: filepath.Join(root, "project"), config: filepath.Join(root, "config"), screen: newScreen()}
	err = d.run()
	if *keep {
		d.sayWhereToLook()
	} else {
		err = errors.Join(err, os.RemoveAll(root))
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "\nThe demo failed: %v\n", err)
		return exitError
	}
	return exitOK
}

type demonstration struct {
	root, project, config string
	screen                *screen
	session               string
}

func (d *demonstration) run() error {
	if err := writeProject(d.project); err != nil {
		return err
	}
	before, err := readTree(d.project)
	if err != nil {
		return err
	}
	d.screen.title("A small project")
	for _, path := range slices.Sorted(maps.Keys(before)) {
		d.screen.line("%s  %s", before[path].mode, path)
	}

	host, err := startHost(d.project, d.config)
	if err != nil {
		return err
	}
	defer host.stop()
	first, err := d.prompt(host, "Rename the greeting and document it", demoTurn1)
	if err != nil {
		return err
	}
	if _, err := d.prompt(host, "Now add a test, and empty the notes", demoTurn2); err != nil {
		return err
	}
	after, err := readTree(d.project)
	if err != nil {
		return err
	}

	plan, err := d.dryRun(host, first, before, after)
	if err != nil {
		return err
	}
	undo, err := d.rewind(host, first, before, plan)
	if err != nil {
		return err
	}
	d.screen.title("Undo: take the takeback back")
	if _, err := host.rewind(undo, false); err != nil {
		return err
	}
	if err := d.prove(after, "the files are as the agent left them, byte for byte"); err != nil {
		return err
	}
	return host.end()
}

// prompt plays a turn, and shows it as its frames arrive.
func (d *demonstration) prompt(host *host, text, script string) (id string, err error) {
	err = host.prompt(script, func(f *hostFrame) {
		switch {
		case f.IsReplay:
			id, d.session = f.UUID, f.SessionID
			d.screen.title("Prompt: %s", text)
			d.screen.line("uuid %s", id)
		case f.Type == "assistant":
			if say := f.Message.Content.Text(); say != "" {
				d.screen.line("agent: %s", say)
			}
		case f.ToolUseResult.FilePath != "":
			rel, _ := filepath.Rel(d.project, f.ToolUseResult.FilePath)
			d.screen.change(f.ToolUseResult.verb(), rel)
		}
	})
	if err == nil && id == "" {
		err = errors.New("the prompt was not replayed with its uuid")
	}
	return id, err
}

func (d *demonstration) dryRun(host *host, id string, before, after tree) (*protocol.RewindReply, error) {
	d.screen.title("Dry run: what would going back to the first prompt do?")
	plan, err := host.rewind(id, true)
	if err != nil {
		return nil, err
	}
	d.screen.line("%d paths, +%d −%d lines", len(plan.FilesChanged), *plan.Insertions, *plan.Deletions)
	for _, path := range plan.FilesChanged {
		rel, err := filepath.Rel(d.project, path)
		if err != nil {
			return nil, err
		}
		d.screen.diff(rel, after[rel], before[rel])
	}
	return plan, d.prove(after, "nothing on disk has moved")
}

func (d *demonstration) rewind(host *host, id string, before tree, plan *protocol.RewindReply) (undo string, err error) {
	d.screen.title("Rewind")
	done, err := host.rewind(id, false)
	if err != nil {
		return "", err
	}
	for _, path := range done.FilesChanged {
		rel, _ := filepath.Rel(d.project, path)
		if _, existed := before[rel]; existed {
			d.screen.change("restored", rel)
		} else {
			d.screen.change("removed", rel)
		}
	}
	if !slices.Equal(done.FilesChanged, plan.FilesChanged) || *done.Insertions != *plan.Insertions || *done.Deletions != *plan.Deletions {
		return "", errors.New("the rewind did something else than the dry run said")
	}
	d.screen.line("undo_id %s", done.UndoID)
	return done.UndoID, d.prove(before, "every byte and mode is back, and what the agent made is gone")
}

// prove compares the project with what it should be.
func (d *demonstration) prove(want tree, claim string) error {
	got, err := readTree(d.project)
	if err != nil {
		return err
	}
	for path := range want {
		if !got[path].equal(want[path]) {
			return fmt.Errorf("%s is not what it should be", path)
		}
	}
	for path := range got {
		if _, ok := want[path]; !ok {
			return fmt.Errorf("%s should not be there", path)
		}
	}
	d.screen.proof("%s (%d paths compared)", claim, len(want))
	return nil
}

func (d *demonstration) sayWhereToLook() {
	d.screen.title("Look further")
	d.screen.line("the project      %s", d.project)
	d.screen.line("its file history %s", filepath.Join(d.config, "takeback", d.session))
	d.screen.line("the conversation %s", filepath.Join(d.config, "projects"))
	d.screen.line("The journal is lines of JSON behind a checksum each, the transcript lines of JSON.")
}

// tree is a folder's content by path relative to it.
type tree map[string]entry

type entry struct {
	mode    fs.FileMode
	content []byte
}

func (e entry) equal(o entry) bool { return e.mode == o.mode && bytes.Equal(e.content, o.content) }

func readTree(root string) (tree, error) {
	t := tree{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == root {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		e := entry{mode: info.Mode()}
		if info.Mode().IsRegular() {
			if e.content, err = os.ReadFile(path); err != nil {
				return err
			}
		}
		rel, err := filepath.Rel(root, path)
		t[rel] = e
		return err
	})
	return t, err
}

func writeProject(root string) error {
	for _, f := range []struct {
		path, content string
		mode          fs.FileMode
	}{
		{"greet.py", "def hello(name):\n    print('Hello, ' + name)\n\nhello('world')\n", 0o644},
		{"run.sh", "#!/bin/sh\nexec python3 greet.py\n", 0o755},
		{".env", "GREETING_KEY=s3cret\n", 0o600},
		{"notes for 世界.txt", "say hello\r\nthen leave\r\n", 0o644},
		{"empty.cfg", "", 0o644},
	} {
		path := filepath.Join(root, f.path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(f.content), f.mode); err != nil {
			return err
		}
		if err := os.Chmod(path, f.mode); err != nil { // whatever the umask
			return err
		}
	}
	return nil
}

var demoTurn1 = strings.TrimSpace(`
[{"text":"I look at the files first."},
 {"tool":"Read","input":{"file_path":"greet.py"}},
 {"tool":"Read","input":{"file_path":"run.sh"}},
 {"tool":"Read","input":{"file_path":".env"}},
 {"text":"Now I rename the function, and say so in the docs."},
 {"tool":"Edit","input":{"file_path":"greet.py","old_string":"hello(","new_string":"greet(","replace_all":true}},
 {"tool":"Edit","input":{"file_path":"run.sh","old_string":"exec python3","new_string":"exec python3 -u"}},
 {"tool":"Edit","input":{"file_path":".env","old_string":"s3cret","new_string":"changed"}},
 {"tool":"Write","input":{"file_path":"docs/usage/greet.md","content":"# greet\n\nCall greet(name).\n"}},
 {"text":"Renamed and documented."}]`)

var demoTurn2 = strings.TrimSpace(`
[{"tool":"Read","input":{"file_path":"notes for 世界.txt"}},
 {"tool":"Read","input":{"file_path":"empty.cfg"}},
 {"tool":"Write","input":{"file_path":"notes for 世界.txt","content":""}},
 {"tool":"Write","input":{"file_path":"empty.cfg","content":"loud=true\n"}},
 {"tool":"Write","input":{"file_path":"test_greet.py","content":"from greet import greet\n\n\ndef test_greet():\n    greet('world')\n"}},
 {"text":"Test added, notes emptied."}]`)
