package walk

import (
	"slices"
	"testing"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/agenttest"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/tui/tours"
)

// labInfo describes a lab's agent, which sees every step.
func labInfo() *agentpb.InfoResponse {
	info := agenttest.Info()
	info.Lab = true
	return info
}

// shortWalk has stops of each kind: actions, watched stops, and one at which a pod is held.
func shortWalk() *tours.Tour {
	return &tours.Tour{Name: "short", Pod: "default/hello", Stops: []tours.Stop{
		{Act: &tours.Action{Do: tours.Create, Manifest: "kind: Pod\nmetadata: {name: hello}"}},
		{Step: "sync.dirs", On: probes.Exit, Pod: "default/hello"},
		{Step: "cri.RunPodSandbox", On: probes.Enter, Pod: "default/hello", Hold: tours.HoldPod},
		{Act: &tours.Action{Do: tours.Delete, Object: "pod/default/hello"}},
		{Step: "sync.volumes", On: probes.Exit, Pod: "default/hello"},
	}}
}

func begin(t *testing.T, tour *tours.Tour, info *agentpb.InfoResponse) *Walk {
	t.Helper()
	w, _ := Begin(t.Context(), tour, Place{Info: info})
	return w
}

// TestNextHold: the place of the next hold is set early, past watched stops but never past an action.
func TestNextHold(t *testing.T) {
	w := begin(t, shortWalk(), labInfo())
	var got []int
	for i := range w.stops {
		got = append(got, w.nextHold(i))
	}
	if want := []int{-1, 2, 2, -1, -1}; !slices.Equal(got, want) {
		t.Errorf("places %v, want %v", got, want)
	}
}

// TestRecordedStops: what is recorded is found whatever its order, and each stop is the first time of its step.
func TestRecordedStops(t *testing.T) {
	tour := &tours.Tour{Name: "boot", Needs: tours.Needs{Recorded: true}, Stops: []tours.Stop{
		{Step: "loop.start", On: probes.Enter}, {Step: "gc.containers", On: probes.Exit},
	}}
	w := begin(t, tour, labInfo())
	for i, step := range []string{"gc.containers", "loop.start", "gc.containers"} {
		w.seen = append(w.seen, probes.Event{Seq: uint64(i + 1), Step: step, Kind: tour.Stops[(i+1)%2].On})
	}
	w.after = 2
	for i, want := range []uint64{2, 1} {
		if e := w.findEvent(w.stops[i]); e == nil || e.Seq != want {
			t.Errorf("stop %d is at the event %v, want that with the number %d", i+1, e, want)
		}
	}
	tour.Needs.Recorded = false
	if e := w.findEvent(w.stops[1]); e == nil || e.Seq != 3 {
		t.Errorf("of a pod that is made by the walk, the stop is at the event %v", e)
	}
}

// TestNodeStopsAreWatchedElsewhere: if the node may not stand still, a stop that would need that is only watched.
func TestNodeStopsAreWatchedElsewhere(t *testing.T) {
	info := labInfo()
	tour := shortWalk()
	for _, s := range info.Steps {
		if s.Name == tour.Stops[2].Step {
			s.HoldEnter = "no"
		}
	}
	if w := begin(t, tour, info); w.nextHold(1) != -1 {
		t.Error("a pod is to be held where it may not be")
	}
}

// TestWalkNamesFiles: the command on the card names the file that has the
// manifest of this stop, in the directory of the pages.
func TestWalkNamesFiles(t *testing.T) {
	all, err := tours.Load()
	if err != nil {
		t.Fatal(err)
	}
	w := begin(t, tours.Find(all, "image-pull"), labInfo())
	var got []string
	for _, s := range w.stops {
		if s.Act != nil {
			got = append(got, w.command(s))
		}
	}
	want := []string{"kubectl create -f image-pull.yaml", "kubectl patch pod typo -n default --type json --patch-file image-pull-9.yaml"}
	if !slices.Equal(got, want) {
		t.Errorf("commands %q, want %q", got, want)
	}
}
