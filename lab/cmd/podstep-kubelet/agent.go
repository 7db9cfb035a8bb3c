package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"k8s.io/component-base/version"

	"github.com/podstep/podstep/agent/client"
	"github.com/podstep/podstep/agent/host"
)

// startAgent starts the agent in this process and returns a function that ends it. A kubelet that was not woven
// refuses to start.
func startAgent() (stop func()) {
	if strings.EqualFold(os.Getenv("PODSTEP"), "off") || onlyAsks(os.Args[1:]) {
		return func() {}
	}
	stop, err := host.Start(host.Options{
		KubeletVersion: version.Get().GitVersion, Node: nodeName(os.Args[1:]), Socket: socketPath(), ReadOnly: readOnly(), Form: form, Warn: warn,
	})
	if err != nil {
		warn("%v; or run the kubelet without podstep: PODSTEP=off", err)
		os.Exit(1)
	}
	return stop
}

// onlyAsks reports whether the kubelet is only asked for its version or its help,
// and will not run.
func onlyAsks(args []string) bool {
	for _, arg := range args {
		switch name, _, _ := strings.Cut(arg, "="); name {
		case "-h", "--help", "--version":
			return true
		}
	}
	return false
}

// readOnlyEnv makes the agent read-only.
const readOnlyEnv = "PODSTEP_READ_ONLY"

// readOnly reports whether the agent is to hold no pod and inject no fault, whoever asks. A value that cannot be
// parsed counts as yes.
func readOnly() bool {
	v := os.Getenv(readOnlyEnv)
	if v == "" {
		return false
	}
	is, err := strconv.ParseBool(v)
	if err != nil {
		warn("%s=%s is neither true nor false; the agent is read-only", readOnlyEnv, v)
		return true
	}
	return is
}

// socketPath returns the path at which clients look for the agent.
func socketPath() string {
	if path := os.Getenv(client.SocketEnv); path != "" {
		return path
	}
	return client.DefaultSocket()
}

// nodeName returns the name that the kubelet will give its node, as far as its flags state it.
func nodeName(args []string) string {
	for i, arg := range args {
		if v, ok := strings.CutPrefix(arg, "--hostname-override="); ok {
			return v
		}
		if arg == "--hostname-override" && i+1 < len(args) {
			return args[i+1]
		}
	}
	name, err := os.Hostname()
	if err != nil {
		return ""
	}
	return strings.ToLower(name)
}

func warn(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "podstep: "+format+"\n", args...)
}
