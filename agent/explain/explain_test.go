package explain

import (
	"bytes"
	"strings"
	"testing"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/story/history"
	"github.com/podstep/podstep/agent/story/life"
	"github.com/podstep/podstep/agent/trace/tracetest"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/words"
)

const (
	woven    = "../../tui/state/testdata/lab.podstep"      // three minutes of a woven kubelet
	attached = "../../tui/state/testdata/attached.podstep" // a minute of calls and reports
)

// read returns the story of a recording after change has edited its events.
func read(t testing.TB, file string, change func(raw []byte) []byte) Story {
	t.Helper()
	info, batches, err := tracetest.Read(file)
	if err != nil {
		t.Fatal(err)
	}
	h := history.New(info, probes.MustLoad())
	lives := life.New(h)
	for _, b := range batches {
		changed := &agentpb.Batch{Pods: b.Pods}
		for _, raw := range b.Events {
			changed.Events = append(changed.Events, change(raw))
		}
		h.Add(changed, lives.Apply)
	}
	return Story{h, lives}
}

func asIs(raw []byte) []byte { return raw }

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

// TestRecorded: each of the findings that are put together from several events occurs somewhere
// in the stories of the recordings' pods.
func TestRecorded(t *testing.T) {
	for _, c := range []struct {
		file, pod, text string
		code            Code
	}{
		{woven, "no-image", "waits for its turn in the kubelet's queue", ImageQueue},
		{woven, "no-image", "its image is being pulled", CallFor},
		{woven, "no-image", "its image cannot be pulled", TurnRetrying},
		{woven, "crashloop", "Its last exit code was 1 (Error).", ContainerCrashLoop},
		{woven, "held", "you hold it before “RunPodSandbox”", HeldBefore},
		{woven, "missing", `configmap "not-there" not found`, CallFor},
		{attached, "crashloop", "not for the first time", ContainerRestarts},
		{attached, "no-image", "its image cannot be pulled", ContainerBlocked},
		{attached, "held", "the runtime has not", HeldBeforeCall},
	} {
		s := read(t, c.file, asIs)
		pod := podNamed(t, s, c.pod)
		found := false
		for _, pos := range s.History.Pod(pod).Events.All {
			f := Findings(s, pod, s.positionAfter(pos))[0]
			if found = f.Code == c.code && strings.Contains(f.Text(words.English), c.text) && len(f.Evidence) > 0; found {
				break
			}
		}
		if !found {
			t.Errorf("%s: nowhere %s with %q", c.pod, c.code, c.text)
		}
	}
}

// TestVolumes: the reason is in what the volume manager met, not in SyncPod.
func TestVolumes(t *testing.T) {
	s := read(t, woven, asIs)
	pod := podNamed(t, s, "missing")
	for _, pos := range []int{3999, s.History.End() - 1} {
		f := Findings(s, pod, s.positionAfter(pos))[0]
		if len(f.Evidence) == 0 || !strings.Contains(f.Text(words.English), `configmap "not-there" not found`) {
			t.Fatalf("at %d: %+v", pos, f)
		}
		if e, _ := s.History.Event(f.Evidence[0].Pos); e.Seq != f.Evidence[0].Seq || e.Error == "" && e.Fields["eventErr"] == nil {
			t.Errorf("at %d: the evidence is %+v", pos, e)
		}
	}
}

// TestUnready: web's health probes fail once their results are inverted.
func TestUnready(t *testing.T) {
	for _, turned := range []bool{true, false} {
		s := read(t, woven, func(raw []byte) []byte {
			if turned {
				return bytes.ReplaceAll(raw, []byte("Success"), []byte("Failure"))
			}
			return raw
		})
		c := newCheck(s, podNamed(t, s, "web"), s.positionAfter(s.History.End()-1))
		running := *c.p // it has been deleted by then
		running.Phase = life.Running
		c.p, c.state = &running, life.Waiting
		f := probeFails(c)
		if (f != nil) != turned {
			t.Fatalf("its results are turned round: %t; found %+v", turned, f)
		}
		if turned && !strings.Contains(f.Text(words.English), "not ready: the readiness probe of container") {
			t.Errorf("%q", f.Text(words.English))
		}
	}
}

// TestEverywhere: at every place of the recordings each pod has a finding, whose
// evidence is an event before that place, and whose texts have all their
// arguments and nothing that a terminal would act on.
func TestEverywhere(t *testing.T) {
	for _, file := range []string{woven, attached} {
		s := read(t, file, asIs)
		for pos := 0; pos < s.History.End(); pos += 11 {
			at := s.positionAfter(pos)
			for pod := range s.History.Pods() {
				fs := Findings(s, pod, at)
				if len(fs) == 0 {
					t.Fatalf("%s at %d: nothing is found of pod %d", file, pos, pod)
				}
				whole(t, &fs[0])
				for _, e := range fs[0].Evidence {
					if e.Pos >= at.At || e.Text(words.English) == "" {
						t.Fatalf("at %d the evidence is %+v", pos, e)
					}
				}
				if f := Trouble(s, pod, at); f != nil {
					whole(t, f)
					if f.Brief(words.English) == "" || f.State != fs[0].State {
						t.Fatalf("at %d, %s: %+v in a list, %+v else", pos, f.Code, f, fs[0])
					}
				}
			}
		}
	}
}

// whole checks the texts of a finding.
func whole(t *testing.T, f *Finding) {
	t.Helper()
	for _, p := range append([]Phrase{f.Phrase}, f.More...) {
		complete(t, p)
	}
	for _, l := range []words.Lang{words.English, words.Chinese} {
		for _, text := range []string{f.Text(l), f.Brief(l)} {
			if i := strings.IndexFunc(text, words.Unsafe); i >= 0 {
				t.Fatalf("%s has an unsafe character: %q", f.Code, text)
			}
		}
	}
}

// complete checks that a phrase has the arguments that its texts need.
func complete(t *testing.T, p Phrase) {
	t.Helper()
	e := table()[p.Code]
	for _, name := range arguments(e.Text.En, e.Brief.En) {
		v, ok := p.Args[name]
		if !ok {
			t.Fatalf("%s misses the argument %q: %v", p.Code, name, p.Args)
		}
		if inner, ok := v.(Phrase); ok {
			complete(t, inner)
		}
	}
}
