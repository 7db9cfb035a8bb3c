package attach

import (
	"context"
	"errors"
	"fmt"
	"sort"
	"strings"
	"time"

	"github.com/podstep/podstep/probes/cri/relay"
)

const (
	// waitForCalls bounds how long calls under way are waited for when podstep
	// goes: as long as the kubelet itself waits for most.
	waitForCalls = 2 * time.Minute
	// lookAgain is how often it is said what is waited for.
	lookAgain = 2 * time.Second
	// settle is how long no call may have been under way before a client is left
	// that does not hang up: one with an endless stream, or one that cannot be
	// asked to go. A client that was asked has read it by then.
	settle = time.Second
)

// Stop gives the runtime's path back, asks the kubelet to go there, and returns
// when calls that are under way have come to their end. When ctx ends they are cut
// off instead, and the kubelet makes them again. Pods that are held are to go on
// before.
func (r *relayed) Stop(ctx context.Context) error {
	var errs []error
	// Giving the path back is short and is done whatever ctx says.
	for _, k := range r.sockets {
		if err := k.give(context.WithoutCancel(ctx)); err != nil {
			errs = append(errs, err)
		}
	}
	r.drain(ctx)
	for _, k := range r.sockets {
		k.hangUp()
	}
	r.pods.close()
	r.publisher.close()
	return errors.Join(errs...)
}

// drain waits until every client has hung up, as they do once they were asked
// to go and their calls are over. That no call is seen does not say so: the next
// may be on its way, and the end of the last as well. Clients that stay are left
// when there was no call for a while.
func (r *relayed) drain(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, waitForCalls)
	defer cancel()
	look := time.NewTicker(lookAgain / 100)
	defer look.Stop()
	printed, busy := time.Now(), time.Now()
	for {
		calls := r.calls()
		select {
		case <-ctx.Done():
			if len(calls) > 0 {
				r.host.Print("cut off while under way: %s; the kubelet makes its calls again", list(calls))
			}
			return
		case <-look.C:
		}
		switch now := time.Now(); {
		case len(calls) > 0:
			busy = now
		case r.left() == 0 || now.Sub(busy) > settle:
			return
		}
		if time.Since(printed) > lookAgain {
			printed = time.Now()
			if len(calls) > 0 {
				r.host.Print("waits for what is under way: %s", list(calls))
			}
		}
	}
}

// left is how many connections there are still.
func (r *relayed) left() (n int) {
	for _, k := range r.sockets {
		n += k.left()
	}
	return n
}

func (r *relayed) calls() (out []relay.Call) {
	for _, k := range r.sockets {
		out = append(out, k.calls()...)
	}
	return out
}

// list names calls and their age, the oldest first.
func list(calls []relay.Call) string {
	sort.Slice(calls, func(i, j int) bool { return calls[i].Began.Before(calls[j].Began) })
	var out []string
	for i, c := range calls {
		if i == 3 {
			out = append(out, fmt.Sprintf("and %d more", len(calls)-i))
			break
		}
		name := c.Method[strings.LastIndexByte(c.Method, '/')+1:]
		out = append(out, fmt.Sprintf("%s for %v", name, time.Since(c.Began).Round(time.Second)))
	}
	return strings.Join(out, ", ")
}
