package logstory

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/podstep/podstep/probes"
)

// TestMinors: unmodified kubelets of other minors, at -v=4, show the same steps of a pod's life as the one of the
// catalogue. lost are those that they do not have, or write no line at.
func TestMinors(t *testing.T) {
	_, all := story(t, recorded, "testdata/v4.log", "testdata/v4-containerd.log")
	want := stepsOf(all, "web")
	for _, step := range []string{"probe.probe", "loop.probe", "cri.RemovePodSandbox"} {
		delete(want, step) // the pods of the other logs have no health probes, and the logs end before garbage collection
	}
	for minor, lost := range map[string][]string{
		"v1.31": {"rt.sandboxready", "admit.topology"},
		"v1.37": {},
	} {
		t.Run(minor, func(t *testing.T) {
			s, all := story(t, recorded, "testdata/"+minor+".log", "testdata/"+minor+"-containerd.log")
			whole(t, all)
			if v := s.Header().Info.KubeletVersion; !strings.HasPrefix(v, minor) {
				t.Errorf("it is %s", v)
			}
			got := stepsOf(all, "web")
			for step, both := range want {
				if is, seen := got[step]; seen != !slices.Contains(lost, step) || both && seen && !is {
					t.Errorf("%s: seen %v, with both ends %v", step, seen, is)
				}
			}
		})
	}
}

// stepsOf returns the steps of a pod's story, and whether a call of the step has both ends.
func stepsOf(all []probes.Event, pod string) map[string]bool {
	out := map[string]bool{}
	for _, e := range all {
		if e.Pod.Name == pod {
			out[e.Step] = out[e.Step] || e.Kind == probes.Exit && e.DurationNs > int64(time.Microsecond)
		}
	}
	if len(out) == 0 {
		panic(fmt.Sprintf("there is no pod %s", pod))
	}
	return out
}
