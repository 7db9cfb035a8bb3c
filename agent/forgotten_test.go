package agent

import (
	"fmt"
	"runtime"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	v1 "k8s.io/api/core/v1"
)

// TestForgottenPodHasItsStory: a pod that has long been gone is forgotten, but its story is not.
func TestForgottenPodHasItsStory(t *testing.T) {
	r := newRig(t, Options{})
	for i := range 128 {
		p := newPod("default", fmt.Sprint(i))
		_ = r.sync(p, nil)
		r.settle()
		wall, _ := r.now()
		r.pods.Known(string(p.UID)).SetGone(wall)
	}
	now, _ := r.now()
	r.pods.ForgetOld(now + int64(time.Hour))
	if n := len(r.pods.All()); n != 0 {
		t.Errorf("%d pods are known", n)
	}
	if events := r.events("0"); len(events) != 6 {
		t.Errorf("a pod that is forgotten has %d events, want 6", len(events))
	}
}

// TestPodsAreForgotten: when a node falls silent after its pods are gone, the agent soon keeps nothing of them but their
// stories.
func TestPodsAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Options{RecorderBytes: 1 << 20})
		const many = 300
		var gone []weak.Pointer[pod]
		for i := range many {
			gone = append(gone, r.comesAndGoes(i))
		}
		r.settle()
		if pods, ids := len(r.pods.All()), r.containers(many); pods != many || ids != many {
			t.Errorf("%d pods and %d containers are kept before anything is forgotten", pods, ids)
		}
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		if pods, ids := len(r.pods.All()), r.containers(many); pods != 0 || ids != 0 {
			t.Errorf("%d pods and %d containers are kept ten minutes later", pods, ids)
		}
		// The stories of other pods take the room of theirs.
		for i := range 40 {
			p := newPod("other", fmt.Sprint(i))
			_ = r.sync(p, func() error {
				for range 300 {
					_ = r.call("sync.volumes", []any{p}, nil, nil)
				}
				return nil
			})
			r.settle()
		}
		runtime.GC()
		for i, p := range gone {
			if p.Value() != nil {
				t.Errorf("pod %d is still in memory, without a story", i)
			}
		}
	})
}

// comesAndGoes makes a pod come and go.
func (r *rig) comesAndGoes(i int) weak.Pointer[pod] {
	o := newPod("default", fmt.Sprint(i))
	_ = r.call("source.api.send", []any{[]any{o}}, nil, nil)
	_ = r.sync(o, nil)
	p := r.pods.Known(string(o.UID))
	r.pods.Learn(fmt.Sprint("container-", i), p)
	_ = r.loop("loop.remove", []any{[]*v1.Pod{o}}, nil)
	r.pods.FromList([]any{o}, true) // a source may show it for longer
	return weak.Make(p)
}

// containers returns how many of the containers of so many pods are known.
func (r *rig) containers(pods int) (n int) {
	for i := range pods {
		if r.pods.CRI(fmt.Sprint("container-", i)) != nil {
			n++
		}
	}
	return n
}
