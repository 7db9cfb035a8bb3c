// Package node does what takes a node, or a machine that can be one: it attaches
// to a kubelet, gives runtimes their sockets back, and runs a lab. Kubelets run on
// Linux, so podstep for another system has commands for these that fail and say
// where to run them instead.
package node

import "fmt"

// AttachOptions state what to attach to, and how.
type AttachOptions struct {
	// PID is the kubelet's; 0: the only one of this machine.
	PID int
	// Probes are names of ProbeNames; none: all.
	Probes []string
	// Socket is where the agent is to be served.
	Socket string
	// Kubeconfig is a file; "": what there is on a node.
	Kubeconfig string
	// ReadOnly: no pod is held and no fault injected.
	ReadOnly bool
	// Print gets messages, a line each.
	Print func(line string)
}

// Restored is a takeover that was found, and what was done about it.
type Restored struct {
	Socket string `json:"socket"`
	Root   string `json:"root,omitempty"`
	// PID is that of the podstep that took it over, as far as it is known.
	PID int `json:"pid,omitempty"`
	// Living takeovers are left alone.
	Living bool     `json:"living"`
	Done   []string `json:"done"`
	Error  string   `json:"error,omitempty"`
}

// UsageError is a command line that makes no sense on this machine.
type UsageError struct{ text string }

func (e *UsageError) Error() string { return e.text }

func usagef(format string, args ...any) error {
	return &UsageError{fmt.Sprintf(format, args...)}
}
