package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"

	"github.com/google/uuid"

	"takeback/engine"
	"takeback/engine/session"
	"takeback/filehistory"
)

func (host *environment) place() session.Place {
	return session.Place{
		ConfigDir:   host.configDir,
		ProjectName: host.projectDirName,
		Cwd:         host.cwd,
		Version:     peerVersion,
		Entrypoint:  host.entrypoint,
	}
}

func (host *environment) historyDir(session string) string {
	return filepath.Join(host.configDir, "takeback", session)
}

// openTranscript begins, resumes or forks a session, as the flags say.
func openTranscript(f *flags, host *environment) (*session.Transcript, error) {
	place := host.place()
	old := f.resume
	if f.continueLatest && old == "" {
		var err error
		if old, err = session.Latest(place); err != nil {
			return nil, sessionError(err, "", "")
		}
	}
	id := cmp.Or(f.sessionID, uuid.NewString())
	var t *session.Transcript
	var err error
	switch {
	case old == "":
		t, err = session.Create(place, id)
	case f.forkSession:
		t, err = session.Fork(place, old, id)
	default:
		t, err = session.Resume(place, old)
	}
	if err != nil {
		return nil, sessionError(err, old, id)
	}
	if f.noPersistence {
		t.Discard()
	}
	return t, nil
}

// sessionError puts an error about the session to resume, "" if it is the latest, or about the one to make in
// the words that clients know from the peer.
func sessionError(err error, old, made string) error {
	switch {
	case errors.Is(err, session.ErrNotFound) && old == "":
		return sentence("No conversation found to continue")
	case errors.Is(err, session.ErrNotFound):
		return sentence("No conversation found with session ID: " + old)
	case errors.Is(err, session.ErrExists):
		return sentence("Session ID " + made + " is already in use.")
	}
	return err
}

// openHistory opens the session's file history; nil if nobody asked for one. That of a forked session goes
// on from the one it was forked from; one that is not to be kept from the session's own. closing it removes such a one.
func openHistory(f *flags, host *environment, t *session.Transcript, log *slog.Logger) (h *filehistory.Store, closing func(), err error) {
	if !host.checkpointing {
		return nil, func() {}, nil
	}
	dir := host.historyDir(t.ID())
	parent, aliases := host.ancestry(t.Origin())
	if f.noPersistence {
		if _, err := os.Stat(filepath.Join(dir, "journal")); err == nil {
			parent, aliases = dir, nil
		}
		dir = host.historyDir(uuid.NewString())
	}
	h, err = filehistory.Open(dir, filehistory.Options{Log: log, Parent: parent, Aliases: aliases})
	if err != nil {
		return nil, nil, fmt.Errorf("open file history: %w", err)
	}
	return h, func() {
		if err := h.Close(); err != nil {
			log.Debug("close file history", "error", err)
		}
		if f.noPersistence {
			os.RemoveAll(dir)
		}
	}, nil
}

// ancestry is the folder of the nearest ancestor's history, and what its checkpoints are called here. An
// SDK forks transcripts without a process that would fork the history with them.
func (host *environment) ancestry(origin session.Origin) (dir string, aliases map[string]string) {
	const longest = 100 // generations; a transcript could name itself
	aliases = origin.Messages
	for range longest {
		if origin.SessionID == "" || uuid.Validate(origin.SessionID) != nil {
			return "", nil
		}
		dir = host.historyDir(origin.SessionID)
		// A folder alone says nothing: a fork that was killed early leaves one.
		if _, err := os.Stat(filepath.Join(dir, "journal")); !errors.Is(err, fs.ErrNotExist) {
			return dir, aliases
		}
		older, err := session.Resume(host.place(), origin.SessionID)
		if err != nil {
			return "", nil
		}
		origin = older.Origin()
		// What has no other name here is called as it was there.
		composed := map[string]string{}
		maps.Copy(composed, origin.Messages)
		for id, was := range aliases {
			composed[id] = cmp.Or(origin.Messages[was], was)
		}
		aliases = composed
	}
	return "", nil
}

// rewindOnce is --rewind-files: it puts the files of a session back, and runs nothing.
func rewindOnce(f *flags) int {
	told, err := func() (string, error) {
		host := readEnvironment()
		log, closeLog, err := openLog(f)
		if err != nil {
			return "", err
		}
		defer closeLog()
		if !host.checkpointing {
			return "", sentence(engine.RewindOff)
		}
		transcript, err := session.Resume(host.place(), f.resume)
		if err != nil {
			return "", sessionError(err, f.resume, "")
		}
		history, closing, err := openHistory(f, host, transcript, log)
		if err != nil {
			return "", err
		}
		defer closing()
		id := *f.rewindFiles
		report, err := history.Rewind(context.Background(), id, filehistory.RewindOptions{})
		if errors.Is(err, filehistory.ErrNoCheckpoint) && !transcript.HasUserLine(id) {
			return "", sentence(fmt.Sprintf("--rewind-files requires a user message UUID, but %s is not a user message in this session", id))
		}
		if why := engine.ExplainRewind(report, err); why != "" {
			return "", sentence(why)
		}
		if id == filehistory.Undo {
			return "The last rewind is undone", nil
		}
		return "Files rewound to state at message " + id, nil
	}()
	if err != nil {
		fmt.Fprintf(os.Stderr, "Error: %v\n", err)
		return exitError
	}
	fmt.Println(told)
	return exitOK
}
