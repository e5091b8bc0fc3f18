package engine

import (
	"strings"

	"github.com/google/uuid"

	"takeback/engine/session"
	"takeback/protocol"
)

// conversation is what the model and the user said, and what it cost. It is lent to the turn that runs.
type conversation struct {
	transcript *session.Transcript
	messages   []protocol.Message
	spent      map[string]protocol.ModelUsage // by model, in this process
}

func newConversation(transcript *session.Transcript) *conversation {
	return &conversation{transcript: transcript, messages: transcript.History(), spent: map[string]protocol.ModelUsage{}}
}

// add joins a message to the conversation.
func (c *conversation) add(role string, content protocol.Content) {
	c.messages = append(c.messages, protocol.Message{Role: role, Content: content})
}

// spend adds what a call of the model has cost.
func (c *conversation) spend(info ModelInfo, model string, u protocol.Usage) {
	if u == (protocol.Usage{}) {
		return // it failed before it began
	}
	sum := c.spent[model]
	sum.InputTokens += u.InputTokens
	sum.OutputTokens += u.OutputTokens
	sum.CacheReadInputTokens += u.CacheReadInputTokens
	sum.CacheCreationInputTokens += u.CacheCreationInputTokens
	sum.CostUSD += (float64(u.InputTokens)*info.InputPrice + float64(u.OutputTokens)*info.OutputPrice +
		float64(u.CacheCreationInputTokens)*info.CacheWritePrice + float64(u.CacheReadInputTokens)*info.CacheReadPrice) / 1e6
	sum.ContextWindow, sum.MaxOutputTokens = info.ContextWindow, info.MaxOutputTokens
	c.spent[model] = sum
}

func (c *conversation) cost() float64 {
	var sum float64
	for _, u := range c.spent {
		sum += u.CostUSD
	}
	return sum
}

// findModel describes the model that a request names; the zero ModelInfo, which costs nothing, if it is none we know.
func findModel(m Model, name string) ModelInfo {
	name = strings.TrimSuffix(name, "[1m]") // asks for a larger window, not for another model
	for _, info := range m.Models() {
		if info.Value == name || info.ResolvedModel == name {
			return info
		}
	}
	return ModelInfo{}
}

// hearPrompt joins the turn's prompt to the conversation, with what the model must know first.
func (t *turn) hearPrompt() {
	p, transcript := t.prompt, t.e.talk.transcript
	t.heard = len(t.e.talk.messages)
	if transcript.Last() == p.UUID {
		return // a crash came between this line and the answer; the host has sent it again
	}
	var content protocol.Content
	t.told = t.e.notes.take()
	for _, note := range t.told {
		t.recordFailed(t.e.talk.recordNote(note))
		content = append(content, protocol.Text(note)...)
	}
	id := p.UUID
	if known, _ := transcript.Prompt(id); known {
		id = uuid.NewString() // a second line of the same uuid would make the chain of parents a ring
	}
	t.record(session.Line{Type: "user", UUID: id, Message: p.Raw, IsMeta: p.IsSynthetic})
	t.e.talk.add("user", append(content, p.Message.Content...))
}

// unhear takes the prompt out of the conversation again: the model's endpoint refuses it.
func (t *turn) unhear() {
	t.e.talk.messages = t.e.talk.messages[:t.heard]
	for _, note := range t.told {
		t.e.notes.add(note)
	}
}

// hearResults joins the results of tool calls: a frame and a line each, one message to the model.
func (t *turn) hearResults(outcomes []outcome) {
	var all protocol.Content
	for _, o := range outcomes {
		result := protocol.ToolResult(o.call.ID, o.result.Content, o.result.IsError)
		t.sayAsUser(protocol.Content{result}, o.result.Report)
		all = append(all, result)
	}
	if len(all) > 0 {
		t.e.talk.add("user", all)
	}
}

// sayAsUser sends and records what takeback says in the user's place.
func (t *turn) sayAsUser(content protocol.Content, report []byte) {
	id, raw := uuid.NewString(), message(content)
	t.record(session.Line{Type: "user", UUID: id, Message: raw})
	t.send(&protocol.UserFrame{Message: raw, SessionID: t.sessionID(), UUID: id, Timestamp: timestamp(), ToolUseResult: report})
}

// recordNote appends to the transcript what the model must know.
func (c *conversation) recordNote(note string) error {
	return c.transcript.Append(session.Line{Type: "user", UUID: uuid.NewString(), Message: message(protocol.Text(note)), IsMeta: true})
}

// record appends to the transcript.
func (t *turn) record(line session.Line) {
	t.recordFailed(t.e.talk.transcript.Append(line))
}

// recordFailed keeps the first failure to write the transcript, which ends the turn at its next step.
func (t *turn) recordFailed(err error) {
	if t.recordErr == nil {
		t.recordErr = err
	}
}
