//go:build node

package main

import (
	"bytes"
	"encoding/json"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/labtest"
	"github.com/podstep/podstep/probes"
)

// tracing is a podstep trace command that runs.
type tracing struct {
	t         *testing.T
	cmd       *exec.Cmd
	out, errs bytes.Buffer
}

// trace starts podstep trace and returns when the agent has it as a subscriber.
func trace(t *testing.T, l *labtest.Lab, args ...string) *tracing {
	t.Helper()
	before := subscribers(t, l)
	tr := &tracing{t: t, cmd: l.PodstepCmd(append([]string{"trace", "-o", "json"}, args...)...)}
	tr.cmd.Stdout, tr.cmd.Stderr = &tr.out, &tr.errs
	if err := tr.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tr.cmd.Process.Kill() })
	for end := time.Now().Add(labtest.Patience); subscribers(t, l) <= before; {
		if time.Now().After(end) {
			t.Fatal("podstep trace does not subscribe")
		}
	}
	return tr
}

func subscribers(t *testing.T, l *labtest.Lab) int32 {
	t.Helper()
	return stats(t, l).Subscribers
}

func stats(t *testing.T, l *labtest.Lab) *agentpb.StatsResponse {
	t.Helper()
	c := l.Agent()
	defer c.Close()
	s, err := c.Stats(l.Context(), &agentpb.StatsRequest{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// end waits until the trace has come to its end, and returns its events.
func (tr *tracing) end() []probes.Event {
	tr.t.Helper()
	if err := tr.cmd.Wait(); err != nil {
		tr.t.Fatalf("%v: %v: %s", tr.cmd.Args, err, tr.errs.String())
	}
	return parse(tr.t, tr.out.String())
}

// parse reads what podstep trace -o json printed.
func parse(t *testing.T, text string) (events []probes.Event) {
	t.Helper()
	for line := range strings.Lines(text) {
		var e probes.Event
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatalf("podstep printed %q: %v", line, err)
		}
		events = append(events, e)
	}
	return events
}

// eventsOf returns the events of one pod. An earlier pod may have had its name.
func eventsOf(uid string, events []probes.Event) []probes.Event {
	return slices.DeleteFunc(slices.Clone(events), func(e probes.Event) bool { return e.Pod == nil || e.Pod.UID != uid })
}

// untilEvent follows the story of one pod until is reports true. An earlier pod may have had its name.
func untilEvent(l *labtest.Lab, pod *corev1.Pod, what string, is func(probes.Event) bool) []probes.Event {
	uid := string(pod.UID)
	return eventsOf(uid, l.UntilEvent(pod.Name, what, func(e probes.Event) bool {
		return e.Pod != nil && e.Pod.UID == uid && is(e)
	}))
}

// untilOver follows a pod's story until its source has removed the pod, its worker has ended, and the kubelet does
// nothing about it any more.
func untilOver(l *labtest.Lab, pod *corev1.Pod) []probes.Event {
	removed, ended := false, false
	open := map[uint64]bool{}
	return untilEvent(l, pod, "end", func(e probes.Event) bool {
		switch e.Kind {
		case probes.Enter:
			open[e.Span] = true
		case probes.Exit:
			delete(open, e.Span)
			removed = removed || e.Step == "loop.remove"
			ended = ended || e.Step == "worker.loop"
		}
		return removed && ended && len(open) == 0
	})
}

// same checks that two readers saw the same story, though one may have seen
// more of its end.
func same(t *testing.T, a, b []probes.Event) {
	t.Helper()
	if len(a) == 0 || len(b) == 0 {
		t.Errorf("one saw %d events, the other %d", len(a), len(b))
	}
	for i := range min(len(a), len(b)) {
		if x, y := a[i], b[i]; x.Seq != y.Seq || x.Step != y.Step || x.Kind != y.Kind {
			t.Errorf("one saw %s of %s at %d where the other saw %s of %s at %d", x.Kind, x.Step, x.Seq, y.Kind, y.Step, y.Seq)
			return
		}
	}
}

// podLine is what podstep pods -o json prints of a pod.
type podLine struct {
	Name, UID, Phase, State string
}

// podLines returns the pods that have a name or match a glob; none while there is none.
func podLines(t *testing.T, l *labtest.Lab, glob string) (pods []podLine) {
	t.Helper()
	out, stderr, code := l.Podstep("pods", glob, "-o", "json")
	if code != 0 && strings.Contains(stderr, "no pod "+glob) {
		return nil
	}
	if err := json.Unmarshal([]byte(out), &pods); err != nil {
		t.Fatalf("podstep pods %s: exit code %d: %s: %v", glob, code, stderr, err)
	}
	return pods
}
