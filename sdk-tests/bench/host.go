package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"takeback/protocol"
)

type step map[string]any

// host is the other end of the pipes.
type host struct {
	cmd   *exec.Cmd
	stdin io.WriteCloser
	lines *bufio.Reader
}

// frame is what of a line the bench looks at.
type frame struct {
	Type     string           `json:"type"`
	UUID     string           `json:"uuid"`
	IsReplay bool             `json:"isReplay"`
	IsError  bool             `json:"is_error"`
	Result   string           `json:"result"`
	Errors   []string         `json:"errors"`
	Message  protocol.Message `json:"message"`
	Response struct {
		Subtype   string `json:"subtype"`
		RequestID string `json:"request_id"`
		Error     string `json:"error"`
		Response  struct {
			CanRewind bool   `json:"canRewind"`
			Error     string `json:"error"`
		} `json:"response"`
	} `json:"response"`
}

func (b *bench) start() (*host, error) {
	cmd := exec.Command(b.executable, "--output-format", "stream-json", "--verbose", "--input-format", "stream-json",
		"--permission-mode", "bypassPermissions", "--allow-dangerously-skip-permissions", "--replay-user-messages")
	if b.api == "" {
		cmd.Args = append(cmd.Args, "--model", strings.TrimSuffix("script:"+b.script, ":"))
	}
	cmd.Dir, cmd.Stderr = b.project, os.Stderr
	cmd.Env = append(os.Environ(), "HOME="+b.root, "CLAUDE_CONFIG_DIR="+b.config, "CLAUDE_CODE_ENABLE_SDK_FILE_CHECKPOINTING=true",
		"ANTHROPIC_BASE_URL="+b.api, "ANTHROPIC_API_KEY=bench", "IS_SANDBOX=1")
	h := &host{cmd: cmd}
	var err error
	if h.stdin, err = cmd.StdinPipe(); err != nil {
		return nil, err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	h.lines = bufio.NewReaderSize(stdout, 1<<20)
	return h, cmd.Start()
}

func (h *host) send(v any) error {
	line, err := protocol.Marshal(v)
	if err != nil {
		return err
	}
	_, err = h.stdin.Write(append(line, '\n'))
	return err
}

func (h *host) next() (*frame, error) {
	line, err := h.lines.ReadBytes('\n')
	if err != nil {
		return nil, err
	}
	var f frame
	return &f, protocol.Unmarshal(line, &f)
}

// turn is how a prompt went.
type turn struct {
	uuid            string
	replayed, whole time.Duration
	failed          int // tool calls
}

// prompt has the next turn of the script played.
func (h *host) prompt() (*turn, error) {
	t := &turn{uuid: uuid.NewString()}
	began := time.Now()
	err := h.send(map[string]any{
		"type": "user", "uuid": t.uuid, "session_id": "", "parent_tool_use_id": nil,
		"message": map[string]any{"role": "user", "content": "go on"},
	})
	if err != nil {
		return nil, err
	}
	for {
		f, err := h.next()
		switch {
		case err != nil:
			return nil, err
		case f.IsReplay:
			t.replayed = time.Since(began)
		case f.Type == "user":
			for _, block := range f.Message.Content {
				if block.IsError {
					t.failed++
				}
			}
		case f.Type == "result" && f.IsError:
			return nil, fmt.Errorf("the turn failed: %s %v", f.Result, f.Errors)
		case f.Type == "result":
			t.whole = time.Since(began)
			return t, nil
		}
	}
}

func (h *host) control(request map[string]any) (*frame, error) {
	id := uuid.NewString()
	if err := h.send(map[string]any{"type": "control_request", "request_id": id, "request": request}); err != nil {
		return nil, err
	}
	for {
		f, err := h.next()
		if err != nil {
			return nil, err
		}
		if f.Type == "control_response" && f.Response.RequestID == id {
			if f.Response.Subtype != "success" {
				return nil, errors.New(f.Response.Error)
			}
			return f, nil
		}
	}
}

func (h *host) rewind(id string, dryRun bool) (time.Duration, error) {
	began := time.Now()
	f, err := h.control(map[string]any{"subtype": "rewind_files", "user_message_id": id, "dry_run": dryRun})
	if err != nil {
		return 0, err
	}
	if !f.Response.Response.CanRewind {
		return 0, errors.New(f.Response.Response.Error)
	}
	return time.Since(began), nil
}

// memory reads a size from /proc; 0 where there is none.
func (h *host) memory(field string) int64 {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", h.cmd.Process.Pid))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(status)) {
		if rest, ok := strings.CutPrefix(line, field+":"); ok {
			kb, _ := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
			return kb * 1024
		}
	}
	return 0
}

func (h *host) end() error {
	if err := h.stdin.Close(); err != nil {
		return err
	}
	if _, err := io.Copy(io.Discard, h.lines); err != nil {
		return err
	}
	return h.cmd.Wait()
}

func (h *host) kill() {
	if h.cmd.ProcessState == nil {
		_ = h.cmd.Process.Kill()
		_ = h.cmd.Wait()
	}
}
