package expected

import (
	"slices"
	"strings"
	"testing"

	"github.com/podstep/podstep/agent/story/history"
	"github.com/podstep/podstep/agent/story/life"
	"github.com/podstep/podstep/agent/story/outline"
	"github.com/podstep/podstep/agent/trace/tracetest"
	"github.com/podstep/podstep/probes"
)

func TestTurns(t *testing.T) {
	for k, turn := range turnsOf {
		if turn != probes.Turns[k] {
			t.Errorf("turn %d is %q, in the catalogue %q", k, turn, probes.Turns[k])
		}
	}
}

// learn returns what is usual after a recording.
func learn(t *testing.T, path string) *Usual {
	t.Helper()
	info, batches, err := tracetest.Read(path)
	if err != nil {
		t.Fatal(err)
	}
	h := history.New(info, probes.MustLoad())
	lives := life.New(h)
	o, u := outline.New(h, lives), New(h)
	o.Learnt = u.Learn
	for _, b := range batches {
		h.Add(b, func(r *history.Record) {
			lives.Apply(r)
			o.Take(r)
		})
	}
	return u
}

// TestUsual: the steps that are usual by the catalogue were seen in the recording, within the calls that the
// catalogue names.
func TestUsual(t *testing.T) {
	u := learn(t, "../../../tui/state/testdata/lab.podstep")
	fresh := New(u.h)
	for k := range fresh.kinds {
		for step, fam := range fresh.kinds[k] {
			if u.h.Role(step) == probes.RoleWorker {
				continue // the worker's loop never ends while its turns are learnt
			}
			got := u.kinds[k][step]
			for _, kid := range fam.kids {
				seen := 0
				for _, g := range got.kids {
					if g.step == kid.step {
						seen = g.seen
					}
				}
				if seen < 2 {
					t.Errorf("kind %d: %s in %s was not seen", k, u.h.Step(kid.step).Name, u.h.Step(step).Name)
				}
			}
		}
	}
}

// TestLearn: a call that is made more often than not is expected at its place.
func TestLearn(t *testing.T) {
	f := &family{}
	f.learn([]history.StepID{1, 3})
	f.learn([]history.StepID{1, 2, 3, 3})
	f.learn([]history.StepID{1, 3, 4})
	var likely []history.StepID
	for _, k := range f.kids {
		if f.likely(k) {
			likely = append(likely, k.step)
		}
	}
	if want := []history.StepID{1, 3}; !slices.Equal(likely, want) {
		t.Errorf("expected are %v, want %v", likely, want)
	}
	for range 10 * forgetAfter {
		f.learn([]history.StepID{5})
	}
	if i := slices.IndexFunc(f.kids, func(k kid) bool { return k.step == 5 }); i < 0 || !f.likely(f.kids[i]) {
		t.Error("what is always made now is not expected")
	}
	if f.n > 2*forgetAfter {
		t.Errorf("%d calls are remembered", f.n)
	}
}

// TestProgress: the calls that are expected are those that are missing.
func TestProgress(t *testing.T) {
	started := func(g *progress) {
		g.sandbox = true
		g.noteStart("a")
		g.noteEnd("a", false)
		g.noteStart("b")
		g.noteEnd("b", false)
	}
	for name, c := range map[string]struct {
		done                  func(*progress)
		creation, termination string
	}{
		"nothing":       {func(*progress) {}, "sandbox create:a start:a create:b start:b", ""},
		"a sandbox":     {func(g *progress) { g.sandbox = true }, "create:a start:a create:b start:b", "stopSandbox"},
		"one created":   {func(g *progress) { g.sandbox, g.created["a"] = true, true }, "start:a create:b start:b", "stopSandbox"},
		"all started":   {started, "", "stop:a stop:b stopSandbox"},
		"one is over":   {func(g *progress) { g.noteEnd("b", true); started(g) }, "", "stop:a stopSandbox"},
		"reported":      {func(g *progress) { g.reported("a", "running"); g.reported("b", "waiting") }, "create:b start:b", "stop:a stopSandbox"},
		"has been over": {func(g *progress) { g.reported("a", "terminated") }, "create:b start:b", "stopSandbox"},
		"stopped":       {func(g *progress) { g.stopped = true; started(g) }, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			list := func(calls func(*progress, func(probes.Role, string))) string {
				g := &progress{names: []string{"a", "b"}, created: map[string]bool{}, started: map[string]bool{}, ended: map[string]bool{}}
				c.done(g)
				var out []string
				calls(g, func(r probes.Role, container string) {
					out = append(out, strings.TrimSuffix(string(r)+":"+container, ":"))
				})
				return strings.Join(out, " ")
			}
			if got := list((*progress).creation); got != c.creation {
				t.Errorf("in its creation %q, want %q", got, c.creation)
			}
			if got := list((*progress).termination); got != c.termination {
				t.Errorf("in its termination %q, want %q", got, c.termination)
			}
		})
	}
}
