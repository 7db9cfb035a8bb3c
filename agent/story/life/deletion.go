package life

import (
	"encoding/json"

	"github.com/podstep/podstep/agent/story/history"
	"github.com/podstep/podstep/agent/wire"
)

// doom notes that the pod's object is being deleted, and which finalizers it has.
func (p *Pod) doom(r *history.Record) {
	p.Doomed, p.Finalizers = true, None
	if len(finalizersOf(r.Raw)) > 0 {
		p.Finalizers = r.Pos
	}
}

func finalizersOf(raw []byte) (names []string) {
	if l := wire.Lookup(raw, "finalizers"); l.Found() && json.Unmarshal(l.Text, &names) != nil {
		return nil
	}
	return names
}

// FinalizersOf returns the finalizers that a pod's object had when the kubelet last saw it, or the cluster last
// reported it; empty: none are known.
func (l *Lives) FinalizersOf(p *Pod) []string {
	return finalizersOf(l.h.Raw(p.Finalizers))
}

// Lingers reports whether the node has done its part of a deletion while the API server still has the pod's object,
// most often because of its finalizers.
func (l *Lives) Lingers(p *Pod) bool {
	if p.Removed || !p.Doomed {
		return false
	}
	if p.seesTurns {
		return p.Finished
	}
	// The kubelet asks for the removal with a grace period of zero.
	return p.Finalizers != None && p.At == None && wire.Lookup(l.h.Raw(p.Finalizers), "grace").Num == 0
}
