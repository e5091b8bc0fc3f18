package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"

	"github.com/google/uuid"

	"takeback/protocol"
)

// host drives a takeback of its own over stdio, as an SDK does.
type host struct {
	cmd   *exec.Cmd
	stdin io.WriteCloser
	lines *bufio.Reader
}

// hostFrame is what of a frame the demo shows.
type hostFrame struct {
	Type          string           `json:"type"`
	UUID          string           `json:"uuid"`
	SessionID     string           `json:"session_id"`
	IsReplay      bool             `json:"isReplay"`
	IsError       bool             `json:"is_error"`
	Errors        []string         `json:"errors"`
	Message       protocol.Message `json:"message"`
	ToolUseResult toolReport       `json:"tool_use_result"`
	Response      struct {
		RequestID string               `json:"request_id"`
		Error     string               `json:"error"`
		Response  protocol.RewindReply `json:"response"`
	} `json:"response"`
}

type toolReport struct {
	Type     string `json:"type"`
	FilePath string `json:"filePath"`
}

func (r toolReport) verb() string {
	if r.Type == "create" {
		return "created"
	}
	return "changed"
}

func startHost(project, config string) (*host, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find own executable: %w", err)
	}
	cmd := exec.Command(self, "--output-format", "stream-json", "--verbose", "--input-format", "stream-json",
		"--model", "script", "--permission-mode", "acceptEdits", "--replay-user-messages")
	cmd.Dir, cmd.Stderr = project, os.Stderr
	cmd.Env = append(os.Environ(), "CLAUDE_CONFIG_DIR="+config,
		"CLAUDE_CODE_ENABLE_SDK_FILE_CHECKPOINTING=true", "CLAUDE_CODE_DISABLE_FILE_CHECKPOINTING=")
	h := &host{cmd: cmd}
	if h.stdin, err = cmd.StdinPipe(); err != nil {
		return nil, err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	h.lines = bufio.NewReader(stdout)
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start takeback: %w", err)
	}
	return h, nil
}

func (h *host) send(message any) error {
	line, err := protocol.Marshal(message)
	if err != nil {
		return err
	}
	_, err = h.stdin.Write(append(line, '\n'))
	return err
}

func (h *host) next() (*hostFrame, error) {
	line, err := h.lines.ReadBytes('\n')
	if err != nil {
		return nil, fmt.Errorf("takeback went away: %w", err)
	}
	var f hostFrame
	if err := protocol.Unmarshal(line, &f); err != nil {
		return nil, fmt.Errorf("read %q: %w", line, err)
	}
	return &f, nil
}

// prompt sends a user message and gives each frame of its turn to show.
func (h *host) prompt(text string, show func(*hostFrame)) error {
	err := h.send(map[string]any{
		"type":               "user",
		"uuid":               uuid.NewString(),
		"session_id":         "",
		"parent_tool_use_id": nil,
		"message":            map[string]any{"role": "user", "content": text},
	})
	if err != nil {
		return err
	}
	for {
		f, err := h.next()
		if err != nil {
			return err
		}
		show(f)
		if f.Type == "result" {
			if f.IsError {
				return fmt.Errorf("the turn failed: %v", f.Errors)
			}
			return nil
		}
	}
}

func (h *host) rewind(id string, dryRun bool) (*protocol.RewindReply, error) {
	request := uuid.NewString()
	err := h.send(map[string]any{
		"type":       "control_request",
		"request_id": request,
		"request":    map[string]any{"subtype": "rewind_files", "user_message_id": id, "dry_run": dryRun},
	})
	if err != nil {
		return nil, err
	}
	for {
		f, err := h.next()
		if err != nil {
			return nil, err
		}
		if f.Type != "control_response" || f.Response.RequestID != request {
			continue
		}
		reply := f.Response.Response
		switch {
		case f.Response.Error != "":
			return nil, fmt.Errorf("the rewind was refused: %s", f.Response.Error)
		case !reply.CanRewind || reply.Insertions == nil || reply.Deletions == nil:
			return nil, fmt.Errorf("the rewind cannot be done: %s", reply.Error)
		}
		return &reply, nil
	}
}

// end closes stdin, as an SDK does, and waits for the process to end by itself.
func (h *host) end() error {
	if err := h.stdin.Close(); err != nil {
		return err
	}
	if _, err := io.Copy(io.Discard, h.lines); err != nil {
		return err
	}
	return h.cmd.Wait()
}

// stop ends a process that is still there after a failure.
func (h *host) stop() {
	if h.cmd.ProcessState == nil {
		_ = h.cmd.Process.Kill()
		_ = h.cmd.Wait()
	}
}
