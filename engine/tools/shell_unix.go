//go:build unix

package tools

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"syscall"
)

// A shell runs commands, each in a process of its own, and carries the working
// folder from one to the next. What a command leaves running goes on until close.
type shell struct {
	mu      sync.Mutex
	folder  string           // where the last command ended; "" at first
	running map[int]*process // by process group
}

var errTimeout = errors.New("the command took too long")

// run runs one command to its end, or until ctx ends or its time is up.
func (s *shell) run(ctx context.Context, c shellCommand) (*ending, error) {
	if err := ctx.Err(); err != nil {
		return nil, refuse("The command was not run: %w.", err)
	}
	folder, note := s.where(c.cwd)
	p, err := startProcess(c, folder)
	if err != nil {
		return nil, refuse("The command was not run: %w.", err)
	}
	s.track(p)

	ctx, cancel := context.WithTimeoutCause(ctx, c.timeout, errTimeout)
	defer cancel()
	why := exited
	select {
	case <-p.exited:
	case <-ctx.Done():
		why = interrupted
		if errors.Is(context.Cause(ctx), errTimeout) {
			why = timedOut
		}
		p.stop()
	}
	if folder := <-p.folder; folder != "" {
		s.mu.Lock()
		s.folder = folder
		s.mu.Unlock()
	}
	p.drain()
	return &ending{why: why, code: p.exitCode(), stdout: p.stdout.String(), stderr: p.stderr.String(), note: note}, nil
}

// where is the folder for the next command: home, if the one where the last
// command ended is gone or closed to us.
func (s *shell) where(home string) (folder, note string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.folder == "" {
		return home, ""
	}
	if _, err := os.Stat(s.folder + "/."); err == nil {
		return s.folder, ""
	}
	note = fmt.Sprintf("[The working folder %s is gone. This command ran in %s.]", s.folder, home)
	s.folder = ""
	return home, note
}

// track keeps p until nothing of its group is left.
func (s *shell) track(p *process) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.running == nil {
		s.running = make(map[int]*process)
	}
	s.running[p.pid()] = p
	go func() {
		<-p.empty
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.running[p.pid()] == p {
			delete(s.running, p.pid())
		}
	}()
}

// close ends what is still running.
func (s *shell) close() {
	s.mu.Lock()
	left := s.running
	s.running = nil
	s.mu.Unlock()

	for _, p := range left {
		p.signal(syscall.SIGTERM)
	}
	ctx, cancel := context.WithTimeout(context.Background(), grace)
	defer cancel()
	for _, p := range left {
		select {
		case <-p.empty:
		case <-ctx.Done():
			p.signal(syscall.SIGKILL)
		}
	}
}
