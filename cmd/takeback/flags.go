package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/google/uuid"
	"github.com/spf13/pflag"

	"takeback/engine"
)

// flags are the flags that have a meaning so far.
type flags struct {
	inputFormat, outputFormat string
	verbose, print            bool
	model                     string
	permissionMode            string
	skipPermissions           bool
	allowSkipPermissions      bool
	replayUserMessages        bool
	includePartialMessages    bool
	maxTurns                  int
	resume, sessionID         string
	continueLatest            bool
	forkSession               bool
	noPersistence             bool
	rewindFiles               *string // nil: not given
	systemPrompt              *string // nil: not given; "" is the empty prompt
	systemPromptFile          string
	appendSystemPrompt        string
	appendSystemPromptFile    string
	thinking                  string
	thinkingDisplay           string
	maxThinkingTokens         int // -1: not given
	effort                    string
	tools                     string   // "default", "" for none, or a list
	allowedTools              []string // rules
	disallowedTools           []string // rules
	addDirs                   []string
	permissionPromptTool      string
	permissionPrompts         string
	debug                     string // "" is off
	debugFile                 string
	prompt                    []string // what is no flag
}

// accepted are flags that SDKs and community clients pass and that change nothing
// here yet. Refusing them would break clients that are none the worse for it.
var accepted = struct{ withValue, withoutValue []string }{
	withValue: []string{
		"advisor", "agent", "agents", "betas",
		"channels", "fallback-model", "file", "initialize-fields", "json-schema",
		"managed-settings", "max-budget-usd", "mcp-config", "plugin-dir", "plugin-dir-no-mcp", "project-config-root", "setting-sources",
		"settings", "task-budget", "workload",
	},
	withoutValue: []string{
		"await-claim", "await-initialize", "bare", "chrome", "disable-slash-commands",
		"exclude-dynamic-system-prompt-sections", "ide", "include-hook-events",
		"managed-settings-in-initialize", "session-mirror", "strict-mcp-config",
	},
}

// refused are flags that say where a session goes on. To ignore one would go on
// where the host said not to, so they end the start until they work.
var refused = []string{"resume-drops-turn", "resume-session-at", "sdk-url"}

// aliases are second spellings.
var aliases = map[string]string{
	"allowedTools":    "allowed-tools",
	"disallowedTools": "disallowed-tools",
	"debug-to-stderr": "debug",
}

// parseError is a command line that cannot be read. Clients know such errors by the small "error:".
type parseError string

func (e parseError) Error() string { return string(e) }

// sentence is an error in the words of the peer, which users and clients know.
type sentence string

func (s sentence) Error() string { return string(s) }

func parseFlags(args []string) (*flags, error) {
	f := &flags{}
	fs := pflag.NewFlagSet("takeback", pflag.ContinueOnError)
	fs.SetOutput(io.Discard)
	fs.SetNormalizeFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		if full, ok := aliases[name]; ok {
			name = full
		}
		return pflag.NormalizedName(name)
	})
	define(fs, f)
	if err := fs.Parse(args); err != nil {
		return nil, asParseError(err)
	}
	for _, rules := range []*[]string{&f.allowedTools, &f.disallowedTools} {
		var err error
		if *rules, err = splitRules(*rules); err != nil {
			return nil, err
		}
	}
	f.prompt = slices.DeleteFunc(fs.Args(), func(arg string) bool { return arg == "" })
	if !fs.Changed("system-prompt") {
		f.systemPrompt = nil
	}
	if !fs.Changed("rewind-files") {
		f.rewindFiles = nil
	}
	return f, f.check(fs)
}

// splitRules splits lists at commas and blanks, but not within the parentheses of a rule.
func splitRules(lists []string) ([]string, error) {
	var rules []string
	for _, list := range lists {
		depth, start := 0, 0
		for i, r := range list + "," {
			switch {
			case r == '(':
				depth++
			case r == ')':
				depth--
			case depth <= 0 && strings.ContainsRune(", \t\n", r):
				if i > start {
					rules = append(rules, list[start:i])
				}
				start = i + 1
			}
		}
		if depth > 0 { // a rule that forbids must not get lost
			return nil, parseError(fmt.Sprintf("a parenthesis is not closed in the list of tools %q", list))
		}
	}
	return rules, nil
}

func define(fs *pflag.FlagSet, f *flags) {
	f.systemPrompt, f.rewindFiles = new(string), new(string)
	fs.StringVar(&f.inputFormat, "input-format", "text", "")
	fs.StringVar(&f.outputFormat, "output-format", "text", "")
	fs.BoolVar(&f.verbose, "verbose", false, "")
	fs.BoolVarP(&f.print, "print", "p", false, "")
	fs.StringVar(&f.model, "model", "", "")
	fs.StringVar(&f.permissionMode, "permission-mode", "", "")
	fs.BoolVar(&f.skipPermissions, "dangerously-skip-permissions", false, "")
	fs.BoolVar(&f.allowSkipPermissions, "allow-dangerously-skip-permissions", false, "")
	fs.BoolVar(&f.replayUserMessages, "replay-user-messages", false, "")
	fs.BoolVar(&f.includePartialMessages, "include-partial-messages", false, "")
	fs.IntVar(&f.maxTurns, "max-turns", 0, "")
	fs.StringVarP(&f.resume, "resume", "r", "", "")
	fs.StringVar(&f.sessionID, "session-id", "", "")
	fs.BoolVarP(&f.continueLatest, "continue", "c", false, "")
	fs.BoolVar(&f.forkSession, "fork-session", false, "")
	fs.BoolVar(&f.noPersistence, "no-session-persistence", false, "")
	fs.StringVar(f.rewindFiles, "rewind-files", "", "")
	fs.StringVar(f.systemPrompt, "system-prompt", "", "")
	fs.StringVar(&f.systemPromptFile, "system-prompt-file", "", "")
	fs.StringVar(&f.appendSystemPrompt, "append-system-prompt", "", "")
	fs.StringVar(&f.appendSystemPromptFile, "append-system-prompt-file", "", "")
	fs.StringVar(&f.thinking, "thinking", "", "")
	fs.StringVar(&f.thinkingDisplay, "thinking-display", "", "")
	fs.IntVar(&f.maxThinkingTokens, "max-thinking-tokens", -1, "")
	fs.StringVar(&f.effort, "effort", "", "")
	fs.StringVar(&f.tools, "tools", "default", "")
	fs.StringArrayVar(&f.allowedTools, "allowed-tools", nil, "")
	fs.StringArrayVar(&f.disallowedTools, "disallowed-tools", nil, "")
	fs.StringArrayVar(&f.addDirs, "add-dir", nil, "")
	fs.StringVar(&f.permissionPromptTool, "permission-prompt-tool", "", "")
	fs.StringVar(&f.permissionPrompts, "permission-prompts", "host", "")
	fs.StringVarP(&f.debug, "debug", "d", "", "")
	fs.Lookup("debug").NoOptDefVal = "all"
	fs.StringVar(&f.debugFile, "debug-file", "", "")
	for _, name := range accepted.withValue {
		fs.StringArray(name, nil, "")
	}
	for _, name := range accepted.withoutValue {
		fs.Bool(name, false, "")
	}
	for _, name := range []string{"worktree", "from-pr"} {
		fs.StringArray(name, nil, "")
		fs.Lookup(name).NoOptDefVal = "yes"
	}
	for _, name := range refused {
		fs.StringArray(name, nil, "")
	}
}

// asParseError puts an error of the flag library in the words that clients know from the peer.
func asParseError(err error) error {
	var unknown *pflag.NotExistError
	var noValue *pflag.ValueRequiredError
	var invalid *pflag.InvalidValueError
	switch {
	case errors.As(err, &unknown) && unknown.GetSpecifiedShortnames() != "":
		return parseError(fmt.Sprintf("unknown option '-%s'", unknown.GetSpecifiedName()))
	case errors.As(err, &unknown):
		return parseError(fmt.Sprintf("unknown option '--%s'", unknown.GetSpecifiedName()))
	case errors.As(err, &noValue):
		return parseError(fmt.Sprintf("option '--%s' needs a value", noValue.GetFlag().Name))
	case errors.As(err, &invalid):
		return parseError(fmt.Sprintf("option '--%s' cannot be %q", invalid.GetFlag().Name, invalid.GetValue()))
	}
	return parseError(err.Error())
}

func (f *flags) check(fs *pflag.FlagSet) error {
	for _, name := range refused {
		if fs.Changed(name) {
			return fmt.Errorf("--%s is not supported by this version of takeback. Leave it out", name)
		}
	}
	if f.rewindFiles != nil {
		return f.checkRewind()
	}
	for _, text := range f.disallowedTools {
		if err := engine.CheckRule(text); err != nil { // one that is not understood would forbid nothing
			return fmt.Errorf("--disallowedTools: %w", err)
		}
	}
	switch {
	case f.inputFormat != "stream-json":
		return errors.New("takeback speaks JSON lines with an agent SDK: pass --input-format stream-json --output-format stream-json --verbose. To see it work, run: takeback demo")
	case f.outputFormat != "stream-json":
		return errors.New("--input-format=stream-json requires output-format=stream-json")
	case f.print && !f.verbose:
		return sentence("When using --print, --output-format=stream-json requires --verbose")
	case len(f.prompt) > 0:
		return fmt.Errorf("prompts come as JSON lines on stdin; %q on the command line is not one", strings.Join(f.prompt, " "))
	case f.permissionMode != "" && !engine.ValidMode(f.permissionMode):
		return fmt.Errorf("--permission-mode cannot be %q: it is one of acceptEdits, auto, bypassPermissions, default, dontAsk, plan", f.permissionMode)
	case f.sessionID != "" && (f.resume != "" || f.continueLatest) && !f.forkSession:
		return sentence("--session-id can only be used with --continue or --resume if --fork-session is also specified.")
	case f.sessionID != "" && (uuid.Validate(f.sessionID) != nil || len(f.sessionID) != len(uuid.Nil.String())):
		return sentence("Invalid session ID. Must be a valid UUID.")
	case !slices.Contains([]string{"", "adaptive", "disabled"}, f.thinking):
		return fmt.Errorf("--thinking cannot be %q: it is adaptive or disabled", f.thinking)
	case f.maxTurns < 0:
		return errors.New("--max-turns cannot be negative")
	}
	return nil
}

// checkRewind checks a command line that only rewinds files, and runs no session.
func (f *flags) checkRewind() error {
	switch {
	case f.resume == "":
		return sentence("--rewind-files requires --resume")
	case len(f.prompt) > 0 || f.inputFormat == "stream-json":
		return sentence("--rewind-files is a standalone operation and cannot be used with a prompt")
	case f.forkSession || f.noPersistence:
		return sentence("--rewind-files cannot be used with --fork-session or --no-session-persistence: what it overwrites is kept in the session itself")
	}
	return nil
}
