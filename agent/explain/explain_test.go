package explain

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/explain/causes"
	"github.com/podstep/podstep/agent/explain/evidence"
	"github.com/podstep/podstep/agent/story/history"
	"github.com/podstep/podstep/agent/story/life"
	"github.com/podstep/podstep/agent/trace/tracetest"
	"github.com/podstep/podstep/agent/wire/eventtest"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/words"
)

const (
	woven    = "../../tui/state/testdata/lab.podstep"      // three minutes of a woven kubelet
	attached = "../../tui/state/testdata/attached.podstep" // a minute of calls and reports
)

// read returns the story of a recording.
func read(t testing.TB, file string) Story {
	t.Helper()
	info, batches, err := tracetest.Read(file)
	if err != nil {
		t.Fatal(err)
	}
	h := history.New(info, probes.MustLoad())
	s := Story{h, life.New(h)}
	for _, b := range batches {
		h.Add(b, s.Lives.Apply)
	}
	return s
}

// podNamed returns the last pod that came with this name.
func podNamed(t testing.TB, s Story, name string) int {
	t.Helper()
	for i := s.History.Pods() - 1; i >= 0; i-- {
		if e := s.History.Pod(i).Entity; e.Namespace == "default" && e.Name == name {
			return i
		}
	}
	t.Fatalf("there is no pod %s", name)
	return 0
}

// positionAfter is the position after an event, at its time.
func (s Story) positionAfter(pos int) Position {
	return Position{At: pos + 1, Now: s.Lives.At(pos + 1).Time}
}

// explained explains a pod by its story alone.
func (s Story) explained(pod int, at Position) *causes.Report {
	e := s.History.Pod(pod).Entity
	all := evidence.Snapshot{Name: evidence.Name{Namespace: e.Namespace, Name: e.Name, UID: e.UID}, Taken: time.Unix(0, s.History.Origin()+at.Now)}
	Add(&all, s, pod, at)
	return causes.Explain(&all)
}

// TestRecorded: somewhere in the recordings, a pod's story alone leads to the cause or the whereabouts that is wanted, with the
// words that are wanted, and an event that shows it.
func TestRecorded(t *testing.T) {
	for _, c := range []struct{ file, pod, id, text string }{
		{woven, "no-image", "where.pullQueue", "waits for its turn in the kubelet's queue"},
		{woven, "no-image", "where.waitsInCall", "its image is being pulled"},
		{woven, "no-image", "image.unreachable", "no connection to the registry"},
		{woven, "crashloop", "start.crashes", "exit code 1"},
		{woven, "held", "podstep.held", "before “RunPodSandbox”"},
		{woven, "missing", "volumes.configMapMissing", "no ConfigMap not-there"},
		{attached, "crashloop", "start.crashes", "restarted once"},
		{attached, "no-image", "image.unreachable", "no connection to the registry"},
		{attached, "held", "podstep.held", "before “RunPodSandbox”"},
	} {
		s := read(t, c.file)
		pod := podNamed(t, s, c.pod)
		if !slices.ContainsFunc(s.History.Pod(pod).Events.All, func(pos int) bool {
			r := s.explained(pod, s.positionAfter(pos))
			f := r.Main()
			return f.Cause.ID == c.id && strings.Contains(r.Summary(words.English), c.text) && len(f.Evidence) > 0
		}) {
			t.Errorf("%s: nowhere %s with %q", c.pod, c.id, c.text)
		}
	}
}

// TestEverywhere: at every place of the recordings, what is said of each pod has all its arguments in both languages, no
// character that a terminal would act on, and evidence from before that place. A pod in trouble has a cause.
func TestEverywhere(t *testing.T) {
	for _, file := range []string{woven, attached} {
		s := read(t, file)
		for pos := 0; pos < s.History.End(); pos += 37 {
			at := s.positionAfter(pos)
			for pod := 1; pod < s.History.Pods(); pod++ {
				if !s.Lives.At(at.At).Pod(pod).Known() {
					continue
				}
				r := s.explained(pod, at)
				if (r.State == life.Stuck || r.State == life.Retrying) && len(r.Findings) == 0 {
					t.Errorf("%s at %d: %s is %s without a cause", file, pos, r.Pod.Name, r.Word())
				}
				for _, l := range []words.Lang{words.English, words.Chinese} {
					if text := r.Summary(l); text == "" || strings.ContainsAny(text, "{}“”") && strings.Contains(text, "“”") || strings.IndexFunc(text, words.Unsafe) >= 0 {
						t.Errorf("%s at %d: %q", file, pos, text)
					}
				}
				whole(t, r.Whereabouts)
				for _, e := range r.Whereabouts.Evidence {
					if e.Seq == 0 || e.Seq > uint64(at.At) {
						t.Errorf("%s at %d: the evidence is event %d", file, pos, e.Seq)
					}
				}
			}
		}
	}
}

// whole checks that whereabouts have the arguments of its texts.
func whole(t *testing.T, f *causes.Finding) {
	t.Helper()
	for _, text := range []probes.Text{f.Cause.Title, f.Cause.Text} {
		for _, name := range slices.Concat(probes.Arguments(text.En), probes.Arguments(text.Zh)) {
			if f.Args[name] == "" {
				t.Errorf("%s has no argument %q: %v", f.Cause.ID, name, f.Args)
			}
		}
	}
}

// call is a call of a step by one pod, with its fields at both ends.
type call struct {
	step   string
	fields []*agentpb.Field
	err    string
	open   bool // it goes on
}

var field = eventtest.Field

// storyOf returns the story of one pod, a millisecond for each event, with an agent like that
// of a recording.
func storyOf(t *testing.T, info *agentpb.InfoResponse, calls []call) Story {
	t.Helper()
	h := history.New(info, probes.MustLoad())
	lives := life.New(h)
	b := &agentpb.Batch{Pods: []*agentpb.Pod{{Id: 1, Namespace: "default", Name: "web", Uid: "u"}}}
	add := func(e *agentpb.Event) {
		e.Seq = uint64(len(b.Events)) + 1
		e.Mono, e.Time, e.Pod = int64(e.Seq)*1e6, 1e18+int64(e.Seq)*1e6, 1
		b.Events = append(b.Events, eventtest.Encode(e))
	}
	for i, c := range calls {
		step := eventtest.Step(info, c.step)
		add(&agentpb.Event{Kind: agentpb.Kind_ENTER, Step: step, Span: uint64(i) + 1, Fields: c.fields})
		if !c.open {
			add(&agentpb.Event{Kind: agentpb.Kind_EXIT, Step: step, Span: uint64(i) + 1, Fields: c.fields, Error: c.err})
		}
	}
	h.Add(b, lives.Apply)
	return Story{h, lives}
}
