// Command takeback is the executable that the Claude Agent SDKs spawn: it runs an
// agent's turns over stdio, and puts files back to any user message.
package main

import (
	"errors"
	"fmt"
	"os"
)

// version is set by the linker.
var version = "dev"

// peerVersion is the version of Claude Code whose protocol is spoken; SDKs compare it with what they need.
const peerVersion = "2.1.332"

// Exit codes.
const (
	exitOK       = 0
	exitError    = 1   // the start failed, or the last result was an error
	exitSIGTERM  = 143 // 128 + SIGTERM, as a shell would say
	exitHostGone = 1   // nobody reads stdout any more
)

func main() { os.Exit(run(os.Args[1:])) }

func run(args []string) int {
	if len(args) > 0 {
		switch args[0] {
		case "-v", "--version":
			// One write, before anything else is set up: the Python SDK waits two seconds for it.
			fmt.Printf("%s (takeback %s)\n", peerVersion, version)
			return exitOK
		case "-h", "--help", "help":
			fmt.Print(help)
			return exitOK
		case "demo":
			return demo(args[1:])
		}
	}
	f, err := parseFlags(args)
	var unreadable parseError
	switch {
	case errors.As(err, &unreadable):
		fmt.Fprintf(os.Stderr, "error: %v\n", err)
		return exitError
	case err != nil && f.rewindFiles == nil && f.inputFormat == "stream-json" && f.outputFormat == "stream-json":
		return startFailed(os.Stdout, f, err) // an SDK's user sees no stderr
	case err != nil:
		fmt.Fprintf(os.Stderr, "Error: %v\n", err)
		return exitError
	}
	if f.rewindFiles != nil {
		return rewindOnce(f)
	}
	return serve(f)
}

const help = `takeback runs an agent for a Claude Agent SDK, and takes its file changes back.

  takeback demo [--keep]     show the whole job in a temporary folder, offline
  takeback --version         print the version
  takeback --input-format stream-json --output-format stream-json --verbose [flags]
                             serve an SDK over stdin and stdout

An SDK starts it by itself: give it the path of this file as
pathToClaudeCodeExecutable (TypeScript) or cli_path (Python).
`
