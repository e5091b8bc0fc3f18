package engine

import (
	"cmp"
	"fmt"
	"time"

	"github.com/goccy/go-json/jsontext"
	"github.com/google/uuid"

	"takeback/engine/session"
	"takeback/protocol"
)

// send puts a frame on the stream. It goes on after an interrupt, which ends the
// turn but not the connection. A host that is gone is the actor's to notice.
func (t *turn) send(f protocol.Frame) {
	if err := t.e.cfg.Conn.Send(t.e.ctx, f); err != nil {
		t.e.cfg.Log.Debug("frame not sent", "frame", fmt.Sprintf("%T", f), "error", err)
	}
}

func (t *turn) sessionID() string { return t.e.cfg.Transcript.ID() }

func (t *turn) sendState(state string) {
	if t.e.cfg.StateEvents == NoStateEvents {
		return
	}
	t.send(&protocol.SessionState{
		State:       state,
		SDKHostOnly: t.e.cfg.StateEvents == HostOnlyStateEvents,
		SessionID:   t.sessionID(),
		UUID:        uuid.NewString(),
	})
}

func (t *turn) sendInit() {
	e := t.e
	tools := []string{}
	for _, tool := range e.cfg.Tools {
		tools = append(tools, tool.Spec().Name)
	}
	model := e.settings.modelName()
	model = cmp.Or(findModel(e.cfg.Model, model).ResolvedModel, model)
	t.send(&protocol.Init{
		Cwd:               e.cfg.Cwd,
		SessionID:         t.sessionID(),
		Tools:             tools,
		MCPServers:        []protocol.MCPServer{},
		Model:             model,
		PermissionMode:    e.permissions.currentMode(),
		SlashCommands:     []string{},
		APIKeySource:      e.cfg.APIKeySource,
		ClaudeCodeVersion: e.cfg.Version,
		OutputStyle:       outputStyle,
		Agents:            []string{},
		Skills:            []string{},
		Plugins:           []struct{}{},
		UUID:              uuid.NewString(),
	})
}

// replay acknowledges the prompt with its uuid: the only way for a host to learn it.
func (t *turn) replay() {
	p := t.prompt
	if !t.e.cfg.ReplayPrompts {
		return
	}
	t.send(&protocol.UserFrame{
		Message:         p.Raw,
		ParentToolUseID: p.ParentToolUseID,
		SessionID:       t.sessionID(),
		UUID:            p.UUID,
		Timestamp:       timestamp(),
		IsReplay:        true,
		IsSynthetic:     p.IsSynthetic,
		Origin:          p.Origin,
	})
}

// sendBlock sends one block of the model's message, and records it under the same uuid.
func (t *turn) sendBlock(r *reply, block protocol.Block) {
	m := r.AssistantMessage
	m.Content = protocol.Content{block}
	t.sendAssistant(m, nil)
}

func (t *turn) sendAssistant(m protocol.AssistantMessage, failure *ModelError) {
	frame := &protocol.Assistant{Message: m, SessionID: t.sessionID(), UUID: uuid.NewString()}
	line := session.Line{Type: "assistant", UUID: frame.UUID}
	if failure != nil {
		frame.Error, line.IsAPIError, line.Refused = failure.Kind, true, failure.Refused && t.calls == 1
	}
	var err error
	if line.Message, err = protocol.Marshal(m); err != nil {
		t.recordFailed(err)
	} else {
		t.record(line)
	}
	t.send(frame)
}

func (t *turn) sendEvent(raw jsontext.Value) {
	if t.e.cfg.PartialMessages {
		t.send(&protocol.StreamEvent{Event: raw, SessionID: t.sessionID(), UUID: uuid.NewString()})
	}
}

func timestamp() string { return time.Now().UTC().Format("2006-01-02T15:04:05.000Z") }

// message encodes a message of the user's side. Its blocks came through a decoder or are our own, so it can be encoded.
func message(content protocol.Content) jsontext.Value {
	raw, err := protocol.Marshal(protocol.Message{Role: "user", Content: content})
	if err != nil {
		panic(err)
	}
	return raw
}
