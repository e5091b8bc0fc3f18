package session

import (
	"bytes"
	"os"
	"strings"

	"takeback/protocol"
)

// load reads the conversation: the chain of parents that ends in the last line of the main thread. It
// gives the chain, newest first.
func (t *Transcript) load() ([]*record, error) {
	data, err := os.ReadFile(t.path)
	if err != nil {
		return nil, err
	}
	lines := map[string]*record{}
	leaf := ""
	for line := range bytes.SplitSeq(data, []byte{'\n'}) {
		// Foreign lines and one that a crash cut short are nobody's parents: skip them.
		var r record
		if len(line) == 0 || protocol.Unmarshal(line, &r) != nil || r.UUID == "" {
			continue
		}
		lines[r.UUID] = &r
		if r.Type == "user" {
			t.users[r.UUID] = true
		}
		if (r.Type == "user" || r.Type == "assistant") && !r.IsSidechain {
			leaf = r.UUID
		}
	}
	var chain []*record
	for id := leaf; id != ""; {
		r := lines[id]
		if r == nil {
			break
		}
		delete(lines, id) // a file that names a line its own ancestor must not hang us
		chain = append(chain, r)
		id = ""
		if r.ParentUUID != nil {
			id = *r.ParentUUID
		}
	}
	spoken := t.takeNotes(chain)
	if len(spoken) > 0 {
		t.parent = spoken[0].UUID
	}
	t.findOrigin(spoken)
	t.conversation(spoken, strayResults(lines))
	return chain, nil
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

// strayResults are the tool results that are on no way to the leaf. Claude Code hangs the results of calls
// that the model made at once each to its own call, so only one of them is.
func strayResults(lines map[string]*record) map[string]protocol.Block {
	stray := map[string]protocol.Block{}
	for _, r := range lines {
		var m protocol.Message
		if r.Type != "user" || r.IsSidechain || protocol.Unmarshal(r.Message, &m) != nil {
			continue
		}
		for _, b := range m.Content {
			if b.Type == "tool_result" {
				stray[b.ToolUseID] = b
			}
		}
	}
	return stray
}

// takeNotes takes the notes off the end of a chain, which is its beginning here: newest first.
func (t *Transcript) takeNotes(chain []*record) []*record {
	for len(chain) > 0 && chain[0].Type == "user" && chain[0].IsMeta {
		var m protocol.Message
		if protocol.Unmarshal(chain[0].Message, &m) == nil {
			t.notes = append([]string{m.Content.Text()}, t.notes...)
		}
		chain = chain[1:]
	}
	return chain
}

// conversation turns a chain, newest first, into messages: a line holds one
// block of an answer or one of several tool results, the API wants whole messages.
// What takeback said to the model goes with the prompt behind it.
func (t *Transcript) conversation(chain []*record, stray map[string]protocol.Block) {
	t.answered = map[string]bool{}
	var messages []protocol.Message
	prompt, answer := "", ""
	note, results := false, false // what the last message is
	for i := len(chain) - 1; i >= 0; i-- {
		r := chain[i]
		var m struct {
			protocol.Message
			ID string `json:"id"`
		}
		if last := len(messages) - 1; r.PromptRefused && last >= 0 && messages[last].Role == "user" && prompt != "" {
			messages = messages[:last]
		}
		if r.IsAPIErrorMessage || protocol.Unmarshal(r.Message, &m) != nil || len(m.Content) == 0 {
			continue
		}
		switch r.Type {
		case "user":
			if isPrompt(m.Message, r.IsMeta) {
				prompt = r.UUID
				t.answered[prompt] = false
			}
		case "assistant":
			if prompt != "" {
				t.answered[prompt] = true
			}
		default:
			continue
		}
		last := len(messages) - 1
		isResult := r.Type == "user" && m.Content[0].Type == "tool_result"
		if last >= 0 && messages[last].Role == m.Role && (m.Role == "assistant" && answer == m.ID || m.Role == "user" && (note || results && isResult)) {
			messages[last].Content = append(messages[last].Content, m.Content...)
		} else {
			messages = append(messages, m.Message)
		}
		answer, note, results = m.ID, r.IsMeta, isResult
	}
	t.history = repair(messages, stray)
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

// Interrupted begins the message that stands where a user stopped a turn.
const Interrupted = "[Request interrupted by user"

// repair makes a conversation fit for the API, which refuses one with a tool
// call that has no result: a process that was killed in mid-turn leaves such.
// It answers those, with a stray result where there is one, and drops results of calls that aren't there.
func repair(messages []protocol.Message, stray map[string]protocol.Block) []protocol.Message {
	var repaired []protocol.Message
	open := map[string]bool{}
	var order []string
	closeOpen := func() protocol.Content {
		var results protocol.Content
		for _, id := range order {
			if result, ok := stray[id]; ok && open[id] {
				results = append(results, result)
			} else if open[id] {
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
