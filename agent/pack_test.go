package agent

import (
	"bytes"
	"fmt"
	"runtime"
	"slices"
	"testing"
	"time"
	"weak"

	v1 "k8s.io/api/core/v1"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/trace/tracetest"
	"github.com/podstep/podstep/agent/wire"
	"github.com/podstep/podstep/probes"
)

// realNode is two minutes of a real node.
const realNode = "trace/testdata/node.podstep"

// churn gives an agent the events of a real node, again and again, each time with other pods.
type churn struct {
	*Agent
	crowd *tracetest.Crowd
	pods  map[uint32]*pod
}

func newChurn(t testing.TB, a *Agent) *churn {
	t.Helper()
	crowd, err := tracetest.NewCrowd(realNode, 1, time.Unix(0, 1), 1)
	if err != nil {
		t.Fatal(err)
	}
	// The test sweeps, not a timer.
	a.journal.mu.Lock()
	defer a.journal.mu.Unlock()
	a.journal.sweeps = time.NewTimer(time.Hour)
	return &churn{Agent: a, crowd: crowd}
}

// round plays the recording once. All its pods are gone then, unless stay is set.
func (c *churn) round(t testing.TB, n int, stay bool) {
	t.Helper()
	c.pods = map[uint32]*pod{}
	for range 17 {
		b, err := c.crowd.Batch(1000)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range b.Pods {
			own := c.Agent.pods.UID(fmt.Sprintf("%s-%d", p.Uid, n))
			own.Name(p.Namespace, fmt.Sprintf("%s-%d", p.Name, n))
			c.pods[p.Id] = own
		}
		for _, raw := range b.Events {
			c.put(t, raw, n)
		}
		c.journal.drained()
	}
	for _, p := range c.pods {
		p.SetGone(0)
		if !stay {
			p.SetGone(1)
		}
	}
}

// put puts an event of the recording, with the time of now.
func (c *churn) put(t testing.TB, raw []byte, n int) {
	h, err := wire.ReadHeader(raw)
	if err != nil {
		t.Fatal(err)
	}
	e := event{kind: h.Kind, step: h.Step, span: h.Span, parent: h.Parent, sync: h.Sync, role: uint8(h.Goroutine), err: string(h.ErrorText), duration: h.Duration}
	if h.Pod != 0 {
		uid := fmt.Sprintf("%d-%d", h.Pod, n)
		if c.pods[h.Pod] == nil {
			c.pods[h.Pod] = c.Agent.pods.UID(uid)
			c.pods[h.Pod].Name("default", uid)
		}
		e.pod = c.pods[h.Pod]
	}
	e.fields = fieldsOf(t, raw)
	c.journal.put(e)
}

func fieldsOf(t testing.TB, raw []byte) (out []field) {
	for _, f := range decoded(t, []kept{{data: raw}})[0].Fields {
		switch v := f.Value.(type) {
		case *agentpb.Field_Text:
			out = append(out, text(f.Name, v.Text))
		case *agentpb.Field_Json:
			out = append(out, wire.JSON(f.Name, v.Json))
		case *agentpb.Field_Number:
			out = append(out, number(f.Name, v.Number))
		case *agentpb.Field_Flag:
			out = append(out, flag(f.Name, v.Flag))
		case *agentpb.Field_Duration:
			out = append(out, wire.Duration(f.Name, time.Duration(v.Duration)))
		}
	}
	return out
}

// late moves the agent's clock on by d.
func (a *Agent) late(d time.Duration) {
	a.journal.out.Lock()
	defer a.journal.out.Unlock()
	a.journal.clock = func() (int64, int64) {
		wall, mono := a.now()
		return wall + int64(d), mono + int64(d)
	}
}

// sweepAll sweeps until nothing is left to compress.
func (a *Agent) sweepAll() {
	j := a.journal
	for {
		// The journal's goroutine sleeps: nothing is put.
		j.sweep()
		now, _ := j.clock()
		j.out.Lock()
		stories, _ := j.recorder.packable(now)
		j.out.Unlock()
		if len(stories) == 0 {
			return
		}
	}
}

func allKept(t testing.TB, a *Agent, req *agentpb.WatchRequest) []kept {
	t.Helper()
	w, err := a.newWatcher(req)
	if err != nil {
		t.Fatal(err)
	}
	if err := a.journal.watch(w, true); err != nil {
		t.Fatal(err)
	}
	defer a.journal.unwatch(w)
	return w.history.all()
}

// TestPackedStories: a compressed story is read back as it was, by every reader, and goes on when the pod does.
func TestPackedStories(t *testing.T) {
	a, err := New(probes.MustLoad(), Options{Probes: seesAll()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(a.Close)
	c := newChurn(t, a)
	for n := range 3 {
		c.round(t, n, n == 0)
	}
	requests := []*agentpb.WatchRequest{{Node: true}, {Steps: []string{"stage:cri"}}, {Pods: &agentpb.PodSelector{Namespace: "default"}}}
	var before [][]kept
	for _, req := range requests {
		before = append(before, allKept(t, a, req))
	}
	was := a.journal.recorder.bytes
	a.late(time.Hour)
	a.sweepAll()
	r := a.journal.recorder
	if r.bytes > was*2/3 {
		t.Errorf("%d bytes of stories are %d compressed", was, r.bytes)
	}
	for i, req := range requests {
		after := allKept(t, a, req)
		same := slices.EqualFunc(before[i], after, func(x, y kept) bool {
			return x.seq == y.seq && x.pod == y.pod && bytes.Equal(x.data, y.data)
		})
		if !same || len(after) == 0 {
			t.Errorf("%v: %d events were kept, and %d are read back, or others", req, len(before[i]), len(after))
		}
	}
	c.check(t)
	// A gone pod comes again, goes, and is compressed again.
	p := gonePod(t, a)
	for range 2 {
		for range 10 {
			a.journal.put(event{kind: agentpb.Kind_NOTE, pod: p, err: "again"})
		}
		a.journal.drained()
		a.late(2 * time.Hour)
		a.sweepAll()
	}
	w, err := a.newWatcher(&agentpb.WatchRequest{Pods: &agentpb.PodSelector{Uid: p.UID}})
	if err != nil {
		t.Fatal(err)
	}
	if err := a.journal.watch(w, true); err != nil {
		t.Fatal(err)
	}
	again, seq := 0, uint64(0)
	for _, e := range decoded(t, w.history.all()) {
		if e.Seq <= seq {
			t.Errorf("event %d comes after event %d", e.Seq, seq)
		}
		if seq = e.Seq; e.Error == "again" {
			again++
		}
	}
	if again != 20 {
		t.Errorf("%d of 20 events of a pod that is gone are there", again)
	}
	c.check(t)
}

// check counts anew what the recorder counts, and compares.
func (c *churn) check(t testing.TB) {
	t.Helper()
	r := c.journal.recorder
	var size, events int64
	for _, s := range r.stories {
		n := int64(0)
		for _, p := range s.parts {
			n += int64(cap(p.data)) + partOverhead
		}
		for i := range s.packed {
			n += s.packed[i].size()
		}
		if n != s.bytes {
			t.Errorf("a story of %d bytes counts %d", n, s.bytes)
		}
		size, events = size+n, events+s.events()
	}
	if size != r.bytes || events != r.events {
		t.Errorf("%d bytes and %d events, counted are %d and %d", size, events, r.bytes, r.events)
	}
}

// gonePod returns a pod with a compressed story.
func gonePod(t testing.TB, a *Agent) *pod {
	t.Helper()
	for p, s := range a.journal.recorder.stories {
		if p != nil && len(s.packed) > 0 && len(s.parts) == 0 {
			return p
		}
	}
	t.Fatal("no story is compressed")
	return nil
}

// TestPackedIsBounded: compressed stories are counted, and the oldest is dropped first.
func TestPackedIsBounded(t *testing.T) {
	a, err := New(probes.MustLoad(), Options{Probes: seesAll(), RecorderBytes: 2 << 20})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(a.Close)
	c := newChurn(t, a)
	for n := range 6 {
		c.round(t, n, false)
		a.late(time.Duration(n+1) * time.Hour)
		a.sweepAll()
		if b := a.journal.recorder.bytes; b > 2<<20 {
			t.Errorf("the recorder has %d bytes", b)
		}
		r, sum := a.journal.recorder, int64(0)
		for _, s := range r.stories {
			for i := range s.packed {
				sum += s.packed[i].size()
			}
		}
		if r.packed != sum || sum > r.packedLimit || sum == 0 {
			t.Errorf("%d bytes are compressed, %d are counted, %d may be", sum, r.packed, r.packedLimit)
		}
		c.check(t)
	}
	if a.journal.recorder.folded == 0 {
		t.Error("nothing had to go")
	}
}

// TestNotPacked: a story stays uncompressed while its pod is there, or while a client reads history.
func TestNotPacked(t *testing.T) {
	a, err := New(probes.MustLoad(), Options{Probes: seesAll()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(a.Close)
	c := newChurn(t, a)
	c.round(t, 0, true)
	a.late(time.Hour)
	compressed := func() (n int) {
		for _, s := range a.journal.recorder.stories {
			n += len(s.packed)
		}
		return n
	}
	if a.sweepAll(); compressed() > 0 {
		t.Error("stories of pods that are there are compressed")
	}
	for _, p := range c.pods {
		p.SetGone(1)
	}
	w, err := a.newWatcher(&agentpb.WatchRequest{Node: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := a.journal.watch(w, true); err != nil {
		t.Fatal(err)
	}
	if a.journal.sweep(); compressed() > 0 {
		t.Error("stories that somebody reads are compressed")
	}
	w.history.all()
	if a.sweepAll(); compressed() == 0 {
		t.Error("stories that nobody reads any more are not compressed")
	}
}

// TestSweepComes: after events of a gone pod there is a sweep, even if nothing else happens.
func TestSweepComes(t *testing.T) {
	r := newRig(t, Options{})
	_ = r.sync(newPod("default", "web"), nil)
	r.settle()
	r.journal.mu.Lock()
	armed := r.journal.sweeps != nil
	r.journal.mu.Unlock()
	if !armed {
		t.Fatal("no sweep is to come")
	}
	p := r.pods.Known("uid-default-web")
	p.SetGone(1)
	r.late(time.Hour)
	r.journal.sweepNow() // as the timer does
	r.settle()
	r.journal.out.Lock()
	defer r.journal.out.Unlock()
	if s := r.journal.recorder.stories[p]; len(s.packed) != 1 || len(s.parts) != 0 {
		t.Errorf("the story has %d parts and %d that are compressed", len(s.parts), len(s.packed))
	}
}

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

// TestNothingStays: when a node falls silent after its pods are gone, the agent soon keeps nothing of them but their
// compressed stories. Then it sweeps no more.
func TestNothingStays(t *testing.T) {
	r := newRig(t, Options{})
	const many = 300
	var pods []weak.Pointer[pod]
	for i := range many {
		pods = append(pods, r.comesAndGoes(i))
	}
	r.journal.drained()
	for what, n := range r.keeps(many) {
		if n != many && n != 2*many {
			t.Errorf("%s: %d are kept before anything is forgotten", what, n)
		}
	}
	sweeps := 0
	for r.sweepNext() {
		if sweeps++; sweeps > 1000 {
			t.Fatal("it sweeps for ever")
		}
		r.late(time.Duration(sweeps) * sweepEvery)
	}
	for what, n := range r.keeps(many) {
		if n > 0 {
			t.Errorf("%s: %d are kept after %d sweeps", what, n, sweeps)
		}
	}
	j := r.journal
	j.out.Lock()
	for j.recorder.dropGone() {
	}
	j.out.Unlock()
	runtime.GC()
	for i, p := range pods {
		if p.Value() != nil {
			t.Errorf("pod %d is still in memory, without a story", i)
		}
	}
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

// keeps counts the things that the agent keeps for so many pods, besides compressed stories.
func (r *rig) keeps(pods int) map[string]int {
	kept := map[string]int{
		"pods": len(r.pods.All()), "verdicts": r.verdicts.h.Pods() - 1, "pods of the world": len(r.verdicts.lives.Now().Pods) - 1,
	}
	for i := range pods {
		if r.pods.CRI(fmt.Sprint("container-", i)) != nil {
			kept["containers"]++
		}
	}
	for p, s := range r.journal.recorder.stories {
		if p != nil {
			kept["parts of stories"] += len(s.parts)
		}
	}
	return kept
}

// sweepNext does what the journal does when its timer fires. It returns false if there is no timer.
func (r *rig) sweepNext() bool {
	j := r.journal
	j.mu.Lock()
	armed := j.sweeps != nil && j.sweeps.Stop()
	j.sweeps = nil
	j.mu.Unlock()
	if armed {
		j.sweep() // its goroutine sleeps: nothing is put
	}
	return armed
}

// TestForgottenStays: an event about a forgotten pod does not make the pod known again.
func TestForgottenStays(t *testing.T) {
	r := newRig(t, Options{})
	r.comesAndGoes(0)
	p := r.pods.Known("uid-default-0")
	r.settle()
	now, _ := r.now()
	r.pods.ForgetOld(now + int64(time.Hour))
	r.journal.put(event{kind: agentpb.Kind_NOTE, pod: p, err: "late"})
	r.settle()
	if n := r.verdicts.h.Pods(); n != 1 || p.State.learned {
		t.Errorf("there are verdicts on %d pods", n-1)
	}
	if events := r.events("0"); events[len(events)-1].Error != "late" {
		t.Error("its story has no such event")
	}
}

// BenchmarkChurn measures what the agent keeps in the heap after 720 pods have come and gone with a real node's events,
// while 60 stay: once with the stories of gone pods uncompressed, and once compressed.
func BenchmarkChurn(b *testing.B) {
	heap := func() float64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.GC()
		runtime.ReadMemStats(&m)
		return float64(m.HeapAlloc) / (1 << 20)
	}
	for range b.N {
		empty := heap()
		a, err := New(probes.MustLoad(), Options{Probes: seesAll()})
		if err != nil {
			b.Fatal(err)
		}
		c := newChurn(b, a)
		pods := 0
		for n := 0; pods < 780; n++ {
			c.round(b, n, pods < 60)
			pods += len(c.pods)
		}
		events, recorded := a.journal.recorder.events, float64(a.journal.recorder.bytes)/(1<<20)
		c.crowd, c.pods = nil, nil
		before := heap() - empty
		a.late(5 * time.Minute)
		begin := time.Now()
		a.sweepAll()
		took := time.Since(begin)
		after := heap() - empty
		b.ReportMetric(float64(pods), "pods")
		b.ReportMetric(float64(events), "events")
		b.ReportMetric(recorded, "MiB-recorded-before")
		b.ReportMetric(float64(a.journal.recorder.bytes)/(1<<20), "MiB-recorded")
		b.ReportMetric(before, "MiB-live-before")
		b.ReportMetric(after, "MiB-live")
		b.ReportMetric(after/before, "ratio")
		b.ReportMetric(took.Seconds()*1000, "ms-compressing")
		a.Close()
	}
	b.ReportMetric(0, "ns/op")
}
