// Command podstep watches, holds and steps single pods through the kubelet. One file is one
// command: it parses, calls the agent, and prints. It prints the answer to stdout, and words
// about it to stderr.
package main

//go:generate go run . docs ../../docs/cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/podstep/podstep/agent/client"
	"github.com/podstep/podstep/cmd/podstep/node"
	"github.com/podstep/podstep/probes/words"
)

// The exit codes of the process. Scripts rely on them.
const (
	exitDone   = 0
	exitFailed = 1
	exitUsage  = 2
	exitWrong  = 3 // of why: something is wrong with a pod
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// The first Ctrl-C ends in order what is going on. A second one must not have to wait for that.
	context.AfterFunc(ctx, stop)
	os.Exit(run(ctx, os.Args, os.Stdout, os.Stderr))
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	a := &app{name: programName(args), out: stdout, err: stderr, where: &where{}}
	root := a.root()
	root.SetArgs(args[1:])
	root.SetOut(stdout)
	root.SetErr(stderr)
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		return exitDone
	}
	var usage *usageError
	if errors.As(err, &usage) && !strings.Contains(usage.text, ";") {
		err = usagef("%s; see %s --help", usage.text, cmd.CommandPath())
	}
	if err.Error() != "" {
		fmt.Fprintf(stderr, "podstep: %s\n", words.Clean(err.Error()))
	}
	return exitCode(err)
}

// pluginName is what a person types to run podstep as a plugin of kubectl.
const pluginName = "kubectl podstep"

// programName returns the name by which the user calls podstep: kubectl runs plugins by a name of its own.
func programName(args []string) string {
	if len(args) > 0 && filepath.Base(args[0]) == "kubectl-podstep" {
		return pluginName
	}
	return "podstep"
}

func exitCode(err error) int {
	var usage *usageError
	var ofNode *node.UsageError
	if errors.Is(err, errWrong) {
		return exitWrong
	}
	if errors.As(err, &usage) || errors.As(err, &ofNode) || client.KindOf(err) == client.Usage {
		return exitUsage
	}
	return exitFailed
}

// usageError is a command line that makes no sense. Its text says after a semicolon what to
// write instead. If it does not, podstep names --help.
type usageError struct{ text string }

func (e *usageError) Error() string { return e.text }

func usagef(format string, args ...any) error {
	return &usageError{fmt.Sprintf(format, args...)}
}

// errQuiet fails without a word, if all has been said.
var errQuiet = errors.New("")

// errWrong ends why with exitWrong, if all has been said.
var errWrong = errors.New("")
