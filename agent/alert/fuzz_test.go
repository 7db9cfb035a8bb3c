package alert

import (
	"testing"
	"time"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/agenttest"
	"github.com/podstep/podstep/agent/wire/eventtest"
	"github.com/podstep/podstep/probes"
)

// FuzzMatcher: events in any order, with any numbers and times, keep the bounds, and nothing is due in the past.
func FuzzMatcher(f *testing.F) {
	for i := range 5 {
		f.Add(uint8(i), []byte{0, 1, 0, 5, 0, 1, 2, 1, 0, 200, 1, 1, 0, 5, 1, 0, 1, 3, 9, 1, 1, 1, 0, 7, 0})
	}
	info := agenttest.Info()
	steps := []string{"image.pull", "sync.volumes", "worker.turn", "worker.loop", "loop.remove", "cri.StartContainer"}
	texts := []string{"err", "running>2m", "state=stuck", "err then not err within 30s", "step~cri then running>10s then not state=running within 1m"}
	f.Fuzz(func(t *testing.T, which uint8, raw []byte) {
		a, err := Parse(texts[int(which)%len(texts)])
		if err != nil {
			t.Fatal(err)
		}
		m := New(a, info, probes.MustLoad(), Options{Node: true, Lost: func(*probes.Event) {}, Match: func(m *Match) {
			if len(m.Parts) != len(a.parts) || m.Text() == "" || m.Last() == nil {
				t.Errorf("match %+v", m)
			}
		}})
		m.Add(&agentpb.Batch{Pods: []*agentpb.Pod{{Id: 1, Namespace: "a", Name: "b", Uid: "c"}, {Id: 2, Namespace: "a", Name: "d", Uid: "e"}}})
		var mono int64
		for seq := uint64(1); len(raw) >= 5; raw = raw[5:] {
			mono = max(0, mono+int64(int8(raw[3]))*int64(time.Second))
			e := &agentpb.Event{
				Seq: seq, Kind: agentpb.Kind(raw[0] % 8), Pod: uint32(raw[1] % 4), Step: eventtest.Step(info, steps[int(raw[4])%len(steps)]), Span: uint64(raw[2] % 16),
				Mono: mono, Time: 1e18 + mono, Duration: int64(raw[3]),
			}
			if raw[4]&128 != 0 {
				e.Error = "x"
			}
			m.Add(eventtest.Batch(e))
			seq++
			if seq%3 == 0 {
				m.Advance(mono + int64(raw[4])*int64(time.Second))
			}
			m.Advance(m.now)
			if at, ok := m.Next(); ok && at <= m.now {
				t.Errorf("due at %d, and it is %d", at, m.now)
			}
		}
		count := 0
		for _, p := range m.pods {
			count += p.count
			if p.count < 0 || p.count > mostOfPod {
				t.Errorf("%d are under way for a pod", p.count)
			}
		}
		if count != m.count {
			t.Errorf("%d are under way, and counted are %d", count, m.count)
		}
	})
}
