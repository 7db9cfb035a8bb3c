package gather

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"slices"
	"sync"
	"time"

	"github.com/podstep/podstep/agent/explain/evidence"
)

// elsewhere is the error of a source on a node that the pod is not on.
type elsewhere struct{ message string }

func (e *elsewhere) Error() string { return e.message }

// errNoNode is returned for a pod that is not bound to a node.
var errNoNode = errors.New("the pod has no node")

// missedNear notes why there is nothing of the node. It returns nil if that needs no word.
func missedNear(source evidence.Source, what string, err error) func(*evidence.Snapshot) {
	var away *elsewhere
	switch {
	case errors.Is(err, errNoNode):
		return nil
	case errors.As(err, &away) && source != evidence.Node:
		return nil // one word about the node is enough
	case errors.As(err, &away):
		return func(s *evidence.Snapshot) { s.Missed(source, what, evidence.Absent, away.message) }
	}
	code, message := WhyNot(err)
	return func(s *evidence.Snapshot) { s.Missed(source, what, code, message) }
}

// early returns a context that ends a little before ctx, so that what has come until then still
// gets into the snapshot.
func early(ctx context.Context) (context.Context, context.CancelFunc) {
	const margin = 300 * time.Millisecond
	if d, ok := ctx.Deadline(); ok {
		return context.WithDeadline(ctx, d.Add(-margin))
	}
	return context.WithCancel(ctx)
}

// part is what a source has found so far. It drops what comes after give: a read that hangs may still end.
type part struct {
	mu    sync.Mutex
	s     evidence.Snapshot
	given bool
}

func (p *part) put(change func(s *evidence.Snapshot)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.given {
		change(&p.s)
	}
}

func (p *part) saw(source evidence.Source, what string, change func(s *evidence.Snapshot)) {
	p.put(func(s *evidence.Snapshot) {
		s.Saw(source, what, time.Now())
		change(s)
	})
}

func (p *part) missed(source evidence.Source, what string, err error) {
	code, message := WhyNot(err)
	p.put(func(s *evidence.Snapshot) { s.Missed(source, what, code, message) })
}

// give ends the part, and returns a function that copies what it has into a snapshot.
func (p *part) give() func(*evidence.Snapshot) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.given = true
	return func(s *evidence.Snapshot) {
		if p.s.KubeletPod != nil {
			s.KubeletPod = p.s.KubeletPod
		}
		if p.s.Kubelet != nil {
			joinKubelet(s, p.s.Kubelet)
		}
		if p.s.Runtime != nil {
			s.Runtime = p.s.Runtime
		}
		if m := p.s.Machine; m != nil {
			joinMachine(s, m)
		}
		for _, o := range p.s.Origins {
			s.Saw(o.Source, o.What, o.At)
		}
		s.Unseen = append(s.Unseen, p.s.Unseen...)
	}
}

// joinKubelet puts in what the kubelet's port says. What its pods API says stays where the port says nothing.
func joinKubelet(s *evidence.Snapshot, k *evidence.Kubelet) {
	if before := s.Kubelet; before != nil {
		k.Status = before.Status
		k.HasPod = cmp.Or(k.HasPod, before.HasPod)
	}
	s.Kubelet = k
}

// joinMachine adds what one of the two sources of a machine has. The kubelet's log is a source of its own.
func joinMachine(s *evidence.Snapshot, m *evidence.Machine) {
	if s.Machine == nil {
		s.Machine = m
		return
	}
	if len(m.Lines) > 0 {
		s.Machine.Lines = m.Lines
		return
	}
	lines := s.Machine.Lines
	*s.Machine = *m
	s.Machine.Lines = lines
}

// within runs functions at once, and waits until all have returned or the context ends. A
// function that reads a file system which hangs may never return.
func within(ctx context.Context, all map[string]func()) (late []string) {
	done := make(chan string, len(all))
	for name, f := range all {
		go func() {
			f()
			done <- name
		}()
	}
	open := map[string]bool{}
	for name := range all {
		open[name] = true
	}
	for len(open) > 0 {
		select {
		case name := <-done:
			delete(open, name)
		case <-ctx.Done():
			for name := range open {
				late = append(late, name)
			}
			slices.Sort(late)
			return late
		}
	}
	return nil
}

// quiet reports whether an error says that a file does not exist. That is no news: a pod may
// have no volumes, and no cgroup.
func quiet(err error) bool { return errors.Is(err, fs.ErrNotExist) }
