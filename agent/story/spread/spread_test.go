package spread

import (
	"math"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/story/history"
	"github.com/podstep/podstep/agent/trace/tracetest"
	"github.com/podstep/podstep/probes"
)

// recordings are those of other packages' tests: a woven kubelet, an unmodified one, a node in its first minutes.
var recordings = map[string]string{
	"woven": "../../../tui/state/testdata/lab.podstep", "attached": "../../../tui/state/testdata/attached.podstep", "node": "../../trace/testdata/node.podstep",
}

func read(tb testing.TB, path string) (*agentpb.InfoResponse, []*agentpb.Batch) {
	tb.Helper()
	info, batches, err := tracetest.Read(path)
	if err != nil {
		tb.Fatal(err)
	}
	return info, batches
}

// load reads a recording. It keeps at most limit bytes of its events.
func load(tb testing.TB, name string, limit int) (*history.History, *Spreads) {
	info, batches := read(tb, recordings[name])
	h := history.New(info, probes.MustLoad())
	h.SetLimit(limit)
	s := New(h, nil)
	for _, b := range batches {
		h.Add(b, s.Apply)
	}
	return h, s
}

// exactRow is a row of which all durations are kept.
type exactRow struct {
	times        []time.Duration
	errors, open int
}

// exactly works out from the calls of a history, as of a position, what a spread must say. A nil pod means all.
func exactly(h *history.History, at int, pod *int) map[history.StepID]*exactRow {
	out := map[history.StepID]*exactRow{}
	for i := range h.Pods() {
		if pod != nil && i != *pod {
			continue
		}
		for _, ref := range h.Pod(i).Spans.All {
			c := h.Call(ref, at)
			if c.Enter >= at || !counts(h, c.Span.Step) {
				continue
			}
			row := out[c.Span.Step]
			if row == nil {
				row = &exactRow{}
				out[c.Span.Step] = row
			}
			switch {
			case !c.Over(at):
				row.open++
			case c.Shape == history.Whole:
				row.times = append(row.times, c.Took(c.End))
				if c.Failed {
					row.errors++
				}
			case c.Shape == history.NoEnter && c.End > c.Start:
				row.times = append(row.times, c.Took(c.End))
			}
		}
	}
	for _, row := range out {
		slices.Sort(row.times)
	}
	return out
}

// TestAgainstCalls compares a spread with what the calls of a recording say, at many positions, for all pods and for
// each.
func TestAgainstCalls(t *testing.T) {
	for name := range recordings {
		t.Run(name, func(t *testing.T) {
			h, s := load(t, name, history.DefaultLimit)
			total := 0
			for i := range 12 {
				at := h.End() - i*h.End()/12 // backwards, so that each is worked out anew
				total += check(t, h, s.At(at).Rows(h, h.Last(), ByP99), exactly(h, at, nil))
				pod := i % h.Pods()
				check(t, h, s.OfPod(pod, at).Rows(h, h.Last(), BySum), exactly(h, at, &pod))
			}
			if total < 100 {
				t.Errorf("only %d calls were compared", total)
			}
		})
	}
}

func check(t *testing.T, h *history.History, rows []Row, want map[history.StepID]*exactRow) (calls int) {
	t.Helper()
	shown := map[history.StepID]bool{}
	for _, r := range rows {
		name, w := h.Step(r.Step).Name, want[r.Step]
		if w == nil {
			t.Errorf("%s is not in the recording", name)
			continue
		}
		shown[r.Step] = true
		calls += r.Calls
		if r.Calls != len(w.times) || r.Errors != w.errors || r.Open != w.open {
			t.Errorf("%s has %d calls, %d errors, %d open; want %d, %d, %d", name, r.Calls, r.Errors, r.Open, len(w.times), w.errors, w.open)
			continue
		}
		var sum time.Duration
		heat := [HeatBins]int{}
		for _, d := range w.times {
			sum += d
			heat[HeatBin(d)]++
		}
		if r.Sum != sum || r.Heat != heat || len(w.times) > 0 && (r.Max != w.times[len(w.times)-1] || r.Worst.Took != r.Max) {
			t.Errorf("%s took %v, %v at most; want %v of %v", name, r.Sum, r.Max, sum, w.times)
		}
		for q, got := range map[float64]time.Duration{0.5: r.P50, 0.9: r.P90, 0.99: r.P99} {
			if len(w.times) == 0 {
				continue
			}
			if exact := w.times[rank(q, len(w.times))-1]; math.Abs(float64(got-exact)) > float64(exact)*RelativeError {
				t.Errorf("quantile %v of %s is %v, want %v", q, name, got, exact)
			}
		}
		if c := h.Call(r.Worst.Span, h.End()); r.Calls > 0 && (c.Span == nil || c.Span.Pod != r.Worst.Pod || c.Span.Step != r.Step) {
			t.Errorf("the worst call of %s is %+v", name, r.Worst)
		}
	}
	for id, w := range want {
		if !shown[id] && (len(w.times) > 0 || w.open > 0) {
			t.Errorf("%s is missing", h.Step(id).Name)
		}
	}
	return calls
}

// TestGoingBack: whichever way one comes to a position, the rows there are those that were shown when it was the end.
// That is true even where the history has forgotten earlier events.
func TestGoingBack(t *testing.T) {
	for _, limit := range []int{history.DefaultLimit, 1 << 20} {
		info, batches := crowd(t, 60_000, 2)
		h := history.New(info, probes.MustLoad())
		h.SetLimit(limit)
		s := New(h, nil)
		then := map[int][]Row{}
		for i, b := range batches {
			h.Add(b, s.Apply)
			if i%11 == 0 {
				then[h.End()] = s.At(h.End()).Rows(h, 0, ByP99)
			}
		}
		if limit < history.DefaultLimit && h.First() == 0 {
			t.Fatal("nothing was forgotten")
		}
		var at []int
		for pos := range then {
			if pos >= h.First() {
				at = append(at, pos)
			}
		}
		slices.Sort(at)
		if len(at) < 5 {
			t.Fatalf("%d positions are kept", len(at))
		}
		for _, order := range []string{"back", "forth", "to and fro"} {
			for i := range at {
				pos := at[i]
				switch {
				case order == "back", order == "to and fro" && i%2 == 0:
					pos = at[len(at)-1-i]
				}
				if got := s.At(pos).Rows(h, 0, ByP99); !sameRows(got, then[pos]) {
					t.Fatalf("limit %d, going %s: at %d of %d to %d the rows differ", limit, order, pos, h.First(), h.End())
				}
			}
		}
	}
}

// sameRows compares rows, but for calls that go on: whether they are still known at the end depends on the history.
func sameRows(a, b []Row) bool {
	strip := func(rows []Row) (out []Row) {
		for _, r := range rows {
			if r.Longest, r.Open = (Call{}), 0; r.Calls > 0 {
				out = append(out, r)
			}
		}
		return out
	}
	return reflect.DeepEqual(strip(a), strip(b))
}

// TestOneByOne: the rows do not depend on how many events come at a time.
func TestOneByOne(t *testing.T) {
	for name, path := range recordings {
		info, batches := read(t, path)
		all, single := history.New(info, probes.MustLoad()), history.New(info, probes.MustLoad())
		atOnce, oneByOne := New(all, nil), New(single, nil)
		whole := &agentpb.Batch{}
		for _, b := range batches {
			whole.Pods, whole.Events = append(whole.Pods, b.Pods...), append(whole.Events, b.Events...)
			single.Add(&agentpb.Batch{Pods: b.Pods}, nil)
			for _, raw := range b.Events {
				single.AddEvent(raw, oneByOne.Apply)
				oneByOne.OfPod(single.Pods()-1, single.End())
			}
		}
		all.Add(whole, atOnce.Apply)
		end := all.End()
		if a, b := atOnce.At(end).Rows(all, 0, ByP99), oneByOne.At(end).Rows(single, 0, ByP99); len(a) == 0 || !reflect.DeepEqual(a, b) {
			t.Errorf("%s: the rows of all pods differ", name)
		}
		pod := all.Pods() - 1
		if a, b := atOnce.OfPod(pod, end).Rows(all, 0, ByP99), oneByOne.OfPod(pod, end).Rows(single, 0, ByP99); !reflect.DeepEqual(a, b) {
			t.Errorf("%s: the rows of a pod differ", name)
		}
	}
}

// crowd returns a stream of n events of many pods.
func crowd(tb testing.TB, n, replicas int) (*agentpb.InfoResponse, []*agentpb.Batch) {
	c, err := tracetest.NewCrowd(recordings["node"], replicas, time.Unix(1e9, 0), 1)
	if err != nil {
		tb.Fatal(err)
	}
	var out []*agentpb.Batch
	for ; n > 0; n -= 100 {
		b, err := c.Batch(min(n, 100))
		if err != nil {
			tb.Fatal(err)
		}
		out = append(out, b)
	}
	return c.Info, out
}
