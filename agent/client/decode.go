package client

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/probes"
	"google.golang.org/protobuf/proto"
)

// decoder knows what the numbers in events stand for. Steps and goroutines are
// told once by Info; pods by the stream, before the first event that names one.
type decoder struct {
	info *agentpb.InfoResponse
	pods map[uint32]*probes.Pod
}

func newDecoder(info *agentpb.InfoResponse) *decoder {
	return &decoder{info: info, pods: map[uint32]*probes.Pod{}}
}

func (d *decoder) batch(b *agentpb.Batch) Batch {
	for _, p := range b.Pods {
		d.pods[p.Id] = &probes.Pod{Namespace: p.Namespace, Name: p.Name, UID: p.Uid}
	}
	out := Batch{CaughtUp: b.CaughtUp, Events: make([]probes.Event, 0, len(b.Events))}
	for _, raw := range b.Events {
		out.Events = append(out.Events, d.event(raw))
	}
	return out
}

// event decodes one event. One that cannot be read is told as a lost one: a
// single bad event must not end a stream that may be telling about a hold.
func (d *decoder) event(raw []byte) probes.Event {
	var e agentpb.Event
	if err := proto.Unmarshal(raw, &e); err != nil {
		return probes.Event{Kind: probes.Drop, Probe: d.info.GetProbe(), Error: "an event could not be read: " + err.Error()}
	}
	stage, step := d.step(e.Step)
	return probes.Event{
		Seq:        e.Seq,
		Time:       time.Unix(0, e.Time),
		Mono:       e.Mono,
		Kind:       kind(e.Kind),
		Stage:      stage,
		Step:       step,
		Pod:        d.pod(e.Pod),
		Span:       e.Span,
		Parent:     e.Parent,
		Sync:       e.Sync,
		Goroutine:  d.goroutine(e.Goroutine),
		Fields:     Fields(e.Fields),
		Error:      e.Error,
		DurationNs: e.Duration,
		Probe:      d.info.GetProbe(),
	}
}

func (d *decoder) step(n uint32) (stage, name string) {
	switch steps := d.info.GetSteps(); {
	case n == 0:
		return "", ""
	case int64(n) <= int64(len(steps)):
		return steps[n-1].Stage, steps[n-1].Name
	}
	return "", "step#" + strconv.FormatUint(uint64(n), 10)
}

// pod is shared by all events of a pod; nobody changes it. A pod that was never
// told is one without names, so that its events are seen at least.
func (d *decoder) pod(id uint32) *probes.Pod {
	if id == 0 {
		return nil
	}
	if p := d.pods[id]; p != nil {
		return p
	}
	p := &probes.Pod{}
	d.pods[id] = p
	return p
}

func (d *decoder) goroutine(n uint32) string {
	if names := d.info.GetGoroutines(); int64(n) < int64(len(names)) {
		return names[n]
	}
	return ""
}

func kind(k agentpb.Kind) probes.Kind {
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

// Fields gives fields by name, with values that encoding/json takes: text, a
// number, a flag, a document. Durations are text such as "1.5s".
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
		// A document that was cut short is text; as a document it would make
		// the whole event impossible to print.
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
