package past

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/trace"
)

// night is a time in the past at which something goes wrong.
var night = time.Date(2026, 11, 25, 3, 12, 0, 0, time.UTC)

// piece is a segment that a test writes by hand.
type piece struct {
	run    string
	boot   string
	clock  time.Duration // since the boot
	began  time.Time
	after  uint64
	events []*agentpb.Event // up to after: carried
	agent  *fakeAgent
	torn   int // bytes that are missing at the end; -1: only the footer and the end mark
}

// write writes a segment with that number.
func (p *piece) write(t testing.TB, dir string, number int) string {
	t.Helper()
	path := filepath.Join(dir, nameOf(number, p.began))
	h := &trace.Header{Podstep: "v0.1.0", Began: p.began, Info: p.agent.info, Segment: &trace.Segment{
		Run: p.run, Boot: p.boot, Clock: int64(p.clock), Mono: int64(p.began.Sub(p.agent.start)), After: p.after,
	}}
	w, err := trace.Create(path, h)
	if err != nil {
		t.Fatal(err)
	}
	x := newIndex(h)
	tap := &fakeTap{agent: p.agent}
	for _, e := range p.events {
		b := tap.batch([]*agentpb.Event{e})
		x.add(b)
		if err := w.Add(b); err != nil {
			t.Fatal(err)
		}
	}
	if p.torn == -1 {
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
		return path
	}
	text, err := x.encode()
	if err != nil {
		t.Fatal(err)
	}
	if err := w.CloseWith(text); err != nil {
		t.Fatal(err)
	}
	if p.torn > 0 {
		if err := os.Truncate(path, w.Size()-int64(p.torn)); err != nil {
			t.Fatal(err)
		}
	}
	return path
}

// calls are calls of a pod, a second each, of which the last one goes on.
func (a *fakeAgent) calls(from time.Duration, pod uint32, span uint64, n int) {
	for i := range n {
		took := time.Second
		if i == n-1 {
			took = 0
		}
		a.call(from+time.Duration(i)*2*time.Second, pod, span+uint64(i), took)
	}
}

// twoRuns writes what two agents saw, with ten minutes between them.
func twoRuns(t testing.TB, secondBoot string) (dir string) {
	dir = t.TempDir()
	one, two := newFakeAgent("node-1", night), newFakeAgent("node-1", night.Add(20*time.Minute))
	one.calls(0, 1, 1, 3)
	two.calls(0, 2, 1, 1)
	two.calls(time.Second, 1, 2, 1)
	(&piece{run: "a", boot: "x", clock: time.Hour, began: night, agent: one, events: one.all}).write(t, dir, 1)
	(&piece{run: "b", boot: secondBoot, clock: time.Hour + 20*time.Minute, began: two.start, agent: two, events: two.all}).write(t, dir, 2)
	return dir
}

// TestGap: where nothing was recorded, the story says so, and no call goes on across it.
func TestGap(t *testing.T) {
	for boot, want := range map[string]string{"x": "(19m56s): podstep was not running", "y": "(19m56s): the node was started again"} {
		s := read(t, twoRuns(t, boot), Choice{})
		s.seqs(t)
		if texts := s.texts(); len(texts) != 1 || !strings.HasSuffix(texts[0], want) {
			t.Errorf("%q; want %q", texts, want)
		}
		var guessed []*agentpb.Event
		spans := map[uint64]int{}
		last := int64(0)
		for _, e := range s.events {
			if e.Mono < last {
				t.Errorf("event %d is earlier than the one before it", e.Seq)
			}
			last = e.Mono
			switch e.Kind {
			case agentpb.Kind_ENTER:
				spans[e.Span]++
			case agentpb.Kind_EXIT:
				if len(e.Fields) > 0 {
					guessed = append(guessed, e)
				}
			}
		}
		if len(guessed) != 1 || guessed[0].Span != 3 || guessed[0].Duration > int64(time.Second) {
			t.Errorf("calls whose end was not seen: %v", guessed)
		}
		if len(spans) != 5 {
			t.Errorf("the calls are %v", spans)
		}
		// The pod that both agents saw is one, and its turns go on.
		if len(s.pods) != 2 || s.events[len(s.events)-1].Pod != 1 || s.events[len(s.events)-1].Sync != 2 {
			t.Errorf("%v; the last event is %v", s.pods, s.events[len(s.events)-1])
		}
		if !slices.Equal(s.nodes, []string{"node-1", "node-1"}) {
			t.Errorf("the headers: %v", s.nodes)
		}
	}
}

// TestClockSetBack: within one boot, runs are in the order in which they were, whatever the wall clock says.
func TestClockSetBack(t *testing.T) {
	dir := t.TempDir()
	one, two := newFakeAgent("node-1", night), newFakeAgent("node-1", night.Add(-time.Hour))
	one.calls(0, 1, 1, 1)
	two.calls(0, 2, 1, 1)
	(&piece{run: "a", boot: "x", clock: time.Hour, began: night, agent: one, events: one.all}).write(t, dir, 1)
	(&piece{run: "b", boot: "x", clock: time.Hour + time.Minute, began: two.start, agent: two, events: two.all}).write(t, dir, 2)
	s := read(t, dir, Choice{})
	if n := len(s.events); s.events[0].Pod != 1 || s.events[n-1].Pod != 2 || time.Duration(s.events[n-1].Mono) != time.Minute {
		t.Errorf("the events are %v", s.events)
	}
}

// TestChoice: a time, a pod, a moment.
func TestChoice(t *testing.T) {
	dir := twoRuns(t, "x")
	pod := &agentpb.PodSelector{Namespace: "shop", Name: "web-2"}
	for name, c := range map[string]struct {
		Choice
		events, pods int
	}{
		"all":              {Choice{}, 9, 2},
		"the first run":    {Choice{Until: night.Add(time.Minute)}, 5, 1},
		"its end":          {Choice{Since: night.Add(3 * time.Second), Until: night.Add(time.Minute)}, 2, 1},
		"with its context": {Choice{Since: night.Add(3 * time.Second), Until: night.Add(time.Minute), Context: true}, 5, 1},
		"a moment":         {Choice{Until: night.Add(25 * time.Minute), LastRun: true, Context: true, Back: time.Hour}, 2, 2},
		"a gap":            {Choice{Until: night.Add(10 * time.Minute), LastRun: true, Context: true, Back: time.Hour}, 5, 1},
		"one pod":          {Choice{Pods: pod}, 2, 1}, // and the note about the gap
	} {
		if s := read(t, dir, c.Choice); len(s.events) != c.events || len(s.pods) != c.pods {
			t.Errorf("%s: %d events of %d pods; want %d of %d", name, len(s.events), len(s.pods), c.events, c.pods)
		}
	}
}

// TestNothing: a directory that has nothing of a time says which times it has.
func TestNothing(t *testing.T) {
	time.Local = time.UTC
	dir := twoRuns(t, "x")
	_, err := Open(Dir(dir), Choice{Since: night.Add(time.Hour)})
	var nothing *NothingError
	if !errors.As(err, &nothing) || !strings.Contains(err.Error(), "has nothing of that time; it has 2026-11-25 03:12:00 to 2026-11-25 03:12:04; 2026-11-25 03:32:00 to") {
		t.Error(err)
	}
	if _, err := Open(Dir(t.TempDir()), Choice{}); !errors.As(err, &nothing) || !strings.Contains(err.Error(), "no event was recorded") {
		t.Error(err)
	}
	r, err := Open(Dir(dir), Choice{Until: night.Add(10 * time.Minute)})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if last, is := r.Recorded(night.Add(10 * time.Minute)); is || !last.Equal(night.Add(4*time.Second)) {
		t.Errorf("%v, %v", last, is)
	}
	if _, is := r.Recorded(night.Add(time.Second)); !is {
		t.Error("the beginning was recorded")
	}
}

// TestTwoNodes: the recordings of two nodes in one directory are not mixed.
func TestTwoNodes(t *testing.T) {
	dir := t.TempDir()
	for i, node := range []string{"node-1", "node-2"} {
		a := newFakeAgent(node, night)
		a.calls(0, 1, 1, 1)
		(&piece{run: node, began: night, agent: a, events: a.all}).write(t, dir, i)
	}
	if _, err := Open(Dir(dir), Choice{}); err == nil || !strings.Contains(err.Error(), "choose one with --node: node-1, node-2") {
		t.Error(err)
	}
	if s := read(t, dir, Choice{Node: "node-2"}); !slices.Equal(s.nodes, []string{"node-2"}) {
		t.Error(s.nodes)
	}
	if _, err := Open(Dir(dir), Choice{Node: "node-3"}); err == nil || !strings.Contains(err.Error(), "no recording of node node-3") {
		t.Error(err)
	}
}

// TestTorn: a segment is read up to its tear, and the story goes on with the next one.
func TestTorn(t *testing.T) {
	for _, torn := range []int{-1, 300} {
		dir := t.TempDir()
		a := newFakeAgent("node-1", night)
		a.calls(0, 1, 1, 30)
		n := len(a.all)
		a.calls(2*time.Minute, 1, 100, 3)
		(&piece{run: "a", began: night, agent: a, events: a.all[:n], torn: torn}).write(t, dir, 1)
		(&piece{run: "a", began: night.Add(time.Minute), after: uint64(n), agent: a, events: append([]*agentpb.Event{a.all[0], a.all[1], a.all[n-1]}, a.all[n:]...)}).write(t, dir, 2)
		r, err := Open(Dir(dir), Choice{})
		if err != nil {
			t.Fatal(err)
		}
		s := read(t, dir, Choice{})
		s.seqs(t)
		if got := len(s.events); got < 6 || s.events[got-1].Mono != a.all[len(a.all)-1].Mono {
			t.Errorf("torn by %d: %d events", torn, got)
		}
		for {
			if _, err := r.Next(); err != nil {
				break
			}
		}
		damaged := torn == 300
		if notes := r.Notes(); (len(notes) == 1) != damaged || damaged && !strings.Contains(notes[0], "cut short") {
			t.Errorf("torn by %d: %q", torn, notes)
		}
		r.Close()
	}
}

// TestDeletedMeanwhile: podstep may delete the oldest segments while somebody reads.
func TestDeletedMeanwhile(t *testing.T) {
	dir := twoRuns(t, "x")
	r, err := Open(Dir(dir), Choice{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	files, _ := list(dir)
	if err := os.Remove(files[0].path); err != nil {
		t.Fatal(err)
	}
	b, err := r.Next()
	if err != nil || len(b.Events) == 0 || !strings.Contains(strings.Join(r.Notes(), ""), "was deleted meanwhile") {
		t.Errorf("%v, %v, %q", b, err, r.Notes())
	}
}

// TestOtherTables: agents of two versions number their steps and probes in their own ways.
func TestOtherTables(t *testing.T) {
	dir := t.TempDir()
	one, two := newFakeAgent("node-1", night), newFakeAgent("node-1", night.Add(time.Minute))
	two.info.Steps = []*agentpb.Step{{Name: "new.step", Abilities: []*agentpb.Ability{{Probe: 0}}}, {Name: "sync.pod", Abilities: []*agentpb.Ability{{Probe: 0}}}}
	two.info.Probes = []*agentpb.Probe{{Name: "cri"}}
	two.info.Goroutines = []string{"worker"}
	one.calls(0, 1, 1, 1)
	two.happens(0, &agentpb.Event{Kind: agentpb.Kind_ENTER, Step: 1, Span: 1, Pod: 1, Probe: 1})
	two.happens(1, &agentpb.Event{Kind: agentpb.Kind_ENTER, Step: 2, Span: 2, Pod: 1})
	(&piece{run: "a", began: night, agent: one, events: one.all}).write(t, dir, 1)
	(&piece{run: "b", began: two.start, agent: two, events: two.all}).write(t, dir, 2)
	s := read(t, dir, Choice{})
	n := len(s.events)
	if a, b := s.events[n-2], s.events[n-1]; a.Step != 3 || a.Probe != 2 || a.Goroutine != 1 || b.Step != 1 {
		t.Errorf("%v\n%v", a, b)
	}
	r, err := Open(Dir(dir), Choice{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for _, h := range r.headers {
		if len(h.Info.Steps) != 3 || h.Info.Steps[2].GetName() != "new.step" || len(h.Info.Probes) != 2 || len(h.Info.Goroutines) != 2 {
			t.Errorf("%v", h.Info)
		}
	}
	if a := r.headers[1].Info.Steps[2].Abilities[0]; a.Probe != 1 {
		t.Errorf("the ability is of probe %d", a.Probe)
	}
}

// FuzzDirectory: whatever a directory has, reading it ends, without a panic.
func FuzzDirectory(f *testing.F) {
	a := newFakeAgent("node-1", night)
	a.calls(0, 1, 1, 3)
	path := (&piece{run: "a", began: night, agent: a, events: a.all}).write(f, f.TempDir(), 1)
	whole, err := os.ReadFile(path)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(whole, whole)
	f.Add(whole[:len(whole)/2], whole)
	f.Add(whole, whole[len(whole)-60:])
	f.Fuzz(func(t *testing.T, one, two []byte) {
		dir := t.TempDir()
		for i, text := range [][]byte{one, two} {
			if err := os.WriteFile(filepath.Join(dir, nameOf(i, night)), text, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		r, err := Open(Dir(dir), Choice{Context: true})
		if err != nil {
			return
		}
		defer r.Close()
		for {
			if _, err := r.Next(); err != nil {
				return
			}
		}
	})
}

// FuzzIndex: a footer may be any bytes.
func FuzzIndex(f *testing.F) {
	f.Add([]byte(`{"run":"a","beganNs":1,"pods":[{"name":"web"}]}`))
	f.Fuzz(func(_ *testing.T, text []byte) {
		if x, err := decodeIndex(text); err == nil {
			x.hasPod(&agentpb.PodSelector{Name: "web"})
		}
	})
}
