package wire

import (
	"encoding/json"
	"math"
	"reflect"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/wire/eventtest"
	"github.com/podstep/podstep/probes"
)

var about = &agentpb.InfoResponse{
	Probes:     []*agentpb.Probe{{Name: "woven"}},
	Steps:      []*agentpb.Step{{Name: "sync.pod", Stage: "syncpod"}, {Name: "cri.runpodsandbox", Stage: "cri"}},
	Goroutines: []string{"", "worker"},
}

func TestFields(t *testing.T) {
	got, err := json.Marshal(Fields([]*agentpb.Field{
		{Name: "a", Value: &agentpb.Field_Number{Number: -3}},
		{Name: "b", Value: &agentpb.Field_Flag{Flag: true}},
		{Name: "c", Value: &agentpb.Field_Duration{Duration: 1.5e9}},
		{Name: "d", Value: &agentpb.Field_Json{Json: `{"x": 1}`}},
		{Name: "e", Value: &agentpb.Field_Json{Json: `{"x": `}},
		{Name: "f", Value: &agentpb.Field_Real{Real: math.Inf(1)}},
		{Name: "g", Value: &agentpb.Field_Real{Real: 0.5}},
		{Name: "h"},
	}))
	want := `{"a":-3,"b":true,"c":"1.5s","d":{"x":1},"e":"{\"x\": ","f":"+Inf","g":0.5,"h":null}`
	if err != nil || string(got) != want {
		t.Errorf("fields %s, %v; want %s", got, err, want)
	}
}

// TestProbe: an agent may have several probes, and so may a step.
func TestProbe(t *testing.T) {
	d := NewDecoder(&agentpb.InfoResponse{Probes: []*agentpb.Probe{{Name: "cri"}, {Name: "api"}}, Steps: []*agentpb.Step{
		{Name: "cri.StopContainer", Abilities: []*agentpb.Ability{{Entry: true}}},
		{Name: "cluster.bound", Abilities: []*agentpb.Ability{{}, {Probe: 1, Entry: true}}},
	}})
	for _, c := range []struct {
		step, probe uint32
		want        string
	}{{0, 0, "cri"}, {1, 0, "cri"}, {2, 0, "api"}, {3, 0, "cri"}, {1, 2, "api"}, {0, 2, "api"}, {1, 3, ""}} {
		raw := eventtest.Encode(&agentpb.Event{Kind: agentpb.Kind_ENTER, Step: c.step, Probe: c.probe})
		if got := d.Event(raw).Probe; got != c.want {
			t.Errorf("step %d by probe %d is seen by %q, want %q", c.step, c.probe, got, c.want)
		}
	}
}

func TestSameAgent(t *testing.T) {
	a := &agentpb.InfoResponse{Pid: 7, Started: timestamppb.New(time.Unix(5, 0)), Probes: []*agentpb.Probe{{Name: "woven"}}}
	for what, change := range map[string]func(*agentpb.InfoResponse){
		"pid": func(b *agentpb.InfoResponse) { b.Pid++ }, "start": func(b *agentpb.InfoResponse) { b.Started.Nanos++ },
		"probe": func(b *agentpb.InfoResponse) { b.Probes[0].Name = "cri" },
	} {
		b := proto.CloneOf(a)
		if !SameAgent(a, b) {
			t.Error("an agent is not the same as itself")
		}
		if change(b); SameAgent(a, b) {
			t.Errorf("an agent with another %s is the same", what)
		}
	}
}

func TestPods(t *testing.T) {
	d := NewDecoder(about)
	if d.Pod(0) != nil {
		t.Error("the node has a pod")
	}
	early := d.Pod(1)
	if early == nil || early.Name != "" || d.Pod(1) != early {
		t.Errorf("a pod that was never sent is %+v", early)
	}
	d.AddPods([]*agentpb.Pod{{Id: 1, Namespace: "default", Name: "web", Uid: "u"}})
	known := d.Pod(1)
	if known.Name != "web" || early.Name != "" {
		t.Errorf("a pod that was sent late is %+v, and was %+v", known, early)
	}
	d.AddPods([]*agentpb.Pod{{Id: 1, Namespace: "default", Name: "web", Uid: "u"}})
	if d.Pod(1) != known {
		t.Error("a pod that is sent again is another one")
	}
	for id := range uint32(3 * maxUnknown) {
		if d.Pod(id+10) == nil {
			t.Fatal("an event of a pod that was never sent is the node's")
		}
	}
	if len(d.pods) > maxUnknown+10 {
		t.Errorf("%d pods are remembered that nobody sent", len(d.pods))
	}
	d.AddPods([]*agentpb.Pod{{Id: 1, Namespace: "default", Name: "db", Uid: "v"}})
	if d.Pod(1).Name != "db" || known.Name != "web" {
		t.Error("a number that is used anew keeps its pod")
	}
}

// TestOutline: an outline is the event without its fields.
func TestOutline(t *testing.T) {
	for _, raw := range samples(t) {
		d := NewDecoder(about)
		h, err := ReadHeader(raw)
		if err != nil {
			t.Fatal(err)
		}
		want := d.Event(raw)
		want.Fields = nil
		if got := d.Outline(&h); !reflect.DeepEqual(got, want) {
			t.Errorf("outline\n%+v, want\n%+v", got, want)
		}
	}
}

// FuzzEvent: whatever bytes an agent sends as an event, Event makes an event of them that can be printed.
func FuzzEvent(f *testing.F) {
	for _, raw := range samples(f) {
		f.Add(raw)
		f.Add(raw[:len(raw)/2])
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		e := NewDecoder(about).Event(raw)
		if _, err := json.Marshal(e); err != nil {
			t.Errorf("%+v cannot be printed: %v", e, err)
		}
	})
}

// samples are events of all shapes.
func samples(t testing.TB) (out [][]byte) {
	for _, e := range []*agentpb.Event{
		{},
		{Seq: 1, Time: 2, Kind: agentpb.Kind_EXIT, Step: 1, Pod: 1, Goroutine: 1,
			Fields: []*agentpb.Field{{Name: "j", Value: &agentpb.Field_Json{Json: `{"a":1}`}}, {Name: "r", Value: &agentpb.Field_Real{Real: 1}}}},
		{Seq: math.MaxUint64, Time: -1, Mono: math.MinInt64, Kind: -5, Step: math.MaxUint32, Pod: math.MaxUint32, Span: 1 << 63,
			Parent: 1 << 40, Sync: 7, Goroutine: 300, Error: "no such image", Duration: -1, Probe: 3},
		{Seq: 812345, Time: 1763724000123456789, Mono: 91234567890, Kind: agentpb.Kind_EXIT, Step: 77, Pod: 12, Span: 400123,
			Parent: 400120, Sync: 3, Goroutine: 2, Duration: 1234567},
	} {
		out = append(out, eventtest.Encode(e))
	}
	return out
}

// TestUnreadable: an event that cannot be read gets the time at which it was lost, not 1970.
func TestUnreadable(t *testing.T) {
	d := NewDecoder(about)
	before := d.Event(eventtest.Encode(&agentpb.Event{Seq: 7, Time: 1e18, Mono: 5, Kind: agentpb.Kind_ENTER, Step: 1, Pod: 3, Span: 9}))
	lost := d.Event([]byte{0xff, 0xff})
	if lost.Kind != probes.Drop || lost.Error == "" || lost.Pod != nil || lost.Span != 0 {
		t.Errorf("what cannot be read is %+v", lost)
	}
	if !lost.Time.Equal(before.Time) || lost.Mono != before.Mono || lost.Seq != before.Seq {
		t.Errorf("it is at %v, %d, seq %d; the one before is %+v", lost.Time, lost.Mono, lost.Seq, before)
	}
}
