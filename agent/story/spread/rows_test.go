package spread

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/agenttest"
	"github.com/podstep/podstep/agent/story/history"
	"github.com/podstep/podstep/agent/wire/eventtest"
	"github.com/podstep/podstep/probes"
)

var update = flag.Bool("update", false, "write the golden files anew")

// TestGolden: what the recordings say of each step.
func TestGolden(t *testing.T) {
	for name := range recordings {
		h, s := load(t, name, history.DefaultLimit)
		var b strings.Builder
		for _, at := range []int{h.End() / 3, h.End()} {
			spread := s.At(at)
			fmt.Fprintf(&b, "at %d, seen %v\n", at, spread.Seen(0))
			for _, r := range spread.Rows(h, 0, BySum) {
				fmt.Fprintf(&b, "%s calls %d errors %d %.2f a minute, p50 %v p90 %v p99 %v max %v sum %v share %.4f, open %d longest %v, worst %s, heat %v\n", h.Step(r.Step).Name,
					r.Calls, r.Errors, r.PerMinute, r.P50, r.P90, r.P99, r.Max, r.Sum, r.Share, r.Open, r.Longest.Took, h.Pod(r.Worst.Pod).Entity.NamespacedName(), r.Heat)
			}
		}
		path := filepath.Join("testdata", name+".txt")
		if *update {
			if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if b.String() != string(want) {
			t.Errorf("%s has changed (go test ./agent/story/spread -update, then look at the difference)", path)
		}
	}
}

// stepsOf makes a history of an agent that has some steps, by their numbers from 1 on.
func stepsOf(names ...string) (*history.History, *Spreads) {
	info := agenttest.Info()
	info.Steps = nil
	for _, name := range names {
		info.Steps = append(info.Steps, &agentpb.Step{Name: name})
	}
	h := history.New(info, probes.MustLoad())
	return h, New(h, nil)
}

// happen adds events of pod 1, each a second after the one before.
func happen(h *history.History, s *Spreads, events ...*agentpb.Event) {
	for _, e := range events {
		e.Seq = uint64(h.End() + 1)
		e.Pod, e.Mono = 1, int64(e.Seq)*1e9
		e.Time = 1e18 + e.Mono
		h.AddEvent(eventtest.Encode(e), s.Apply)
	}
}

// TestRows: the time of a hold is not the call's; calls that go on are counted apart; a call of which one end was not
// seen does not count.
func TestRows(t *testing.T) {
	h, s := stepsOf("sync.volumes", "cri.RunPodSandbox", "worker.loop")
	const enter, exit = agentpb.Kind_ENTER, agentpb.Kind_EXIT
	happen(h, s,
		&agentpb.Event{Kind: enter, Step: 3, Span: 1}, // a whole life
		&agentpb.Event{Kind: enter, Step: 1, Span: 2, Parent: 1},
		&agentpb.Event{Kind: agentpb.Kind_HOLD, Step: 1, Span: 2},
		&agentpb.Event{Kind: agentpb.Kind_RELEASE, Step: 1, Span: 2},
		&agentpb.Event{Kind: exit, Step: 1, Span: 2, Error: "no"},
		&agentpb.Event{Kind: enter, Step: 2, Span: 3},
		&agentpb.Event{Kind: enter, Step: 2, Span: 4},
		&agentpb.Event{Kind: exit, Step: 2, Span: 5},                // it has no duration
		&agentpb.Event{Kind: exit, Step: 1, Span: 6, Duration: 5e8}, // its beginning was not seen
		&agentpb.Event{Kind: exit, Step: 2, Span: 4},
		&agentpb.Event{Kind: exit, Step: 2, Span: 4}, // once more
	)
	rows := s.At(h.End()).Rows(h, 21e9, ByErrors)
	if len(rows) != 2 {
		t.Fatalf("%d rows", len(rows))
	}
	volumes, sandbox := rows[0], rows[1]
	if volumes.Calls != 2 || volumes.Errors != 1 || volumes.Max != 2*time.Second || volumes.Sum != 2500*time.Millisecond || volumes.Open != 0 || volumes.PerMinute != 6 || volumes.Share != 0.125 {
		t.Errorf("%+v", volumes)
	}
	if sandbox.Calls != 1 || sandbox.Max != 3*time.Second || sandbox.Open != 1 || sandbox.Longest.Took != 15*time.Second || h.Span(sandbox.Longest.Span).ID != 3 {
		t.Errorf("%+v", sandbox)
	}
	if early := s.At(3).Rows(h, 5e9, BySum); len(early) != 1 || early[0].Calls != 0 || early[0].Open != 1 || early[0].Longest.Took != time.Second {
		t.Errorf("while the first call is held: %+v", early)
	}
}

// TestAgentGone: no call goes on of an agent that is gone.
func TestAgentGone(t *testing.T) {
	h, s := stepsOf("sync.volumes")
	happen(h, s, &agentpb.Event{Kind: agentpb.Kind_ENTER, Step: 1, Span: 1})
	if rows := s.At(h.End()).Rows(h, 0, ByP99); len(rows) != 1 || rows[0].Open != 1 {
		t.Fatalf("%+v", rows)
	}
	later := agenttest.Info()
	later.Pid, later.Steps = h.Epoch().Info.Pid+1, h.Epoch().Info.Steps
	if !h.SetInfo(later) {
		t.Fatal("it is the same agent")
	}
	happen(h, s, &agentpb.Event{Kind: agentpb.Kind_ENTER, Step: 1, Span: 7})
	if rows := s.At(h.End()).Rows(h, 0, ByP99); len(rows) != 1 || rows[0].Open != 1 || h.Span(rows[0].Longest.Span).Enter != 1 {
		t.Errorf("%+v", rows)
	}
}

// TestOpenIsBounded: calls whose ends never come cost bounded memory.
func TestOpenIsBounded(t *testing.T) {
	h, s := stepsOf("sync.volumes")
	for i := range maxOpen + 100 {
		happen(h, s, &agentpb.Event{Kind: agentpb.Kind_ENTER, Step: 1, Span: uint64(i + 1)})
	}
	rows := s.At(h.End()).Rows(h, 0, ByP99)
	if len(rows) != 1 || rows[0].Open != maxOpen || h.Span(rows[0].Longest.Span).Enter != 100 {
		t.Errorf("%+v", rows)
	}
}

// TestWanted: only the calls whose ends are wanted count.
func TestWanted(t *testing.T) {
	info, batches := read(t, recordings["woven"])
	h := history.New(info, probes.MustLoad())
	s := New(h, func(r *history.Record) bool { return r.Header.HasError })
	for _, b := range batches {
		h.Add(b, s.Apply)
	}
	rows := s.At(h.End()).Rows(h, 0, ByErrors)
	if len(rows) == 0 {
		t.Fatal("there is no failed call")
	}
	for _, r := range rows {
		if r.Calls != r.Errors || r.Open != 0 {
			t.Errorf("%+v", r)
		}
	}
}

func TestOrders(t *testing.T) {
	h, s := load(t, "woven", history.DefaultLimit)
	for _, order := range Orders {
		rows := s.At(h.End()).Rows(h, 0, order)
		for i := 1; i < len(rows); i++ {
			if order.of(&rows[i]) > order.of(&rows[i-1]) {
				t.Errorf("by %s, row %d is above row %d", order, i-1, i)
			}
		}
	}
}

// BenchmarkRows measures what a frame asks for, after 100 new events.
func BenchmarkRows(b *testing.B) {
	for _, n := range []int{1_000, 1_000_000} {
		for _, of := range []string{"all", "pod"} {
			b.Run(fmt.Sprintf("events=%d/%s", n, of), func(b *testing.B) {
				info, batches := crowd(b, n+100_000, 20)
				h := history.New(info, probes.MustLoad())
				s := New(h, nil)
				for i := range n / 100 {
					h.Add(batches[i], s.Apply)
				}
				rest := batches[n/100:]
				s.OfPod(1, h.End())
				b.ResetTimer()
				for i := range b.N {
					b.StopTimer()
					h.Add(rest[i%len(rest)], s.Apply)
					b.StartTimer()
					if of == "pod" {
						s.OfPod(1, h.End()).Rows(h, h.Last(), ByP99)
					} else {
						s.At(h.End()).Rows(h, h.Last(), ByP99)
					}
				}
			})
		}
	}
}
