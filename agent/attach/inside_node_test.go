//go:build node

package attach_test

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/podstep/podstep/agent/labtest"
	"github.com/podstep/podstep/probes"
)

var update = flag.Bool("update", false, "write anew what was seen, for go generate ./probes/uprobe")

// seenDir has the rows that were seen in each version of the kubelet. docs/inside.md shows them.
const seenDir = "../../probes/uprobe/seen"

// row is a step with the nearest step of tier 1 around it, or with - if there is none.
type row struct{ step, parent string }

// rows returns the rows of the steps of tier 1 in a story.
func rows(story []probes.Event) map[row]bool {
	c := probes.MustLoad()
	tier1 := map[string]bool{}
	for i := range c.Steps {
		tier1[c.Steps[i].Name] = c.Steps[i].Tier == 1 && !c.Steps[i].Outside()
	}
	step, parent, out := map[uint64]string{}, map[uint64]uint64{}, map[row]bool{}
	for _, e := range story {
		if e.Kind != probes.Enter {
			continue
		}
		step[e.Span], parent[e.Span] = e.Step, e.Parent
		if !tier1[e.Step] {
			continue
		}
		up := e.Parent
		for up != 0 && !tier1[step[up]] {
			up = parent[up]
		}
		in := "-"
		if up != 0 {
			in = step[up]
		}
		out[row{e.Step, in}] = true
	}
	return out
}

// lives makes some pods come and go, and returns the rows of all their stories, and the lines from which steps were
// called.
func lives(t *testing.T, l *labtest.Lab) (out map[row]bool, lines labtest.CallerLines) {
	t.Helper()
	out = map[row]bool{}
	var all []probes.Event
	for i := range 3 {
		p := threePod(fmt.Sprintf("web-%d", i))
		p.Spec.Containers[0].ReadinessProbe = &corev1.Probe{
			ProbeHandler:  corev1.ProbeHandler{Exec: &corev1.ExecAction{Command: []string{"true"}}},
			PeriodSeconds: 1,
		}
		l.Create(p)
		l.UntilReady(p.Name)
		l.Delete(p.Name)
		l.UntilGone(p.Name)
		story := l.UntilEvent(p.Name, "end of its worker", func(e probes.Event) bool { return e.Kind == probes.Exit && e.Step == "worker.loop" })
		for r := range rows(story) {
			out[r] = true
		}
		all = append(all, story...)
	}
	return out, labtest.CallerLinesIn(all)
}

// sameLines checks the lines from which steps were called in an unmodified kubelet: they fit its source, and are the
// same as in a woven one.
func sameLines(t *testing.T, woven, seen labtest.CallerLines) {
	t.Helper()
	seen.Check(t, probes.KubernetesVersion)
	compared := 0
	for call := range seen {
		known, lines := woven.Known(call), seen.Known(call)
		if len(known) == 0 || call[1] == "worker.turn" { // a turn that is put together from other calls has no caller
			continue
		}
		compared++
		if !slices.ContainsFunc(lines, func(line uint32) bool { return slices.Contains(known, line) }) {
			t.Errorf("%s called %s from %v, in the woven kubelet from %v", call[0], call[1], lines, known)
		}
	}
	t.Logf("of %d pairs of caller and step %d are in both", len(seen), compared)
	if compared < len(seen)/2 {
		t.Errorf("only %d of %d pairs of caller and step can be compared", compared, len(seen))
	}
}

// notSeen returns the steps of tier 1 inside the kubelet that the uprobe probe does not see, with the reasons. It checks that
// these are the reasons which the agent gives for all probes together.
func notSeen(t *testing.T, l *labtest.Lab) (out []string) {
	t.Helper()
	for _, s := range l.Steps() {
		for _, p := range s.Probes {
			if p.Probe == "uprobe" && s.Tier == 1 && s.Seen == "" && !p.Entry {
				out = append(out, "not\t"+s.Name+"\t"+p.Unseen)
				if s.Unseen != "" && s.Unseen != p.Unseen {
					t.Errorf("%s is not seen for %q, and by the uprobe probe for %q", s.Name, s.Unseen, p.Unseen)
				}
			}
		}
	}
	return append([]string{}, out...)
}

// TestInside: in an unmodified kubelet the uprobe probe, alone and together with the cri probe, sees what a woven
// kubelet shows, also the lines from which steps are called.
func TestInside(t *testing.T) {
	woven, lines := lives(t, labtest.Start(t))
	l := shared.For(t)
	inside := attachInside(t, l, "--probe", "uprobe")
	sameLines(t, lines, inside.lines)
	missing := inside.missing
	both := attachInside(t, l).rows
	lacks := 0
	for r := range woven {
		for name, seen := range map[string]map[row]bool{"uprobe": inside.rows, "uprobe and cri": both} {
			if !seen[r] {
				t.Logf("not seen by %s: %s in %s", name, r.step, r.parent)
			}
		}
		if !both[r] {
			lacks++
		}
	}
	t.Logf("the woven kubelet shows %d rows, the probes do not see %d of them", len(woven), lacks)
	if lacks*10 > len(woven) {
		t.Errorf("the probes do not see %d of the %d rows that the woven kubelet shows, more than a tenth", lacks, len(woven))
	}
	compareSeen(t, "v1.36", map[string]map[row]bool{"woven": woven, "uprobe": inside.rows, "both": both}, missing)
	l.Tried("woven")
	l.Tried("uprobe")
}

// TestInsideVersions: the same with kubelets of other versions; and a pod is held in SyncPod of
// each, and goes on.
func TestInsideVersions(t *testing.T) {
	for _, v := range labtest.Versions() {
		if v.Containerd != "" || v.Kubelet == "v1.36" {
			continue
		}
		t.Run(v.Name(), func(t *testing.T) {
			l := labtest.Start(t, v.Flags(t)...)
			seen := attachInside(t, l)
			compareSeen(t, v.Kubelet, map[string]map[row]bool{"both": seen.rows}, seen.missing)
			holdOnce(t, l)
			l.Tried("uprobe")
		})
	}
}

// holdOnce holds a pod where its sync begins, and again where its volumes are ready, and lets it go.
func holdOnce(t *testing.T, l *labtest.Lab) {
	t.Helper()
	kubelet, h := l.KubeletPID(), labtest.WatchHealth(t, l)
	a := attach(t, l, "--allow-holds")
	l.Must("break", "add", "default/held", "--step", "sync.pod", "--times", "1")
	l.Must("break", "add", "default/held", "--step", "sync.volumes", "--on", "exit", "--times", "1")
	l.Create(labtest.TinyPod("held"))
	for _, at := range []string{"sync.pod", "sync.volumes"} {
		if e := untilHeld(l, "held", at); e.Goroutine != "worker" || e.Probe != "uprobe" {
			t.Errorf("at %s it is held by probe %q on %q", at, e.Probe, e.Goroutine)
		}
		l.Must("continue", "default/held")
	}
	l.UntilReady("held")
	l.Delete("held")
	l.UntilGone("held")
	a.End(syscall.SIGINT)
	a.left()
	h.End(t)
	if now := l.KubeletPID(); now != kubelet {
		t.Errorf("the kubelet was process %d and is %d", kubelet, now)
	}
}

type insideSeen struct {
	rows    map[row]bool
	lines   labtest.CallerLines
	missing []string
}

// attachInside attaches, has pods come and go, and detaches.
func attachInside(t *testing.T, l *labtest.Lab, flags ...string) insideSeen {
	t.Helper()
	a := l.Attach(flags...)
	defer a.End(syscall.SIGINT)
	seen, lines := lives(t, l)
	return insideSeen{seen, lines, notSeen(t, l)}
}

// compareSeen compares the rows that were seen, by the way of seeing, with those that are recorded. Rows that come by
// chance may be missing.
func compareSeen(t *testing.T, version string, by map[string]map[row]bool, missing []string) {
	t.Helper()
	file := filepath.Join(seenDir, version+".tsv")
	if *update {
		writeSeen(t, file, by, missing)
		return
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("%v: run this test with -update", err)
	}
	var recorded []string
	known := map[row]bool{}
	for _, line := range strings.Split(strings.TrimSuffix(string(text), "\n"), "\n") {
		cols := strings.Split(line, "\t")
		if cols[0] == "not" {
			recorded = append(recorded, line)
			continue
		}
		r := row{cols[1], cols[2]}
		known[r] = true
		for _, way := range strings.Fields(cols[3]) {
			if seen, asked := by[way]; asked && steady(r) && !seen[r] && !(way == "delve" && anywhere(seen, r.step)) {
				t.Errorf("docs/inside.md has %s in %s, seen by %s; it is not", r.step, r.parent, way)
			}
		}
	}
	for r := range by["delve"] {
		if steady(r) && r.parent != "-" && !known[r] {
			t.Errorf("%s was seen in %s, where it does not happen", r.step, r.parent)
		}
	}
	if missing != nil && !slices.Equal(recorded, missing) {
		t.Errorf("not seen are\n%s\nrecorded are\n%s", strings.Join(missing, "\n"), strings.Join(recorded, "\n"))
	}
}

// anywhere reports whether a step was seen, within any other step or none. Delve does not see who starts a goroutine,
// so rows of one whose maker is not known any more are within no other.
func anywhere(seen map[row]bool, step string) bool {
	for r := range seen {
		if r.step == step {
			return true
		}
	}
	return false
}

// steady reports whether every pod has the row: one of its worker, or of a call to the runtime that changes
// something.
func steady(r row) bool {
	if r.parent == "-" && strings.HasPrefix(r.step, "cri.") {
		return false // this happens only if the cri probe was the first to see the call, which is rare
	}
	return strings.HasPrefix(r.step, "worker.") || strings.HasPrefix(r.step, "sync.") || slices.Contains([]string{"cri.RunPodSandbox", "cri.CreateContainer", "cri.StartContainer", "cri.StopPodSandbox"}, r.step)
}

// writeSeen writes a file of seenDir anew. The parts that are not given stay.
func writeSeen(t *testing.T, file string, by map[string]map[row]bool, missing []string) {
	t.Helper()
	by, known := maps.Clone(by), map[string]map[row]bool{}
	text, _ := os.ReadFile(file)
	var recorded []string
	for line := range strings.Lines(string(text)) {
		cols := strings.Split(strings.TrimSpace(line), "\t")
		if cols[0] == "not" {
			recorded = append(recorded, strings.TrimSpace(line))
			continue
		}
		for _, way := range strings.Fields(cols[3]) {
			if known[way] == nil {
				known[way] = map[row]bool{}
			}
			known[way][row{cols[1], cols[2]}] = true
		}
	}
	if missing == nil {
		missing = recorded
	}
	ways := map[row][]string{}
	for _, way := range []string{"woven", "uprobe", "both", "delve"} {
		if by[way] == nil {
			by[way] = known[way]
		}
		for r := range by[way] {
			ways[r] = append(ways[r], way)
		}
	}
	var lines []string
	for r, w := range ways {
		lines = append(lines, fmt.Sprintf("row\t%s\t%s\t%s", r.step, r.parent, strings.Join(w, " ")))
	}
	slices.Sort(lines)
	lines = append(lines, missing...)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(strings.Join(lines, "\n")+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
}
