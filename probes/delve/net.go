//go:build linux && amd64

package delve

import (
	"context"
	"errors"
	"time"

	"github.com/podstep/podstep/probes/delve/rescue"
)

const (
	// rescueWithin bounds how long the rescuer process may take to start, or to end, on a busy machine.
	rescueWithin = 20 * time.Second
	// coverWithin bounds how long it may take for an answer while the kubelet stands still.
	coverWithin = 5 * time.Second
)

// spread puts a net below the kubelet, before there is a breakpoint. It returns the reason why there is none; empty:
// there is one, or a headless Delve looks after its breakpoints itself.
func (p *process) spread() (why string) {
	if p.options.Remote != "" {
		return ""
	}
	ctx, cancel := context.WithTimeout(context.Background(), rescueWithin)
	defer cancel()
	c, err := rescue.Start(ctx, rescue.Options{PID: p.options.PID, Started: p.options.Started, Still: p.options.Bounds.longestStill()}, p.reportEnd)
	if err != nil {
		return err.Error()
	}
	p.rescuer = c
	p.spawn(p.keepRescuer)
	return ""
}

// reportEnd gives podstep the reason why the rescuer is about to end this process.
func (p *process) reportEnd(why string) {
	p.link.Send(message{Failed: "the rescuer process ended the debugger process, which " + why})
}

// keepRescuer starts another rescuer whenever one has died, until Delve has left.
func (p *process) keepRescuer() {
	for {
		select {
		case <-p.ended:
			return
		case <-p.rescuer.Done():
		}
		ctx, cancel := context.WithTimeout(context.Background(), rescueWithin)
		err := p.rescuer.Again(ctx)
		cancel()
		switch {
		case errors.Is(err, rescue.ErrLeft):
			return
		case err == nil:
			p.note("the rescuer process had ended; there is another one")
		default:
			p.note("no process looks after the breakpoints: %v", err)
			select {
			case <-p.ended:
				return
			case <-time.After(rescueWithin):
			}
		}
	}
}

// cover puts addresses into the net before breakpoints are set there.
func (p *process) cover(addresses []uint64) error { return p.addToNet(addresses, false) }

// coverOwn puts the addresses of Delve's own breakpoints into the net. The kubelet comes there only when it panics.
func (p *process) coverOwn() error { return p.addToNet(p.target.own.breakpoints(), true) }

func (p *process) addToNet(addresses []uint64, short bool) error {
	if p.rescuer == nil || len(addresses) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), coverWithin)
	defer cancel()
	return p.rescuer.Add(ctx, addresses, short)
}

// takeNet takes the net away after Delve has left.
func (p *process) takeNet() {
	if p.rescuer == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), rescueWithin)
	defer cancel()
	if err := p.rescuer.Leave(ctx); err != nil {
		p.note("%v", err)
	}
}
