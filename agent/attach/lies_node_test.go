//go:build node

package attach_test

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/labtest"
	"github.com/podstep/podstep/probes"
)

// liedTo is how many pods come and go beside each table that lies. PODSTEP_LIES=1000 makes the long test, in which the kubelet of the
// catalogue's version has more than one wrong version.
const liedTo = 12

// lie is a kubelet's program, and the version that a copy of it is made to report. fork: its types differ from those of the release.
type lie struct {
	program, version string
	fork             bool
}

// lies returns each kubelet that is built with the versions that it shall pretend to be of. With its own version a fork has the
// table of the release that it was made of.
func lies(t *testing.T, n int) (out []lie) {
	t.Helper()
	for _, v := range append(labtest.Versions(), labtest.Fork()) {
		if v.Containerd != "" || !slices.Contains([]string{"v1.31", "v1.34", "v1.36", "v1.37"}, v.Kubelet) {
			continue
		}
		path, err := v.Program()
		if err != nil {
			t.Log(err)
			continue
		}
		versions := []string{probes.KubernetesVersion}
		if v.Kubelet == "v1.36" && v.Form == "" {
			versions = []string{"v1.35.4", "v1.37.1", "v1.31.4"}
			if n == liedTo {
				versions = versions[:1]
			}
		}
		for _, version := range versions {
			out = append(out, lie{path, version, v.Form != ""})
		}
	}
	return out
}

// TestLyingVersions: the table of where a kubelet keeps its values is another one's, because the kubelet says that it is of
// another minor version, or because a fork has moved and swapped members of its types. All pods that are shown exist, and each
// has its own UID. What is read of them is what the same program shows with its own table. Pods are held all the same, or the
// hold is refused, and the kubelet lives.
func TestLyingVersions(t *testing.T) {
	released := filepath.Join(os.Getenv("PODSTEP_BIN"), "kubelet")
	file := filepath.Join(t.TempDir(), "kubelet")
	install(t, released, file)
	l := labtest.Start(t, "--kubelet", file, "--restart-kubelet")
	exist := existing(t, l)
	n, truths, shown := labtest.Times(t, "PODSTEP_LIES", liedTo), map[string]*observation{}, 0
	for i, lie := range lies(t, n) {
		t.Run(fmt.Sprintf("%s says %s", filepath.Base(lie.program), lie.version), func(t *testing.T) {
			l := l.For(t)
			honest := lie.program
			if lie.fork {
				honest = released
			}
			truth := truths[honest]
			if truth == nil {
				replaceKubelet(t, l, file, honest, "")
				truth = observe(t, l, fmt.Sprintf("truth-%d", i), max(n/4, liedTo))
				truths[honest] = truth
			}
			replaceKubelet(t, l, file, lie.program, lie.version)
			kubelet, h := l.KubeletPID(), labtest.WatchHealth(t, l)
			o := observe(t, l, fmt.Sprintf("lie-%d", i), n)
			o.within(t, truth, exist())
			holdIfPossible(t, l, fmt.Sprintf("held-%d", i))
			h.End(t)
			if now := l.KubeletPID(); now != kubelet {
				t.Errorf("the kubelet was process %d and is %d", kubelet, now)
			}
			t.Logf("%d pods: %d events inside the kubelet, %d values of %d kinds; with its own table %d events of %d kinds", n, o.events, o.read, len(o.values), truth.events, len(truth.values))
			shown += o.read
		})
	}
	if shown == 0 {
		t.Error("no value was shown beside any of these tables")
	}
}

// replaceKubelet makes another program, with another version unless it is empty, the lab's kubelet, and waits until it serves.
func replaceKubelet(t *testing.T, l *labtest.Lab, file, program, version string) {
	t.Helper()
	if version != "" {
		program = stampedCopy(t, program, version)
	}
	install(t, program, file)
	before := l.KubeletPID()
	l.KillPart("kubelet", syscall.SIGTERM)
	labtest.Eventually(t, "another kubelet", func() bool { return l.KubeletPID() != before })
	life(t, l, fmt.Sprintf("first-%d", l.KubeletPID()))
}

// stamps match the version in the program of a kubelet.
var stamps = regexp.MustCompile(`v1\.3[0-9]\.[0-9]\b`)

// stampedCopy returns a copy of a program in which each version of Kubernetes is another one.
func stampedCopy(t *testing.T, program, version string) string {
	t.Helper()
	text, err := os.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	own, err := probes.ReadBinary(program)
	if err != nil {
		t.Fatal(err)
	}
	if len(own.KubernetesVersion) != len(version) || !stamps.MatchString(own.KubernetesVersion) {
		t.Fatalf("kubelet %s cannot say that it is %s", own.KubernetesVersion, version)
	}
	copied := filepath.Join(t.TempDir(), "kubelet")
	if err := os.WriteFile(copied, bytes.ReplaceAll(text, []byte(own.KubernetesVersion), []byte(version)), 0o755); err != nil {
		t.Fatal(err)
	}
	if now, err := probes.ReadBinary(copied); err != nil || now.KubernetesVersion != version {
		t.Fatalf("the copy of %s says %v, %v", program, now, err)
	}
	return copied
}

// observation is what podstep showed of pods that came and went.
type observation struct {
	values map[string]map[string]bool // by step, side and name of a value, its words
	steps  map[string]bool            // that were shown
	rows   map[row]bool
	pods   map[probes.Pod]string // with a step at which it was shown
	events int                   // of the uprobe probe
	read   int                   // values of these
}

// observe attaches while n pods come and go, watches them closely, and returns what the uprobe probe showed.
func observe(t *testing.T, l *labtest.Lab, prefix string, n int) *observation {
	t.Helper()
	o := &observation{values: map[string]map[string]bool{}, steps: map[string]bool{}, pods: map[probes.Pod]string{}}
	a := attach(t, l, "--allow-holds")
	ctx, cancel := context.WithCancel(t.Context())
	if err := l.Agent().WatchClosely(ctx, &agentpb.PodSelector{Namespace: "default", Name: prefix + "-*"}); err != nil {
		t.Fatal(err)
	}
	var calls []probes.Event
	var wg sync.WaitGroup
	began := make(chan struct{})
	begin := sync.OnceFunc(func() { close(began) })
	wg.Go(func() {
		l.Follow(ctx, func(e probes.Event) {
			begin()
			o.see(e)
			if e.Kind == probes.Enter {
				calls = append(calls, probes.Event{Kind: e.Kind, Step: e.Step, Span: e.Span, Parent: e.Parent})
			}
		})
	})
	life(t, l, prefix+"-first")
	<-began
	crowd(t, l, prefix, n)
	cancel()
	wg.Wait()
	a.End(syscall.SIGINT)
	a.left()
	o.rows = rows(calls)
	return o
}

// existing watches the API server's pods, and returns a function that returns all that there were until then, by UID.
func existing(t *testing.T, l *labtest.Lab) func() map[string]probes.Pod {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	var mu sync.Mutex
	out := map[string]probes.Pod{}
	note := func(p *corev1.Pod) {
		mu.Lock()
		defer mu.Unlock()
		out[string(p.UID)] = probes.Pod{Namespace: p.Namespace, Name: p.Name}
	}
	list, err := l.Client.CoreV1().Pods("").List(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range list.Items {
		note(&list.Items[i])
	}
	w, err := l.Client.CoreV1().Pods("").Watch(ctx, metav1.ListOptions{ResourceVersion: list.ResourceVersion})
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		for e := range w.ResultChan() {
			if p, ok := e.Object.(*corev1.Pod); ok {
				note(p)
			}
		}
	}()
	return func() map[string]probes.Pod {
		mu.Lock()
		defer mu.Unlock()
		return maps.Clone(out)
	}
}

// atOnce is how many pods of a crowd there are at a time.
const atOnce = 6

// crowd makes n pods come and go.
func crowd(t *testing.T, l *labtest.Lab, prefix string, n int) {
	t.Helper()
	var next atomic.Int32
	var wg sync.WaitGroup
	for range min(n, atOnce) {
		wg.Go(func() {
			for i := int(next.Add(1)); i <= n; i = int(next.Add(1)) {
				if _, _, err := labtest.Live(l.Client, fmt.Sprintf("%s-%d", prefix, i)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
}

// see takes an event.
func (o *observation) see(e probes.Event) {
	if e.Probe != "uprobe" || e.Kind == probes.Note { // a note is podstep's own
		return
	}
	o.events++
	o.steps[e.Step] = true
	if e.Pod != nil {
		o.pods[*e.Pod] = e.Step
	}
	for name, value := range e.Fields {
		o.read++
		key := strings.Join([]string{e.Step, string(e.Kind), name}, " ")
		if o.values[key] == nil {
			o.values[key] = map[string]bool{}
		}
		for _, word := range words(value) {
			o.values[key][word] = true
		}
	}
}

var (
	uidsOf  = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{64}`)
	namesOf = regexp.MustCompile(`\b(truth|lie|first)-[0-9a-z-]+`)
	numbers = regexp.MustCompile(`[0-9]+`)
	wordsOf = regexp.MustCompile(`[\pL_]+|ADDRESS|[^\x20-\x7e]`)
)

// words returns the words of a value. A pod's name, an id and a number are the same word, and a number that may be an address in
// the kubelet is another one. Yes and no are the same too: one of them may be rare.
func words(value any) []string {
	if _, is := value.(bool); is {
		return []string{"yes or no"}
	}
	text := fmt.Sprintf("%v", value)
	text = namesOf.ReplaceAllString(uidsOf.ReplaceAllString(text, "UID"), "POD")
	text = numbers.ReplaceAllStringFunc(text, func(n string) string {
		if len(n) >= 12 {
			return " ADDRESS "
		}
		return " N "
	})
	return slices.Compact(slices.Sorted(slices.Values(wordsOf.FindAllString(text, -1))))
}

// within checks that what was shown is part of what is true, and the pods among those that there were.
func (o *observation) within(t *testing.T, truth *observation, exist map[string]probes.Pod) {
	t.Helper()
	for pod, step := range o.pods {
		is, ok := exist[pod.UID]
		if !ok || pod.Name != "" && pod.Name != is.Name || pod.Namespace != "" && pod.Namespace != is.Namespace {
			t.Errorf("%s shows the pod %+v; the API server has %+v", step, pod, is)
		}
	}
	c, byName, all := probes.MustLoad(), map[string]map[string]bool{}, map[string]bool{}
	for key, words := range truth.values {
		name := key[strings.LastIndexByte(key, ' ')+1:]
		if byName[name] == nil {
			byName[name] = map[string]bool{}
		}
		maps.Copy(byName[name], words)
		maps.Copy(all, words)
	}
	for key, words := range o.values {
		step, _, _ := strings.Cut(key, " ")
		known := truth.values[key]
		if known == nil && c.Step(step).Stage == "gc" && !truth.steps[step] {
			known = all // the kubelet collects garbage once a minute: beside its own table it may not have come to that
		}
		if known == nil {
			t.Errorf("%s is shown with %v, and with the kubelet's own table it is not", key, slices.Sorted(maps.Keys(words)))
			continue
		}
		for word := range words {
			if !known[word] && !byName[key[strings.LastIndexByte(key, ' ')+1:]][word] {
				t.Errorf("%s has the word %q, and with the kubelet's own table %v", key, word, slices.Sorted(maps.Keys(known)))
			}
		}
	}
	for r := range o.rows {
		// Calls that are hidden by a value are all shown where that value is not known.
		if steady(r) && c.Step(r.step).Quiet == "" && !truth.rows[r] && !anywhere(truth.rows, r.step) {
			t.Errorf("%s is shown in %s, and with the kubelet's own table it is not", r.step, r.parent)
		}
	}
}

// holdIfPossible holds a pod at the first step at which podstep can, if there is one, and lets it go.
func holdIfPossible(t *testing.T, l *labtest.Lab, pod string) {
	t.Helper()
	a := attach(t, l, "--allow-holds")
	can, come := heldSteps(t, l), []string{"sync.pod", "sync.genstatus", "sync.volumes", "rt.sync", "rt.sandbox", "rt.startcontainer"}
	at := slices.IndexFunc(come, func(step string) bool { return slices.Contains(can, step) })
	if at >= 0 {
		l.Must("break", "add", "default/"+pod, "--step", come[at], "--times", "1")
	}
	l.Create(labtest.TinyPod(pod))
	if at >= 0 {
		untilHeld(l, pod, come[at])
		l.Must("continue", pod)
	}
	l.UntilReady(pod)
	l.Delete(pod)
	l.UntilGone(pod)
	a.End(syscall.SIGINT)
	a.left()
	notTraced(t, l)
	t.Logf("%d steps at which a pod's worker can be held: %v", len(can), can)
}
