package journal

import (
	"bytes"
	"fmt"
	"runtime"
	"slices"
	"testing"
	"time"
	"weak"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/trace/tracetest"
	"github.com/podstep/podstep/agent/wire"
)

// realNode is two minutes of a real node.
const realNode = "../trace/testdata/node.podstep"

// churn gives a journal the events of a real node, again and again, each time with other pods.
type churn struct {
	*rig
	crowd *tracetest.Crowd
	pods  map[uint32]*Pod
}

func newChurn(t testing.TB, o Options) *churn {
	t.Helper()
	r := newRig(t, o)
	crowd, err := tracetest.NewCrowd(realNode, 1, time.Unix(0, 1), 1)
	if err != nil {
		t.Fatal(err)
	}
	// The test sweeps, not a timer.
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sweeps = time.NewTimer(time.Hour)
	return &churn{rig: r, crowd: crowd}
}

// round plays the recording once. All its pods are gone then, unless stay is set.
func (c *churn) round(t testing.TB, n int, stay bool) {
	t.Helper()
	c.pods = map[uint32]*Pod{}
	for range 17 {
		b, err := c.crowd.Batch(1000)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range b.Pods {
			own := &c.table.UID(fmt.Sprintf("%s-%d", p.Uid, n)).State
			own.Name(p.Namespace, fmt.Sprintf("%s-%d", p.Name, n))
			c.pods[p.Id] = own
		}
		for _, raw := range b.Events {
			c.put(t, raw, n)
		}
		c.settle()
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
	e := Event{Kind: h.Kind, Step: h.Step, Span: h.Span, Parent: h.Parent, Sync: h.Sync, Role: uint8(h.Goroutine), Err: string(h.ErrorText), Duration: h.Duration}
	if h.Pod != 0 {
		if c.pods[h.Pod] == nil {
			c.pods[h.Pod] = c.pod(fmt.Sprintf("%d-%d", h.Pod, n))
		}
		e.Pod = c.pods[h.Pod]
	}
	e.Fields = fieldsOf(t, raw)
	c.Put(e)
}

func fieldsOf(t testing.TB, raw []byte) (out []wire.Field) {
	for _, f := range decoded(t, []kept{{data: raw}})[0].Fields {
		switch v := f.Value.(type) {
		case *agentpb.Field_Text:
			out = append(out, wire.Text(f.Name, v.Text))
		case *agentpb.Field_Json:
			out = append(out, wire.JSON(f.Name, v.Json))
		case *agentpb.Field_Number:
			out = append(out, wire.Number(f.Name, v.Number))
		case *agentpb.Field_Flag:
			out = append(out, wire.Flag(f.Name, v.Flag))
		case *agentpb.Field_Duration:
			out = append(out, wire.Duration(f.Name, time.Duration(v.Duration)))
		}
	}
	return out
}

// late moves the journal's clock on by d.
func (r *rig) late(d time.Duration) {
	r.out.Lock()
	defer r.out.Unlock()
	r.clock = func() (int64, int64) {
		wall, mono := r.now()
		return wall + int64(d), mono + int64(d)
	}
}

// sweepAll sweeps until nothing is left to compress.
func (r *rig) sweepAll() {
	for {
		// The journal's goroutine sleeps: nothing is put.
		r.sweep()
		now, _ := r.clock()
		r.out.Lock()
		stories, _ := r.recorder.packable(now)
		r.out.Unlock()
		if len(stories) == 0 {
			return
		}
	}
}

// TestPackedStories: a compressed story is read back as it was, by every reader, and goes on when the pod does.
func TestPackedStories(t *testing.T) {
	c := newChurn(t, Options{})
	for n := range 3 {
		c.round(t, n, n == 0)
	}
	cri := map[uint32]bool{}
	for i := range c.c.Steps {
		cri[uint32(i)+1] = c.c.Steps[i].Stage == "cri"
	}
	wanted := []Wanted{{Node: true}, {Steps: cri}, {Pods: selected(t, &agentpb.PodSelector{Namespace: "default"})}}
	var before [][]kept
	for _, want := range wanted {
		before = append(before, c.keptOf(want))
	}
	r := c.recorder
	was := r.bytes
	c.late(time.Hour)
	c.sweepAll()
	if r.bytes > was*2/3 {
		t.Errorf("%d bytes of stories are %d compressed", was, r.bytes)
	}
	for i, want := range wanted {
		after := c.keptOf(want)
		same := slices.EqualFunc(before[i], after, func(x, y kept) bool {
			return x.seq == y.seq && x.pod == y.pod && bytes.Equal(x.data, y.data)
		})
		if !same || len(after) == 0 {
			t.Errorf("%v: %d events were kept, and %d are read back, or others", want, len(before[i]), len(after))
		}
	}
	c.check(t)
	// A gone pod comes again, goes, and is compressed again.
	p := c.gonePod()
	for range 2 {
		for range 10 {
			c.Put(Event{Kind: agentpb.Kind_NOTE, Pod: p, Err: "again"})
		}
		c.settle()
		c.late(2 * time.Hour)
		c.sweepAll()
	}
	again, seq := 0, uint64(0)
	for _, e := range decoded(t, c.keptOf(Wanted{Pods: selected(t, &agentpb.PodSelector{Uid: p.UID})})) {
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
	r := c.recorder
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
func (r *rig) gonePod() *Pod {
	r.t.Helper()
	for p, s := range r.recorder.stories {
		if p != nil && len(s.packed) > 0 && len(s.parts) == 0 {
			return p
		}
	}
	r.t.Fatal("no story is compressed")
	return nil
}

// TestPackedIsBounded: compressed stories are counted, and the oldest is dropped first.
func TestPackedIsBounded(t *testing.T) {
	c := newChurn(t, Options{RecorderBytes: 2 << 20})
	for n := range 6 {
		c.round(t, n, false)
		c.late(time.Duration(n+1) * time.Hour)
		c.sweepAll()
		if b := c.recorder.bytes; b > 2<<20 {
			t.Errorf("the recorder has %d bytes", b)
		}
		r, sum := c.recorder, int64(0)
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
	if c.recorder.folded == 0 {
		t.Error("nothing had to go")
	}
}

// TestNotPacked: a story stays uncompressed while its pod is there, or while a client reads history.
func TestNotPacked(t *testing.T) {
	c := newChurn(t, Options{})
	c.round(t, 0, true)
	c.late(time.Hour)
	compressed := func() (n int) {
		for _, s := range c.recorder.stories {
			n += len(s.packed)
		}
		return n
	}
	if c.sweepAll(); compressed() > 0 {
		t.Error("stories of pods that are there are compressed")
	}
	for _, p := range c.pods {
		p.SetGone(1)
	}
	w := c.watcher(Wanted{Node: true, History: true})
	if c.sweep(); compressed() > 0 {
		t.Error("stories that somebody reads are compressed")
	}
	w.history.all()
	if c.sweepAll(); compressed() == 0 {
		t.Error("stories that nobody reads any more are not compressed")
	}
}

// TestSweepComes: after events of a gone pod there is a sweep, even if nothing else happens.
func TestSweepComes(t *testing.T) {
	r := newRig(t, Options{})
	p := r.pod("web")
	r.call(p, "sync.pod")
	r.settle()
	r.mu.Lock()
	armed := r.sweeps != nil
	r.mu.Unlock()
	if !armed {
		t.Fatal("no sweep is to come")
	}
	p.SetGone(1)
	r.late(time.Hour)
	r.sweepNow() // as the timer does
	r.Put(Event{Kind: agentpb.Kind_NOTE})
	r.settle()
	r.out.Lock()
	defer r.out.Unlock()
	if s := r.recorder.stories[p]; len(s.packed) != 1 || len(s.parts) != 0 {
		t.Errorf("the story has %d parts and %d that are compressed", len(s.parts), len(s.packed))
	}
}

// TestNothingStays: when a node falls silent after its pods are gone, the journal soon keeps nothing of them but their
// compressed stories. Then it sweeps no more.
func TestNothingStays(t *testing.T) {
	r := newRig(t, Options{})
	const many = 300
	var pods []weak.Pointer[Pod]
	for i := range many {
		pods = append(pods, r.comesAndGoes(fmt.Sprint(i)))
	}
	r.settle()
	for what, n := range r.keeps() {
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
	for what, n := range r.keeps() {
		if n > 0 {
			t.Errorf("%s: %d are kept after %d sweeps", what, n, sweeps)
		}
	}
	r.out.Lock()
	for r.recorder.dropGone() {
	}
	r.out.Unlock()
	runtime.GC()
	for i, p := range pods {
		if p.Value() != nil {
			t.Errorf("pod %d is still in memory, without a story", i)
		}
	}
}

// comesAndGoes makes a pod come and go.
func (r *rig) comesAndGoes(uid string) weak.Pointer[Pod] {
	p := r.pod(uid)
	r.call(p, "sync.pod")
	r.call(p, "loop.remove")
	return weak.Make(p)
}

// keeps counts the things that the journal and the table of pods keep, besides compressed stories.
func (r *rig) keeps() map[string]int {
	kept := map[string]int{
		"pods": len(r.table.All()), "verdicts": r.verdicts.h.Pods() - 1, "pods of the world": len(r.verdicts.lives.Now().Pods) - 1,
	}
	for p, s := range r.recorder.stories {
		if p != nil {
			kept["parts of stories"] += len(s.parts)
		}
	}
	return kept
}

// sweepNext does what the journal does when its timer fires. It returns false if there is no timer.
func (r *rig) sweepNext() bool {
	r.mu.Lock()
	armed := r.sweeps != nil && r.sweeps.Stop()
	r.sweeps = nil
	r.mu.Unlock()
	if armed {
		r.sweep() // its goroutine sleeps: nothing is put
	}
	return armed
}

// TestForgottenStays: an event about a forgotten pod does not make the pod known again.
func TestForgottenStays(t *testing.T) {
	r := newRig(t, Options{})
	r.comesAndGoes("0")
	p := r.pod("0")
	r.settle()
	now, _ := r.now()
	r.table.ForgetOld(now + int64(time.Hour))
	r.Put(Event{Kind: agentpb.Kind_NOTE, Pod: p, Err: "late"})
	r.settle()
	if n := r.verdicts.h.Pods(); n != 1 || p.learned {
		t.Errorf("there are verdicts on %d pods", n-1)
	}
	if events := decoded(t, r.keptOf(Wanted{})); events[len(events)-1].Error != "late" {
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
		c := newChurn(b, Options{})
		pods := 0
		for n := 0; pods < 780; n++ {
			c.round(b, n, pods < 60)
			pods += len(c.pods)
		}
		events, recorded := c.recorder.events, float64(c.recorder.bytes)/(1<<20)
		c.crowd, c.pods = nil, nil
		before := heap() - empty
		c.late(5 * time.Minute)
		begin := time.Now()
		c.sweepAll()
		took := time.Since(begin)
		after := heap() - empty
		b.ReportMetric(float64(pods), "pods")
		b.ReportMetric(float64(events), "events")
		b.ReportMetric(recorded, "MiB-recorded-before")
		b.ReportMetric(float64(c.recorder.bytes)/(1<<20), "MiB-recorded")
		b.ReportMetric(before, "MiB-live-before")
		b.ReportMetric(after, "MiB-live")
		b.ReportMetric(after/before, "ratio")
		b.ReportMetric(took.Seconds()*1000, "ms-compressing")
		c.Close()
	}
	b.ReportMetric(0, "ns/op")
}
