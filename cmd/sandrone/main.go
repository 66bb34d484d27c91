// Command sandrone is the gateway's command line. It reads flags, the
// environment and files, wires the parts together and calls one method of the
// engine or starts the server; it decides nothing else.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/processors/script"
)

func main() {
	script.Main() // in the process of a script worker it does not return
	os.Exit(run())
}

// run runs the command line of the process and returns its exit code.
func run() int {
	// The first signal ends the work in good order. Before that begins the
	// handler is gone, so that a second one ends the process at once.
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-signals
		signal.Stop(signals)
		cancel()
	}()

	p := program{stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr, getenv: os.Getenv}
	if err := p.root().ExecuteContext(ctx); err != nil {
		printError(p.stderr, err)
		return 1
	}
	return 0
}

// program is what the commands share.
type program struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	getenv         func(string) string

	dataDir string // --data-dir
}

// printError writes an error in one line: its code where it has one, and where
// it happened where that is known.
func printError(w io.Writer, err error) {
	e, ok := errors.AsType[*sandrone.Error](err)
	if !ok {
		fmt.Fprintln(w, err)
		return
	}
	text := e.Error()
	if e.Field != "" {
		text += fmt.Sprintf(" (field %s)", e.Field)
	}
	if e.Processor != "" && e.ProcessorIndex != nil {
		text += fmt.Sprintf(" (step %d: %s)", *e.ProcessorIndex+1, e.Processor)
	}
	fmt.Fprintln(w, text)
}
