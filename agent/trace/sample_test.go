package trace

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/wire/eventtest"
)

var about = &agentpb.InfoResponse{
	Version: "v0.1.0", KubeletVersion: "v1.36.3", Node: "node-1", Probes: []*agentpb.Probe{{Name: "woven"}},
	Steps:      []*agentpb.Step{{Name: "sync.pod", Stage: "syncpod"}, {Name: "sync.volumes", Stage: "syncpod"}, {Name: "cri.RunPodSandbox", Stage: "cri"}},
	Goroutines: []string{"", "worker", "probe"},
}

var header = &Header{Podstep: "v0.1.0", Began: time.Unix(1e9, 0).UTC(), Selection: "web", Info: about}

// sample makes up the events of an agent: nested calls of several pods at once, and all kinds of events. Much of it is
// unlikely, all of it is possible.
type sample struct {
	random *rand.Rand
	open   []*agentpb.Event
	last   agentpb.Event
	pods   uint32
}

func newSample() *sample { return &sample{random: rand.New(rand.NewPCG(1, 2))} }

func (s *sample) batch(n int) *agentpb.Batch {
	b := &agentpb.Batch{}
	for range n {
		if s.pods == 0 || s.random.IntN(300) == 0 {
			s.pods++
			b.Pods = append(b.Pods, &agentpb.Pod{Id: s.pods, Namespace: "shop", Name: fmt.Sprintf("web-%d", s.pods), Uid: fmt.Sprintf("uid-%d", s.pods)})
		}
		b.Events = append(b.Events, eventtest.Encode(s.event()))
	}
	return b
}

func (s *sample) event() *agentpb.Event {
	r := s.random
	s.last.Seq += 1 + uint64(r.IntN(20)/19)
	s.last.Mono += r.Int64N(1e7)
	e := &agentpb.Event{Seq: s.last.Seq, Mono: s.last.Mono, Time: 1763724000e9 + s.last.Mono + r.Int64N(40), Goroutine: uint32(r.IntN(3))}
	switch choice := r.IntN(100); {
	case choice < 2:
		e.Kind, e.Fields = agentpb.Kind_DROP, []*agentpb.Field{eventtest.Field("enter", r.Int64N(5))}
	case choice < 4 && len(s.open) > 0:
		at := s.open[r.IntN(len(s.open))]
		e.Kind, e.Span, e.Parent, e.Pod, e.Step, e.Sync, e.Duration = agentpb.Kind_RELEASE, at.Span, at.Parent, at.Pod, at.Step, at.Sync, r.Int64N(1e10)
	case choice < 52 || len(s.open) == 0:
		s.enter(e)
	default:
		s.exit(e)
	}
	return e
}

func (s *sample) enter(e *agentpb.Event) {
	s.last.Span++
	e.Kind, e.Span, e.Step = agentpb.Kind_ENTER, s.last.Span, uint32(s.random.IntN(4))
	e.Pod, e.Sync = uint32(s.random.IntN(int(s.pods)+1)), uint32(s.random.IntN(4))
	if n := len(s.open); n > 0 && s.random.IntN(4) > 0 {
		parent := s.open[n-1-s.random.IntN(min(n, 3))]
		e.Parent, e.Pod, e.Sync = parent.Span, parent.Pod, parent.Sync
	}
	if s.random.IntN(3) == 0 {
		e.Fields = []*agentpb.Field{
			eventtest.Field("updateType", "create"),
			eventtest.Field("path", fmt.Sprintf("/pods/%d\x1b", s.random.IntN(3))),
			{},
		}
	}
	s.open = append(s.open, e)
}

func (s *sample) exit(e *agentpb.Event) {
	i := len(s.open) - 1 - s.random.IntN(min(len(s.open), 3))
	at := s.open[i]
	s.open = append(s.open[:i], s.open[i+1:]...)
	e.Kind, e.Span, e.Parent, e.Pod, e.Step, e.Sync, e.Goroutine = agentpb.Kind_EXIT, at.Span, at.Parent, at.Pod, at.Step, at.Sync, at.Goroutine
	e.Duration = e.Mono - at.Mono
	if s.random.IntN(5) == 0 {
		e.Error = fmt.Sprintf("no luck, try %d", s.random.IntN(2))
	}
}

// odd are events that agents send seldom or never. They stand in a file verbatim.
var odd = [][]byte{
	{},
	eventtest.Encode(&agentpb.Event{Seq: 9, Time: 7, Mono: 5, Kind: agentpb.Kind_NOTE, Step: 2, Pod: 1, Span: 3, Parent: 1, Duration: 4, Probe: 2}),
	{0xff, 0xff},
	{0x08, 2, 0x08, 1},                       // said twice
	{0x88, 0x00, 0x05},                       // longer than needed
	{0x08, 7, 0x18, 0},                       // a zero that need not be there
	{0xfa, 0x3f, 3, 'n', 'e', 'w'},           // a member of the future
	bytes.Repeat([]byte{0x5a, 0}, maxFields), // many empty fields
	bytes.Repeat([]byte{0x5a, 0}, maxFields*2),
	eventtest.Encode(&agentpb.Event{Seq: 1 << 63, Time: -1 << 63, Mono: 1<<63 - 1, Kind: -1, Step: 1<<32 - 1, Pod: 1<<32 - 1, Span: 1<<64 - 1, Parent: 1<<64 - 1, Sync: 1<<32 - 1, Goroutine: 1<<32 - 1, Duration: -1 << 63}),
	eventtest.Encode(&agentpb.Event{Kind: agentpb.Kind_ENTER, Span: 1<<64 - 1}),
	eventtest.Encode(&agentpb.Event{Seq: 10, Kind: agentpb.Kind_ENTER, Span: 4, Parent: 3, Pod: 1, CallerLine: 2892}),
	eventtest.Encode(&agentpb.Event{Kind: agentpb.Kind_EXIT, Span: 1<<64 - 1, Error: "\x1b[2J"}),
}

// written returns a trace of these batches.
func written(t testing.TB, batches ...*agentpb.Batch) []byte {
	t.Helper()
	var out bytes.Buffer
	w, err := NewWriter(&out, header)
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range batches {
		if err := w.Add(b); err != nil {
			t.Fatal(err)
		}
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// read reads a trace as far as it can be read.
func read(raw []byte) (all *agentpb.Batch, err error) {
	all = &agentpb.Batch{}
	r, err := NewReader(bytes.NewReader(raw))
	if err != nil {
		return all, err
	}
	defer r.Close()
	for {
		b, err := r.Next()
		if err == io.EOF {
			return all, nil
		}
		if err != nil {
			return all, err
		}
		all.Pods = append(all.Pods, b.Pods...)
		all.Events = append(all.Events, b.Events...)
	}
}
