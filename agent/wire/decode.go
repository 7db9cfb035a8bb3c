package wire

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/probes"
)

// Decoder knows what the numbers in events stand for. Info gives steps and goroutines once; the stream gives each pod
// before the first event that names it. One goroutine uses a Decoder at a time.
type Decoder struct {
	info    *agentpb.InfoResponse
	pods    map[uint32]*probes.Pod
	unknown int    // how many of pods no batch named
	last    Header // of the newest event that could be read
}

// maxUnknown bounds the pods that are remembered although no batch named them. An agent names a pod before its events,
// so a damaged file made these numbers up.
const maxUnknown = 1 << 12

// NewDecoder makes a decoder for the events of the agent that info is about.
func NewDecoder(info *agentpb.InfoResponse) *Decoder {
	return &Decoder{info: info, pods: map[uint32]*probes.Pod{}}
}

// SameAgent reports whether two answers to Info come from one agent: from one run
// of one process, with the same first probe. Numbers of pods, steps, goroutines and
// holds mean the same in both.
func SameAgent(a, b *agentpb.InfoResponse) bool {
	return a.GetPid() == b.GetPid() && a.GetStarted().AsTime().Equal(b.GetStarted().AsTime()) &&
		probeAt(a, 0).GetName() == probeAt(b, 0).GetName()
}

// AddPods learns the pods of a batch. A pod that comes again keeps its pointer, so that events of one pod can be
// compared by it.
func (d *Decoder) AddPods(pods []*agentpb.Pod) {
	for _, p := range pods {
		pod := PodOf(p)
		if known := d.pods[p.Id]; known == nil || *known != pod {
			d.pods[p.Id] = &pod
		}
	}
}

// PodOf returns the pod that a message is about; the zero Pod if it is nil.
func PodOf(p *agentpb.Pod) probes.Pod {
	return probes.Pod{Namespace: p.GetNamespace(), Name: p.GetName(), UID: p.GetUid()}
}

// Batch decodes all events of a batch, after learning its pods.
func (d *Decoder) Batch(b *agentpb.Batch) []probes.Event {
	d.AddPods(b.Pods)
	events := make([]probes.Event, 0, len(b.Events))
	for _, raw := range b.Events {
		events = append(events, d.Event(raw))
	}
	return events
}

// Event decodes one event. An event that cannot be read becomes a DROP event with the time of the one before it: a
// single bad event must not end a stream that may be about a hold.
func (d *Decoder) Event(raw []byte) probes.Event {
	var e agentpb.Event
	if err := proto.Unmarshal(raw, &e); err != nil {
		lost := Header{Seq: d.last.Seq, Time: d.last.Time, Mono: d.last.Mono, Kind: agentpb.Kind_DROP}
		out := d.Outline(&lost)
		out.Error = "an event could not be read"
		return out
	}
	h := Header{
		Seq: e.Seq, Time: e.Time, Mono: e.Mono, Kind: e.Kind, Step: e.Step, Pod: e.Pod, Span: e.Span,
		Parent: e.Parent, Sync: e.Sync, Goroutine: e.Goroutine, Duration: e.Duration, Probe: e.Probe,
		CallerLine: e.CallerLine,
	}
	if h.Time != 0 {
		d.last = h
	}
	out := d.Outline(&h)
	out.Error, out.Fields = e.Error, Fields(e.Fields)
	return out
}

// Outline returns the event of a header, without its fields.
func (d *Decoder) Outline(h *Header) probes.Event {
	stage, step := d.Step(h.Step)
	return probes.Event{
		Seq:        h.Seq,
		Time:       time.Unix(0, h.Time),
		Mono:       h.Mono,
		Kind:       Kind(h.Kind),
		Stage:      stage,
		Step:       step,
		Pod:        d.Pod(h.Pod),
		Span:       h.Span,
		Parent:     h.Parent,
		Sync:       h.Sync,
		Goroutine:  d.Goroutine(h.Goroutine),
		Error:      string(h.ErrorText),
		DurationNs: h.Duration,
		Probe:      d.Probe(h),
		CallerLine: h.CallerLine,
	}
}

// Step returns the stage and the name of Event.step. Zero is no step. A number that Info does not know gets a name that
// says so.
func (d *Decoder) Step(n uint32) (stage, name string) {
	switch steps := d.info.GetSteps(); {
	case n == 0:
		return "", ""
	case int64(n) <= int64(len(steps)):
		return steps[n-1].GetStage(), steps[n-1].GetName()
	}
	return "", "step#" + strconv.FormatUint(uint64(n), 10)
}

// Probe returns the name of the probe that saw an event; empty if it is not known.
func (d *Decoder) Probe(h *Header) string {
	if h.Probe > 0 {
		return probeAt(d.info, h.Probe-1).GetName()
	}
	if steps := d.info.GetSteps(); h.Step > 0 && int64(h.Step) <= int64(len(steps)) {
		for _, a := range steps[h.Step-1].GetAbilities() {
			if Sees(a) {
				return probeAt(d.info, a.GetProbe()).GetName()
			}
		}
	}
	return probeAt(d.info, 0).GetName()
}

// Pod returns the pod of Event.pod, nil for the node. All events of a pod share it, and nobody changes it. A pod that
// no batch named has no name, so that its events are at least seen. Beyond maxUnknown such pods, each event gets a Pod
// of its own.
func (d *Decoder) Pod(id uint32) *probes.Pod {
	if id == 0 {
		return nil
	}
	if p := d.pods[id]; p != nil {
		return p
	}
	p := &probes.Pod{}
	if d.unknown < maxUnknown {
		d.unknown++
		d.pods[id] = p
	}
	return p
}

// Goroutine returns the name of Event.goroutine, empty for an unknown one.
func (d *Decoder) Goroutine(n uint32) string {
	if names := d.info.GetGoroutines(); int64(n) < int64(len(names)) {
		return names[n]
	}
	return ""
}

// Kind returns the kind of an event in the words of package probes. Kinds that are newer than this program are notes.
func Kind(k agentpb.Kind) probes.Kind {
	switch k {
	case agentpb.Kind_ENTER:
		return probes.Enter
	case agentpb.Kind_EXIT:
		return probes.Exit
	case agentpb.Kind_HOLD:
		return probes.Held
	case agentpb.Kind_RELEASE:
		return probes.Released
	case agentpb.Kind_FAULT:
		return probes.Fault
	case agentpb.Kind_DROP:
		return probes.Drop
	}
	return probes.Note
}

// Fields returns fields by name, with values that encoding/json takes: text, a number, a flag, a document. Durations
// are text such as "1.5s".
func Fields(fields []*agentpb.Field) map[string]any {
	if len(fields) == 0 {
		return nil
	}
	out := make(map[string]any, len(fields))
	for _, f := range fields {
		out[f.Name] = value(f)
	}
	return out
}

func value(f *agentpb.Field) any {
	switch v := f.Value.(type) {
	case *agentpb.Field_Text:
		return v.Text
	case *agentpb.Field_Number:
		return v.Number
	case *agentpb.Field_Flag:
		return v.Flag
	case *agentpb.Field_Duration:
		return time.Duration(v.Duration).String()
	case *agentpb.Field_Json:
		// A document that was cut short becomes a text: as a document it would make the whole event impossible to
		// print.
		if json.Valid([]byte(v.Json)) {
			return probes.RawJSON(v.Json)
		}
		return v.Json
	case *agentpb.Field_Real:
		if math.IsNaN(v.Real) || math.IsInf(v.Real, 0) {
			return fmt.Sprint(v.Real)
		}
		return v.Real
	}
	return nil
}
