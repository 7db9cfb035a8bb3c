package relayproc

import (
	"time"

	"golang.org/x/sys/unix"

	"github.com/podstep/podstep/probes/companion"
)

// beat shows the relay process that this one works, and ends one that does not answer any more.
func (c *Client) beat() {
	tick := time.NewTicker(beatEvery)
	defer tick.Stop()
	// While this process was stopped itself, the other was not silent.
	for use := (usage{}); ; {
		select {
		case <-c.done:
			return
		case <-tick.C:
		}
		c.link.send(message{Beat: true, Count: c.h.Count != nil})
		c.mu.Lock()
		silent, most := use.update(time.Now(), c.came, c.pidfd != nil), hangsAfter
		if c.came <= 1 {
			most = takeWithin
		}
		c.mu.Unlock()
		if silent > most {
			c.kill()
		}
	}
}

// hangsAfter is the silence of a relay process after which this one ends it. The guard of the relay process is
// about as quick, if it still works.
const hangsAfter = silentAfter + beatEvery

// takeWithin is how long a relay process may be silent while it takes the path: on a slow machine its guard takes most
// of that to start.
const takeWithin = 40 * time.Second

// kill ends a relay process that hangs. It also ends the process's guard if that is stopped, and so does nothing
// about it.
func (c *Client) kill() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.pidfd != nil {
		companion.KillStopped(c.pid)
		_ = unix.PidfdSendSignal(int(c.pidfd.Fd()), unix.SIGKILL, nil, 0)
	}
	c.link.fail()
}
