package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/google/uuid"

	"takeback/filehistory"
	"takeback/protocol"
	"takeback/protocol/peer"
)

// What SDK users match on: these are the peer's words to the letter.
const (
	RewindOff        = "File rewinding is not enabled."
	textNoCheckpoint = "No file checkpoint found for this message."
)

// rewindFiles has the files goroutine plan or carry out a rewind, and answer.
func (e *Engine) rewindFiles(r *peer.Request) {
	if e.turn != nil && e.turn.resultSent && len(e.queue) > 0 {
		// To the host the next prompt's turn has begun: its checkpoint comes first.
		e.behindNext = append(e.behindNext, func() { e.rewindFiles(r) })
		return
	}
	req := fields[struct {
		UserMessageID *string `json:"user_message_id"`
		DryRun        bool    `json:"dry_run"`
	}](r)
	id := ""
	if req.UserMessageID != nil {
		id = *req.UserMessageID
	}
	e.files.post(func() {
		switch {
		case e.cfg.History == nil:
			e.cannotRewind(r, req.DryRun, RewindOff)
		case req.DryRun:
			e.plan(r, id)
		default:
			e.rewind(r, id)
		}
		e.inbox.post(func() {}) // the actor may have waited for this answer to end
	})
}

func (e *Engine) plan(r *peer.Request, id string) {
	ctx, release := e.requestContext(r)
	defer release()
	report, err := e.cfg.History.Plan(ctx, id, filehistory.RewindOptions{})
	if err != nil {
		e.cannotRewind(r, true, rewindError(err))
		return
	}
	e.reply(r, rewindReply(report))
}

func (e *Engine) rewind(r *peer.Request, id string) {
	ctx, release := e.requestContext(r)
	defer release()
	report, err := e.cfg.History.Rewind(ctx, id, filehistory.RewindOptions{})
	why := ExplainRewind(report, err)
	if err != nil {
		e.cannotRewind(r, false, why)
		return
	}
	e.filesRewound(report)
	reply := rewindReply(report)
	links := len(report.SkippedLinks)
	reply.SkippedLinks = &links
	if why == "" {
		e.reply(r, reply)
	} else {
		e.fail(r, peer.Failure{Message: why, Code: "rewind_incomplete", Detail: reply})
	}
	if e.cfg.RewindEvents {
		e.cfg.Conn.Post(&protocol.FilesRewound{RewindReply: *reply, UserMessageID: report.ID, SessionID: e.cfg.Transcript.ID(), UUID: uuid.NewString()})
	}
}

// requestContext ends when the host withdraws the request, or the engine stops.
func (e *Engine) requestContext(r *peer.Request) (context.Context, func()) {
	ctx, cancel := context.WithCancel(r.Context())
	unhook := context.AfterFunc(e.ctx, cancel)
	return ctx, func() {
		unhook()
		cancel()
	}
}

// cannotRewind answers that nothing was done. A failed rewind must be an error, or Python
// takes it for success; a dry run tells in its answer.
func (e *Engine) cannotRewind(r *peer.Request, dryRun bool, why string) {
	if dryRun {
		e.reply(r, &protocol.RewindReply{Error: why})
	} else {
		e.fail(r, peer.Failure{Message: why})
	}
}

// filesRewound makes the tools forget what they knew of the files, and the model hear of it.
func (e *Engine) filesRewound(report *filehistory.Report) {
	paths := changedFiles(report)
	if len(paths) == 0 {
		return
	}
	if e.cfg.Forget != nil {
		e.cfg.Forget(paths)
	}
	e.notes.add(rewindNote(paths))
}

// notes are what the model is told with the next prompt.
type notes struct {
	mu    sync.Mutex
	list  []string
	fresh bool // one was added since the transcript was read, or they were taken
}

func (n *notes) add(text string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.list, n.fresh = append(n.list, text), true
}

func (n *notes) added() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.fresh
}

func (n *notes) take() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	list := n.list
	n.list, n.fresh = nil, false
	return list
}

func rewindNote(paths []string) string {
	const most = 50
	listed, more := paths, ""
	if len(paths) > most {
		listed, more = paths[:most], fmt.Sprintf("\n(and %d more)", len(paths)-most)
	}
	return "<system-reminder>\nThe user has put files back to an earlier state. What you remember of these is out of date; read them again before you change them:\n" +
		strings.Join(listed, "\n") + more + "\n</system-reminder>"
}

// changedFiles are the paths as hosts know them: folders come and go with what is in them.
func changedFiles(report *filehistory.Report) []string {
	paths := make([]string, 0, len(report.Files))
	for _, f := range report.Files {
		if !f.Kind.IsDir() {
			paths = append(paths, f.Path)
		}
	}
	return paths
}

func rewindReply(report *filehistory.Report) *protocol.RewindReply {
	var insertions, deletions int
	for _, f := range report.Files {
		insertions += max(f.Insertions, 0)
		deletions += max(f.Deletions, 0)
	}
	reply := &protocol.RewindReply{
		CanRewind:    true,
		FilesChanged: changedFiles(report),
		Insertions:   &insertions,
		Deletions:    &deletions,
		UndoID:       report.UndoID,
	}
	for _, c := range report.Conflicts {
		reply.Conflicts = append(reply.Conflicts, protocol.PathNote{Path: c.Path, Reason: c.Reason})
	}
	for _, u := range report.Uncovered {
		reply.Uncovered = append(reply.Uncovered, protocol.UncoveredChange{What: u.What, Reason: u.Reason})
	}
	for _, p := range report.Problems {
		reply.Problems = append(reply.Problems, protocol.PathNote{Path: p.Path, Reason: p.Err.Error()})
	}
	return reply
}

// ExplainRewind is the sentence for the user about a rewind that failed, or left paths as they were; "" if
// all went well.
func ExplainRewind(report *filehistory.Report, err error) string {
	switch {
	case err != nil:
		return rewindError(err)
	case len(report.Problems) > 0:
		return partFailed(report)
	}
	return ""
}

// partFailed is the sentence about a rewind that left paths as they were: all that a Python user sees of it.
func partFailed(report *filehistory.Report) string {
	const most = 3
	var b strings.Builder
	missing := 0
	for _, p := range report.Problems {
		if !p.Restored {
			missing++
		}
	}
	fmt.Fprintf(&b, "Restored %d of %d paths.", len(report.Files), len(report.Files)+missing)
	for i, p := range report.Problems {
		if i == most {
			fmt.Fprintf(&b, " And %d more.", len(report.Problems)-most)
			break
		}
		if p.Restored {
			fmt.Fprintf(&b, " %s: %v.", p.Path, p.Err)
		} else {
			fmt.Fprintf(&b, " Not restored: %s (%v).", p.Path, p.Err)
		}
	}
	b.WriteString(" Rewind again to finish once the cause is gone")
	if report.UndoID != "" {
		fmt.Fprintf(&b, ", or rewind to %s to undo what was restored", report.UndoID)
	}
	b.WriteString(".")
	return b.String()
}

// rewindError is the sentence for the user about a rewind that did nothing.
func rewindError(err error) string {
	var refused *filehistory.UndoRefusedError
	switch {
	case errors.Is(err, filehistory.ErrNoCheckpoint):
		return textNoCheckpoint
	case errors.Is(err, filehistory.ErrNothingToUndo):
		return "There is no rewind to undo in this session."
	case errors.As(err, &refused):
		return fmt.Sprintf("The last rewind cannot be undone just like that: %s changed since. To put back all the same what stood before it, rewind to %s.",
			strings.Join(refused.Paths, ", "), refused.ID)
	case errors.Is(err, context.Canceled):
		return "The rewind was withdrawn before it began; nothing was changed."
	}
	return "The files were not rewound: " + explain(err)
}
