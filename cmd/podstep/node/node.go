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
	// Passive: only probes that put nothing in the path of the kubelet's calls.
	Passive bool
	// AllCalls: calls to the runtime that are no steps of their own are seen too.
	AllCalls bool
	// Socket is where the agent is to be served.
	Socket string
	// Kubeconfig is a file; "": what there is on a node.
	Kubeconfig string
	// ReadOnly: no pod is held and no fault injected.
	ReadOnly bool
	// AllowHolds: pods may be held inside of the kubelet.
	AllowHolds bool
	// Metrics is where to serve metrics, as metrics.Address reads it; "": nowhere.
	Metrics string
	// Delve is the address of a headless Delve that debugs the kubelet, HOST:PORT; "": there
	// is none. RiskKubelet: one of podstep's own may stop the kubelet.
	Delve       string
	RiskKubelet bool
	// Tier is that of the steps that the uprobe probe looks at, beside lower ones.
	Tier int
	// Print gets messages, a line each.
	Print func(line string)
}

// LetGone is a kubelet in which goroutines were held, and go on.
type LetGone struct{ PID, Held int }

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
