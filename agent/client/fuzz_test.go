package client

import (
	"encoding/json"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/podstep/podstep/agent/agentpb"
)

// FuzzEvent: whatever bytes an agent sends as an event, something comes of
// them that can be printed.
func FuzzEvent(f *testing.F) {
	good, err := proto.Marshal(&agentpb.Event{
		Seq: 1, Time: 2, Kind: agentpb.Kind_EXIT, Step: 1, Pod: 1, Goroutine: 1,
		Fields: []*agentpb.Field{{Name: "j", Value: &agentpb.Field_Json{Json: `{"a":1}`}}, {Name: "r", Value: &agentpb.Field_Real{Real: 1}}},
	})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Add(good[:len(good)/2])
	f.Add([]byte{})
	info := &agentpb.InfoResponse{Steps: []*agentpb.Step{{Name: "sync.pod", Stage: "syncpod"}}, Goroutines: []string{"worker"}}
	f.Fuzz(func(t *testing.T, raw []byte) {
		e := newDecoder(info).event(raw)
		if _, err := json.Marshal(e); err != nil {
			t.Errorf("%+v cannot be printed: %v", e, err)
		}
	})
}
