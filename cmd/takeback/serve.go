package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/google/uuid"

	"takeback/engine"
	"takeback/engine/model/anthropic"
	"takeback/engine/model/script"
	"takeback/engine/tools"
	"takeback/protocol"
	"takeback/protocol/peer"
)

// Frames longer than this are cut. The Python SDK's session ends at 1 MiB a line;
// TypeScript has no limit.
const (
	maxFrame   = 900 << 10
	maxFrameTS = 64 << 20
)

// serve runs one session for the host at stdin and stdout.
func serve(f *flags) int {
	// A stray print must not corrupt the wire.
	stdout := os.Stdout
	os.Stdout = os.Stderr

	host := readEnvironment()
	log, closeLog, err := openLog(f)
	if err != nil {
		fmt.Fprintf(os.Stderr, "Error: %v\n", err)
		return exitError
	}
	defer closeLog()

	if host.configDir == "" {
		return startFailed(stdout, f, errors.New("there is no home folder to keep sessions in: set CLAUDE_CONFIG_DIR"))
	}
	transcript, err := openTranscript(f, host)
	if err != nil {
		return startFailed(stdout, f, err)
	}
	defer transcript.Close()
	history, closeHistory, err := openHistory(f, host, transcript, log)
	if err != nil {
		return startFailed(stdout, f, err)
	}
	defer closeHistory()
	toolset := tools.New(tools.Options{Cwd: host.cwd, History: history, Environ: host.vars.list})
	defer toolset.Close()
	cfg, err := configure(f, host, log)
	if err != nil {
		return startFailed(stdout, f, err)
	}
	cfg.Transcript, cfg.History = transcript, history
	cfg.Tools, cfg.Forget = chooseTools(toolset.Tools(), f), toolset.Forget
	cfg.Conn = peer.New(os.Stdin, stdout, peer.Options{MaxFrame: host.maxFrame, Stderr: os.Stderr})

	e := engine.New(*cfg)
	ctx, stop := handleSignals(e, func(code int) {
		toolset.Close() // what commands started must not outlive us unseen
		os.Exit(code)
	})
	defer stop()
	failed, err := e.Run(ctx)
	switch {
	case errors.Is(err, errTerminated):
		return exitSIGTERM
	case errors.Is(err, peer.ErrGone):
		return exitHostGone
	case err != nil:
		fmt.Fprintf(os.Stderr, "Error: %v\n", err)
		return exitError
	case failed:
		return exitError
	}
	return exitOK
}

// configure is what of a session's configuration the flags and the environment say.
func configure(f *flags, host *environment, log *slog.Logger) (*engine.Config, error) {
	model, modelName, source, err := chooseModel(f, host)
	if err != nil {
		return nil, err
	}
	system, appended, err := systemPrompt(f)
	if err != nil {
		return nil, err
	}
	mode := f.permissionMode
	if f.skipPermissions {
		mode = engine.ModeBypass
	}
	var folders []string
	for _, dir := range f.addDirs {
		if !filepath.IsAbs(dir) {
			dir = filepath.Join(host.cwd, dir)
		}
		folders = append(folders, dir)
	}
	return &engine.Config{
		Model:           model,
		SetEnv:          host.vars.set,
		Cwd:             host.cwd,
		ModelName:       modelName,
		PermissionMode:  mode,
		BypassAllowed:   f.skipPermissions || f.allowSkipPermissions || mode == engine.ModeBypass,
		AllowedTools:    f.allowedTools,
		DisallowedTools: f.disallowedTools,
		Folders:         folders,
		Private:         []string{filepath.Join(host.configDir, "takeback"), filepath.Join(host.configDir, "projects")},
		AskHost:         f.permissionPromptTool == "stdio" && f.permissionPrompts != "none",
		SystemPrompt:    system,
		AppendPrompt:    appended,
		Thinking:        thinking(f, host),
		Effort:          f.effort,
		MaxTurns:        f.maxTurns,
		ReplayPrompts:   f.replayUserMessages,
		PartialMessages: f.includePartialMessages,
		StateEvents:     host.stateEvents,
		RewindEvents:    host.rewindEvents,
		Version:         peerVersion,
		APIKeySource:    source,
		Log:             log,
		Stderr:          os.Stderr,
	}, nil
}

// systemPrompt is the host's own prompt, nil if it has none, and what it adds.
func systemPrompt(f *flags) (own []string, appended string, err error) {
	appended = f.appendSystemPrompt
	if f.systemPrompt != nil {
		own = engine.SplitSystemPrompt(*f.systemPrompt)
	}
	if f.systemPromptFile != "" {
		text, err := os.ReadFile(f.systemPromptFile)
		if err != nil {
			return nil, "", fmt.Errorf("read system prompt: %w", err)
		}
		own = engine.SplitSystemPrompt(strings.TrimPrefix(string(text), "\ufeff"))
	}
	if f.appendSystemPromptFile != "" {
		text, err := os.ReadFile(f.appendSystemPromptFile)
		if err != nil {
			return nil, "", fmt.Errorf("read system prompt: %w", err)
		}
		appended = strings.TrimPrefix(appended+"\n\n"+string(text), "\n\n")
	}
	return own, appended, nil
}

// thinking is how the model is to think, nil if nobody said. A budget means yes, one of 0 no.
func thinking(f *flags, host *environment) *engine.Thinking {
	budget := f.maxThinkingTokens
	if budget < 0 && f.thinking == "" {
		budget = host.maxThinkingTokens
	}
	switch {
	case f.thinking == "disabled" || budget == 0:
		return &engine.Thinking{Type: "disabled"}
	case budget > 0:
		return &engine.Thinking{Type: "enabled", Budget: budget, Display: f.thinkingDisplay}
	case f.thinking == "adaptive":
		return &engine.Thinking{Type: "adaptive", Display: f.thinkingDisplay}
	}
	return nil
}

// chooseTools leaves the tools that --tools names, less those that a bare rule of --disallowedTools
// forbids altogether: the model need not hear of them.
func chooseTools(all []engine.Tool, f *flags) []engine.Tool {
	preset := f.tools == "default" || strings.HasPrefix(f.tools, "{") // a preset in JSON, as some clients write it
	chosen := strings.FieldsFunc(f.tools, func(r rune) bool { return r == ',' || r == ' ' })
	return slices.DeleteFunc(all, func(tool engine.Tool) bool {
		name := tool.Spec().Name
		return !preset && !slices.Contains(chosen, name) || slices.Contains(f.disallowedTools, name)
	})
}

// chooseModel gives the model, the name to ask it for, and where its key comes from.
func chooseModel(f *flags, host *environment) (model engine.Model, name, keySource string, err error) {
	if kind, file, _ := strings.Cut(f.model, ":"); kind == "script" {
		m, err := script.New(file)
		return m, "script", "none", err
	}
	name, keySource = f.model, "none"
	if host.apiKey != "" {
		keySource = "ANTHROPIC_API_KEY"
	}
	return anthropic.New(anthropic.Options{
		BaseURL:   host.baseURL,
		APIKey:    host.apiKey,
		AuthToken: host.authToken,
		Model:     host.model,
	}), name, keySource, nil
}

// startFailed tells that there will be no session: as a result on stdout, since Python never
// shows stderr, and in words on stderr.
func startFailed(stdout io.Writer, f *flags, err error) int {
	id := cmp.Or(f.resume, f.sessionID)
	frame, encodeErr := protocol.Encode(&protocol.Result{
		Subtype:           "error_during_execution",
		IsError:           true,
		Errors:            []string{err.Error()},
		SessionID:         id,
		ModelUsage:        map[string]protocol.ModelUsage{},
		PermissionDenials: []protocol.PermissionDenial{},
		UUID:              uuid.NewString(),
	}, maxFrame)
	if encodeErr == nil {
		_, encodeErr = stdout.Write(frame)
	}
	fmt.Fprintf(os.Stderr, "Error: %v\n", errors.Join(err, encodeErr))
	awaitHost()
	return exitError
}

// awaitHost waits for the first byte of input, or its end. The Python SDK looks whether the
// process lives before it writes, and would tell its user of that and not of the result.
func awaitHost() {
	const patience = 2 * time.Second
	spoken := make(chan struct{})
	go func() {
		defer close(spoken)
		_, _ = os.Stdin.Read(make([]byte, 1))
	}()
	select {
	case <-spoken:
	case <-time.After(patience):
	}
}

var errTerminated = errors.New("terminated")

// exitTime is how long SIGTERM leaves for an orderly end. A host that does not read
// would hold it up for ever.
const exitTime = 3 * time.Second

// handleSignals returns a context that SIGTERM ends. SIGINT interrupts the turn, or ends an idle
// engine. A signal while the last one is still being obeyed ends the process at once.
func handleSignals(e *engine.Engine, exit func(code int)) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(context.Background())
	// SIGPIPE is caught so that a closed pipe is an error to handle. It is not ignored: children
	// would inherit that, and `yes | head` would never end.
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGPIPE)
	go func() {
		none := make(chan struct{})
		close(none)
		var obeyed <-chan struct{} = none // closed once the last signal has had its effect
		for s := range signals {
			if s == syscall.SIGPIPE {
				continue
			}
			code := exitError
			if s == syscall.SIGTERM {
				code = exitSIGTERM
			}
			select {
			case <-obeyed:
			default:
				exit(code)
			}
			if s == syscall.SIGTERM {
				obeyed = nil
				cancel(errTerminated)
				time.AfterFunc(exitTime, func() { exit(exitSIGTERM) })
			} else {
				obeyed = e.Interrupt()
			}
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		cancel(nil)
	}
}

// openLog logs where --debug or --debug-file says, else nowhere: a clean run leaves stderr empty.
func openLog(f *flags) (*slog.Logger, func(), error) {
	level := &slog.HandlerOptions{Level: slog.LevelDebug}
	switch {
	case f.debugFile != "":
		file, err := os.OpenFile(f.debugFile, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
		if err != nil {
			return nil, nil, fmt.Errorf("open debug file: %w", err)
		}
		return slog.New(slog.NewJSONHandler(file, level)), func() { file.Close() }, nil
	case f.debug != "":
		return slog.New(slog.NewJSONHandler(os.Stderr, level)), func() {}, nil
	}
	return slog.New(slog.DiscardHandler), func() {}, nil
}
