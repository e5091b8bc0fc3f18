package tools

import "context"

type shell struct{}

func (*shell) run(context.Context, shellCommand) (*ending, error) {
	return nil, refuse("The command was not run: shell commands are not available on Windows yet. Use the file tools.")
}

func (*shell) close() {}
