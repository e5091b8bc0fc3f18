// Command fakeapi serves the fake Messages API to tests in other languages. It prints its URL as
// one line on stdout, and serves until stdin closes or a signal comes.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"takeback/sdk-tests/fakeapi"
)

func main() {
	var o fakeapi.Options
	flag.StringVar(&o.Script, "script", "", "play this script `file`; without it, each prompt is its own script")
	flag.StringVar(&o.Log, "log", "", "append each request to this `file`, as a JSON line")
	flag.Parse()
	if err := run(o); err != nil {
		fmt.Fprintln(os.Stderr, "fakeapi:", err)
		os.Exit(1)
	}
}

func run(o fakeapi.Options) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	server, err := fakeapi.New(o)
	if err != nil {
		return err
	}
	fmt.Println(server.URL)
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin) // however it ends, whoever started us is done
		stop()
	}()
	<-ctx.Done()
	return server.Close()
}
