package main

import (
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"k8s.io/component-base/version"

	"github.com/podstep/podstep/agent"
	"github.com/podstep/podstep/agent/client"
	"github.com/podstep/podstep/agent/hook"
	"github.com/podstep/podstep/probes"
)

// startAgent starts the agent in this process and returns what ends it. An
// agent that cannot start is no reason for a node to be without its kubelet:
// that is said, and the kubelet runs. A kubelet that was not woven is another
// matter: it would show nothing, for ever, and refuses to start.
func startAgent() (stop func()) {
	if strings.EqualFold(os.Getenv("PODSTEP"), "off") || onlyAsks(os.Args[1:]) {
		return func() {}
	}
	c, err := probes.Load()
	if err != nil {
		fail("%v", err)
	}
	seen, fails, err := woven(c)
	if err != nil {
		fail("%v", err)
	}
	a, err := agent.New(c, agent.Options{
		Version: agent.Version, KubeletVersion: version.Get().GitVersion, Node: nodeName(os.Args[1:]),
		Probe: "woven", Seen: seen, Fails: fails,
	})
	if err != nil {
		warn("runs without its agent: %v", err)
		return func() {}
	}
	stop = a.Close
	if l, err := agent.Listen(socketPath()); err != nil {
		warn("nobody can connect: %v", err)
	} else {
		srv := agent.Serve(a, l)
		stop = func() { a.Close(); srv.Stop() }
	}
	a.Attach()
	releaseOnSignal(a)
	return stop
}

// onlyAsks tells whether the kubelet is only asked for its version or its help,
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

// socketPath is where clients look for the agent.
func socketPath() string {
	if path := os.Getenv(client.SocketEnv); path != "" {
		return path
	}
	return client.DefaultSocket()
}

// woven checks what the weaver left in this program against the catalogue.
func woven(c *probes.Catalogue) (seen, fails map[string]bool, err error) {
	packages, err := hook.Woven()
	if err != nil {
		return nil, nil, err
	}
	if len(packages) == 0 {
		return nil, nil, fmt.Errorf("this kubelet was built without weaving, so podstep would see nothing; build it with `podstep-weave go build`, or `make build`, or set PODSTEP=off")
	}
	seen, fails = map[string]bool{}, map[string]bool{}
	for _, p := range packages {
		if p.Hash != c.PackageHash(p.Path) {
			return nil, nil, fmt.Errorf("package %s was woven with another catalogue than this program has; build it anew with `make build`", p.Path)
		}
		for name, s := range p.Steps {
			seen[name], fails[name] = true, s.Fails
		}
	}
	return seen, fails, nil
}

// releaseOnSignal lets held pods go as soon as the kubelet is told to end: it
// then waits for some of its work.
func releaseOnSignal(a *agent.Agent) {
	ch := make(chan os.Signal, 1)
	signal.Notify(ch, syscall.SIGTERM, syscall.SIGINT)
	go func() {
		<-ch
		signal.Stop(ch)
		a.Close()
	}()
}

// nodeName is what the kubelet will call its node, as far as its flags tell.
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

func fail(format string, args ...any) {
	warn(format, args...)
	os.Exit(1)
}
