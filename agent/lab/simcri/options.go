package simcri

import (
	"context"
	"log/slog"
	"net/netip"
)

// Options state where a Server lives and how its node behaves.
type Options struct {
	// Socket is the path of the unix socket to serve on. A stale one is replaced.
	Socket string
	// Root is a directory for the files of containers and images. It is made if
	// it is not there; what the server puts into it goes with the containers.
	Root string
	// PodNetwork is where pods get their addresses from, a part of 127.0.0.0/8.
	// The zero value is a free 127.N.0.0/16, so that two labs do not meet.
	PodNetwork netip.Prefix
	// NodeAddress is what pods on the host's network listen on: 127.0.0.1 if unset.
	NodeAddress netip.Addr
	// ScenarioFile is read at the start, and again when it has changed. Empty is none.
	ScenarioFile string
	// Scenario is used if there is no ScenarioFile. nil is a node without faults.
	Scenario *Scenario
	// Log gets a line for what a person who runs the lab should know. nil is silence.
	Log *slog.Logger
}

func (o Options) withDefaults() Options {
	if !o.NodeAddress.IsValid() {
		o.NodeAddress = netip.AddrFrom4([4]byte{127, 0, 0, 1})
	}
	if o.Scenario == nil {
		o.Scenario = &Scenario{}
	}
	if o.Log == nil {
		o.Log = slog.New(discard{})
	}
	return o
}

// discard is a slog.Handler that drops everything.
type discard struct{ slog.Handler }

func (discard) Enabled(context.Context, slog.Level) bool { return false }
