package agent

import (
	"slices"
	"sync"

	"github.com/podstep/podstep/agent/wire"
	"github.com/podstep/podstep/probes"
)

// reported notes what is told of a pod that no worker is seen of: whether it is
// there, and whether a container of it cannot run.
func (p *pod) reported(s *span, err string, now int64) {
	w := &p.where
	switch s.step.means {
	case probes.RoleBound:
		w.here(true)
	case probes.RoleKnown:
		w.here(wire.Lookup(s.fields(), fieldKnown).Flag())
	case probes.RoleSandboxState:
		// One that has stopped, of a pod that nobody else has told of, is what is
		// left until garbage collection comes by.
		if !w.wanted.Load() && !wire.Lookup(s.fields(), fieldReady).Flag() {
			w.here(false)
		}
	case probes.RoleContainerState:
		w.tell(trouble{step: s.step, container: wire.Lookup(s.fields(), fieldContainer).String(), err: err}, now)
	}
}

// here notes whether a pod is on the node at all.
func (w *podWhere) here(is bool) {
	if is {
		w.wanted.Store(true)
	}
	w.removed.Store(!is)
	w.finished.Store(!is)
}

// maxTroubles bounds the errors that are remembered of a pod, which has a few
// containers.
const maxTroubles = 32

// troubles are the errors that stand of a pod: that of the last call that
// failed, and what was reported last of each container. The latest is what the
// pod is shown with, and one that goes leaves the others standing.
type troubles struct {
	mu  sync.Mutex
	all []trouble // in the order in which they came
}

// trouble is an error, or without err the news that there is none any more.
type trouble struct {
	step      *stepInfo
	container string // empty: of a call
	err       string
}

// ends tells whether t is said in place of an older one: of the same container,
// or of calls, where a call that does well says nothing of another step's.
func (t trouble) ends(old trouble) bool {
	return t.container == old.container && (t.step == old.step || t.container == "" && t.err != "")
}

// tell notes a trouble, or that it is over.
func (w *podWhere) tell(t trouble, now int64) {
	w.troubles.mu.Lock()
	defer w.troubles.mu.Unlock()
	all := slices.DeleteFunc(w.troubles.all, t.ends)
	if t.err != "" {
		all = append(all, t)
		w.since.Store(now)
	} else if len(all) == len(w.troubles.all) {
		return
	}
	all = all[max(0, len(all)-maxTroubles):]
	w.troubles.all = all
	if len(all) == 0 {
		w.err.Store(nil)
		return
	}
	latest := all[len(all)-1].err
	w.err.Store(&latest)
}
