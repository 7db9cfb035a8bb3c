package lab

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"

	"github.com/podstep/podstep/agent/labstate"
	"github.com/podstep/podstep/lab/cgroups"
)

// A ground is what a lab's control plane stands on: a node, real or simulated, and the things that the node makes
// outside of the lab's directory.
type ground interface {
	// require finds the programs and rights that the lab needs.
	require() error
	// sweep ends and removes what a lab left outside of its directory. It works
	// for a lab of another process that was killed, too.
	sweep() error
	// prepare makes what must exist before the first part starts. It returns the node's address.
	prepare() (netip.Addr, error)
	// enter is called once on the thread from which the parts are started.
	enter() error
	// add adds the container runtime and the kubelet to the plan.
	add(p *plan)
	// starts returns the function that starts a kubelet or a container runtime, by the name of the part; nil for others.
	starts(part string) func(context.Context) error
}

func newGround(l *Lab) ground {
	if l.options.Runtime == labstate.Sim {
		return &simNode{Lab: l}
	}
	return &realNode{Lab: l}
}

// onMachine reports whether a containerd lab of these names has left something outside of its directory.
func (n names) onMachine() bool {
	_, err := os.Stat("/sys/class/net/" + n.bridge)
	return err == nil || cgroups.Exists(n.cgroup)
}

// sweepLeft calls sweepMachine if a lab has left something on the machine.
func sweepLeft(p paths, n names) error {
	if !n.onMachine() {
		return nil
	}
	if os.Geteuid() != 0 {
		return fmt.Errorf("a containerd lab was killed in %s, and cleaning up after it needs root: run sudo podstep-lab clean --dir %s", p.dir, p.dir)
	}
	ip, ok := findProgram("ip")
	if !ok {
		return errors.New("not installed: ip: run `make node-deps`")
	}
	return sweepMachine(n, ip)
}
