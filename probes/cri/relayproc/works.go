package relayproc

import (
	"errors"
	"fmt"
	"time"
)

// answerWithin is how long a call of the kubelet is waited for that goes through the relay
// process and is answered. A kubelet asks its runtime at least every five seconds.
const answerWithin = 15 * time.Second

// works waits until a call of the kubelet has gone through here and was answered. past is
// how many of its connections still go past here: as long as there are some, the kubelet
// may have no reason to come. The error is why calls do not go through.
func (p *process) works(past int) error {
	if p.o.PID == 0 {
		return nil // there is no kubelet to wait for
	}
	until := time.After(answerWithin)
	look := time.NewTicker(lookAgain)
	defer look.Stop()
	for {
		answered, connections, refused := p.conns.served()
		if answered > 0 {
			return nil
		}
		select {
		case <-look.C:
			continue
		case <-p.gone:
			return errors.New("the path is given back")
		case <-until:
		}
		switch {
		case refused != nil:
			return fmt.Errorf("the runtime cannot be reached from podstep's process, as a security policy may have it: %w", refused)
		case connections > 0:
			return errors.New("the kubelet has come, but the runtime answers none of its calls through podstep")
		case past > 0:
			return nil
		}
		return errors.New("the kubelet does not connect to podstep's socket, as a security policy or a kubelet that hangs may have it")
	}
}
