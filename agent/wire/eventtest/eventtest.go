// Package eventtest makes events for tests, and reads the events that the tested code makes.
package eventtest

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/podstep/podstep/agent/agentpb"
)

// Encode returns the bytes of an event. It panics for a text that is not UTF-8.
func Encode(e *agentpb.Event) []byte {
	raw, err := proto.Marshal(e)
	if err != nil {
		panic(fmt.Sprintf("encode event: %v", err))
	}
	return raw
}

// Batch returns a batch of events.
func Batch(events ...*agentpb.Event) *agentpb.Batch {
	b := &agentpb.Batch{}
	for _, e := range events {
		b.Events = append(b.Events, Encode(e))
	}
	return b
}

// Decode reads the bytes of an event. Bytes that are no event end the test.
func Decode(t testing.TB, raw []byte) *agentpb.Event {
	t.Helper()
	e := &agentpb.Event{}
	if err := proto.Unmarshal(raw, e); err != nil {
		t.Fatalf("read event: %v", err)
	}
	return e
}

// Field makes a field of a text, a flag, a number, a duration, or of JSON. It panics
// for a value of any other type.
func Field(name string, value any) *agentpb.Field {
	f := &agentpb.Field{Name: name}
	switch v := value.(type) {
	case string:
		f.Value = &agentpb.Field_Text{Text: v}
	case bool:
		f.Value = &agentpb.Field_Flag{Flag: v}
	case int:
		f.Value = &agentpb.Field_Number{Number: int64(v)}
	case int64:
		f.Value = &agentpb.Field_Number{Number: v}
	case time.Duration:
		f.Value = &agentpb.Field_Duration{Duration: int64(v)}
	case json.RawMessage:
		f.Value = &agentpb.Field_Json{Json: string(v)}
	default:
		panic(fmt.Sprintf("a field cannot have a %T", value))
	}
	return f
}

// Step returns the number by which an agent's events name a step. It panics if the agent has no step of that name.
func Step(info *agentpb.InfoResponse, name string) uint32 {
	n := slices.IndexFunc(info.Steps, func(s *agentpb.Step) bool { return s.Name == name })
	if n < 0 {
		panic("the agent has no step " + name)
	}
	return uint32(n + 1)
}
