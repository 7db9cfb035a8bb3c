package explore

import (
	"context"
	"errors"
	"net"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
)

// pretended is a kubelet that is started again at once when it is killed.
type pretended struct {
	pid    atomic.Int64
	killed atomic.Int64
	err    error
}

func (p *pretended) PID() int { return int(p.pid.Load()) }

func (p *pretended) Kill() error {
	p.killed.Add(1)
	p.pid.Add(1)
	return p.err
}

func nodeWith(t *testing.T, k *pretended) *Node {
	t.Helper()
	n := &Node{Kubelet: k, Agent: filepath.Join(t.TempDir(), "agent.sock")}
	l, err := net.Listen("unix", n.Agent)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	n.pid.Store(k.pid.Load())
	return n
}

// TestTogether: the kubelet is killed once for a batch, when the last of its trials has come or has ended before.
func TestTogether(t *testing.T) {
	k := &pretended{}
	k.pid.Store(7)
	n := nodeWith(t, k)
	b := newTogether(3)
	var trials sync.WaitGroup
	var early atomic.Int64
	for i := range 3 {
		trials.Go(func() {
			one := &trial{}
			one.restartsWith(b)
			defer one.came()
			if i == 0 {
				return // it could not even make its pod
			}
			early.Add(k.killed.Load())
			one.came()
			if err := one.with.wait(t.Context()); err != nil {
				t.Error(err)
			}
			if k.killed.Load() != 1 {
				t.Errorf("it goes on when the kubelet was killed %d times", k.killed.Load())
			}
		})
	}
	if err := b.restart(t.Context(), n); err != nil {
		t.Fatal(err)
	}
	trials.Wait()
	if k.killed.Load() != 1 || early.Load() != 0 || n.pid.Load() != 8 {
		t.Errorf("killed %d times, %d of them too early; the kubelet is %d", k.killed.Load(), early.Load(), n.pid.Load())
	}
	if n.died() {
		t.Error("the restart counts as an end of its own")
	}
	k.pid.Store(9)
	if !n.died() || n.died() {
		t.Error("an end of its own does not count once")
	}
}

// TestTogetherFails: trials do not wait for a kubelet that cannot be killed, nor for one in a run that is over.
func TestTogetherFails(t *testing.T) {
	broken := errors.New("on purpose")
	over, cancel := context.WithCancel(t.Context())
	cancel()
	for name, c := range map[string]struct {
		ctx  context.Context
		err  error
		want error
	}{"kill": {t.Context(), broken, broken}, "over": {over, nil, context.Canceled}} {
		b := newTogether(1)
		one := &trial{}
		one.restartsWith(b)
		one.came()
		if err := b.restart(c.ctx, nodeWith(t, &pretended{err: c.err})); !errors.Is(err, c.want) {
			t.Errorf("%s: %v", name, err)
		}
		if err := b.wait(t.Context()); !errors.Is(err, c.want) {
			t.Errorf("%s: a trial gets %v", name, err)
		}
	}
}
