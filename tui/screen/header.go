package screen

import (
	"time"

	"github.com/podstep/podstep/agent/story/life"
)

// Link is how the session is connected.
type Link int

const (
	LinkLive Link = iota
	LinkConnecting
	LinkReconnecting
	LinkReplay
	LinkEnded
)

// Header is the top line.
type Header struct {
	Link Link
	// LinkText says how, in a word or two: "live", "reconnecting 2s", "replay 00:12/01:40".
	LinkText string
	// At and Of are the position in a trace file and its length; both are zero on a live node. The scrub line under
	// the header shows them.
	At, Of time.Duration
	Frozen bool
	// Recording is the file to which the session is recorded.
	Recording string
	Node      string
	Kubelet   string // version
	Lab       bool   // the node is one person's lab
	// Probes are the names of the probes that work: woven, cri, ...
	Probes []string
	// Failing are the probes that see nothing.
	Failing []Failing
	// Blind says what no probe sees; empty if the probes see everything.
	Blind string
	// Counts of pods in all, and by state.
	Pods, Stuck, Retrying, Held int
	// Dropped is how many events were lost.
	Dropped uint64
	// Filter is the filter that is in force.
	Filter string
}

// Failing is a probe that sees nothing.
type Failing struct {
	Probe string
	Why   string // empty if the probe gave no reason
	Again bool   // it tries again by itself
}

// HoldBanner tells about the pods that are held.
type HoldBanner struct {
	// Count is how many pods are held. The other fields are about the selected pod, or if that is not held, about
	// the one whose time ends first.
	Count    int
	Pod      string
	UID      string
	Selected bool // it is the selected pod
	Step     string
	On       string // enter or exit
	// Left is the time until the pod goes on by itself: before Timer runs out, or if no timer runs, when its lease
	// ends.
	Left  time.Duration
	Timer string
	// Free: no timer of the kubelet runs, so the hold costs nothing.
	Free bool
	// Node: the whole node stands still during the hold.
	Node bool
}

// Why is the one sentence that says why the selected pod is where it is.
type Why struct {
	Text string
	// Evidence says where this is seen, such as "kubelet event 1204".
	Evidence string
	Mark     life.State
}
