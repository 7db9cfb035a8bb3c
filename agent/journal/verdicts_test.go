package journal

import (
	"fmt"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/story/life"
	"github.com/podstep/podstep/agent/trace/tracetest"
	"github.com/podstep/podstep/agent/wire"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/words"
	"github.com/podstep/podstep/tui/screen"
	"github.com/podstep/podstep/tui/state"
)

// recordings are traces of a woven kubelet on a real node, of the lab, and of a kubelet that was not rebuilt.
var recordings = []string{"../trace/testdata/node.podstep", "../../tui/state/testdata/lab.podstep", "../../tui/state/testdata/attached.podstep"}

// replayed is a recording that is replayed to an agent and to a screen.
type replayed struct {
	v    *Verdicts
	s    *state.State
	pods map[uint32]*Pod
}

func newReplayed(info *agentpb.InfoResponse) *replayed {
	s := state.New(info, probes.MustLoad(), words.English)
	s.SetLink(screen.LinkReplay, "replay")
	return &replayed{NewVerdicts(info, probes.MustLoad()), s, map[uint32]*Pod{}}
}

// addEvent gives an event to both. It returns the event's pod, or nil.
func (r *replayed) addEvent(t *testing.T, raw []byte, pods []*agentpb.Pod) *Pod {
	t.Helper()
	for _, p := range pods {
		if r.pods[p.Id] == nil {
			of := podOf(p.Id, p.Uid)
			of.Name(p.Namespace, p.Name)
			r.pods[p.Id] = of
		}
	}
	head, err := wire.ReadHeader(raw)
	if err != nil {
		t.Fatal(err)
	}
	p := r.pods[head.Pod]
	r.v.addEvent(&Event{Pod: p}, raw)
	r.s.Add(&agentpb.Batch{Pods: pods, Events: [][]byte{raw}})
	return p
}

// verdictOf returns the agent's verdict on a pod, as text.
func (r *replayed) verdictOf(p *Pod, now int64) string {
	st := r.v.State(p, now)
	if st == nil {
		return "gone"
	}
	return fmt.Sprintf("%s since %v", st.State, time.Unix(0, 0).Add(time.Duration(st.Since.AsTime().UnixNano()-r.v.h.Origin())).UTC().Format("15:04:05.000000"))
}

// onScreen returns the screen's verdict on a pod, as text.
func (r *replayed) onScreen(row *screen.PodRow, now int64) string {
	if row.Mark == life.Gone {
		return "gone"
	}
	return fmt.Sprintf("%s since %v", row.Mark, time.Unix(0, now-int64(row.For)).UTC().Format("15:04:05.000000"))
}

// TestOneVerdict replays recordings to the agent and to a screen, and compares their verdicts on each pod at every
// event.
func TestOneVerdict(t *testing.T) {
	for _, file := range recordings {
		t.Run(file, func(t *testing.T) {
			info, batches, err := tracetest.Read(file)
			if err != nil {
				t.Fatal(err)
			}
			r, compared, kinds := newReplayed(info), 0, map[string]int{}
			for _, b := range batches {
				for i, raw := range b.Events {
					pods := b.Pods
					if i > 0 {
						pods = nil
					}
					if p := r.addEvent(t, raw, pods); p != nil {
						n := r.compare(t, kinds)
						if compared += n; t.Failed() {
							return
						}
					}
				}
			}
			if compared < 1000 {
				t.Errorf("only %d verdicts were compared", compared)
			}
			t.Logf("%d verdicts: %v", compared, kinds)
		})
	}
}

// compare compares the verdicts on all pods that are on the screen.
func (r *replayed) compare(t *testing.T, kinds map[string]int) (n int) {
	t.Helper()
	now := r.v.lives.Now().Time
	byUID := map[string]*Pod{}
	for _, p := range r.pods {
		byUID[p.UID] = p
	}
	for _, row := range r.s.PodsNamed() {
		p := byUID[row.UID]
		if p == nil || !p.learned {
			continue
		}
		kinds[row.Mark.String()]++
		n++
		if agent, seen := r.verdictOf(p, now), r.onScreen(&row, now); agent != seen {
			t.Errorf("at event %d %s is %q by the agent and %q on the screen", r.s.Events(), row.Name, agent, seen)
		}
	}
	return n
}

// TestVerdictOfCutHistory: a client that was sent only the end of a story has the agent's verdict as long as nothing
// new happens.
func TestVerdictOfCutHistory(t *testing.T) {
	info, batches, err := tracetest.Read(recordings[1])
	if err != nil {
		t.Fatal(err)
	}
	whole, cut := newReplayed(info), newReplayed(info)
	total := 0
	for _, b := range batches {
		total += len(b.Events)
	}
	at, different := 0, 0
	for _, b := range batches {
		for _, raw := range b.Events {
			at++
			p := whole.addEvent(t, raw, b.Pods)
			cut.s.Add(&agentpb.Batch{Pods: b.Pods})
			if at < total/2 || p == nil {
				continue
			}
			cut.s.Add(&agentpb.Batch{Events: [][]byte{raw}})
			now := whole.v.lives.Now().Time
			st := whole.v.State(p, now)
			if st == nil {
				continue
			}
			head, _ := wire.ReadHeader(raw)
			st.Seq = head.Seq
			before := cut.rowOf(p)
			cut.s.SetPods([]*agentpb.PodState{proto.CloneOf(st)})
			after := cut.rowOf(p)
			if before.Mark.String() != st.State {
				different++
			}
			if after.Mark.String() != st.State {
				t.Fatalf("at event %d %s is %s by the agent and %v on a screen that it has sent them to", at, p.FullName(), st.State, after.Mark)
			}
		}
	}
	if different == 0 {
		t.Error("half of a story made no difference: the test shows nothing")
	}
}

func (r *replayed) rowOf(p *Pod) screen.PodRow {
	for _, row := range r.s.PodsNamed() {
		if row.UID == p.UID {
			return row
		}
	}
	return screen.PodRow{}
}
