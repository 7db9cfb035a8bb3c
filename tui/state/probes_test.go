package state

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/story/life"
	"github.com/podstep/podstep/agent/wire"
	"github.com/podstep/podstep/agent/wire/eventtest"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/words"
	"github.com/podstep/podstep/tui/screen"
)

var (
	notMade   = probes.NewReason("state.test.notMade", probes.Text{En: "nobody has made it up", Zh: "没有人虚构它"})
	outOf     = probes.NewReason("state.test.outside", probes.Text{En: "inside the kubelet", Zh: "在 kubelet 内部"})
	noWaiting = probes.NewReason("state.test.noWaiting", probes.Text{En: "it waits for nobody", Zh: "它不等待任何人"})
	torn      = probes.NewReason("state.test.torn", probes.Text{En: "torn by {by}", Zh: "被 {by} 扯断"})
)

// made are the steps that the invented probe sees.
var made = []string{"worker.loop", "worker.turn", "sync.pod", "cri.RunPodSandbox"}

// threeProbes is an agent with three probes: one for the calls to the runtime, one for the API server's reports, and
// one inside the kubelet that sees a few steps, with turns.
func threeProbes() *agentpb.InfoResponse {
	running := agentpb.ProbeState_PROBE_RUNNING
	info := &agentpb.InfoResponse{
		Node: "node-1", KubeletVersion: "v1.36.3", Pid: 1, Started: timestamppb.New(timeZero),
		Goroutines: []string{"", "worker"},
		Probes: []*agentpb.Probe{
			{Name: "cri", State: running},
			{Name: "api", State: running, Knows: &agentpb.Knows{Reports: true}},
			{Name: "made", State: running, Knows: &agentpb.Knows{Turns: true, Nesting: true, Workers: true}},
		},
	}
	for _, st := range probes.MustLoad().Steps {
		s := &agentpb.Step{Name: st.Name, Stage: st.Stage}
		sees := func(probe uint32) *agentpb.Ability {
			a := &agentpb.Ability{Probe: probe, Entry: true, Exit: true, Arguments: true, Results: true, Fail: true, HoldEnter: "no", HoldExit: "no"}
			s.Abilities = append(s.Abilities, a)
			return a
		}
		switch {
		case st.Outside() && st.Seen == probes.ByAPI:
			sees(1)
		case st.Outside():
		case st.Stage == "cri":
			sees(0).HoldEnter = string(st.Hold.Enter)
		default:
			s.Abilities = append(s.Abilities, &agentpb.Ability{HoldEnter: "no", HoldExit: "no", Unseen: wire.Reason(outOf.Reason())})
		}
		switch {
		case slices.Contains(made, st.Name):
			a := sees(2)
			a.Fail, a.NoHold, a.NoFail = false, wire.Reason(noWaiting.Reason()), wire.Reason(noWaiting.Reason())
			if a.Missing = []string{"updateType"}; st.Stage == "cri" {
				a.Missing = []string{"runtimeHandler"}
			}
		case !st.Outside():
			s.Abilities = append(s.Abilities, &agentpb.Ability{Probe: 2, HoldEnter: "no", HoldExit: "no", Unseen: wire.Reason(notMade.Reason())})
		}
		info.Steps = append(info.Steps, s)
	}
	return info
}

// timeZero is the time when the agent began.
var timeZero = time.Unix(1_800_000_000, 0)

// twoSights is a turn in which two probes see a call. Then the probe that sees turns fails in the middle of the
// turn, and the other one sees the next call.
func twoSights(info *agentpb.InfoResponse) (events []*agentpb.Event) {
	put := func(kind agentpb.Kind, step string, span, parent uint64, probe uint32, fields ...*agentpb.Field) *agentpb.Event {
		e := &agentpb.Event{Seq: uint64(len(events) + 1), Kind: kind, Pod: 1, Span: span, Parent: parent, Probe: probe, Sync: 1, Fields: fields}
		e.Step = uint32(1 + slices.IndexFunc(info.Steps, func(s *agentpb.Step) bool { return s.Name == step }))
		e.Mono = int64(e.Seq) * 1e9
		e.Time = timeZero.UnixNano() + e.Mono
		events = append(events, e)
		return e
	}
	enter, exit, note := agentpb.Kind_ENTER, agentpb.Kind_EXIT, agentpb.Kind_NOTE
	put(enter, "cluster.bound", 1, 0, 0)
	put(exit, "cluster.bound", 1, 0, 0)
	put(enter, "worker.loop", 2, 0, 0)
	put(enter, "worker.turn", 3, 2, 0)
	put(enter, "sync.pod", 4, 3, 0)
	put(enter, "cri.RunPodSandbox", 5, 4, 3, eventtest.Field("request", "web"))
	put(note, "cri.RunPodSandbox", 5, 4, 0, eventtest.Field("seen", "enter"), eventtest.Field("request", "web"), eventtest.Field("runtimeHandler", "runc"))
	put(note, "cri.RunPodSandbox", 5, 4, 0, eventtest.Field("seen", "exit"), eventtest.Field("podSandboxID", "abc")).Duration = 15e8
	put(exit, "cri.RunPodSandbox", 5, 4, 3, eventtest.Field("podSandboxID", "abc")).Duration = 3e9
	failed := put(note, "", 0, 0, 3, eventtest.Field("state", "failed"), eventtest.Field("reason", torn.Reason().Code), eventtest.Field("by", "a test"))
	failed.Pod, failed.Step, failed.Sync = 0, 0, 0
	put(enter, "cri.CreateContainer", 6, 0, 0, eventtest.Field("container", "a"))
	return events
}

// playEvents returns a session with the first n events.
func playEvents(t *testing.T, info *agentpb.InfoResponse, events []*agentpb.Event, n int, lang words.Lang) *State {
	t.Helper()
	s := New(info, probes.MustLoad(), lang)
	s.SetLink(screen.LinkReplay, "replay")
	s.Add(&agentpb.Batch{Pods: []*agentpb.Pod{{Id: 1, Namespace: "default", Name: "p", Uid: "u"}}})
	for _, e := range events[:n] {
		s.Add(eventtest.Batch(e))
	}
	s.SelectPodNamed("default", "p")
	return s
}

// rowsOf returns the rows of a step's calls that were seen.
func rowsOf(sc *screen.Screen, step string) (out []screen.Row) {
	for _, r := range sc.Story().Rows {
		if r.Step == step && r.Kind != screen.RowExpected {
			out = append(out, r)
		}
	}
	return out
}

// TestProbesHeader: the header names the probes that work, those that do not, with the reason, and what none of them
// sees.
func TestProbesHeader(t *testing.T) {
	info := threeProbes()
	events := twoSights(info)
	for _, c := range []struct {
		events  int
		lang    words.Lang
		probes  string
		failing []screen.Failing
		blind   string
	}{
		{9, words.English, "cri api made", nil, "steps not seen, such as"},
		{11, words.English, "cri api", []screen.Failing{{Probe: "made", Why: "torn by a test"}}, "not seen: inside the kubelet"},
		{11, words.Chinese, "cri api", []screen.Failing{{Probe: "made", Why: "被 a test 扯断"}}, "看不到：kubelet 内部"},
	} {
		h := playEvents(t, info, events, c.events, c.lang).Screen(allRows).Header
		if strings.Join(h.Probes, " ") != c.probes || !reflect.DeepEqual(h.Failing, c.failing) || !strings.Contains(h.Blind, c.blind) {
			t.Errorf("after %d events: %+v", c.events, h)
		}
	}
}

// TestProbeRetries: a probe that tries again is not among those that work, but podstep still relies on what it
// knows.
func TestProbeRetries(t *testing.T) {
	info := threeProbes()
	info.Probes[2].State, info.Probes[2].Reason = agentpb.ProbeState_PROBE_RETRYING, wire.Reason(torn.With("by", "us"))
	s := playEvents(t, info, nil, 0, words.English)
	h := s.Screen(allRows).Header
	if want := []screen.Failing{{Probe: "made", Why: "torn by us", Again: true}}; !reflect.DeepEqual(h.Failing, want) || len(h.Probes) != 2 || !s.Knows().Turns {
		t.Errorf("header %+v, knows %+v", h, s.Knows())
	}
	info = proto.CloneOf(info)
	info.Probes[2].State, info.Probes[2].Reason = agentpb.ProbeState_PROBE_RUNNING, nil
	s.SetInfo(info) // the same agent came back
	if h := s.Screen(allRows).Header; len(h.Probes) != 3 || len(h.Failing) > 0 {
		t.Errorf("after it came back %+v", h)
	}
}

// TestSightsDetail: a call that two probes see is one row. Its detail has the evidence of both, and the values that
// neither reads.
func TestSightsDetail(t *testing.T) {
	info := threeProbes()
	s := playEvents(t, info, twoSights(info), 9, words.English)
	sc := s.Screen(allRows)
	if rows := rowsOf(sc, "cri.RunPodSandbox"); len(rows) != 1 || rows[0].Opens {
		t.Fatalf("rows %+v", rows)
	}
	for _, r := range sc.Story().Rows {
		if r.Kind == screen.RowNote {
			t.Errorf("a sight has a row: %+v", r)
		}
	}
	if !s.SelectStep("cri.RunPodSandbox") {
		t.Fatal("it cannot be selected")
	}
	d := s.Screen(allRows).Detail
	if len(d.Sights) != 2 || d.Sights[0].Probe != "made" || d.Sights[1].Probe != "cri" || d.Sights[0].Took != 3e9 || d.Sights[1].Took != 15e8 ||
		!slices.Equal(d.Sights[1].Values, []screen.Value{{Name: "runtimeHandler", Text: "runc"}}) || d.Sights[1].Began.Sub(d.Sights[0].Began) != 1e9 {
		t.Errorf("sights %+v", d.Sights)
	}
	if d.Missing != "" {
		t.Errorf("cri reads all, and not read is %q", d.Missing)
	}
	if !strings.Contains(d.Hold, "Timer caller") || !strings.Contains(d.Hold, "made: it waits for nobody") {
		t.Errorf("to hold here: %s", d.Hold)
	}
	s.SelectStep("sync.pod")
	d = s.Screen(allRows).Detail
	if len(d.Sights) != 0 || d.Missing != "updateType; not by made" || d.Goroutine != "" && d.Goroutine != "worker" {
		t.Errorf("%+v, not read: %q", d.Sights, d.Missing)
	}
	if !strings.Contains(d.Hold, "may not be held here") || !strings.Contains(d.Hold, "Reason: it waits for nobody.") || !strings.Contains(d.Hold, "made to fail here: it waits") {
		t.Errorf("to hold here: %s", d.Hold)
	}
}

// TestProbeFails: the only probe that sees turns fails. Calls that it saw under way then do not go on for ever, its
// steps are unseen for that reason, and calls that others see continue the story.
func TestProbeFails(t *testing.T) {
	info := threeProbes()
	events := twoSights(info)
	working := playEvents(t, info, events, 9, words.English)
	if p := working.lives.Now().Pod(working.pod); !p.Turning {
		t.Fatalf("before it fails the pod is %+v", p)
	}
	s := playEvents(t, info, events, 10, words.English)
	p := s.lives.Now().Pod(s.pod)
	if st, _ := s.lives.State(p, s.h.Last()); p.Turning || p.At != none || st == life.Working || s.Knows().Turns || !s.Knows().Reports {
		t.Errorf("after it failed the pod is %v: %+v", st, p)
	}
	for _, r := range s.Screen(allRows).Story().Rows {
		if r.Mark == screen.RowCurrent {
			t.Errorf("%s goes on", r.Step)
		}
	}
	if why, is := s.Unseen("sync.pod"); !is || why != "the made probe has failed: torn by a test" {
		t.Errorf("sync.pod is unseen %v: %s", is, why)
	}
	if why, is := s.Unseen("sync.volumes"); !is || why != "inside the kubelet" {
		t.Errorf("sync.volumes is unseen %v: %s", is, why)
	}
	s.SelectPod(0)
	rows := s.Screen(allRows).Story().Rows
	if last := rows[len(rows)-1]; last.Label != "probe made has failed: torn by a test" {
		t.Errorf("the node's story ends with %+v", last)
	}
	s = playEvents(t, info, events, len(events), words.English)
	if st, _ := s.lives.State(s.lives.Now().Pod(s.pod), s.h.Last()); st != life.Working {
		t.Errorf("with another call it is %v", st)
	}
	if rows := rowsOf(s.Screen(allRows), "cri.CreateContainer"); len(rows) != 1 || rows[0].Mark != screen.RowCurrent {
		t.Errorf("its row is %+v", rows)
	}
}

// TestReportsEnd: after the probe that reports from the cluster has failed, a pod's state goes by its calls.
func TestReportsEnd(t *testing.T) {
	info := threeProbes()
	events := twoSights(info)
	failed := proto.CloneOf(events[9])
	failed.Probe = 2
	events[9] = failed
	s := playEvents(t, info, events, 10, words.English)
	if k := s.Knows(); k.Reports || !k.Turns {
		t.Errorf("known is %+v", k)
	}
	if p := s.lives.Now().Pod(s.pod); !p.Turning {
		t.Error("the turn does not go on")
	}
}

// TestProbesGoingBack: going back to a place shows the screen that there was.
func TestProbesGoingBack(t *testing.T) {
	info := threeProbes()
	events := twoSights(info)
	long := playEvents(t, info, events, len(events), words.English)
	for n := 1; n < len(events); n++ {
		short := playEvents(t, info, events, n, words.English)
		long.SeekEvent(n - 1)
		long.SelectPodNamed("default", "p")
		want, got := short.Screen(allRows), long.Screen(allRows)
		if !reflect.DeepEqual(want.Header.Probes, got.Header.Probes) || !reflect.DeepEqual(want.Header.Failing, got.Header.Failing) {
			t.Errorf("after %d events the header is %+v, was %+v", n, got.Header, want.Header)
		}
		if want, got := *short.lives.Now().Pod(short.pod), *long.lives.At(n).Pod(long.pod); !reflect.DeepEqual(want, got) {
			t.Errorf("after %d events the pod is %+v, was %+v", n, got, want)
		}
		if want, got := seen(short), seen(long); want != got {
			t.Errorf("after %d events: %s", n, firstDiff(want, got))
		}
	}
}

// TestInfoLater: Info says that a probe has failed, but the agent remembers what the probe saw before. That is shown
// as it was.
func TestInfoLater(t *testing.T) {
	info := threeProbes()
	events := twoSights(info)
	p := info.Probes[2]
	p.State, p.Reason, p.Since = agentpb.ProbeState_PROBE_FAILED, wire.Reason(torn.With("by", "a test")), timestamppb.New(timeZero.Add(9500e6))
	s := playEvents(t, info, events, 9, words.English)
	s.SeekEvent(6)
	if h := s.Screen(allRows).Header; len(h.Probes) != 3 {
		t.Errorf("before it failed %+v", h)
	}
	without := append(slices.Clone(events[:9]), events[10:]...) // the event is lost
	s = playEvents(t, info, without, len(without), words.English)
	if h := s.Screen(allRows).Header; len(h.Probes) != 2 || len(h.Failing) != 1 {
		t.Errorf("after it failed %+v", h)
	}
	if p := s.lives.Now().Pod(s.pod); p.Turning || s.h.Step(p.Step).Name != "cri.CreateContainer" {
		t.Errorf("the pod is %+v", p)
	}
}
