package agent

import (
	"bytes"
	goflag "flag"
	"fmt"
	"os"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/hook"
)

var update = goflag.Bool("update", false, "write the generated page anew")

// caller is a way by which the kubelet's code comes to steps.
type caller struct {
	name string
	// message describes the caller, for the page.
	message string
	// path are the steps that enclose the call, from outside in. Where a path has goes or leaves, a goroutine is
	// started there that makes the call.
	path []string
	// holds are the rules by which a pod may be held there.
	holds string
}

const (
	// goes: the function starts a goroutine, which makes the call while the
	// function goes on.
	goes = "go"
	// leaves: the same, but the function has returned by then.
	leaves = "go, returned"
	// others: the path up to here is about another pod.
	others = "another pod"
)

var inTurn = []string{"worker.loop", "worker.turn", "sync.pod"}
var inKill = []string{"worker.loop", "worker.turn", "term.terminating", "term.killpod", "rt.killpodapi", "rt.killpod", "rt.killcontainers"}

func along(steps []string, more ...string) []string {
	return append(append([]string{}, steps...), more...)
}

// callers are the callers in the kubelet of the catalogue's version, and some that it does not have.
var callers = []caller{
	{"worker", "the pod's worker", inTurn, "yes worker"},
	{"kill", "a goroutine that the worker starts to kill one container, and waits for", along(inKill, goes), "yes worker"},
	{"preStop", "the goroutine of a preStop hook, which the one before waits for", along(inKill, goes, "rt.killcontainer", "rt.prestop", goes), "yes worker"},
	{"preStop, late", "the same, after the kubelet stopped waiting for it", along(inKill, goes, "rt.killcontainer", "rt.prestop", leaves), ""},
	{"removal", "the worker while it removes a container, in part with the log manager's lock held", along(inTurn, "rt.sync", "rt.remove"), "yes worker"},
	{"sandbox ready", "the goroutine of OnPodSandboxReady, for which nobody waits", along(inTurn, "rt.sync", "rt.sandboxready", goes), ""},
	{"sandbox ready, late", "the same, after OnPodSandboxReady returned", along(inTurn, "rt.sync", "rt.sandboxready", leaves), ""},
	{"other worker", "the worker of another pod", []string{others, "worker.loop"}, ""},
	{"sync loop", "the sync loop, its housekeeping too", []string{"loop.start", "loop.iter"}, ""},
	{"UpdatePod", "the sync loop in UpdatePod, which holds podLock", []string{"loop.start", "loop.iter", "loop.add", "worker.update"}, ""},
	{"deletor", "the goroutine of podContainerDeletor, which serves the node", []string{"boot.new", leaves}, ""},
	{"fast static", "the goroutine of fastStaticPodsRegistration", []string{"boot.klrun", goes}, ""},
	{"log rotation", "a goroutine of the container log manager, or another in which no step is", nil, ""},
	{"container GC", "container garbage collection", []string{"gc.containers"}, ""},
	{"image GC", "image garbage collection", []string{"gc.images"}, ""},
	{"PLEG", "PLEG, which holds its relist lock", []string{"pleg.relistpod"}, ""},
	{"puller", "the goroutine that pulls images", []string{"image.dopull"}, ""},
	{"status manager", "the goroutine of the status manager", []string{"status.patch"}, ""},
	{"eviction", "the eviction manager", []string{"evict.check", "evict.pod"}, ""},
	{"shutdown", "a goroutine of the node shutdown", []string{"evict.shutdown", goes}, ""},
	{"reconciler", "the volume reconciler", []string{"vol.mountattached", "vol.mount"}, ""},
	{"volume operation", "the goroutine of one volume operation", []string{"vol.mountattached", "vol.mount", leaves, "vol.op"}, "own volop"},
	{"health probe", "the goroutine of one health probe", []string{"probe.worker", "probe.do"}, "own prober"},
	{"request", "the goroutine of a request to the kubelet", []string{"http.exec"}, "own http"},
}

// comeTo calls a step by a path, and returns, by side, whether a pod may be held there.
func (r *rig) comeTo(path []string, step *probes.Step, p *v1.Pod) (may [2]bool) {
	if len(path) == 0 {
		cur := hook.Current()
		s := &span{step: &r.steps[step.ID]}
		r.findGoroutine(s, spanOf(cur), hook.Goroutine())
		s.one.pod, s.one.id = r.pods.Object(p), 1
		if s.step.means == probes.RoleWorker && s.proven {
			s.worker = s.one.pod
		}
		return [2]bool{r.mayHold(s, s.one.pod, enter), r.mayHold(s, s.one.pod, exit)}
	}
	first, rest := path[0], path[1:]
	about := p
	if first == others {
		// The step itself is about p, and all calls around it are about the other pod.
		first, rest, about = rest[0], rest[1:], newPod("default", "other")
	}
	inside := func() { may = r.comeTo(rest, step, p) }
	var after func()
	if len(rest) > 0 && (rest[0] == goes || rest[0] == leaves) {
		returned, done := make(chan struct{}), make(chan struct{})
		late, deeper := rest[0] == leaves, rest[1:]
		inside = func() {
			go func() {
				defer close(done)
				if late {
					<-returned
				}
				may = r.comeTo(deeper, step, p)
			}()
			if !late {
				<-done
			}
		}
		after = func() { close(returned); <-done }
	}
	_ = r.call(first, r.values(first, about), nil, func() error { inside(); return nil })
	if after != nil {
		after()
	}
	return may
}

// values returns what woven code passes at the entry of a step about p.
func (r *rig) values(step string, p *v1.Pod) []any {
	switch r.c.Step(step).Pod.Kind {
	case probes.PodObject:
		return []any{p}
	case probes.PodList:
		return []any{[]*v1.Pod{p}}
	case probes.PodObjects:
		return []any{[]any{p}}
	case probes.PodUID, probes.PodCRIID:
		return []any{p.UID}
	case probes.PodSandboxConfig:
		return []any{sandboxOf(p)}
	}
	return nil
}

// TestCallers: each step at which a pod may be held is called by every caller that the kubelet has. Only calls that the
// callers' table allows are held. The table is in docs/holds.md.
func TestCallers(t *testing.T) {
	r := newRig(t, Options{})
	p := newPod("default", "web")
	var page bytes.Buffer
	writeCallers(&page)
	for i := range r.steps {
		step := &r.steps[i]
		if !r.canHold(step, enter) && !r.canHold(step, exit) {
			continue
		}
		fmt.Fprintf(&page, "| `%s` | %s / %s |", step.Name, step.hold[enter], step.hold[exit])
		for _, c := range callers {
			may := r.comeTo(c.path, step.Step, p)
			for side, got := range may {
				if want := c.allows(step, side); got != want {
					t.Errorf("%s at %s of %s: a hold is allowed: %v, want %v", c.name, sideNames[side], step.Name, got, want)
				}
			}
			fmt.Fprintf(&page, " %s |", map[[2]bool]string{{false, false}: "", {true, false}: "entry", {false, true}: "exit", {true, true}: "both"}[may])
		}
		fmt.Fprintln(&page)
	}
	const file = "../docs/holds.md"
	if *update {
		if err := os.WriteFile(file, page.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if old, err := os.ReadFile(file); err != nil || !bytes.Equal(old, page.Bytes()) {
		t.Errorf("%s is not of this catalogue (%v); go test ./agent -run TestCallers -update writes it anew", file, err)
	}
}

// allows reports what the table says, from the catalogue alone.
func (c caller) allows(step *stepInfo, side int) bool {
	rule := string(step.hold[side])
	if step.Root && c.begins(step) {
		return rule == "own" || step.means == probes.RoleWorker
	}
	if step.Root {
		return false
	}
	for _, outer := range c.path {
		for _, not := range step.Hold.NotWithin {
			if outer == not {
				return false
			}
		}
	}
	if rule == "own" {
		return step.Starts && c.begins(step) || strings.HasSuffix(c.holds, " "+step.Goroutine)
	}
	return (rule == "yes" || rule == "worker") && strings.Contains(c.holds, "worker")
}

// begins reports whether a goroutine may begin with the step: the caller has just started one of which nothing is
// known, or its goroutine is the step's own.
func (c caller) begins(step *stepInfo) bool {
	return len(c.path) == 0 || strings.HasPrefix(c.path[len(c.path)-1], goes) && !c.awaited() ||
		strings.HasSuffix(c.holds, " "+step.Goroutine) && step.means != probes.RoleWorker
}

// awaited reports whether the function that starts the last goroutine waits for it.
func (c caller) awaited() bool { return strings.Contains(c.holds, "worker") }

func writeCallers(w *bytes.Buffer) {
	fmt.Fprint(w, "<!-- Generated by go test ./agent -run TestCallers -update. Do not edit. -->\n\n# Where a pod may be held\n\n")
	fmt.Fprint(w, "A pod is held only on a goroutine that is proven to be its own: `worker.loop` of this pod encloses the call on the same goroutine, or on one that waits for the goroutine that makes it. What a step's goroutine mostly is proves nothing. A rule `own` wants a step that starts the goroutine of one health probe, volume operation or request. The same holds for injected delays.\n\n")
	fmt.Fprint(w, "The test that writes this page brings every caller to every step at which a pod may be held outside of a lab. An empty cell: the agent refuses the hold, and the goroutine goes on.\n\nThe callers:\n\n")
	for _, c := range callers {
		var steps []string
		for _, s := range c.path {
			switch s {
			case goes, leaves, others:
				steps = append(steps, "*"+s+"*")
			default:
				steps = append(steps, "`"+s+"`")
			}
		}
		place := strings.Join(steps, " › ")
		if place == "" {
			place = "no step"
		}
		fmt.Fprintf(w, "- **%s**: %s (%s)\n", c.name, c.message, place)
	}
	fmt.Fprint(w, "\n| step | rule at entry / exit |")
	for _, c := range callers {
		fmt.Fprintf(w, " %s |", c.name)
	}
	fmt.Fprint(w, "\n|---|---|")
	fmt.Fprintln(w, strings.Repeat("---|", len(callers)))
}

// TestSandboxReadyIsNotHeld: the goroutine that OnPodSandboxReady starts writes a status that it copied earlier. If it
// were held, it would overwrite what the worker wrote meanwhile.
func TestSandboxReadyIsNotHeld(t *testing.T) {
	r := newRig(t, Options{})
	p := newPod("default", "web")
	r.pods.Object(p)
	if _, err := r.addBreakpoint(&agentpb.AddBreakpointRequest{Step: "sync.setstatus"}); err != nil {
		t.Fatal(err)
	}
	written := make(chan struct{})
	_ = r.sync(p, func() error {
		return r.call("rt.sandboxready", []any{p}, nil, func() error {
			go func() {
				defer close(written)
				_ = r.call("sync.setstatus", []any{p}, nil, nil)
			}()
			<-written // would hang if it were held
			return nil
		})
	})
	if held := r.kinds(p, agentpb.Kind_HOLD); held != 0 {
		t.Errorf("it was held %d times", held)
	}
}

// kinds counts the events of a kind in the pod's story.
func (r *rig) kinds(p *v1.Pod, kind agentpb.Kind) (n int) {
	for _, e := range r.events(p.Name) {
		if e.Kind == kind {
			n++
		}
	}
	return n
}
