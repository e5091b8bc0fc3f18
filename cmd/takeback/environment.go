package main

import (
	"os"
	"os/user"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"takeback/engine"
)

// environment is all that is read from outside the flags.
type environment struct {
	cwd            string // links resolved; the PWD variable is stale under the TypeScript SDK
	configDir      string
	projectDirName string
	entrypoint     string
	checkpointing  bool
	stateEvents    engine.StateEvents
	rewindEvents   bool
	maxFrame       int

	baseURL, apiKey, authToken, model string
	maxThinkingTokens                 int // -1: not given

	vars *variables // what commands get
}

func readEnvironment() *environment {
	env := &environment{
		configDir:         os.Getenv("CLAUDE_CONFIG_DIR"),
		entrypoint:        os.Getenv("CLAUDE_CODE_ENTRYPOINT"),
		checkpointing:     isSet("CLAUDE_CODE_ENABLE_SDK_FILE_CHECKPOINTING") && !isSet("CLAUDE_CODE_DISABLE_FILE_CHECKPOINTING"),
		rewindEvents:      isSet("TAKEBACK_REWIND_EVENTS"),
		maxFrame:          maxFrame,
		baseURL:           os.Getenv("ANTHROPIC_BASE_URL"),
		apiKey:            os.Getenv("ANTHROPIC_API_KEY"),
		authToken:         os.Getenv("ANTHROPIC_AUTH_TOKEN"),
		model:             os.Getenv("ANTHROPIC_MODEL"),
		maxThinkingTokens: -1,
		vars:              &variables{env: os.Environ()},
	}
	if n, err := strconv.Atoi(os.Getenv("MAX_THINKING_TOKENS")); err == nil {
		env.maxThinkingTokens = n
	}
	env.cwd, _ = os.Getwd()
	if real, err := filepath.EvalSymlinks(env.cwd); err == nil {
		env.cwd = real
	}
	if env.configDir != "" {
		if abs, err := filepath.Abs(env.configDir); err == nil {
			env.configDir = abs
		}
		if name := os.Getenv("CLAUDE_CODE_PROJECT_DIR_NAME"); regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`).MatchString(name) {
			env.projectDirName = name
		}
	} else if home := homeDir(); home != "" {
		env.configDir = filepath.Join(home, ".claude")
	}
	if env.entrypoint == "sdk-ts" {
		env.maxFrame = maxFrameTS
	}
	switch {
	case isSet("CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS"):
		env.stateEvents = engine.PublicStateEvents
	case isSet("CLAUDE_CODE_SDK_READS_SESSION_STATE"):
		env.stateEvents = engine.HostOnlyStateEvents
	}
	return env
}

// homeDir is "" where there is none: an environment without HOME, and a user whom the system does not know.
func homeDir() string {
	if home, err := os.UserHomeDir(); err == nil {
		return home
	}
	if u, err := user.Current(); err == nil {
		return u.HomeDir
	}
	return ""
}

// isSet tells whether a switch is on. The SDKs write "true" or "1".
func isSet(name string) bool {
	switch strings.ToLower(os.Getenv(name)) {
	case "", "0", "false", "no", "off":
		return false
	}
	return true
}

// variables are the environment of commands, which the host may change while they run.
type variables struct {
	mu  sync.Mutex
	env []string
}

func (v *variables) list() []string {
	v.mu.Lock()
	defer v.mu.Unlock()
	return slices.Clone(v.env)
}

func (v *variables) set(vars map[string]string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for name, value := range vars {
		v.env = slices.DeleteFunc(v.env, func(entry string) bool { return strings.HasPrefix(entry, name+"=") })
		v.env = append(v.env, name+"="+value)
	}
}
