package script

import (
	"strings"

	"takeback/engine"
	"takeback/protocol"
)

// place is where a conversation stands.
type place struct {
	turn    int    // number of prompts so far
	prompt  string // the newest one
	results int    // tool results since
}

func placeOf(req *engine.ModelRequest) place {
	var p place
	for _, m := range req.Messages {
		if m.Role != "user" {
			continue
		}
		prompt, isPrompt, results := read(m.Content)
		p.results += results
		if isPrompt {
			p = place{turn: p.turn + 1, prompt: prompt}
		}
	}
	return p
}

// read tells what a user message is. Text beside tool results is a note of the engine,
// unless the note that the request was interrupted comes between: then the next
// prompt was merged into the message.
func read(content protocol.Content) (prompt string, isPrompt bool, results int) {
	for _, b := range content {
		isText := b.Type == "text" && b.Text != nil
		switch {
		case b.Type == "tool_result":
			results++
			isPrompt = false
		case isText && strings.HasPrefix(*b.Text, "[Request interrupted"):
			results, isPrompt = 0, false
		case results > 0:
		case isText:
			prompt, isPrompt = *b.Text, true
		default: // an image is a prompt too
			isPrompt = true
		}
	}
	return prompt, isPrompt, results
}

// messages cuts a turn into the messages of the model.
func messages(steps []step) [][]step {
	var all [][]step
	begin, end := 0, 0 // end is behind the newest tool call, if it is of this message
	for i, s := range steps {
		switch {
		case s.Tool != nil:
			end = i + 1
		case s.DelayMS != nil:
		case end > begin:
			all = append(all, steps[begin:end])
			begin = end
		}
	}
	if end > begin {
		all = append(all, steps[begin:end])
		begin = end
	}
	return append(all, steps[begin:])
}

// next picks the message to give once so many tool results are there, and how many calls were
// made before it.
func next(steps []step, results int) (message []step, calls int) {
	for _, m := range messages(steps) {
		if calls >= results {
			return m, calls
		}
		for _, s := range m {
			if s.Tool != nil {
				calls++
			}
		}
	}
	return nil, calls
}
