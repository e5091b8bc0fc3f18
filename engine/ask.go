package engine

import (
	"errors"
	"fmt"

	"github.com/goccy/go-json/jsontext"
	"github.com/google/uuid"

	"takeback/protocol"
	"takeback/protocol/peer"
)

// permissionQuestion is can_use_tool.
type permissionQuestion struct {
	Subtype     string             `json:"subtype"`
	ToolName    string             `json:"tool_name"`
	DisplayName string             `json:"display_name"`
	Input       jsontext.Value     `json:"input"`
	ToolUseID   string             `json:"tool_use_id"`
	Suggestions []permissionUpdate `json:"permission_suggestions,omitzero"`
	BlockedPath string             `json:"blocked_path,omitzero"`
	Reason      string             `json:"decision_reason"`
	ReasonType  string             `json:"decision_reason_type"`
}

// permissionAnswer is what the host says to it.
type permissionAnswer struct {
	Behavior           string         `json:"behavior"`           // allow or deny
	UpdatedInput       jsontext.Value `json:"updatedInput"`       // allow: run it with this instead
	UpdatedPermissions jsontext.Value `json:"updatedPermissions"` // allow: from now on
	Message            string         `json:"message"`            // deny: for the model
	Interrupt          bool           `json:"interrupt"`          // deny: and end the turn
}

// askHost puts a call to the host. It gives the input to run it with, or why it must not run.
func (t *turn) askHost(call protocol.Block, d decision) (input jsontext.Value, refusal string) {
	if !t.e.cfg.AskHost {
		return nil, fmt.Sprintf("%s was not run: it needs permission, and there is nobody to ask. %s", call.Name, d.reason)
	}
	t.sendState("requires_action")
	defer t.sendState("running")
	raw, err := t.e.cfg.Conn.Call(t.ctx, permissionQuestion{
		Subtype: "can_use_tool", ToolName: call.Name, DisplayName: call.Name, Input: call.Input, ToolUseID: call.ID,
		Suggestions: d.suggestions, BlockedPath: d.blockedPath, Reason: d.reason, ReasonType: d.reasonType,
	})
	if err != nil {
		return nil, askFailed(err)
	}
	var answer permissionAnswer
	if err := protocol.Unmarshal(raw, &answer); err != nil {
		return nil, fmt.Sprintf("Tool permission request failed: the host's answer cannot be read (%v).", err)
	}
	switch answer.Behavior {
	case "allow":
		t.applyUpdates(answer.UpdatedPermissions)
		if answer.UpdatedInput.Kind() == '{' {
			return answer.UpdatedInput, ""
		}
		return call.Input, ""
	case "deny":
		if answer.Interrupt {
			t.cancel(errDenied)
		}
		if answer.Message == "" {
			return nil, fmt.Sprintf("%s was not run: the user denied it.", call.Name)
		}
		return nil, answer.Message
	}
	return nil, fmt.Sprintf("Tool permission request failed: the host answered %q, and not allow or deny.", answer.Behavior)
}

// askFailed says why there is no answer: all of these mean no.
func askFailed(err error) string {
	var host *peer.HostError
	var long *protocol.TooLongError
	switch {
	case errors.As(err, &host):
		return "Tool permission request failed: " + host.Message
	case errors.As(err, &long):
		return fmt.Sprintf("Tool permission request failed: the input of this call is too long to be shown to the user (%v). Make several smaller calls.", err)
	case errors.Is(err, peer.ErrGone):
		return "Tool permission request failed: the host closed its input before it answered."
	}
	return "This call was not carried out: the user interrupted the turn."
}

// applyUpdates takes what the host wants to hold from now on. One that makes no
// sense costs a line in the log: the call itself is allowed.
func (t *turn) applyUpdates(all jsontext.Value) {
	var updates []jsontext.Value
	if all != nil {
		if err := protocol.Unmarshal(all, &updates); err != nil {
			t.e.cfg.Log.Debug("permission updates refused", "error", err)
		}
	}
	for _, raw := range updates {
		var u permissionUpdate
		changed := false
		err := protocol.Unmarshal(raw, &u)
		if err == nil {
			changed, err = t.e.permissions.update(u)
		}
		if err != nil {
			t.e.cfg.Log.Debug("permission update refused", "type", u.Type, "error", err)
		}
		if changed {
			t.send(t.e.modeStatus(u.Mode))
		}
	}
}

// modeStatus tells hosts that the permission mode is another one now.
func (e *Engine) modeStatus(mode string) *protocol.Status {
	return &protocol.Status{PermissionMode: mode, SessionID: e.cfg.Transcript.ID(), UUID: uuid.NewString()}
}
