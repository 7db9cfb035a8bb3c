package attach

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/podstep/podstep/probes/companion"
	"github.com/podstep/podstep/probes/kubelets"
	"github.com/podstep/podstep/probes/uprobe"
)

// life is the life of one process of the kubelet.
type life struct {
	kubelet *kubelets.Kubelet
	gone    chan struct{} // closed when the process has ended
	next    chan struct{} // closed when there is another one
}

func newLife(k *kubelets.Kubelet) *life {
	return &life{kubelet: k, gone: make(chan struct{}), next: make(chan struct{})}
}

// lives are the kubelet's processes, one after the other. The zero value has none.
type lives struct {
	mu  sync.Mutex
	now *life
	// inside looks into the kubelet's process, or insideErr is the reason why nothing can. Both are of insideOf.
	inside    *uprobe.Probe
	insideErr error
	insideOf  *life
	// find is Options.next.
	find func(context.Context, *kubelets.Kubelet) (kubelets.Kubelet, error)
}

// life returns the life of the kubelet's present process, or of the last one if that has ended.
func (t *Target) life() *life {
	t.lives.mu.Lock()
	defer t.lives.mu.Unlock()
	if t.lives.now == nil {
		t.lives.now = newLife(&t.Kubelet)
	}
	return t.lives.now
}

// current returns the kubelet that runs now, or the last one. Target.Kubelet is the first.
func (t *Target) current() *kubelets.Kubelet { return t.life().kubelet }

// hasEnded reports whether the kubelet's present process has ended, though follow may not know that yet.
func (t *Target) hasEnded() bool {
	k := t.current()
	return k.PID != 0 && k.Started != 0 && !kubelets.Same(k.PID, k.Started)
}

// looksInside returns the probe that looks into the kubelet's present process, or the reason why there can be none.
func (t *Target) looksInside() (*uprobe.Probe, error) {
	now := t.life()
	t.lives.mu.Lock()
	defer t.lives.mu.Unlock()
	if t.lives.insideOf != now {
		t.lives.inside, t.lives.insideErr = t.lookInside(now.kubelet)
		t.lives.insideOf = now
	}
	return t.lives.inside, t.lives.insideErr
}

// lookAnew makes looksInside look again.
func (t *Target) lookAnew() {
	t.lives.mu.Lock()
	defer t.lives.mu.Unlock()
	t.lives.insideOf = nil
}

// findEvery is how often podstep looks for the next kubelet.
const findEvery = 500 * time.Millisecond

// follow notes when the kubelet's process ends, and finds the next one, until ctx ends.
func (t *Target) follow(ctx context.Context) {
	for {
		l := t.life()
		if !awaitEnd(ctx, l.kubelet) {
			return
		}
		close(l.gone)
		t.note(fmt.Sprintf("the kubelet, process %d, has ended; podstep waits for the next one", l.kubelet.PID), nil)
		next := t.findNext(ctx, l.kubelet)
		if next == nil {
			return
		}
		t.lives.mu.Lock()
		t.lives.now = newLife(next)
		t.lives.mu.Unlock()
		t.found(next)
		close(l.next)
		text := fmt.Sprintf("the kubelet runs again, as process %d", next.PID)
		if next.Version != l.kubelet.Version {
			text += fmt.Sprintf(", of version %s: it was %s", next.Version, l.kubelet.Version)
		}
		t.note(text, nil)
	}
}

// findNext waits for the kubelet that is started in place of old. It returns nil if ctx ends first.
func (t *Target) findNext(ctx context.Context, old *kubelets.Kubelet) *kubelets.Kubelet {
	find := t.lives.find
	if find == nil {
		find = func(ctx context.Context, old *kubelets.Kubelet) (kubelets.Kubelet, error) {
			return kubelets.Next(ctx, old, kubelets.Options{})
		}
	}
	for {
		if k, err := find(ctx, old); err == nil {
			return &k
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(findEvery):
		}
	}
}

// endPitch is how often awaitEnd looks whether a process is there that the kernel cannot open.
const endPitch = 200 * time.Millisecond

// awaitEnd returns true when a kubelet's process has ended. It returns false when ctx ends first. Its number may be
// another process's by now, so the process is opened, and then compared.
func awaitEnd(ctx context.Context, k *kubelets.Kubelet) bool {
	process, err := companion.OpenProcess(k.PID)
	if err == nil {
		defer process.Close()
		defer context.AfterFunc(ctx, process.Close)()
	}
	for kubelets.Same(k.PID, k.Started) && ctx.Err() == nil {
		if err == nil {
			process.Wait()
			break
		}
		time.Sleep(endPitch) // a kernel before 5.3 opens no process
	}
	return ctx.Err() == nil
}
