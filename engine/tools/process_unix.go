//go:build unix

package tools

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

const (
	// grace is what processes have between SIGTERM and SIGKILL.
	grace = 500 * time.Millisecond
	// drainTime is how long the rest of the output is awaited once the shell has
	// exited: a process in the background may hold it open for ever.
	drainTime = 200 * time.Millisecond
)

// The shell reports its folder on descriptor 87 when it exits. Scripts that redirect
// by number take 3 to 9 or 200, bash itself 63 downwards and 255. A file would do as
// well, but would be one more change to the file system for whoever watches the command.
//
// The report stands twice in the script: a command that ends by "exit" leaves by
// the trap, one that sets a trap of its own does not.
//
// Every process of the command inherits the descriptor, so its end of file tells
// that all of them are gone.
const (
	reportFD = 87
	report   = `command printf '%s\0' "$PWD" 2>/dev/null >/dev/fd/87`
)

// script wraps a command. The blank keeps a command that begins with "-" from being an option of eval.
func script(command string) string {
	return "trap " + quote(report) + " EXIT; eval " + quote(" "+command) + "\nset -- $?; " + report + "; exit $1"
}

func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// process is a shell that runs one command, and the process group that it leads.
type process struct {
	cmd            *exec.Cmd
	stdout, stderr *collector
	exited         chan struct{} // closed once the shell has exited
	empty          chan struct{} // closed once it and all that it started are gone
	folder         chan string   // where the shell was at its exit, "" if it did not say
}

// startProcess starts a shell in a session of its own: without a terminal that
// something could ask for a password, and with a process group to signal.
func startProcess(c shellCommand, folder string) (*process, error) {
	shell, err := findShell()
	if err != nil {
		return nil, err
	}
	var files [6]*os.File
	for i := 0; i < len(files); i += 2 {
		if files[i], files[i+1], err = os.Pipe(); err != nil {
			closeAll(files[:i])
			return nil, err
		}
	}
	outR, outW, errR, errW, reportR, reportW := files[0], files[1], files[2], files[3], files[4], files[5]

	cmd := exec.Command(shell, "-c", script(c.text), filepath.Base(shell)) // the last is $0, for messages
	cmd.Dir = folder
	cmd.Env = append(slices.Clip(c.environ), "PWD="+folder)
	cmd.Stdout, cmd.Stderr = outW, errW
	cmd.ExtraFiles = make([]*os.File, reportFD-2)
	cmd.ExtraFiles[reportFD-3] = reportW
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		closeAll(files[:])
		if errors.Is(err, syscall.E2BIG) {
			return nil, errors.New("it is too long; write it to a file and run that")
		}
		return nil, fmt.Errorf("starting %s in %s: %w", shell, folder, err)
	}
	outW.Close()
	errW.Close()
	p := &process{
		cmd: cmd, stdout: collect(outR), stderr: collect(errR),
		exited: make(chan struct{}), empty: make(chan struct{}), folder: make(chan string, 1),
	}
	go p.readReport(reportR)
	go func() {
		cmd.Wait() // its error is in the ProcessState
		reportW.Write([]byte{0})
		reportW.Close()
		close(p.exited)
	}()
	return p, nil
}

func findShell() (string, error) {
	for _, name := range []string{"bash", "/bin/bash", "sh", "/bin/sh"} {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", errors.New("neither bash nor sh was found on PATH or in /bin")
}

func closeAll(files []*os.File) {
	for _, f := range files {
		f.Close()
	}
}

// readReport reads folders, each ended by NUL, up to the empty one that marks the exit
// of the shell; and then waits for the end of file.
func (p *process) readReport(r *os.File) {
	defer close(p.empty)
	defer r.Close()
	records := bufio.NewReader(r)
	folder := ""
	for {
		record, err := records.ReadString(0)
		if err != nil || record == "\x00" {
			break
		}
		folder = strings.TrimSuffix(record, "\x00")
	}
	p.folder <- folder
	io.Copy(io.Discard, records)
}

func (p *process) pid() int { return p.cmd.Process.Pid }

// signal signals the whole group. The id of a group is not given away while
// somebody is in it.
func (p *process) signal(s syscall.Signal) { syscall.Kill(-p.pid(), s) }

// stop ends the whole group. Processes that left it for a session of their own go on.
func (p *process) stop() {
	p.signal(syscall.SIGTERM)
	select {
	case <-p.empty:
	case <-time.After(grace):
	}
	p.signal(syscall.SIGKILL) // also where empty: some close all descriptors and stay
	<-p.exited
}

// exitCode is the shell's exit code; that of a signal as shells count it.
func (p *process) exitCode() int {
	if status, ok := p.cmd.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal())
	}
	return p.cmd.ProcessState.ExitCode()
}

// drain waits until all output is there, but not for processes in the background.
func (p *process) drain() {
	enough := time.After(drainTime)
	for _, c := range []*collector{p.stdout, p.stderr} {
		select {
		case <-c.done:
		case <-enough:
			return
		}
	}
}

// collector collects what comes from a pipe until nobody can write to it any more. It goes on
// when the call has been answered, or else a server in the background would
// die of SIGPIPE at its next line.
type collector struct {
	output
	done chan struct{}
}

func collect(r *os.File) *collector {
	c := &collector{done: make(chan struct{})}
	go func() {
		defer close(c.done)
		defer r.Close()
		io.Copy(c, r)
	}()
	return c
}
