package engine

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"sync/atomic"
	"time"

	"takeback/engine/session"
	"takeback/filehistory"
	"takeback/protocol"
	"takeback/protocol/peer"
	"takeback/schemas"
)

// persistTime is how long a turn that was told to stop may take to do so.
const persistTime = 2 * time.Second

// Config is what a session is made of.
type Config struct {
	Conn       *peer.Conn          // required
	Model      Model               // required
	Transcript *session.Transcript // required
	Tools      []Tool
	Forget     func(paths []string)         // these files were put back: what the tools know of them is stale
	SetEnv     func(vars map[string]string) // the host sets variables for commands
	History    *filehistory.Store           // nil: checkpointing is off

	Cwd             string
	ModelName       string   // "" is the model's default
	PermissionMode  string   // "" is default
	BypassAllowed   bool     // may the mode be switched to bypassPermissions?
	AllowedTools    []string // rules: "Read", "Bash(git status)"
	DisallowedTools []string // rules
	Folders         []string // absolute; files there are treated like those in Cwd
	AskHost         bool     // the host answers can_use_tool
	Private         []string // absolute; folders of takeback's own, which no tool may write to
	SystemPrompt    []string // nil: takeback's own; see SplitSystemPrompt
	AppendPrompt    string
	Thinking        *Thinking
	Effort          string
	MaxTurns        int // model calls a turn; 0 is no limit
	ReplayPrompts   bool
	PartialMessages bool
	StateEvents     StateEvents
	RewindEvents    bool
	Version         string // what initialize and system/init report
	APIKeySource    string

	Log    *slog.Logger // required
	Stderr io.Writer    // required; gets a record of a panic, and nothing on a clean run
}

// StateEvents says who wants session_state_changed frames.
type StateEvents int

const (
	NoStateEvents       StateEvents = iota
	HostOnlyStateEvents             // for the SDK, which keeps them to itself
	PublicStateEvents               // for everybody
)

// Causes of a turn's early end.
var (
	errInterrupted = errors.New("interrupted by the host")
	errDenied      = errors.New("the host denied a tool call and ended the turn")
)

// Engine is the actor of one session. The fields behind ctx belong to the goroutine that calls Run.
type Engine struct {
	cfg          Config
	inbox        *mailbox
	files        *mailbox
	settings     *settings
	permissions  *permissions
	notes        notes                      // for the model, at its next turn
	serving      atomic.Int64               // control requests that are not answered yet
	waiting      atomic.Int64               // prompts in the queue, for results to tell
	surroundings string                     // for the system prompt
	inputs       map[string]*schemas.Schema // of the tools, by name
	inputEnd     chan struct{}

	ctx        context.Context // ends with Run
	stop       context.CancelFunc
	queue      []*prompt
	behindNext []func()        // requests to serve behind the checkpoint of the next turn
	turn       *turn           // the one that runs or is about to; nil if none
	seen       map[string]bool // uuids of the prompts of this process
	talk       *conversation   // lent to the turn that runs
	eof        bool
	quit       bool // asked to stop while idle
	ending     bool // no turn starts any more
	failed     bool // the last result was an error
}

// New makes an engine. Nothing happens before Run.
func New(cfg Config) *Engine {
	e := &Engine{
		cfg:          cfg,
		inbox:        newMailbox(),
		files:        newMailbox(),
		settings:     newSettings(cfg),
		permissions:  newPermissions(cfg),
		surroundings: surroundings(cfg),
		inputs:       inputSchemas(cfg.Tools),
		inputEnd:     make(chan struct{}),
		seen:         map[string]bool{},
		talk:         newConversation(cfg.Transcript),
	}
	e.notes.list = cfg.Transcript.Notes()
	return e
}

// Run serves the host until its input has ended and everything is answered, until
// ctx ends, or until the host is gone. failed tells whether the last result was an error;
// err is ctx's cause or peer.ErrGone, nil after an orderly end.
func (e *Engine) Run(ctx context.Context) (failed bool, err error) {
	ctx, e.stop = context.WithCancel(ctx)
	defer e.stop()
	e.ctx = ctx
	stopFiles, filesEnded := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(filesEnded)
		e.files.run(stopFiles)
	}()
	e.cfg.Conn.Serve((*inbound)(e))

	err = e.loop(ctx)
	if err != nil {
		e.abandon()
	}
	close(stopFiles)
	<-filesEnded
	if e.turn == nil { // else it has the transcript, and time was up
		err = errors.Join(err, e.keepNotes())
	}
	return e.failed, errors.Join(err, e.cfg.Conn.Close())
}

// keepNotes leaves what the model was not told to whoever resumes the session.
func (e *Engine) keepNotes() error {
	if !e.notes.added() {
		return nil
	}
	for _, note := range e.notes.take() {
		if err := e.talk.recordNote(note); err != nil {
			return err
		}
	}
	return nil
}

func (e *Engine) loop(ctx context.Context) error {
	for !e.finished() {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-e.cfg.Conn.Gone():
			return peer.ErrGone
		case <-e.inbox.ready:
			for job := e.inbox.next(); job != nil; job = e.inbox.next() {
				job()
			}
		}
	}
	return nil
}

func (e *Engine) finished() bool {
	return (e.eof || e.quit) && e.turn == nil && len(e.queue) == 0 && e.serving.Load() == 0
}

// abandon ends the turn that runs and gives it a moment to write down what happened.
// Nothing else begins.
func (e *Engine) abandon() {
	e.ending = true
	e.setQueue(nil)
	e.stop()
	deadline := time.NewTimer(persistTime)
	defer deadline.Stop()
	for e.turn != nil {
		select {
		case <-deadline.C:
			return
		case <-e.inbox.ready:
			for job := e.inbox.next(); job != nil; job = e.inbox.next() {
				job()
			}
		}
	}
}

// Interrupt stops the turn that runs; when none does, the engine ends. It is what SIGINT means. What it gives
// is closed once that turn is over.
func (e *Engine) Interrupt() (over <-chan struct{}) {
	done := make(chan struct{})
	e.inbox.post(func() {
		if t := e.interruptTurn(); t != nil {
			t.over = append(t.over, done)
			return
		}
		e.quit = true
		close(done)
	})
	return done
}

// interruptTurn stops the turn that runs or is about to start, nil if there is none.
func (e *Engine) interruptTurn() *turn {
	if e.turn == nil {
		return nil
	}
	if e.turn.resultSent && len(e.queue) > 0 {
		e.queue[0].interrupted = true
		return e.turn
	}
	if e.turn.resultSent {
		return nil
	}
	e.turn.cancel(errInterrupted)
	return e.turn
}

// inbound is the engine as its connection sees it: each method runs on the reader
// and only posts, so that everything is handled in the order it was sent.
type inbound Engine

func (in *inbound) User(u protocol.User) {
	e := (*Engine)(in)
	e.inbox.post(func() { e.enqueue(u) })
}

func (in *inbound) Request(r *peer.Request) {
	e := (*Engine)(in)
	e.serving.Add(1)
	e.inbox.post(func() { e.serve(r) })
}

func (in *inbound) Environment(vars map[string]string) {
	e := (*Engine)(in)
	e.inbox.post(func() {
		if e.cfg.SetEnv != nil {
			e.cfg.SetEnv(vars)
		}
	})
}

func (in *inbound) EOF() {
	e := (*Engine)(in)
	close(e.inputEnd)
	e.inbox.post(func() { e.eof = true })
}
