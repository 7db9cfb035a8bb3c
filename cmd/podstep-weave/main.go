// Command podstep-weave builds Go programs with podstep's hook in the functions of the
// catalogue. It is a separate, small program because the go command starts it once for each of
// the thousands of packages of a kubelet.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"

	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/weave"
)

const usage = `usage:
  podstep-weave go [--kubernetes VERSION] build|test|run|install ...
                                               runs the go command so that it weaves, in a module with another
                                               Kubernetes if there is a VERSION
  podstep-weave toolexec TOOL ARGS...          for go build -toolexec='podstep-weave toolexec'
  podstep-weave kubelet --kubernetes VERSION -o FILE
                                               builds a woven kubelet of another version, in podstep's source
  podstep-weave report PROGRAM                 prints what was woven into a program, and what does not fit it
`

func main() {
	args := os.Args[1:]
	if len(args) == 0 {
		fail(2, usage)
	}
	switch verb, rest := args[0], args[1:]; verb {
	case "go":
		goCommand(rest)
	case "toolexec":
		marked := len(rest) > 0 && rest[0] == "--marked"
		if marked {
			rest = rest[1:]
		}
		if len(rest) == 0 {
			fail(2, usage)
		}
		os.Exit(toolexec(marked, rest[0], rest[1:]))
	case "kubelet":
		o, err := parseKubelet(rest)
		if errors.Is(err, flag.ErrHelp) {
			fmt.Print(usage)
			return
		}
		if err != nil {
			fail(2, fmt.Sprintf("podstep-weave: %v\n%s", err, usage))
		}
		exitWith(kubelet(o))
	case "report":
		if len(rest) != 1 {
			fail(2, usage)
		}
		report(rest[0])
	case "help", "-h", "--help":
		fmt.Print(usage)
	default:
		fail(2, fmt.Sprintf("podstep-weave: no such command: %s\n%s", verb, usage))
	}
}

func catalogue() *probes.Catalogue {
	c, err := probes.Load()
	if err != nil {
		fail(1, "podstep-weave: "+err.Error()+"\n")
	}
	return c
}

// toolexec runs a tool of the go command, and returns its exit code.
func toolexec(marked bool, tool string, args []string) int {
	if err := useMemory(tool); err != nil {
		fail(1, fmt.Sprintf("podstep-weave: set memory of the compiler: %v\n", err))
	}
	begin, end := kinds(tool, args)
	logTool(begin)
	code := weave.Toolexec(catalogue, marked, tool, args)
	if code == 0 {
		logTool(end)
	}
	return code
}

func goCommand(args []string) {
	self, err := os.Executable()
	if err != nil {
		fail(1, fmt.Sprintf("podstep-weave: find own program: %v\n", err))
	}
	version, args, err := versionOf(args)
	if err != nil {
		fail(2, fmt.Sprintf("podstep-weave: %v\n%s", err, usage))
	}
	goArgs, err := weave.Command(catalogue(), version, self, args)
	if err != nil {
		fail(2, "podstep-weave: "+err.Error()+"\n")
	}
	if err := grantMemory(); err != nil {
		fail(1, fmt.Sprintf("podstep-weave: grant memory to compilers: %v\n", err))
	}
	// The program that go run or go test starts may want the terminal for itself.
	start := runGo
	if verb := goArgs[0]; verb == "build" || verb == "install" {
		start = build
	}
	if err := start(goArgs); errors.Is(err, exec.ErrNotFound) {
		fail(1, fmt.Sprintf("podstep-weave: run go: %v; is Go installed and in PATH?\n", err))
	} else {
		exitWith(err)
	}
}

// versionOf takes the version of Kubernetes from before the arguments of the go command; empty: the catalogue's own.
func versionOf(args []string) (version string, rest []string, err error) {
	if len(args) == 0 || args[0] != "--kubernetes" {
		return "", args, nil
	}
	if len(args) == 1 {
		return "", nil, errors.New("which version? e.g. --kubernetes v1.35.4")
	}
	if _, err := libraries(args[1]); err != nil {
		return "", nil, err
	}
	if args[1] == probes.KubernetesVersion {
		return "", args[2:], nil
	}
	return args[1], args[2:], nil
}

// exitWith ends the program if there is an error. If the go command failed, it has reported why, and the program ends with the
// same exit code.
func exitWith(err error) {
	if err == nil {
		return
	}
	if exit, ok := err.(*exec.ExitError); ok {
		os.Exit(exit.ExitCode())
	}
	fail(1, fmt.Sprintf("podstep-weave: %v\n", err))
}

func runGo(args []string) error {
	cmd := exec.Command("go", args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	return cmd.Run()
}

func fail(code int, text string) {
	fmt.Fprint(os.Stderr, text)
	os.Exit(code)
}
