package engine

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"takeback/protocol"
)

// settings are what the host may change while a turn runs.
type settings struct {
	mu     sync.Mutex
	model  string
	system []string // nil: ours; parts, each kept from call to call longer than the next
	append string
}

func newSettings(cfg Config) *settings {
	s := &settings{model: cfg.ModelName, system: cfg.SystemPrompt, append: cfg.AppendPrompt}
	if s.model == "" {
		s.model = cfg.Model.Models()[0].Value
	}
	return s
}

func (s *settings) modelName() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.model
}

func (s *settings) setModel(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.model = name
}

func (s *settings) setSystemPrompt(system []string, appended string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if system != nil {
		s.system = system
	}
	if appended != "" {
		s.append = appended
	}
}

// systemPrompt is the host's own prompt, which may be empty on purpose, else
// ours with what the model should know of where it works; the host's addition comes behind either.
func (s *settings) systemPrompt(surroundings string) protocol.Content {
	s.mu.Lock()
	defer s.mu.Unlock()
	parts := s.system
	if parts == nil {
		parts = []string{basePrompt + "\n\n" + surroundings}
	}
	var prompt protocol.Content
	for _, part := range append(slices.Clone(parts), s.append) {
		if strings.TrimSpace(part) != "" {
			prompt = append(prompt, protocol.Text(part)...)
		}
	}
	return prompt
}

// dynamicBoundary stands where the part of a system prompt ends that is the same in every session.
const dynamicBoundary = "__SYSTEM_PROMPT_DYNAMIC_BOUNDARY__"

// SplitSystemPrompt splits a host's system prompt at the boundary; an empty one is no part, but not nil.
func SplitSystemPrompt(prompt string) []string {
	parts := []string{}
	for part := range strings.SplitSeq(prompt, dynamicBoundary) {
		if part = strings.TrimSpace(part); part != "" {
			parts = append(parts, part)
		}
	}
	return parts
}

// basePrompt is for hosts that leave the system prompt to us.
const basePrompt = "You are an agent that works on a user's files with the tools you are given. " +
	"Look before you change anything, do what was asked and no more, and say plainly what you did and what you could not do."

// surroundings tells the model where it works. It is made once: a prompt that changed from call to call
// could not be cached.
func surroundings(cfg Config) string {
	repository := "no"
	for dir := cfg.Cwd; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, ".git")); err == nil {
			repository = "yes"
			break
		}
		if dir == filepath.Dir(dir) {
			break
		}
	}
	lines := []string{
		"<env>",
		"Working directory: " + cfg.Cwd,
		"In a git repository: " + repository,
		"Platform: " + runtime.GOOS,
		"Date: " + time.Now().Format(time.DateOnly),
	}
	if len(cfg.Folders) > 0 {
		lines = append(lines, "Other folders to work in: "+strings.Join(cfg.Folders, ", "))
	}
	return strings.Join(append(lines, "</env>"), "\n")
}
