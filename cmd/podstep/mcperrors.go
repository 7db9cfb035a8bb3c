package main

import (
	"strings"
)

// flagsAsArguments puts what errors say of the command line into the words of a tool's arguments.
var flagsAsArguments = strings.NewReplacer(
	", NAMESPACE/NAME or -n NAMESPACE NAME", " or NAMESPACE/NAME",
	"but -n is", "but the argument namespace is",
	"with podstep why ", "with the pod ", " -n ", " and the namespace ",
	"leave out STEP, --stage or --tier", "leave out step, stage or tier",
	"--tier ", "tier ",
	"name its socket with --socket or PODSTEP_SOCKET", "the person who starts podstep mcp names its socket",
	"name the agent's socket with --socket or PODSTEP_SOCKET", "the person who starts podstep mcp names the agent's socket",
	"name one with --kubeconfig or KUBECONFIG", "the person who starts podstep mcp names one",
	"podstep pods", "the tool pods", "podstep steps", "the tool steps", "podstep doctor", "the tool doctor", "podstep why", "the tool why",
)

// ofTool returns an error in the words of a tool: the functions that answer were made for the command line.
func ofTool(err error) error {
	if err == nil {
		return nil
	}
	text := flagsAsArguments.Replace(err.Error())
	if text == err.Error() {
		return err
	}
	return &toolError{text, err}
}

// toolError is an error in other words.
type toolError struct {
	text string
	err  error
}

func (e *toolError) Error() string { return e.text }
func (e *toolError) Unwrap() error { return e.err }
