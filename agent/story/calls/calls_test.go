package calls

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/podstep/podstep/probes"
)

// taken writes down what a stream passes to it.
type taken struct {
	lines []string
	calls []*Call
}

func (t *taken) Began(*Call) {}
func (t *taken) Ended(c *Call) error {
	t.calls = append(t.calls, c)
	line := fmt.Sprintf("%s %dms", c.Step, c.Took().Milliseconds())
	if c.Up != nil {
		line += " in " + c.Up.Step
	}
	if c.Caller != nil {
		line += fmt.Sprintf(" by %d", c.Caller.Span)
	}
	if c.Asked != nil {
		line += fmt.Sprintf(" asked by %d", c.Asked.Span)
	}
	if c.Held > 0 {
		line += fmt.Sprintf(" held %dms", c.Held.Milliseconds())
	}
	if c.NoEnter {
		line += " begin unseen"
	}
	if c.NoExit {
		line += " end unseen"
	}
	t.lines = append(t.lines, line)
	return nil
}

func (t *taken) Held(c *Call, h *Hold) error {
	t.lines = append(t.lines, fmt.Sprintf("held on %s of %s %dms", h.On, c.Step, h.Length.Milliseconds()))
	return nil
}

func (t *taken) Marked(e *probes.Event) error {
	t.lines = append(t.lines, "mark "+string(e.Kind))
	return nil
}

var web = &probes.Pod{Namespace: "default", Name: "web", UID: "u"}

// eventAt makes an event at a millisecond.
func eventAt(ms int, kind probes.Kind, step string, span, parent uint64) *probes.Event {
	d := time.Duration(ms) * time.Millisecond
	return &probes.Event{Kind: kind, Step: step, Span: span, Parent: parent, Pod: web, Time: time.Unix(1000, 0).Add(d), Mono: int64(d), Goroutine: "worker"}
}

func on(e *probes.Event, side string) *probes.Event {
	e.Fields = map[string]any{"on": side}
	return e
}

func TestCalls(t *testing.T) {
	for _, c := range []struct {
		name   string
		events []*probes.Event
		want   []string
	}{
		{"nested", []*probes.Event{
			eventAt(0, probes.Enter, "a", 1, 0), eventAt(1, probes.Enter, "b", 2, 1), eventAt(3, probes.Exit, "b", 2, 1), eventAt(5, probes.Exit, "a", 1, 0),
		}, []string{"b 2ms in a", "a 5ms"}},
		{"a call that its caller did not wait for", []*probes.Event{
			eventAt(0, probes.Enter, "a", 1, 0), eventAt(1, probes.Exit, "a", 1, 0), eventAt(2, probes.Enter, "b", 2, 1), eventAt(9, probes.Exit, "b", 2, 1),
		}, []string{"a 1ms", "b 7ms by 1"}},
		{"a call that outlives its caller", []*probes.Event{
			eventAt(0, probes.Enter, "a", 1, 0), eventAt(1, probes.Enter, "b", 2, 1), eventAt(2, probes.Exit, "a", 1, 0), eventAt(9, probes.Exit, "b", 2, 1),
		}, []string{"a 2ms", "b 8ms by 1"}},
		{"held on entry: the calls around it are held too", []*probes.Event{
			eventAt(0, probes.Enter, "a", 1, 0), eventAt(1, probes.Enter, "b", 2, 1), on(eventAt(1, probes.Held, "b", 2, 0), "enter"), eventAt(6, probes.Released, "b", 2, 0),
			eventAt(7, probes.Exit, "b", 2, 1), eventAt(8, probes.Exit, "a", 1, 0),
		}, []string{"b 6ms in a held 5ms", "a 8ms held 5ms"}},
		{"held on exit: after the call, in the one around it", []*probes.Event{
			eventAt(0, probes.Enter, "a", 1, 0), eventAt(1, probes.Enter, "b", 2, 1), eventAt(2, probes.Exit, "b", 2, 1), on(eventAt(2, probes.Held, "b", 2, 0), "exit"),
			eventAt(6, probes.Released, "b", 2, 0), eventAt(8, probes.Exit, "a", 1, 0),
		}, []string{"b 1ms in a", "held on exit of b 4ms", "a 8ms held 4ms"}},
		{"held as the stream ends", []*probes.Event{
			eventAt(0, probes.Enter, "a", 1, 0), on(eventAt(1, probes.Held, "a", 1, 0), "enter"), eventAt(4, probes.Note, "", 0, 0),
		}, []string{"mark note", "a 4ms held 3ms end unseen"}},
		{"began before the stream", []*probes.Event{
			func() *probes.Event { e := eventAt(9, probes.Exit, "a", 1, 0); e.DurationNs = 4e6; return e }(),
		}, []string{"a 4ms begin unseen"}},
		{"an update, and the turn that it is for", []*probes.Event{
			eventAt(0, probes.Enter, "worker.update", 1, 0), eventAt(1, probes.Exit, "worker.update", 1, 0),
			eventAt(2, probes.Enter, "worker.start", 2, 0), eventAt(3, probes.Exit, "worker.start", 2, 0),
			eventAt(4, probes.Enter, "worker.turn", 3, 0), eventAt(5, probes.Exit, "worker.turn", 3, 0),
			eventAt(6, probes.Enter, "worker.start", 4, 0), eventAt(7, probes.Exit, "worker.start", 4, 0),
			eventAt(8, probes.Enter, "worker.turn", 5, 0), eventAt(9, probes.Exit, "worker.turn", 5, 0),
		}, []string{"worker.update 1ms", "worker.start 1ms", "worker.turn 1ms asked by 1", "worker.start 1ms", "worker.turn 1ms"}},
		{"still going on: the innermost ends first", []*probes.Event{
			eventAt(0, probes.Enter, "a", 1, 0), eventAt(1, probes.Enter, "b", 2, 1), eventAt(3, probes.Note, "", 0, 0),
		}, []string{"mark note", "b 2ms in a end unseen", "a 3ms end unseen"}},
	} {
		var got taken
		s := New(&got, probes.MustLoad())
		for _, e := range c.events {
			if err := s.Add(e); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got.lines, c.want) {
			t.Errorf("%s:\n%q\nwant\n%q", c.name, got.lines, c.want)
		}
	}
}

// TestBounded: calls whose end never comes do not make a stream grow.
func TestBounded(t *testing.T) {
	var got taken
	s := New(&got, probes.MustLoad())
	const n = 3 * mostOpen
	for i := range n {
		if err := s.Add(eventAt(i, probes.Enter, "a", uint64(i+1), 0)); err != nil {
			t.Fatal(err)
		}
	}
	if len(s.open) > mostOpen || len(s.order) > 3*mostOpen || len(s.ended) > mostEnded {
		t.Errorf("%d open, %d in order, %d ended", len(s.open), len(s.order), len(s.ended))
	}
	if err := s.Close(); err != nil || len(got.calls) != n {
		t.Errorf("%d of %d calls were given: %v", len(got.calls), n, err)
	}
}
