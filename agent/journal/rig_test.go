package journal

import (
	"slices"
	"testing"
	"time"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/agenttest"
	"github.com/podstep/podstep/agent/pods"
	"github.com/podstep/podstep/agent/wire/eventtest"
	"github.com/podstep/podstep/probes"
)

// rig is a journal with the pods that its events are about.
type rig struct {
	*Journal
	t     testing.TB
	c     *probes.Catalogue
	table pods.Table[Pod]
	begun time.Time
	spans uint64
}

func newRig(t testing.TB, o Options) *rig {
	t.Helper()
	r := &rig{t: t, c: probes.MustLoad(), begun: time.Now()}
	if o.QueueEvents == 0 {
		o.QueueEvents = 1 << 16
	}
	if o.RecorderBytes == 0 {
		o.RecorderBytes = 48 << 20
	}
	o.Clock, o.Forget, o.Verdicts = r.now, r.table.ForgetOld, NewVerdicts(agenttest.Info(), r.c)
	r.table.Init()
	r.table.Added = func(p *pods.Entry[Pod]) { p.State.Pod = &p.Pod }
	r.table.Forgotten = func(p *pods.Entry[Pod]) { o.Verdicts.Forget(&p.State) }
	r.Journal = Start(o)
	t.Cleanup(r.Close)
	return r
}

func (r *rig) now() (wall, mono int64) {
	now := time.Now()
	return now.UnixNano(), int64(now.Sub(r.begun))
}

// pod returns the pod with that uid, which is also its name.
func (r *rig) pod(uid string) *Pod {
	p := &r.table.UID(uid).State
	p.Name("default", uid)
	return p
}

// podOf returns a pod that is in no table.
func podOf(id uint32, uid string) *Pod { return &Pod{Pod: &pods.Pod{ID: id, UID: uid}} }

// call puts the events of a call of a step.
func (r *rig) call(p *Pod, step string) {
	r.spans++
	id := uint32(r.c.Step(step).ID) + 1
	r.Put(Event{Kind: agentpb.Kind_ENTER, Step: id, Pod: p, Span: r.spans})
	r.Put(Event{Kind: agentpb.Kind_EXIT, Step: id, Pod: p, Span: r.spans, Duration: 1})
}

// settle waits until the journal has handed on what it was given.
func (r *rig) settle() { <-r.Kept() }

// watcher adds a watcher.
func (r *rig) watcher(want Wanted) *Watcher {
	r.t.Helper()
	w, err := r.Watch(wants(want))
	if err != nil {
		r.t.Fatal(err)
	}
	return w
}

// wants completes what a watcher wants: all pods, unless it selects some.
func wants(want Wanted) Wanted {
	if want.Pods == nil {
		want.Pods = &pods.Selector{}
	}
	return want
}

// selected returns a selector of pods.
func selected(t testing.TB, which *agentpb.PodSelector) *pods.Selector {
	t.Helper()
	s, err := pods.NewSelector(which)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// keptOf returns what the recorder has of what is wanted.
func (r *rig) keptOf(want Wanted) []kept {
	r.t.Helper()
	want.History = true
	w := r.watcher(want)
	defer w.Close()
	return w.history.all()
}

func (r *rig) nextEvents(w *Watcher) []kept {
	r.t.Helper()
	events, err := w.next(r.t.Context())
	if err != nil {
		r.t.Fatal(err)
	}
	return events
}

// untilNote waits for a note.
func (r *rig) untilNote(w *Watcher, err string) {
	r.t.Helper()
	for {
		if slices.ContainsFunc(decoded(r.t, r.nextEvents(w)), func(e *agentpb.Event) bool { return e.Error == err }) {
			return
		}
	}
}

// untilDrop waits until the watcher gets a drop event.
func (r *rig) untilDrop(w *Watcher) *agentpb.Event {
	r.t.Helper()
	for {
		for _, e := range decoded(r.t, r.nextEvents(w)) {
			if e.Kind == agentpb.Kind_DROP {
				return e
			}
		}
	}
}

func decoded(t testing.TB, all []kept) (out []*agentpb.Event) {
	t.Helper()
	for _, k := range all {
		out = append(out, eventtest.Decode(t, k.data))
	}
	return out
}
