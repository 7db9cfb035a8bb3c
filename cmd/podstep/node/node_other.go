//go:build !linux

package node

import (
	"context"
	"fmt"
	"io"
	"runtime"
)

const (
	// WaysIn says what can be done here without an agent.
	WaysIn = "podstep replay shows here what podstep trace -w recorded on a node"
	// TakeoversDir is empty: there are no takeovers here.
	TakeoversDir = ""
)

// needsLinux returns the error of a command that needs Linux.
func needsLinux(command, why, instead string) error {
	return fmt.Errorf("podstep %s needs Linux, and this is %s: %s; %s", command, runtime.GOOS, why, instead)
}

func Attach(context.Context, AttachOptions, func(context.Context) error) error {
	return needsLinux("attach", "it comes between a kubelet and its runtime", "run it on the node")
}

// ProbeNames returns none.
func ProbeNames() []string { return nil }

func Restore(string, []string) ([]Restored, error) {
	return nil, needsLinux("restore", "it repairs the sockets of a node's runtimes", "run it on the node")
}

func LetGo(context.Context) ([]Restored, error) { return nil, nil }

func Lower(context.Context, string) ([]Restored, error) { return nil, nil }

func Guard() error {
	return needsLinux("guard", "it gives a runtime its socket back", "podstep attach starts it on the node")
}

func Relay() error {
	return needsLinux("relay", "it stands between a kubelet and its runtime", "podstep attach starts it on the node")
}

func Debugger() error {
	return needsLinux("debugger", "it has Delve stop a kubelet", "podstep attach starts it on the node")
}

func VerbosityGuard() error {
	return needsLinux("verbosity", "it puts a kubelet's -v back", "podstep attach starts it on the node")
}

func Rescuer() error {
	return needsLinux("rescuer", "it keeps a kubelet alive", "podstep attach starts it on the node")
}

func Holder() error {
	return needsLinux("holder", "it holds goroutines of a kubelet", "podstep attach starts it on the node")
}

func Kubectl(context.Context, string, ...string) (string, error) {
	return "", needsLinux("lab", "the kubelet runs there alone", "run it on a machine with Linux, or in a virtual one")
}

func RunLab(context.Context, []string, io.Writer, func(ended <-chan struct{}) error) error {
	return needsLinux("lab", "the kubelet runs there alone", "run it on a machine with Linux, or in a virtual one")
}

func Whatif(context.Context, []byte) ([]byte, error) {
	return nil, needsLinux("whatif", "the kubelet's code runs there alone", "run it on a machine with Linux, with a trace: --trace FILE")
}
