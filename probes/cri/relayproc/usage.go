package relayproc

import (
	"context"
	"strings"
	"time"

	"github.com/podstep/podstep/probes/kubelets"
)

// usage watches whether something comes, such as calls of the kubelet. It counts only time in which something could
// come: the kubelet runs, and waits for no call.
type usage struct {
	number uint64 // of the calls that have come
	looked time.Time
	idle   time.Duration
}

// maxGap is the most time that counts between two looks: this process may have been stopped.
const maxGap = 2 * beatEvery

// update notes what is so now, and returns for how long nothing has come.
func (u *usage) update(now time.Time, number uint64, may bool) time.Duration {
	gap := min(now.Sub(u.looked), maxGap)
	switch {
	case u.looked.IsZero() || number != u.number:
		u.idle = 0
	case may:
		u.idle += gap
	}
	u.number, u.looked = number, now
	return u.idle
}

// unused reports whether the path is to be given back because the kubelet does not come. A kubelet that has ended
// or is stopped needs no path. A kubelet with a call under way has come: a slow runtime, or a person who holds the
// call, is no reason to give it back.
func (p *process) unused(u *usage) bool {
	answered, _ := p.conns.served()
	may := p.kubeletRuns() && len(p.conns.waiting()) == 0
	if u.update(time.Now(), answered, may) < p.o.Unused {
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
		*u = usage{}
	}
	return len(past) == 0
}

// runs reports whether a process is there, and neither stopped nor ended.
func runs(pid int) bool {
	state := kubelets.State(pid)
	return state != 0 && !strings.ContainsRune("TtZX", rune(state))
}
