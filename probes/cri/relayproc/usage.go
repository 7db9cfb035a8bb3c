package relayproc

import (
	"context"
	"strings"
	"time"

	"github.com/podstep/podstep/probes/companion"
	"github.com/podstep/podstep/probes/kubelets"
)

// unused reports whether the path is to be given back because the kubelet does not come. A kubelet that has ended
// or is stopped needs no path. A kubelet with a call under way has come: a slow runtime, or a person who holds the
// call, is no reason to give it back.
func (p *process) unused(u *companion.Silence) bool {
	answered, _ := p.conns.served()
	may := p.kubeletRuns() && len(p.conns.waiting()) == 0
	if u.Update(time.Now(), answered, may) < p.o.Unused {
		return false
	}
	if p.conns.kubeletPID() != 0 {
		return true
	}
	// It has not come at all. Calls on its old connections may take long, and are no reason either.
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	past, _ := p.taken.Came(ctx)
	if len(past) > 0 {
		*u = companion.Silence{}
	}
	return len(past) == 0
}

// runs reports whether a process is there, and neither stopped nor ended.
func runs(pid int) bool {
	state := kubelets.State(pid)
	return state != 0 && !strings.ContainsRune("TtZX", rune(state))
}
