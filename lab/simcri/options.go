package simcri

import (
	"context"
	"log/slog"
	"net/netip"
)

// Options state where a Server has its files and how its node behaves.
type Options struct {
	// Socket is the path of the unix socket to serve on. A stale one is replaced.
	Socket string
	// Root is a directory for the files of containers and images. The server makes it if it does not exist. A
	// container's files go with the container.
	Root string
	// PodNetwork is the network of the pods' addresses, a part of 127.0.0.0/8. The zero value is a free 127.N.0.0/16,
	// so that two labs do not meet.
	PodNetwork netip.Prefix
	// NodeAddress is the address on which pods on the host's network listen: 127.0.0.1 if unset.
	NodeAddress netip.Addr
	// CDI is a directory with the specs of devices that containers may have. It may be empty, or not exist.
	CDI string
	// ScenarioFile is read at the start, and again when it has changed. It may be empty.
	ScenarioFile string
	// Scenario is used if there is no ScenarioFile. nil is a node without faults.
	Scenario *Scenario
	// Log gets the messages for the person who runs the lab. nil: nobody gets them.
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
