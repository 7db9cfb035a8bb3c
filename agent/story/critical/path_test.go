package critical

import (
	"cmp"
	"slices"
	"testing"

	"github.com/podstep/podstep/agent/story/history"
	"github.com/podstep/podstep/agent/story/life"
	"github.com/podstep/podstep/agent/story/outline"
	"github.com/podstep/podstep/agent/trace/tracetest"
	"github.com/podstep/podstep/probes"
)

// TestPath: the outermost calls of a path follow one another, and the path begins near the beginning of the pod.
func TestPath(t *testing.T) {
	info, batches, err := tracetest.Read("../../../tui/state/testdata/lab.podstep")
	if err != nil {
		t.Fatal(err)
	}
	h := history.New(info, probes.MustLoad())
	lives := life.New(h)
	o := outline.New(h, lives)
	for _, b := range batches {
		h.Add(b, func(r *history.Record) {
			lives.Apply(r)
			o.Take(r)
		})
	}
	at, now := h.End(), lives.Now().Time
	for i := 1; i < o.Pods(); i++ {
		p := o.Pod(i)
		path := Path(h, o, p, at, now)
		var outer []*history.Span
		for ref := range path {
			sp := h.Span(ref)
			if sp.Pod != i || o.IsLife(sp.Step) {
				t.Errorf("%s: %s is on the path", p.Entity.Name, h.Step(sp.Step).Name)
			}
			if !path[sp.Parent] {
				outer = append(outer, sp)
			}
		}
		slices.SortFunc(outer, func(a, b *history.Span) int { return cmp.Compare(a.Start, b.Start) })
		end := End(p, at, now)
		for k, sp := range outer {
			if sp.Start > end {
				t.Errorf("%s: %s began after the creation", p.Entity.Name, h.Step(sp.Step).Name)
			}
			if k > 0 && outer[k-1].End > sp.Start {
				t.Errorf("%s: %s and %s overlap", p.Entity.Name, h.Step(outer[k-1].Step).Name, h.Step(sp.Step).Name)
			}
		}
		if len(outer) == 0 {
			t.Errorf("%s: no call is on the path", p.Entity.Name)
		}
	}
}
