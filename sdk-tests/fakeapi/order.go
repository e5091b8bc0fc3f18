package fakeapi

import (
	"fmt"
	"slices"
	"strings"
)

// checkOrder wants the roles to alternate and each tool call to be answered at once. As the API
// does, it takes neighbours of the same role for one message.
func checkOrder(messages []message, hasTools bool) error {
	turns := merge(messages)
	if turns[0].Role != "user" {
		return problemf("messages: first message must use the \"user\" role")
	}
	if turns[len(turns)-1].Role != "user" {
		return problemf("This model does not support assistant message prefill. The conversation must end with a user message.")
	}
	seen := map[string]bool{}
	var calls []string
	for i, m := range turns {
		var err error
		if m.Role == "assistant" {
			calls, err = newCalls(m, seen)
		} else {
			err = checkResults(m, calls)
		}
		if err != nil {
			return fmt.Errorf("messages.%d: %w", i, err)
		}
	}
	if len(seen) > 0 && !hasTools {
		return problemf("Requests which include `tool_use` or `tool_result` blocks must define tools")
	}
	return nil
}

func merge(messages []message) []message {
	var turns []message
	for _, m := range messages {
		if n := len(turns); n > 0 && turns[n-1].Role == m.Role {
			turns[n-1].Content = slices.Concat(turns[n-1].Content, m.Content)
		} else {
			turns = append(turns, m)
		}
	}
	return turns
}

// newCalls lists the tool calls of m, and adds them to those seen. That their tools are defined
// is not asked: the API does not either, and a resumed session may have other tools.
func newCalls(m message, seen map[string]bool) ([]string, error) {
	var calls []string
	for _, b := range m.Content {
		if b.Type != "tool_use" {
			continue
		}
		if seen[b.ID] {
			return nil, problemf("`tool_use` ids must be unique")
		}
		seen[b.ID] = true
		calls = append(calls, b.ID)
	}
	return calls, nil
}

// checkResults wants each of the calls answered, once, before anything else is said.
func checkResults(m message, calls []string) error {
	open := slices.Clone(calls)
	said := false
	for _, b := range m.Content {
		if b.Type != "tool_result" {
			said = true
			continue
		}
		if said {
			return problemf("`tool_result` blocks must come first in the content of a message")
		}
		i := slices.Index(open, b.ToolUseID)
		if i < 0 {
			return problemf("unexpected `tool_use_id` found in `tool_result` blocks: %s. Each `tool_result` block must have a corresponding `tool_use` block in the previous message.", b.ToolUseID)
		}
		open = slices.Delete(open, i, i+1)
	}
	if len(open) > 0 {
		return problemf("`tool_use` ids were found without `tool_result` blocks immediately after: %s. Each `tool_use` block must have a corresponding `tool_result` block in the next message.", strings.Join(open, ", "))
	}
	return nil
}
