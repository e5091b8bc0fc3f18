package engine

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"takeback/protocol"
	"takeback/protocol/peer"
	"takeback/schemas"
)

const (
	outputStyle = "default"

	codeUnsupported = "unsupported_request"
	codeInvalid     = "invalid_request"
)

// requests is all that a host may ask for. Each runs on the actor and answers
// its request, there or (rewinds) later; the schema of the same name has been checked by then.
var requests = map[string]func(*Engine, *peer.Request){
	"initialize":          (*Engine).initialize,
	"interrupt":           (*Engine).interrupt,
	"set_model":           (*Engine).setModel,
	"set_permission_mode": (*Engine).setPermissionMode,
	"rewind_files":        (*Engine).rewindFiles,
	"get_binary_version":  (*Engine).binaryVersion,
}

// serve answers a request, or hands it to what will.
func (e *Engine) serve(r *peer.Request) {
	e.cfg.Log.Debug("control request", "subtype", r.Subtype, "id", r.ID)
	handle, ok := requests[r.Subtype]
	if !ok {
		e.fail(r, peer.Failure{Message: "Unsupported control request subtype: " + r.Subtype, Code: codeUnsupported})
		return
	}
	if err := schemas.Request(r.Subtype).Validate(r.ControlRequest.Request); err != nil {
		e.fail(r, peer.Failure{Message: fmt.Sprintf("Invalid %s request: %v", r.Subtype, err), Code: codeInvalid})
		return
	}
	handle(e, r)
}

// reply and fail answer a request; the engine may end once all are answered.
func (e *Engine) reply(r *peer.Request, response any) {
	r.Reply(response)
	e.serving.Add(-1)
}

func (e *Engine) fail(r *peer.Request, f peer.Failure) {
	r.Fail(f)
	e.serving.Add(-1)
}

// fields decodes what the schema has let pass.
func fields[T any](r *peer.Request) T {
	var v T
	if err := protocol.Unmarshal(r.ControlRequest.Request, &v); err != nil {
		panic(fmt.Sprintf("schema of %s lets pass what its handler cannot read: %v", r.Subtype, err))
	}
	return v
}

func (e *Engine) initialize(r *peer.Request) {
	req := fields[struct {
		SystemPrompt       []string `json:"systemPrompt"` // absent: ours; [""]: none
		AppendSystemPrompt string   `json:"appendSystemPrompt"`
	}](r)
	var system []string
	if req.SystemPrompt != nil {
		system = SplitSystemPrompt(strings.Join(req.SystemPrompt, "\n\n"))
	}
	e.settings.setSystemPrompt(system, req.AppendSystemPrompt)
	state := "idle"
	if e.turn != nil && !e.turn.resultSent {
		state = "running"
	}
	e.reply(r, map[string]any{
		"commands":                []any{},
		"agents":                  []any{},
		"output_style":            outputStyle,
		"available_output_styles": []string{outputStyle},
		"models":                  e.modelList(),
		"account":                 map[string]string{"apiKeySource": e.cfg.APIKeySource},
		"claude_code_version":     e.cfg.Version,
		"pid":                     os.Getpid(),
		"session_state":           state,
		"current_permission_mode": e.permissions.currentMode(),
	})
}

func (e *Engine) modelList() []map[string]any {
	var list []map[string]any
	for _, m := range e.cfg.Model.Models() {
		entry := map[string]any{"value": m.Value, "displayName": m.DisplayName, "description": m.Description}
		if m.ResolvedModel != "" {
			entry["resolvedModel"] = m.ResolvedModel
		}
		list = append(list, entry)
	}
	return list
}

// interrupt stops the turn that runs or is about to start. What is queued behind it stays, unless
// the host wants that gone too.
func (e *Engine) interrupt(r *peer.Request) {
	req := fields[struct {
		CancelQueued bool `json:"cancel_queued"`
	}](r)
	e.interruptTurn()
	queued := []string{}
	for _, p := range e.queue {
		queued = append(queued, p.UUID)
	}
	if req.CancelQueued {
		e.setQueue(nil)
		e.reply(r, map[string]any{"still_queued": []string{}, "cancelled": queued})
		return
	}
	e.reply(r, map[string]any{"still_queued": queued})
}

func (e *Engine) setModel(r *peer.Request) {
	req := fields[struct {
		Model *string `json:"model"`
	}](r)
	name := e.cfg.Model.Models()[0].Value
	if req.Model != nil && *req.Model != "" {
		name = *req.Model
	}
	e.settings.setModel(name)
	e.reply(r, map[string]string{"model": name})
}

func (e *Engine) setPermissionMode(r *peer.Request) {
	mode := fields[struct {
		Mode string `json:"mode"`
	}](r).Mode
	changed, err := e.permissions.setMode(mode)
	var refused *modeError
	if errors.As(err, &refused) {
		e.fail(r, peer.Failure{Message: refused.message, Code: refused.code})
		return
	}
	e.reply(r, map[string]string{"mode": mode})
	if changed {
		e.cfg.Conn.Post(e.modeStatus(mode))
	}
}

func (e *Engine) binaryVersion(r *peer.Request) {
	e.reply(r, map[string]string{"version": e.cfg.Version})
}
