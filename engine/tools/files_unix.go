//go:build unix

package tools

import "syscall"

// nonblock keeps the opening of a named pipe from waiting for its writer.
const nonblock = syscall.O_NONBLOCK
