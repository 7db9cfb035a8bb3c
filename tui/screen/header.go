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
	// LinkText says it in a word or two: "live", "reconnecting 2s",
	// "replay 00:12/01:40".
	LinkText string
	// At and Of are the position in a trace file and its length, both zero on a
	// live node: what the scrub line under the header shows.
	At, Of time.Duration
	Frozen bool
	// Recording is the file that the session is recorded to.
	Recording string
	Node      string
	Kubelet   string // version
	Lab       bool   // the node is one person's lab
	// Probes are the names of the probes that work: woven, cri, ...
	Probes []string
	// Failing are the probes that see nothing.
	Failing []Failing
	// Blind is what no probe sees, empty if nothing.
	Blind string
	// Counts of pods by state, for the header: all, stuck, retrying, held.
	Pods, Stuck, Retrying, Held int
	// Dropped events, and what of.
	Dropped uint64
	// Filter is the filter that is on.
	Filter string
}

// Failing is a probe that sees nothing.
type Failing struct {
	Probe string
	Why   string // empty if the probe gave no reason
	Again bool   // it tries again by itself
}

// HoldBanner is about the pods that are held.
type HoldBanner struct {
	// Count of held pods. What follows is of the selected one, or if that is not
	// held, of the one whose time ends first.
	Count    int
	Pod      string
	UID      string
	Selected bool // it is the selected pod
	Step     string
	On       string // enter or exit
	// Left is until it goes on by itself: before Timer runs out, or if there is
	// none, because its lease is over.
	Left  time.Duration
	Timer string
	// Free: no timer of the kubelet runs, so the hold costs nothing.
	Free bool
	// Node: the node stands still meanwhile.
	Node bool
}

// Why is the one sentence why the selected pod is where it is.
type Why struct {
	Text string
	// Evidence is where that is seen, e.g. "kubelet event 1204".
	Evidence string
	Mark     life.State
}
