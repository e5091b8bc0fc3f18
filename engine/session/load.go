package session

import (
	"bytes"
	"os"
	"slices"
	"strings"

	"github.com/goccy/go-json/jsontext"

	"takeback/protocol"
)

// load reads the conversation, and gives its lines in their order.
func (t *Transcript) load() ([]*record, error) {
	data, err := os.ReadFile(t.path)
	if err != nil {
		return nil, err
	}
	var lines []*record
	for line := range bytes.SplitSeq(bytes.TrimPrefix(data, []byte("\ufeff")), []byte{'\n'}) {
		// Foreign lines and one that a crash cut short are nobody's parents: skip them.
		r := decode(line)
		if r == nil || r.UUID == "" {
			continue
		}
		lines = append(lines, r)
		if r.Type == "user" {
			t.users[r.UUID] = true
		}
	}
	thread := mainThread(lines)
	spoken := t.takeNotes(thread)
	if len(spoken) > 0 {
		t.parent = spoken[len(spoken)-1].UUID
	}
	t.findOrigin(lines) // also of what a compaction cut off
	t.conversation(spoken)
	return thread, nil
}

// decode reads a line as far as it can be read: a member that others write in another way must not cost
// the conversation. It is nil for what is no object.
func decode(line []byte) *record {
	r := &record{}
	if len(line) == 0 || protocol.Unmarshal(line, r) == nil {
		return r
	}
	var members map[string]jsontext.Value
	if protocol.Unmarshal(line, &members) != nil {
		return nil
	}
	r = &record{Message: members["message"]}
	for name, field := range map[string]any{
		"uuid": &r.UUID, "parentUuid": &r.ParentUUID, "type": &r.Type, "isSidechain": &r.IsSidechain, "isMeta": &r.IsMeta,
		"isApiErrorMessage": &r.IsAPIErrorMessage, "promptRefused": &r.PromptRefused, "timestamp": &r.Timestamp,
		"cwd": &r.Cwd, "forkedFrom": &r.ForkedFrom,
	} {
		if value, ok := members[name]; ok {
			_ = protocol.Unmarshal(value, field) // what is of another type counts as missing
		}
	}
	return r
}

// mainThread is the chain of parents that ends in the last line said, with the calls that
// the model made at once: Claude Code hangs each to the one before it, and its result to the call, so that not
// all of them are on the way to the last line. Where a parent's line is damaged, the line before
// takes its place.
func mainThread(lines []*record) []*record {
	byID := map[string]*record{}
	before := map[string]string{} // what was said last before a line
	leaf := ""
	for _, r := range lines {
		byID[r.UUID] = r
		before[r.UUID] = leaf
		if (r.Type == "user" || r.Type == "assistant") && !r.IsSidechain {
			leaf = r.UUID
		}
	}
	chain := map[string]bool{}
	// A file that names a line its own ancestor must not hang us.
	for id := leaf; byID[id] != nil && !chain[id]; {
		chain[id] = true
		parent := byID[id].ParentUUID
		if parent == nil {
			break
		}
		if byID[*parent] == nil {
			parent = new(string)
			*parent = before[id]
		}
		id = *parent
	}
	answers := map[string]string{} // message ids of the lines of assistants that belong to the thread, by uuid
	var thread []*record
	for _, r := range lines {
		if byID[r.UUID] != r {
			continue // a uuid that comes again: the last one counts
		}
		parent := ""
		if r.ParentUUID != nil {
			parent = *r.ParentUUID
		}
		answer, beside := answers[parent]
		var m struct {
			ID string `json:"id"`
		}
		if r.Type == "assistant" {
			_ = protocol.Unmarshal(r.Message, &m) // what cannot be read has no id, and is left out later
		}
		sibling := beside && !r.IsSidechain && (r.Type == "assistant" && m.ID == answer && answer != "" || r.Type == "user" && isResult(r))
		if !chain[r.UUID] && !sibling {
			continue
		}
		if r.Type == "assistant" {
			answers[r.UUID] = m.ID
		}
		thread = append(thread, r)
	}
	return thread
}

func isResult(r *record) bool {
	var m protocol.Message
	return protocol.Unmarshal(r.Message, &m) == nil && len(m.Content) > 0 && m.Content[0].Type == "tool_result"
}

// findOrigin reads the word that whoever forked the session left in its lines.
func (t *Transcript) findOrigin(chain []*record) {
	for _, r := range chain {
		if r.ForkedFrom == nil {
			continue
		}
		if t.origin.SessionID == "" {
			t.origin = Origin{SessionID: r.ForkedFrom.SessionID, Messages: map[string]string{}}
		}
		if r.Type == "user" && r.ForkedFrom.SessionID == t.origin.SessionID && r.ForkedFrom.MessageUUID != r.UUID {
			t.origin.Messages[r.UUID] = r.ForkedFrom.MessageUUID
		}
	}
}

// takeNotes takes the notes off the end of a thread.
func (t *Transcript) takeNotes(thread []*record) []*record {
	for len(thread) > 0 {
		last := thread[len(thread)-1]
		if last.Type != "user" || !last.IsMeta {
			break
		}
		var m protocol.Message
		if protocol.Unmarshal(last.Message, &m) == nil {
			t.notes = append([]string{m.Content.Text()}, t.notes...)
		}
		thread = thread[:len(thread)-1]
	}
	return thread
}

// conversation turns a thread into messages: a line holds one
// block of an answer or one of several tool results, the API wants whole messages.
// What takeback said to the model goes with the prompt behind it.
func (t *Transcript) conversation(thread []*record) {
	t.answered = map[string]bool{}
	var messages []protocol.Message
	prompt := ""
	answers := map[string]int{}   // of this turn: where the messages with these ids are
	note, results := false, false // what the last message is
	for _, r := range thread {
		var m struct {
			protocol.Message
			ID string `json:"id"`
		}
		last := len(messages) - 1
		if r.PromptRefused && last >= 0 && messages[last].Role == "user" && prompt != "" {
			messages = messages[:last]
		}
		if r.IsAPIErrorMessage || protocol.Unmarshal(r.Message, &m) != nil || len(m.Content) == 0 {
			continue
		}
		isResult := false
		join := -1 // the message that this line is a part of
		switch r.Type {
		case "user":
			isResult = m.Content[0].Type == "tool_result"
			if note || results && isResult {
				join = last
			}
			if isPrompt(m.Message, r.IsMeta) {
				prompt = r.UUID
				t.answered[prompt] = false
				clear(answers)
			}
		case "assistant":
			if prompt != "" {
				t.answered[prompt] = true
			}
			if i, ok := answers[m.ID]; ok {
				join = i
			}
		default:
			continue
		}
		if join >= 0 {
			messages[join].Content = append(messages[join].Content, m.Content...)
		} else {
			messages = append(messages, m.Message)
			join = len(messages) - 1
		}
		if r.Type == "assistant" {
			answers[m.ID] = join
		}
		if join == len(messages)-1 { // else a call that was made before the last results came
			note, results = r.IsMeta, isResult
		}
	}
	t.history = repair(messages)
}

// isPrompt tells what a user typed from tool results and from what takeback said in the user's place.
func isPrompt(m protocol.Message, isMeta bool) bool {
	if isMeta || strings.HasPrefix(m.Content.Text(), Interrupted) {
		return false
	}
	for _, b := range m.Content {
		if b.Type == "tool_result" {
			return false
		}
	}
	return true
}

// unsigned tells of thoughts that were cut off before they were signed. The API takes none such.
func unsigned(b protocol.Block) bool {
	return b.Type == "thinking" && (b.Signature == nil || *b.Signature == "")
}

// Interrupted begins the message that stands where a user stopped a turn.
const Interrupted = "[Request interrupted by user"

// repair makes a conversation fit for the API, which refuses one with a tool
// call that has no result: a process that was killed in mid-turn leaves such.
// It answers those, and drops results of calls that aren't there.
func repair(messages []protocol.Message) []protocol.Message {
	var repaired []protocol.Message
	open := map[string]bool{}
	var order []string
	closeOpen := func() protocol.Content {
		var results protocol.Content
		for _, id := range order {
			if open[id] {
				results = append(results, protocol.ToolResult(id, protocol.Text("The session ended before this call did. It may have been carried out in part."), true))
			}
		}
		clear(open)
		order = nil
		return results
	}
	for _, m := range messages {
		if m.Role != "user" {
			if results := closeOpen(); results != nil {
				repaired = append(repaired, protocol.Message{Role: "user", Content: results})
			}
			m.Content = slices.DeleteFunc(slices.Clone(m.Content), unsigned)
			if last := len(repaired) - 1; last < 0 || repaired[last].Role != "user" {
				repaired = append(repaired, protocol.Message{Role: "user", Content: protocol.Text("[A message is missing here: its line in the transcript is damaged.]")})
			}
			for _, b := range m.Content {
				if b.Type == "tool_use" {
					open[b.ID] = true
					order = append(order, b.ID)
				}
			}
			repaired = append(repaired, m)
			continue
		}
		var results, rest protocol.Content
		for _, b := range m.Content {
			switch {
			case b.Type != "tool_result":
				rest = append(rest, b)
			case open[b.ToolUseID]:
				results = append(results, b)
				delete(open, b.ToolUseID)
			}
		}
		results = append(results, closeOpen()...)
		if content := append(results, rest...); len(content) > 0 {
			repaired = append(repaired, protocol.Message{Role: "user", Content: content})
		}
	}
	if results := closeOpen(); results != nil {
		repaired = append(repaired, protocol.Message{Role: "user", Content: results})
	}
	return repaired
}
