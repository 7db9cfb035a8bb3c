package state

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/story/life"
	"github.com/podstep/podstep/agent/trace/tracetest"
	"github.com/podstep/podstep/agent/wire/eventtest"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/words"
	"github.com/podstep/podstep/tui/screen"
)

// attached reads testdata/attached.podstep: a minute of the containerd lab's unmodified kubelet. It has pods of
// docs/examples, one pod from before, and one that was held.
func attached(t testing.TB) *recording {
	t.Helper()
	info, batches, err := tracetest.Read("testdata/attached.podstep")
	if err != nil {
		t.Fatal(err)
	}
	return &recording{info: info, batches: batches}
}

// place is an event of a pod: the first of a kind at a step, or a later one.
type place struct {
	pod, step string
	kind      probes.Kind
	plus      int
}

// seekPlace goes to a place.
func (s *State) seekPlace(t *testing.T, at place) {
	t.Helper()
	if !s.SelectPodNamed("default", at.pod) {
		t.Fatalf("there is no pod %s", at.pod)
	}
	key, _, _ := s.Selected()
	pos, ok := s.Seen(key, at.step, at.kind, 0)
	if !ok {
		t.Fatalf("%+v is not in the recording", at)
	}
	s.SeekEvent(pos + at.plus)
}

func TestAttachedStories(t *testing.T) {
	r := attached(t)
	for _, pod := range []string{"web", "held", "no-image", "crashloop", "early"} {
		t.Run(pod, func(t *testing.T) {
			s := r.play(words.English)
			if !s.SelectPodNamed("default", pod) {
				t.Fatal("no such pod")
			}
			sc := s.Screen(allRows)
			check(t, sc, allRows)
			golden(t, "attached-"+pod, dump(sc))
		})
	}
}

// TestAttachedPlaces shows stories as they were at a place in the events.
func TestAttachedPlaces(t *testing.T) {
	for name, at := range map[string]place{
		"bound":    {"web", "cluster.bound", probes.Exit, 0},
		"sandbox":  {"web", "cri.RunPodSandbox", probes.Enter, 0},
		"start":    {"web", "cri.StartContainer", probes.Enter, 0},
		"hold":     {"held", "cri.CreateContainer", probes.Held, 0},
		"stop":     {"web", "cri.StopContainer", probes.Enter, 0},
		"pull":     {"no-image", "cri.PullImage", probes.Exit, 0},
		"blocked":  {"no-image", "cri.StopPodSandbox", probes.Enter, -1},
		"restarts": {"crashloop", "cri.RemoveContainer", probes.Exit, 20},
	} {
		t.Run(name, func(t *testing.T) {
			s := attached(t).play(words.English)
			s.seekPlace(t, at)
			golden(t, "attached-at-"+name, dump(s.Screen(allRows)))
		})
	}
}

func TestAttachedChinese(t *testing.T) {
	s := attached(t).play(words.Chinese)
	s.seekPlace(t, place{"no-image", "cri.StopPodSandbox", probes.Enter, -1})
	golden(t, "attached-zh", dump(s.Screen(allRows)))
}

// TestAttachedDetails: the details of calls with request and answer, of a step at which no pod is held, and of one
// that is not seen.
func TestAttachedDetails(t *testing.T) {
	for name, step := range map[string]string{"create": "cri.CreateContainer", "looks": "cri.PodSandboxStatus", "report": "reported.container"} {
		t.Run(name, func(t *testing.T) {
			s := attached(t).play(words.English)
			s.SelectPodNamed("default", "web")
			if !s.SelectStep(step) {
				t.Fatalf("%s cannot be selected", step)
			}
			golden(t, "attached-detail-"+name, dumpDetail(s.Screen(allRows)))
		})
	}
}

// TestAttachedAnyPlace: going back shows what was shown before.
func TestAttachedAnyPlace(t *testing.T) {
	r := attached(t)
	samePlaces(t, r, r.play(words.English), 17)
}

// TestAttachedSelect: every row that was seen can be selected, and is on the screen then.
func TestAttachedSelect(t *testing.T) {
	selectsSeen(t, attached(t).play(words.English), "web", "held", "crashloop", "no-image", "early")
}

// TestUnseen: the kubelet's own steps are one row, which opens to each step with the reason why it is not seen.
func TestUnseen(t *testing.T) {
	s := attached(t).play(words.English)
	s.SelectPodNamed("default", "web")
	s.SetFocus(screen.PaneMain)
	row := func(label string) screen.Row {
		t.Helper()
		for _, r := range s.Screen(allRows).Story().Rows {
			if r.Label == label {
				return r
			}
		}
		t.Fatalf("there is no row %q", label)
		return screen.Row{}
	}
	inside := row("inside the kubelet")
	if inside.Mark != screen.RowUnseen || !inside.Opens || inside.Open || !strings.Contains(inside.Error, "source to probe") {
		t.Fatalf("%+v", inside)
	}
	s.SelectRow(inside.ID)
	s.Open()
	stage := row("Kubelet.SyncPod")
	if stage.Depth != inside.Depth+1 || stage.Mark != screen.RowUnseen || stage.Open {
		t.Errorf("%+v", stage)
	}
	s.SelectRow(stage.ID)
	s.Open()
	step := row(probes.MustLoad().Step("sync.volumes").Title.En)
	if step.Step != "sync.volumes" || step.Mark != screen.RowUnseen || step.Error == "" || step.Depth != stage.Depth+1 {
		t.Errorf("%+v", step)
	}
	s.SelectRow(step.ID)
	d := s.Screen(allRows).Detail
	if d == nil || d.Step != "sync.volumes" || d.Error != "" || !strings.HasPrefix(d.Text, "Not seen here: ") {
		t.Errorf("detail %+v", d)
	}
}

// TestAttachedHold: the banner has the time that the caller's deadline leaves.
func TestAttachedHold(t *testing.T) {
	s := attached(t).play(words.English)
	s.seekPlace(t, place{"held", "cri.CreateContainer", probes.Held, 0})
	sc := s.Screen(allRows)
	if h := sc.Hold; h == nil || h.Timer != "caller" || h.Step != "cri.CreateContainer" || h.Left <= 0 {
		t.Errorf("banner %+v", h)
	}
	if row := sc.Story().Rows[sc.Story().Cursor]; row.Mark != screen.RowHeld || row.Left != sc.Hold.Left {
		t.Errorf("row %+v", row)
	}
	if !strings.Contains(sc.Detail.Hold, "Timer caller") {
		t.Errorf("to hold here: %s", sc.Detail.Hold)
	}
}

// agentScript gives a session events as an attached agent does.
type agentScript struct {
	t    *testing.T
	s    *State
	info *agentpb.InfoResponse
	seq  uint64
	pod  uint32 // of the events
}

func newAgentScript(t *testing.T, info *agentpb.InfoResponse) *agentScript {
	s := New(info, probes.MustLoad(), words.English)
	s.SetLink(screen.LinkReplay, "replay")
	s.Add(&agentpb.Batch{Pods: []*agentpb.Pod{{Id: 1, Namespace: "default", Name: "p", Uid: "u"}}})
	return &agentScript{t: t, s: s, info: info, pod: 1}
}

// seen plays one call or report. The line has the step, and then name=value. err= is the error with which the call
// ends, open leaves the call open, and after is how many seconds later it comes.
func (l *agentScript) seen(line string) {
	l.t.Helper()
	words := strings.Fields(line)
	e := &agentpb.Event{Pod: l.pod, Kind: agentpb.Kind_ENTER}
	if words[0] != "note" {
		e.Step = eventtest.Step(l.info, words[0])
	}
	fault, open := "", false
	for _, w := range words[1:] {
		name, value, _ := strings.Cut(w, "=")
		switch name {
		case "err":
			fault = value
		case "open":
			open = true
		case "after":
			var n uint64
			fmt.Sscan(value, &n)
			l.seq += n * 1000
		default:
			e.Fields = append(e.Fields, fieldOf(name, value))
		}
	}
	l.seq++
	e.Span = l.seq
	if words[0] == "note" {
		e.Kind, e.Step, e.Pod, e.Span = agentpb.Kind_NOTE, 0, 0, 0
	}
	l.put(e)
	if open || words[0] == "note" {
		return
	}
	l.seq++
	l.put(&agentpb.Event{Pod: l.pod, Kind: agentpb.Kind_EXIT, Step: e.Step, Span: e.Span, Error: fault, Duration: 1e6})
}

func fieldOf(name, value string) *agentpb.Field {
	var n int64
	switch _, err := fmt.Sscan(value, &n); {
	case value == "true" || value == "false":
		return eventtest.Field(name, value == "true")
	case err == nil && fmt.Sprint(n) == value:
		return eventtest.Field(name, n)
	case strings.HasPrefix(value, "["):
		return eventtest.Field(name, json.RawMessage(value))
	default:
		return eventtest.Field(name, strings.ReplaceAll(value, "_", " "))
	}
}

// put plays one event. Each number stands for a millisecond.
func (l *agentScript) put(e *agentpb.Event) {
	e.Seq, e.Mono, e.Time = l.seq, int64(l.seq)*1e6, 1e18+int64(l.seq)*1e6
	l.s.Add(eventtest.Batch(e))
}

// TestAttachedMarks: the state of a pod, by what was reported of it.
func TestAttachedMarks(t *testing.T) {
	const bound = `cluster.bound containers=["a"]`
	ready := []string{bound, "cri.RunPodSandbox", "reported.phase phase=Running", "reported.condition type=Ready status=True"}
	for name, c := range map[string]struct {
		events          []string
		word, line, why string
	}{
		"bound":          {[]string{bound}, "waiting", "", "has been bound to this node"},
		"the kubelet":    {[]string{bound, "cluster.kubelet known=true"}, "waiting", "", "the kubelet has known it"},
		"in a call":      {[]string{bound, "cri.RunPodSandbox open"}, "working", "", "creates its sandbox"},
		"a long call":    {[]string{bound, "cri.PullImage open", "cri.ImageStatus after=61"}, "stuck", "PullImage", "longer than usual"},
		"a look":         {append(ready, "cri.ContainerStatus open"), "running", "", "runs and is ready"},
		"nothing comes":  {[]string{bound, "cri.ImageStatus after=61"}, "stuck", "no call has come for it", "has been bound"},
		"a warning":      {[]string{bound, "reported.event type=Warning reason=FailedMount message=no_volume"}, "retrying", "FailedMount: no volume", "FailedMount: no volume"},
		"a call fails":   {[]string{bound, "cri.RunPodSandbox err=no_network"}, "retrying", "RunPodSandbox: no_network", "“RunPodSandbox” fails: no_network"},
		"twice":          {[]string{bound, "cri.RunPodSandbox err=a", "cri.RunPodSandbox err=b"}, "retrying", "RunPodSandbox: b", "Failed 2 times"},
		"and then works": {[]string{bound, "cri.RunPodSandbox err=a", "cri.RunPodSandbox"}, "waiting", "", "has had its sandbox"},
		"cannot start": {append(ready[:2:2], "reported.container container=a state=waiting reason=ImagePullBackOff message=no_such_image"),
			"retrying", "The image does not exist", "The image of container a is not in its registry"},
		"for long": {append(ready[:2:2], "reported.container container=a state=waiting reason=ImagePullBackOff", "cri.ImageStatus after=121"),
			"stuck", "a cannot be started: ImagePullBackOff", "Container a cannot be started"},
		"starts after all": {append(ready[:2:2], "reported.container container=a state=waiting reason=ImagePullBackOff", "reported.container container=a state=running"),
			"waiting", "", "has had its sandbox"},
		"another starts": {append(ready[:2:2], "reported.container container=a state=waiting reason=ImagePullBackOff", "reported.container container=b state=running"),
			"retrying", "a cannot be started: ImagePullBackOff", "Container a"},
		"crashes":        {append(ready, "reported.container container=a state=waiting reason=CrashLoopBackOff lastExitCode=3 lastReason=Error restartCount=4"), "retrying", "The program fails again and again", "exit code 3, its own sign of an error; it has been restarted 4 times"},
		"ended again":    {append(ready, "reported.container container=a state=terminated reason=Error exitCode=3 restartCount=2"), "retrying", "The program fails again and again", "it has been restarted 2 times"},
		"ready":          {ready, "running", "", "runs and is ready"},
		"not any more":   {append(ready, "reported.condition type=Ready status=False"), "waiting", "", "runs but is not ready"},
		"is stopped":     {append(ready, "cluster.deleting grace=5", "cri.StopContainer containerID=x open"), "terminating", "", "asked to end"},
		"two are":        {append(ready, "cri.StopContainer containerID=x open", "cri.StopContainer containerID=y"), "working", "", "asked to end"},
		"is deleted":     {append(ready, "cluster.deleting grace=5"), "terminating", "", "is being deleted"},
		"has finalizers": {append(ready, `cluster.deleting grace=5 finalizers=["a.io/x"]`), "terminating", "", "stays until its finalizers are removed: a.io/x."},
		"waits for them": {append(ready, `cluster.deleting grace=5 finalizers=["a.io/x"]`, `cluster.deleting grace=0 finalizers=["a.io/x","b.io/y"]`),
			"terminating", "waits for finalizers: a.io/x, b.io/y", "until its finalizers are removed: a.io/x, b.io/y."},
		"has none left": {append(ready, `cluster.deleting grace=0 finalizers=["a.io/x"]`, "cluster.deleting grace=0"), "terminating", "", "is being deleted"},
		"has succeeded": {append(ready, "reported.phase phase=Succeeded"), "done", "", "has ended: Succeeded"},
		"has ended":     {append(ready, "reported.condition type=Ready status=False reason=PodCompleted"), "done", "", "none of its containers"},
		"is gone":       {append(ready, "cluster.deleting grace=0", "cluster.gone"), "gone", "", "is gone"},
		"by force":      {append(ready, "cri.StopContainer containerID=x open", "cluster.gone"), "working", "", "asked to end"},
		"was there": {[]string{"cluster.sandbox podSandboxID=x ready=true", bound + " from=object", "reported.phase phase=Running from=object", "reported.condition type=Ready status=True from=object"},
			"running", "", "runs and is ready"},
		"was left over": {[]string{"cluster.sandbox podSandboxID=x ready=false"}, "gone", "", "a sandbox that has stopped"},
	} {
		t.Run(name, func(t *testing.T) {
			l := newAgentScript(t, attached(t).info)
			for _, line := range c.events {
				l.seen(line)
			}
			sc := l.s.Screen(allRows)
			check(t, sc, allRows)
			row := sc.Pods.Rows[0]
			if row.Word != c.word || row.Line != c.line || !strings.Contains(sc.Why.Text, c.why) {
				t.Errorf("%s, %q, why: %s", row.Word, row.Line, sc.Why.Text)
			}
			if sc.Why.Evidence == "" {
				t.Error("nothing shows why")
			}
			l.seen("note after=10")
			if later := l.s.Screen(allRows).Pods.Rows[0]; row.Mark <= life.Waiting && later.Word == row.Word && (later.For < row.For+10*time.Second || later.Left != 0) {
				t.Errorf("10 s later it is %s for %s, and was for %s: that does not count up", later.Word, later.For, row.For)
			}
		})
	}
}

// TestStateWords: behind the words of these states the list writes how long they have lasted. So each word says that
// the state goes on, not that something is to come.
func TestStateWords(t *testing.T) {
	states := []probes.Text{words.Text("stuck", "卡住"), noNodeWord}
	for _, w := range []probes.Text{life.Stuck.Text(), life.Retrying.Text(), life.Working.Text(), life.Waiting.Text(), endingWord, noNodeWord} {
		if slices.Contains(states, w) {
			continue
		}
		if !strings.HasSuffix(w.En, "ing") || !strings.HasSuffix(w.Zh, "中") {
			t.Errorf("%q, %q with a time behind it may be read as what is left", w.En, w.Zh)
		}
	}
}

// TestAttachedCallsAlone: without the API server and the kubelet's /pods, the calls alone make a story.
func TestAttachedCallsAlone(t *testing.T) {
	info := proto.CloneOf(attached(t).info)
	for _, s := range info.Steps {
		if about := probes.MustLoad().Step(s.Name); about != nil && about.Outside() && about.Seen != probes.ByRuntime {
			s.Abilities = []*agentpb.Ability{{HoldEnter: "no", HoldExit: "no", Unseen: &agentpb.Reason{Code: "nobody is asked"}}}
		}
	}
	info.Probes = info.Probes[:1]
	l := newAgentScript(t, info)
	for _, c := range []struct{ seen, word string }{
		{"cri.RunPodSandbox", "waiting"},
		{"cri.CreateContainer container=a", "waiting"},
		{"cri.StartContainer containerID=x", "running"},
		{"cri.ContainerStatus containerID=x", "running"},
		{"cri.StopPodSandbox podSandboxID=x", "terminating"},
		{"cri.RemovePodSandbox podSandboxID=x", "gone"},
	} {
		l.seen(c.seen)
		if row := l.s.Screen(allRows).Pods.Rows[0]; row.Word != c.word {
			t.Errorf("after %s it is %s, want %s", c.seen, row.Word, c.word)
		}
	}
	if h := l.s.Screen(allRows).Header; !strings.Contains(h.Blind, "API server") || !slices.Equal(h.Probes, []string{"cri"}) {
		t.Errorf("header %+v", h)
	}
}

// TestNote: the agent's notes about itself are shown in its own words.
func TestNote(t *testing.T) {
	l := newAgentScript(t, attached(t).info)
	l.seen("note text=the_runtime_was_restarted")
	l.s.SelectPod(0)
	sc := l.s.Screen(allRows)
	if last := sc.Story().Rows[len(sc.Story().Rows)-1]; last.Label != "the runtime was restarted" || last.Mark != screen.RowNoted {
		t.Errorf("row %+v", last)
	}
	l.s.SetMain(screen.MainEvents)
	if rows := l.s.Screen(allRows).Events().Rows; len(rows) != 1 || !strings.Contains(rows[0].Text, "the runtime was restarted") {
		t.Errorf("events %+v", rows)
	}
}
