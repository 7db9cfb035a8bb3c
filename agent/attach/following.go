package attach

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// processProbe is a probe of one process of the kubelet.
type processProbe interface {
	Probe
	// gone ends the calls under way, with the reason why nothing is known of their ends.
	gone(why error)
}

// following is a probe of the kubelet's process. When that ends, it begins anew with the next one. Nothing of the
// probe before goes on then: the next process may be of another version, and has other addresses.
type following struct {
	target *Target
	name   string
	// make prepares the probe of the kubelet's present process.
	make func(*Target) (processProbe, error)
	// last, if not nil, is why the probe cannot go on with another kubelet.
	last func(pid int) error

	host  *Host
	now   processProbe // the present one, or the one that is prepared; nil: none. Only Start's caller and run use it
	own   *Host        // of now, if that works; its context ends with the process
	since *life        // of now
	ended sync.WaitGroup
}

// newFollowing prepares the probe of the first process.
func newFollowing(name string, t *Target, prepare func(*Target) (processProbe, error)) (*following, error) {
	p, err := prepare(t)
	if err != nil {
		return nil, err
	}
	return &following{target: t, name: name, make: prepare, now: p}, nil
}

// Start starts the probe of the first process.
func (f *following) Start(ctx context.Context, h *Host) error {
	f.host = h
	if err := f.begin(ctx); err != nil {
		return err
	}
	f.ended.Add(1)
	h.Go(func() {
		defer f.ended.Done()
		f.run()
	})
	return nil
}

// begin starts the probe of the kubelet's present process.
func (f *following) begin(ctx context.Context) (err error) {
	f.since = f.target.life()
	if f.now == nil {
		f.now, err = f.make(f.target)
		f.host.renew()
		if err != nil {
			return err
		}
	}
	own := f.host.during()
	if err := f.now.Start(ctx, own); err != nil {
		own.cancel()
		f.now = nil
		f.target.lookAnew()
		return err
	}
	f.own = own
	return nil
}

// end stops the probe of one process.
func (f *following) end(ctx context.Context) error {
	if f.own == nil {
		return nil
	}
	f.own.cancel()
	err := f.now.Stop(ctx)
	f.now, f.own = nil, nil
	return err
}

// run follows the kubelet until the probe is to stop.
func (f *following) run() {
	for {
		select {
		case <-f.host.Context().Done():
			return
		case <-f.since.gone:
		}
		pid := f.since.kubelet.PID
		why := fmt.Errorf("the kubelet, process %d, has ended", pid)
		f.now.gone(why)
		if f.last != nil {
			f.host.Failed(f.last(pid))
			return
		}
		f.host.Working(why)
		if err := f.end(f.host.Context()); err != nil {
			f.host.Note("the "+f.name+" probe could not be taken out of the kubelet that has ended", err)
		}
		select {
		case <-f.host.Context().Done():
			return
		case <-f.since.next:
		}
		if !f.beginAgain() {
			return
		}
	}
}

// beginAgain starts the probe of the next process. It tries again and again, until that process has ended too. It
// returns false if the probe is to stop.
func (f *following) beginAgain() bool {
	for wait := restartSoon; ; wait = min(2*wait, restartLate) {
		err := f.begin(f.host.Context())
		if err == nil {
			f.host.Note(fmt.Sprintf("the %s probe looks into the new kubelet, process %d", f.name, f.since.kubelet.PID), nil)
			return true
		}
		if f.host.Context().Err() != nil {
			return false
		}
		f.host.Working(err)
		select {
		case <-f.host.Context().Done():
			return false
		case <-f.since.gone: // then begin finds the one after it
			select {
			case <-f.host.Context().Done():
				return false
			case <-f.since.next:
			}
		case <-time.After(wait):
		}
	}
}

// Stop stops what is there.
func (f *following) Stop(ctx context.Context) error {
	f.ended.Wait()
	return f.end(ctx)
}
