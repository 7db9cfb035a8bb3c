package attach

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/uprobe"
)

const (
	// closelyEvery is how often the probe asks whether it still has to look closely. When it has not, it goes on for closelyFor: a
	// person goes from one pod to the next.
	closelyEvery = time.Second
	closelyFor   = 10 * time.Second
	// closelyWithin bounds how long a client waits until the probe looks closely, and how long the calls under way are waited for
	// when it looks away.
	closelyWithin = 5 * time.Second
)

// closely is the part of the probe that makes it look closely while somebody wants that.
type closely struct {
	kick  kick // of followClosely, which makes the probe do what is wanted
	ended sync.WaitGroup
}

// lookClosely makes the probe look closely whenever somebody wants that, until it is to stop.
func (p *within) lookClosely() {
	c := &closely{kick: make(kick)}
	p.closely = c
	p.host.OnClosely(p.closelyChanged)
	c.ended.Add(1)
	p.host.Go(func() {
		defer c.ended.Done()
		p.followClosely()
	})
}

// endClosely waits until nothing makes the probe look closely any more. The context of the probe's host has ended.
func (p *within) endClosely() {
	if p.closely == nil {
		return
	}
	p.host.OnClosely(nil)
	p.closely.ended.Wait()
}

// closelyChanged returns when the probe looks closely, if it has to.
func (p *within) closelyChanged(ctx context.Context) {
	if !p.host.LooksClosely() {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, closelyWithin)
	defer cancel()
	p.closely.kick.await(ctx, p.host.Context())
}

// followClosely makes the probe look closely, and away, until it is to stop.
func (p *within) followClosely() {
	tick := time.NewTicker(closelyEvery)
	defer tick.Stop()
	var last time.Time // when somebody wanted it last; zero: the probe does not look closely
	var done chan struct{}
	failed := false
	for {
		switch wanted := p.host.LooksClosely(); {
		case wanted && last.IsZero():
			err := p.look(true)
			if err == nil {
				last = time.Now()
			} else if !failed && p.host.Context().Err() == nil && !p.target.hasEnded() {
				p.host.Note("the "+p.host.name+" probe cannot look closely", err)
			}
			failed = err != nil
		case wanted:
			last = time.Now()
		case !last.IsZero() && time.Since(last) >= closelyFor:
			last = time.Time{}
			if err := p.look(false); err != nil {
				p.host.Note("the "+p.host.name+" probe could not be taken from all places at which it looked closely", err)
			}
		}
		if done != nil {
			close(done)
			done = nil
		}
		select {
		case <-p.host.Context().Done():
			return
		case <-tick.C:
		case done = <-p.closely.kick:
		}
	}
}

func (p *within) look(closely bool) error {
	ctx, cancel := context.WithTimeout(p.host.Context(), closelyWithin)
	defer cancel()
	return p.probe.LookClosely(ctx, closely)
}

// isWanted reports whether a call is to be shown. One that is seen only because the probe looks closely is about a pod for which
// somebody wants that, or about none. Of a list of pods it leaves those.
func (p *within) isWanted(c *uprobe.Call) bool {
	if !c.Closely {
		return true
	}
	if len(c.Values) > 0 {
		if all, ok := c.Values[0].([]probes.PodRef); ok {
			all = slices.DeleteFunc(slices.Clone(all), func(of probes.PodRef) bool { return !p.host.SeesClosely(c.Step.Name, of) })
			c.Values[0] = all
			return len(all) > 0
		}
	}
	for up := c; up != nil; up = up.Parent {
		if of := podOf(up); of != nil {
			return p.host.SeesClosely(c.Step.Name, of)
		}
	}
	return true
}

// podOf returns what shows which pod a call is about: a probes.PodRef, or the id of a sandbox or container; nil: nothing does.
func podOf(c *uprobe.Call) any {
	if len(c.Values) == 0 || c.Step.Pod.Exit {
		return nil
	}
	switch v := c.Values[0].(type) {
	case probes.PodRef:
		return v
	case string:
		if c.Step.Pod.Kind == probes.PodCRIID {
			return v
		}
	}
	return nil
}
