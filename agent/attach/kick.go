package attach

import "context"

// kick makes the goroutine that receives from it look at what is wanted now. It closes what it received when it has done that.
type kick chan chan struct{}

// await sends a kick, and waits until what is wanted is done, ctx ends, or the receiver's own context ends before it receives.
func (k kick) await(ctx, receiver context.Context) {
	done := make(chan struct{})
	select {
	case k <- done:
	case <-ctx.Done():
		return
	case <-receiver.Done():
		return
	}
	select {
	case <-done:
	case <-ctx.Done():
	}
}
