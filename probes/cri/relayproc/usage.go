package relayproc

import (
	"strings"
	"time"

	"github.com/podstep/podstep/probes/kubelets"
)

// usage watches whether something comes, such as calls of the kubelet. What counts is time
// in which it could: the kubelet runs, and waits for no call.
type usage struct {
	number uint64 // of what has come
	looked time.Time
	idle   time.Duration
}

// maxGap is the most that counts between two looks: this process may have been stopped.
const maxGap = 2 * beatEvery

// look takes what is so now, and returns for how long nothing has come.
func (u *usage) look(now time.Time, number uint64, may bool) time.Duration {
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

// unused reports whether the path is to be given back since the kubelet does not come.
// One that has ended or is stopped needs no path, and one whose call is under way has come:
// that the runtime takes long, or that a person holds the call, is no reason.
func (p *process) unused(u *usage) bool {
	answered, _ := p.conns.served()
	pid := p.conns.kubeletPID()
	may := pid != 0 && runs(pid) && len(p.conns.waiting()) == 0
	return u.look(time.Now(), answered, may) >= p.o.Unused
}

// runs reports whether a process is there, and neither stopped nor ended.
func runs(pid int) bool {
	state := kubelets.State(pid)
	return state != 0 && !strings.ContainsRune("TtZX", rune(state))
}
