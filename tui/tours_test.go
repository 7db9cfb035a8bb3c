//go:build sim || node

package tui_test

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/tui/tours"
)

// TestTours takes every walk that this node allows to its end, by keys alone, and deletes what the walk made.
// Nothing is left held or armed.
func TestTours(t *testing.T) {
	all, err := tours.Load()
	if err != nil {
		t.Fatal(err)
	}
	// A node that was short of memory refuses pods for some time after that.
	slices.SortStableFunc(all, func(a, b tours.Tour) int { return cmp.Compare(pressureOf(&a), pressureOf(&b)) })
	for i := range all {
		tour := &all[i]
		t.Run(tour.Name, func(t *testing.T) {
			if need := tour.Needs.Runtime; need != tours.Any && need != runtime {
				t.Skipf("it needs %s", need)
			}
			p := open(t, 200, 50, "--tour", tour.Name)
			p.Until("n begins")
			stops := stopsHere(tour)
			for i, stop := range stops {
				p.Press("n")
				p.arrive(i+1, len(stops))
				if holds(stop) {
					p.untilHeldOnce(stop)
				}
				if strings.Contains(p.Screen(), "a answers") {
					p.Press("a")
					p.UntilGone("a answers")
				}
			}
			p.Press("n")
			p.Until("n ends the walk")
			p.Press("n")
			p.UntilGone("n ends the walk")
			if leaves(stops) {
				p.Until("Delete what the walk made?")
				p.Press("Right", "Enter")
				p.UntilGone("Delete what the walk made?")
			}
			p.nothingLeft()
			p.Press("q")
			p.Usable()
			if pressureOf(tour) > 0 {
				waitUntil(t, "the node is short of nothing", func(context.Context) bool { return !p.lab.NodeShort() })
			}
		})
	}
}

// pressureOf returns 1 for a walk that makes the node short of something, and otherwise 0.
func pressureOf(tour *tours.Tour) int {
	if tour.Name == "eviction" {
		return 1
	}
	return 0
}

// leaves reports whether a walk leaves anything at its end.
func leaves(stops []*tours.Stop) bool {
	var all tours.Tour
	gone := map[string]bool{}
	for _, stop := range stops {
		if a := stop.Act; a != nil {
			all.Stops = append(all.Stops, *stop)
			gone[string(a.Do)+a.Object] = true
		}
	}
	return slices.ContainsFunc(all.Cleanup(), func(a tours.Action) bool { return !gone[string(a.Do)+a.Object] })
}

// stopsHere returns the stops that a walk has on this node.
func stopsHere(tour *tours.Tour) (stops []*tours.Stop) {
	for i := range tour.Stops {
		if stop := &tour.Stops[i]; stop.In(runtime) {
			stops = append(stops, stop)
		}
	}
	return stops
}

// holds reports whether a walk holds a pod at a stop here: only a simulated node may stand still.
func holds(stop *tours.Stop) bool {
	return stop.Hold == tours.HoldPod || stop.Hold == tours.HoldNode && runtime == tours.Sim
}

// untilHeldOnce waits until a pod is held at a stop, or was held. A node that stands still goes on by itself when
// its kubelet wants to kill the pod. The eviction manager kills the next pod every ten seconds.
func (p *place) untilHeldOnce(stop *tours.Stop) {
	p.t.Helper()
	p.UntilThat("a pod held", func(s string) bool {
		if strings.Contains(s, "HELD") {
			return true
		}
		return stop.Hold == tours.HoldNode && slices.ContainsFunc(p.lab.Recorded(), func(e probes.Event) bool {
			return e.Kind == probes.Released && e.Step == stop.Step && e.Fields["reason"] == agentpb.ReleasePodKilled
		})
	})
}

// arrive waits until a walk is at a stop and ready to go on.
func (p *place) arrive(at, stops int) {
	p.t.Helper()
	here := regexp.MustCompile(fmt.Sprintf(`Walk .*\b%d/%d\b`, at, stops))
	p.UntilThat(fmt.Sprintf("stop %d/%d", at, stops), func(s string) bool {
		return here.MatchString(s) && (strings.Contains(s, "n goes on") || strings.Contains(s, "n does it"))
	})
}
