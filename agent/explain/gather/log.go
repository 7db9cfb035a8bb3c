package gather

import (
	"context"

	"github.com/podstep/podstep/agent/explain/evidence"
)

// Log is the log of a kubelet of this machine as a source.
type Log struct{ Near *Nearby }

// Names names the source.
func (*Log) Names() (evidence.Source, string) { return evidence.Log, "log" }

// Look has nothing yet.
func (m *Log) Look(ctx context.Context, of *Subject) func(*evidence.Snapshot) { return nil }
