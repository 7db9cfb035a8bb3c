// Package node has the commands that need a node, or a machine that can be one: it attaches to
// a kubelet, gives runtimes their sockets back, and runs a lab. Kubelets run on Linux, so in a
// podstep for another system these commands fail and say where to run them instead.
package node

import (
	"fmt"
	"time"
)

// AttachOptions say what to attach to, and how.
type AttachOptions struct {
	// PID is the kubelet's; 0: the only kubelet of this machine.
	PID int
	// Node is the node's name; "": as the kubelet's certificate, settings or machine have it.
	Node string
	// Probes are names from ProbeNames; none: all.
	Probes []string
	// Passive leaves out probes that stand in the path of the kubelet's calls.
	Passive bool
	// AllCalls also shows calls to the runtime that are no steps of their own.
	AllCalls bool
	// Socket is the path at which the agent is served.
	Socket string
	// Kubeconfig is a file; "": the node's own credentials are used.
	Kubeconfig string
	// ReadOnly forbids to hold pods and to inject faults.
	ReadOnly bool
	// WithoutToken is what clients of other machines may do without a token: nothing, look or hold. TokenNamespace has
	// the ServiceAccounts whose tokens count.
	WithoutToken, TokenNamespace string
	// AllowHolds allows to hold pods inside the kubelet.
	AllowHolds bool
	// Metrics is where to serve metrics, as scrape.Address reads it; "": nowhere.
	Metrics string
	// Delve is the address of a headless Delve that debugs the kubelet, HOST:PORT; "": there is
	// none. RiskKubelet allows podstep's own debugger to stop the kubelet.
	Delve       string
	RiskKubelet bool
	// Tier is the tier of steps that the uprobe probe looks at, besides the lower ones.
	Tier int
	// RaiseVerbosity is the -v to which the kubelet's is raised, for RaiseFor; 0: it is not.
	RaiseVerbosity int
	RaiseFor       time.Duration
	// Record is the directory to which events are recorded, of at most Keep bytes and with nothing older than KeepFor;
	// "": none.
	Record  string
	Keep    int64
	KeepFor time.Duration
	// Print gets messages, a line each.
	Print func(line string)
}

// Restored is what a podstep that has died left behind, and what was done about it: a taken socket, or something in a kubelet.
type Restored struct {
	Socket string `json:"socket,omitempty"`
	Root   string `json:"root,omitempty"`
	// PID is the process of the podstep that took the socket over, as far as it is known.
	PID int `json:"pid,omitempty"`
	// Kubelet is the process of the kubelet; 0: it is a socket.
	Kubelet int `json:"kubelet,omitempty"`
	// Living takeovers are left alone.
	Living bool     `json:"living"`
	Done   []string `json:"done"`
	Error  string   `json:"error,omitempty"`
}

// Name returns what a person calls it: a kubelet by its process, a socket by its path. Sockets of different nodes that have the same
// path differ by the root.
func (r *Restored) Name() string {
	switch {
	case r.Kubelet != 0:
		return fmt.Sprintf("kubelet %d", r.Kubelet)
	case r.Root != "":
		return r.Socket + " below " + r.Root
	}
	return r.Socket
}

// UsageError is a command line that makes no sense on this machine.
type UsageError struct{ text string }

func (e *UsageError) Error() string { return e.text }

func usagef(format string, args ...any) error {
	return &UsageError{fmt.Sprintf(format, args...)}
}
