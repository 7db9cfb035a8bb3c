//go:build sim

package lab_test

import (
	"errors"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/podstep/podstep/agent/labtest"
	"github.com/podstep/podstep/agent/logstory"
	"github.com/podstep/podstep/agent/wire"
	"github.com/podstep/podstep/probes"
)

// TestSimLogs lives through the life of two pods, and compares what the log of the kubelet alone tells with what the
// hooks in the same kubelet saw: the steps of which the log has both ends are the same calls, in the same order, at
// the same time.
func TestSimLogs(t *testing.T) {
	l := labtest.StartSim(t, "--kubelet-v", "4")
	l.Create(labtest.BusyboxPod("web", "sleep 1000"))
	l.Create(labtest.BusyboxPod("ends", "exit 3"))
	l.UntilReady("web")
	l.UntilEvent("ends", "back-off", func(e probes.Event) bool {
		return e.Step == "worker.turn" && strings.Contains(e.Error, "CrashLoopBackOff")
	})
	file := filepath.Join(l.Dir, "logs", "kubelet.log")
	labtest.Eventually(t, "the back-off in the log", func() bool {
		out, _, _ := l.Podstep("why", "ends", "--log", file)
		return strings.Contains(out, "start.crashes")
	})
	l.Delete("web")
	l.UntilGone("web")
	compared := 0
	for _, pod := range []string{"web"} {
		seen, logged := callsOf(l.Story(pod)), callsOf(fromLog(t, file, pod))
		for step, calls := range logged {
			if !bothLogged(step) {
				continue
			}
			compared++
			if len(calls) != len(seen[step]) {
				t.Errorf("%s: the log has %d calls of %s, and the hooks saw %d", pod, len(calls), step, len(seen[step]))
				continue
			}
			for i, c := range calls {
				if s := seen[step][i]; c.end.Before(s.begin) || s.end.Before(c.begin) {
					t.Errorf("%s: by the log call %d of %s is from %v to %v, by the hooks from %v to %v", pod, i, step, c.begin, c.end, s.begin, s.end)
				}
			}
		}
	}
	if compared < 8 {
		t.Errorf("only %d steps were compared", compared)
	}
}

// bothLogged reports whether the log at -v=4 has lines for both ends of a step, and the kubelet comes there for
// nothing but the pod's own story.
func bothLogged(step string) bool {
	var begin, end bool
	for _, l := range probes.MustLoad().Step(step).Log {
		begin = begin || l.At == probes.LogEnter && l.V <= 4
		end = end || l.At == probes.LogExit && l.V <= 4
	}
	// A mount that is made again has a line for its end alone. The kubelet logs back-off for a container only if it
	// has one.
	return begin && end && step != "vol.domount" && step != "rt.backoff"
}

// timed is when a call began and ended.
type timed struct{ begin, end time.Time }

// callsOf returns the calls that have ended, by their steps, in the order of their beginnings.
func callsOf(events []probes.Event) map[string][]timed {
	out := map[string][]timed{}
	open := map[uint64]probes.Event{}
	for _, e := range events {
		switch {
		case e.Kind == probes.Enter:
			open[e.Span] = e
		case e.Kind == probes.Exit && open[e.Span].Span != 0:
			out[e.Step] = append(out[e.Step], timed{open[e.Span].Time, e.Time})
			delete(open, e.Span)
		}
	}
	for _, all := range out {
		slices.SortFunc(all, func(a, b timed) int { return a.begin.Compare(b.begin) })
	}
	return out
}

// fromLog returns the events of a pod that a log makes.
func fromLog(t *testing.T, file, pod string) (out []probes.Event) {
	t.Helper()
	s, err := logstory.Open([]string{file}, logstory.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	d := wire.NewDecoder(s.Header().Info)
	for {
		b, err := s.Next()
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		d.AddPods(b.Pods)
		for _, raw := range b.Events {
			if e := d.Event(raw); e.Pod != nil && e.Pod.Name == pod {
				out = append(out, e)
			}
		}
	}
}
