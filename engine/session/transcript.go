// Package session keeps the transcript of a conversation where the SDKs look for
// it: one JSON line a message, below projects/ in the configuration folder.
//
// A transcript is only ever appended to, one write a line, because the SDKs'
// renameSession and tagSession append to the same file while we run. What is
// not understood is left alone.
package session

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/goccy/go-json/jsontext"
	"github.com/google/uuid"

	"takeback/protocol"
)

// ErrNotFound says that there is no transcript of the session.
var ErrNotFound = errors.New("no conversation found")

// ErrExists says that a new session was given the id of an old one.
var ErrExists = errors.New("session id is already in use")

// Place says where transcripts lie and what their lines say of this process.
type Place struct {
	ConfigDir   string // ~/.claude, or what CLAUDE_CONFIG_DIR names
	ProjectName string // replaces the name made from Cwd, if not ""
	Cwd         string
	Version     string
	Entrypoint  string // sdk-ts, sdk-py, …
}

func (p Place) projects() string { return filepath.Join(p.ConfigDir, "projects") }

func (p Place) folder() string {
	name := p.ProjectName
	if name == "" {
		name, _ = projectNames(p.Cwd)
	}
	return filepath.Join(p.projects(), name)
}

// makeFolder makes the folder, and a link to it where the two SDKs do not agree on its name.
func (p Place) makeFolder() error {
	if err := os.MkdirAll(p.folder(), 0o700); err != nil {
		return err
	}
	if name, alias := projectNames(p.Cwd); p.ProjectName == "" && alias != name {
		_ = os.Symlink(name, filepath.Join(p.projects(), alias)) // there already, or a file system without links
	}
	return nil
}

// Transcript is the record of one session. It belongs to one goroutine at a time.
type Transcript struct {
	id       string
	path     string
	place    Place
	file     *os.File // opened by the first Append
	parent   string   // uuid of the last line of the conversation
	history  []protocol.Message
	notes    []string
	copied   []*record // the lines of the session this one was forked from, until the first Append
	origin   Origin
	users    map[string]bool // uuids of all lines of type user
	discard  bool
	answered map[string]bool // prompts by uuid: has the model begun to answer?
}

// Create starts a session. Its file appears with the first line.
func Create(place Place, id string) (*Transcript, error) {
	switch _, err := find(place, id); {
	case err == nil:
		return nil, fmt.Errorf("%w: %s", ErrExists, id)
	case !errors.Is(err, ErrNotFound):
		return nil, err
	}
	return &Transcript{id: id, place: place, path: filepath.Join(place.folder(), id+".jsonl"), answered: map[string]bool{}, users: map[string]bool{}}, nil
}

// Discard is a session that leaves no transcript.
func (t *Transcript) Discard() { t.discard = true }

// Latest is the id of the session that was last written to in the working directory.
func Latest(place Place) (string, error) {
	name, alias := projectNames(place.Cwd)
	var id string
	var newest time.Time
	for _, folder := range []string{place.folder(), filepath.Join(place.projects(), name), filepath.Join(place.projects(), alias)} {
		entries, err := os.ReadDir(folder)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", fmt.Errorf("look for sessions: %w", err)
		}
		for _, entry := range entries {
			base, ok := strings.CutSuffix(entry.Name(), ".jsonl")
			info, err := entry.Info()
			if ok && err == nil && uuid.Validate(base) == nil && info.Size() > 0 && info.ModTime().After(newest) {
				id, newest = base, info.ModTime()
			}
		}
	}
	if id == "" {
		return "", fmt.Errorf("%w to continue", ErrNotFound)
	}
	return id, nil
}

// Resume opens the session with this id, wherever it was begun.
func Resume(place Place, id string) (*Transcript, error) {
	t, _, err := resume(place, id)
	return t, err
}

// Fork starts a session that begins with what another holds. That one is not written to.
func Fork(place Place, from, id string) (*Transcript, error) {
	t, err := Create(place, id)
	if err != nil {
		return nil, err
	}
	old, thread, err := resume(place, from)
	if err != nil {
		return nil, err
	}
	t.parent, t.history, t.notes, t.answered, t.users = old.parent, old.history, old.notes, old.answered, old.users
	t.origin = Origin{SessionID: from}
	for _, r := range thread {
		r.SessionID, r.ForkedFrom = id, &forkedFrom{SessionID: from, MessageUUID: r.UUID}
		t.copied = append(t.copied, r)
	}
	return t, nil
}

func resume(place Place, id string) (*Transcript, []*record, error) {
	path, err := find(place, id)
	if err != nil {
		return nil, nil, err
	}
	t := &Transcript{id: id, place: place, path: path, users: map[string]bool{}}
	thread, err := t.load()
	if err != nil {
		return nil, nil, fmt.Errorf("read transcript: %w", err)
	}
	return t, thread, nil
}

// find looks in the folder of the working directory first, then in all others:
// a session may be resumed from elsewhere.
func find(place Place, id string) (string, error) {
	if uuid.Validate(id) != nil {
		return "", fmt.Errorf("%w with session ID: %s", ErrNotFound, id)
	}
	path := filepath.Join(place.folder(), id+".jsonl")
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	folders, err := os.ReadDir(place.projects())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("look for session %s: %w", id, err)
	}
	for _, folder := range folders {
		path := filepath.Join(place.projects(), folder.Name(), id+".jsonl")
		if _, err := os.Stat(path); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("%w with session ID: %s", ErrNotFound, id)
}

// ID is the session's id.
func (t *Transcript) ID() string { return t.id }

// History is the conversation that the transcript held when it was opened, fit to be sent to a model.
func (t *Transcript) History() []protocol.Message { return t.history }

// Notes are what takeback last said to the model without that a prompt came behind it.
// They are no part of History: the next prompt brings them.
func (t *Transcript) Notes() []string { return t.notes }

// Origin is the session that another was forked from.
type Origin struct {
	SessionID string            // "" if it was not
	Messages  map[string]string // uuids there by uuids here, where they are not the same
}

// Origin tells where the session was forked from, by [Fork] or by an SDK: both leave word in the lines.
func (t *Transcript) Origin() Origin { return t.origin }

// HasUserLine tells whether a line of type user has this uuid.
func (t *Transcript) HasUserLine(uuid string) bool { return t.users[uuid] }

// Last is the uuid of the conversation's last line, "" if there is none.
func (t *Transcript) Last() string { return t.parent }

// Prompt tells whether a prompt with this uuid was in the transcript when it was opened, and
// whether the model had begun to answer it.
func (t *Transcript) Prompt(uuid string) (known, answered bool) {
	answered, known = t.answered[uuid]
	return known, answered
}

// Line is one message to record.
type Line struct {
	Type       string // user or assistant
	UUID       string
	Message    jsontext.Value
	IsMeta     bool // said by takeback, not by the user
	IsAPIError bool // shown to the user, never sent to the model
	Refused    bool // with IsAPIError: neither is the prompt before it
}

// record is a line of the file. The SDKs read the first and last 64 KiB as
// text and search them for these very keys.
type record struct {
	ParentUUID        *string        `json:"parentUuid"`
	IsSidechain       bool           `json:"isSidechain"`
	UserType          string         `json:"userType,omitzero"`
	Cwd               string         `json:"cwd,omitzero"`
	SessionID         string         `json:"sessionId"`
	Version           string         `json:"version,omitzero"`
	Entrypoint        string         `json:"entrypoint,omitzero"`
	Type              string         `json:"type"`
	IsMeta            bool           `json:"isMeta,omitzero"`
	IsAPIErrorMessage bool           `json:"isApiErrorMessage,omitzero"`
	PromptRefused     bool           `json:"promptRefused,omitzero"`
	Message           jsontext.Value `json:"message"`
	UUID              string         `json:"uuid"`
	Timestamp         string         `json:"timestamp"`
	ForkedFrom        *forkedFrom    `json:"forkedFrom,omitzero"`

	Extra jsontext.Value `json:",embed"` // of other writers
}

type forkedFrom struct {
	SessionID   string `json:"sessionId"`
	MessageUUID string `json:"messageUuid"`
}

// Append records a line behind all others.
func (t *Transcript) Append(line Line) error {
	r := record{
		UserType:          "external",
		Cwd:               t.place.Cwd,
		SessionID:         t.id,
		Version:           t.place.Version,
		Entrypoint:        t.place.Entrypoint,
		Type:              line.Type,
		IsMeta:            line.IsMeta,
		IsAPIErrorMessage: line.IsAPIError,
		PromptRefused:     line.Refused,
		Message:           line.Message,
		UUID:              line.UUID,
		Timestamp:         time.Now().UTC().Format("2006-01-02T15:04:05.000Z"),
	}
	if t.parent != "" {
		r.ParentUUID = &t.parent
	}
	if err := t.write(&r); err != nil {
		return err
	}
	t.parent = line.UUID
	return nil
}

func (t *Transcript) write(r *record) error {
	if t.discard {
		return nil
	}
	if t.file == nil {
		if err := t.open(); err != nil {
			return fmt.Errorf("open transcript: %w", err)
		}
	}
	for _, line := range append(t.copied, r) {
		data, err := protocol.Marshal(line)
		if err != nil {
			return fmt.Errorf("encode transcript line: %w", err)
		}
		if torn(t.file) {
			data = append([]byte{'\n'}, data...) // or this line would be lost with the one before it
		}
		if _, err := t.file.Write(append(data, '\n')); err != nil {
			return fmt.Errorf("append to transcript: %w", err)
		}
	}
	t.copied = nil
	return nil
}

func (t *Transcript) open() (err error) {
	if err := t.place.makeFolder(); err != nil {
		return err
	}
	t.file, err = os.OpenFile(t.path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	return err
}

// torn tells whether the last line has no end: a crash cut it short, a full disk, or another
// writer, who may be at work at any time.
func torn(f *os.File) bool {
	info, err := f.Stat()
	if err != nil || info.Size() == 0 {
		return false
	}
	var last [1]byte
	_, err = f.ReadAt(last[:], info.Size()-1)
	return err == nil && last[0] != '\n'
}

// Close closes the file.
func (t *Transcript) Close() error {
	if t.file == nil {
		return nil
	}
	err := t.file.Close()
	t.file = nil
	return err
}
