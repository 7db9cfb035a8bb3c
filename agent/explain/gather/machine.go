package gather

import (
	"context"

	"github.com/podstep/podstep/agent/explain/evidence"
)

// Machine is this machine as a source.
type Machine struct{ Near *Nearby }

// Names names the source.
func (*Machine) Names() (evidence.Source, string) { return evidence.Node, "machine" }

// Look has nothing yet.
func (m *Machine) Look(ctx context.Context, of *Subject) func(*evidence.Snapshot) {
	_, err := m.Near.kubelet(ctx, of)
	if err != nil {
		return missedNear(evidence.Node, "machine", err)
	}
	return nil
}
