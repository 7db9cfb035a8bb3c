package explain

import (
	"strings"
	"testing"
	"time"

	"github.com/podstep/podstep/agent/story/life"
	"github.com/podstep/podstep/probes/words"
)

// textOf returns phrases as they stand in a finding.
func textOf(ps []Phrase) string {
	var out []string
	for _, p := range ps {
		out = append(out, p.Text(words.English))
	}
	return strings.Join(out, " ")
}

// TestNumbers: the number of tries and the end of the back-off come from the container that an
// error is about. The worker's next look is a try only if no back-off is in its way.
func TestNumbers(t *testing.T) {
	s := read(t, woven, asIs)
	c := newCheck(s, podNamed(t, s, "no-image"), s.positionAfter(s.History.End()-1))
	in := func(d time.Duration) int64 { return c.now + int64(d) }
	const of = `failed to "StartContainer" for "a" with `
	for name, k := range map[string]struct {
		err  string
		a    life.Container
		want string
	}{
		"another error":      {"no volume", life.Container{Name: "a", Failed: 7}, "Failed 3 times. Next try in 10 s."},
		"a start fails":      {of + "CreateContainerError", life.Container{Name: "a", Failed: 7}, "Failed 7 times. Next try in 10 s."},
		"for the 1st time":   {of + "CreateContainerError", life.Container{Name: "a", Failed: 1}, "Next try in 10 s."},
		"a pull waits":       {of + "ImagePullBackOff", life.Container{Name: "a", Failed: 4, BackOff: life.PullBackOff, Until: in(82 * time.Second)}, "Failed 4 times. Its back-off ends in 1m22s. The kubelet looks again in 10 s."},
		"not known how long": {of + "ImagePullBackOff", life.Container{Name: "a", Failed: 4, BackOff: life.PullBackOff}, "Failed 4 times. The kubelet looks again in 10 s."},
		"until before that":  {of + "ImagePullBackOff", life.Container{Name: "a", Failed: 4, BackOff: life.PullBackOff, Until: in(8 * time.Second)}, "Failed 4 times. Its back-off ends in 8.0 s. Next try in 10 s."},
		"it is over":         {of + "ImagePullBackOff", life.Container{Name: "a", Failed: 4, BackOff: life.PullBackOff, Until: in(-1)}, "Failed 4 times. Next try in 10 s."},
		"a start waits":      {of + "CrashLoopBackOff", life.Container{Name: "a", Failed: 1, Restarts: 6, BackOff: life.CrashBackOff, Until: in(5 * time.Minute)}, "Restarts: 6. Its back-off ends in 5m. The kubelet looks again in 10 s."},
		"restarts unknown":   {of + "CrashLoopBackOff", life.Container{Name: "a", Restarts: life.None, BackOff: life.CrashBackOff}, "The kubelet looks again in 10 s."},
	} {
		t.Run(name, func(t *testing.T) {
			p := *c.p
			p.Tries, p.Next, p.Containers = 3, in(10*time.Second), []life.Container{k.a}
			of := *c
			of.p = &p
			if got := textOf(append(of.tries(k.err), of.next(k.err)...)); got != k.want {
				t.Errorf("%q, want %q", got, k.want)
			}
		})
	}
}

// TestPullsFailed: beside a kubelet, its message says which image is meant, if the pod has several.
func TestPullsFailed(t *testing.T) {
	for _, k := range []struct {
		pulls   []life.Pull
		message string
		want    uint32
	}{
		{nil, `Back-off pulling image "i"`, 0},
		{[]life.Pull{{Image: "i", Failed: 4}}, "denied", 4},
		{[]life.Pull{{Image: "j", Failed: 2}, {Image: "i", Failed: 4}}, `Back-off pulling image "i": denied`, 4},
		{[]life.Pull{{Image: "j", Failed: 2}, {Image: "i", Failed: 4}}, "denied", 0},
	} {
		c := check{p: &life.Pod{Pulls: k.pulls}}
		if got := c.pullsFailed(k.message); got != k.want {
			t.Errorf("%v, %q: %d, want %d", k.pulls, k.message, got, k.want)
		}
	}
}

// TestRunsAgain: somewhere in the recordings a container is up between two crashes.
func TestRunsAgain(t *testing.T) {
	for _, file := range []string{woven, attached} {
		s := read(t, file, asIs)
		pod, found := podNamed(t, s, "crashloop"), false
		for _, pos := range s.History.Pod(pod).Events.All {
			f := Findings(s, pod, s.positionAfter(pos))[0]
			if f.Code != ContainerAgain {
				continue
			}
			found = true
			row := Trouble(s, pod, s.positionAfter(pos))
			if f.State != life.Retrying || len(f.Evidence) == 0 || row == nil || !strings.HasPrefix(row.Brief(words.English), "app runs again, restarts: ") {
				t.Fatalf("%s at %d: %+v, in a list %+v", file, pos, f, row)
			}
		}
		if !found {
			t.Errorf("%s: nowhere", file)
		}
	}
}
