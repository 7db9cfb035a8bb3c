package agent

import (
	"errors"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/journal"
	"github.com/podstep/podstep/agent/server"
)

// Tap gives all events to somebody in the agent's own process, as a client's stream does.
type Tap struct {
	*journal.Watcher
	agent *Agent
}

// Tap begins a tap. See journal.Tap for what it begins with.
func (a *Agent) Tap(carried int) (*Tap, error) {
	select {
	case <-a.closed:
		return nil, errors.New("the agent has ended")
	default:
		return &Tap{a.journal.Tap(carried), a}, nil
	}
}

// Info returns what the agent reports about itself now, as a client gets it.
func (t *Tap) Info() *agentpb.InfoResponse { return server.Clean(t.agent.info()) }

// Carried returns the next events of the stories with which the tap begins; nil: there are no more.
func (t *Tap) Carried() *agentpb.Batch { return t.History() }
