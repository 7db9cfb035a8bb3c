package stuck

import (
	"context"
	"encoding/json"
	"os"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/podstep/podstep/agent/explain/causes"
	"github.com/podstep/podstep/agent/explain/evidence"
	"github.com/podstep/podstep/agent/explain/gather"
	"github.com/podstep/podstep/agent/explain/recording"
	"github.com/podstep/podstep/agent/kubeapi"
	"github.com/podstep/podstep/agent/labtest"
	"github.com/podstep/podstep/probes/words"
)

// Way is how much can be seen.
type Way = recording.Way

// The ways.
const (
	API    = recording.API
	Near   = recording.Near
	Attach = recording.Attach
	Woven  = recording.Woven
)

// Case is a pod that gets stuck.
type Case struct {
	// Cause is the id of the cause that has to be named first.
	Cause string
	// Name tells several cases of a cause apart. It is empty if there is one.
	Name string
	// Make makes the pod stuck. It names the pod with Env.Pod, or with Env.Watch.
	Make func(*Env)
	// Meanwhile are the ids of causes, as globs, that may come first for a while, as long as nothing better is known.
	// A container's failing start comes before its crash loop, for example.
	Meanwhile []string
	// Only has ways that cannot see Cause, with the id that they name instead. An empty id means that they name
	// nothing, or say that they do not know. Ways that are not in it must name Cause.
	Only map[Way]string
	// Culprit is what keeps the pod, as the first cause names it in the widest way, such as "pod NS/blocker"; NS stands for the
	// case's namespace. Lesser ways may name none, but no other. Empty: there is none, or it is the node.
	Culprit string
	// Skip are ways in which the case makes no sense.
	Skip []Way

	// alone: the case has a lab of its own.
	alone bool
}

func (c *Case) id() string { return strings.TrimSuffix(c.Cause+"-"+c.Name, "-") }

// Env is where a case makes its pod.
type Env struct {
	T *testing.T
	*labtest.Lab
	// Namespace is the case's own namespace. It goes with the case.
	Namespace string

	watched evidence.Name
	alone   bool
}

// Pod creates a pod in the case's namespace, and watches it.
func (e *Env) Pod(p *corev1.Pod) *corev1.Pod {
	e.T.Helper()
	p.Namespace = e.Namespace
	made, err := e.Client.CoreV1().Pods(e.Namespace).Create(e.Context(), p, metav1.CreateOptions{})
	if err != nil {
		e.T.Fatal(err)
	}
	e.Watch(made.Name)
	return made
}

// Busybox creates a pod with one container that runs a script. change changes the pod first.
func (e *Env) Busybox(script string, change func(*corev1.Pod)) *corev1.Pod {
	e.T.Helper()
	p := labtest.BusyboxPod("web", script)
	if change != nil {
		change(p)
	}
	return e.Pod(p)
}

// Watch selects the pod of the case's namespace about which `why` is asked.
func (e *Env) Watch(name string) { e.watched = evidence.Name{Namespace: e.Namespace, Name: name} }

// WatchIn is Watch for a pod in another namespace.
func (e *Env) WatchIn(namespace, name string) {
	e.watched = evidence.Name{Namespace: namespace, Name: name}
}

// Until waits until is reports true of the watched pod.
func (e *Env) Until(what string, is func(*corev1.Pod) bool) *corev1.Pod {
	e.T.Helper()
	var last *corev1.Pod
	labtest.Eventually(e.T, what, func() bool {
		p, err := e.Client.CoreV1().Pods(e.watched.Namespace).Get(e.Context(), e.watched.Name, metav1.GetOptions{})
		last = p
		return err == nil && is(p)
	})
	return last
}

// Running reports whether all containers of a pod run.
func Running(p *corev1.Pod) bool {
	return len(p.Status.ContainerStatuses) > 0 && !slices.ContainsFunc(p.Status.ContainerStatuses, func(c corev1.ContainerStatus) bool { return c.State.Running == nil })
}

// DeletePod deletes the watched pod, with its grace period or another one.
func (e *Env) DeletePod(grace *int64) {
	e.T.Helper()
	err := e.Client.CoreV1().Pods(e.watched.Namespace).Delete(e.Context(), e.watched.Name, metav1.DeleteOptions{GracePeriodSeconds: grace})
	if err != nil {
		e.T.Fatal(err)
	}
}

// Sources returns the sources on a lab that a way has.
type Sources func(tb testing.TB, l *labtest.Lab, way Way) gather.From

// Run makes each case's pod on the lab that it gets for the case, all cases at once. It asks in each of the ways
// until the cause is named. proof is part of a recorded snapshot's name: lab or node.
func Run(t *testing.T, lab func(testing.TB) *labtest.Lab, cases []Case, from Sources, proof string, ways ...Way) {
	for _, c := range cases {
		t.Run(c.id(), func(t *testing.T) {
			t.Parallel()
			e := newEnv(t, lab(t), c.id())
			e.alone = c.alone
			c.Make(e)
			var named []recording.Sight
			for i, way := range ways {
				if slices.Contains(c.Skip, way) {
					continue
				}
				s := c.check(t, e, way, from(t, e.Lab, way))
				c.checkCulprit(t, e, s, i == len(ways)-1)
				if _, limited := c.Only[way]; s != nil && !limited {
					named = append(named, recording.Sight{Way: way, Snapshot: s})
				}
			}
			c.record(t, proof, named...)
			c.askLogs(t, e)
		})
	}
}

func newEnv(t *testing.T, l *labtest.Lab, id string) *Env {
	t.Helper()
	e := &Env{T: t, Lab: l, Namespace: "why-" + strings.ToLower(strings.ReplaceAll(id, ".", "-"))}
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: e.Namespace}}
	if _, err := l.Client.CoreV1().Namespaces().Create(l.Context(), ns, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	labtest.Eventually(t, "service account of "+e.Namespace, func() bool {
		_, err := l.Client.CoreV1().ServiceAccounts(e.Namespace).Get(l.Context(), "default", metav1.GetOptions{})
		return err == nil
	})
	t.Cleanup(func() {
		now := int64(0)
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		_ = l.Client.CoreV1().Pods(e.Namespace).DeleteCollection(ctx, metav1.DeleteOptions{GracePeriodSeconds: &now}, metav1.ListOptions{})
		_ = l.Client.CoreV1().Namespaces().Delete(ctx, e.Namespace, metav1.DeleteOptions{})
	})
	return e
}

// check asks in one way until the cause is named, and returns the snapshot that names it. If a wrong cause is named
// first meanwhile, the test fails and the snapshot is nil.
func (c *Case) check(t *testing.T, e *Env, way Way, from gather.From) *evidence.Snapshot {
	t.Helper()
	want, limited := c.Only[way]
	if !limited {
		want = c.Cause
	}
	var last *causes.Report
	deadline := time.Now().Add(labtest.Patience)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	changed := e.changes(ctx)
	for {
		s := from.Pod(t.Context(), e.watched)
		last = causes.Explain(s)
		id := firstOf(last)
		over := time.Now().After(deadline)
		if id == want && (want != "" || last.Word() != "running") && (over || !c.owesCulprit(last, s)) {
			return s
		}
		if last.Wrong() && id != "unexplained" && !c.meanwhile(id) && !late(s) && !unrelated(last) {
			t.Errorf("%s: %s is named first, not %s: %s", way, id, want, show(last, s))
			return nil
		}
		if over {
			t.Errorf("%s: %s is never named first: %s", way, want, show(last, s))
			return nil
		}
		if !nextAsk(ctx, changed) {
			return nil
		}
	}
}

// anyProcess is a Culprit of which the number is not known beforehand.
const anyProcess = "process *"

// checkCulprit checks what the first cause in a snapshot says keeps the pod.
func (c *Case) checkCulprit(t *testing.T, e *Env, s *evidence.Snapshot, widest bool) {
	t.Helper()
	if s == nil {
		return
	}
	got := culpritOf(causes.Explain(s))
	want := strings.ReplaceAll(c.Culprit, "NS", e.Namespace)
	if strings.HasPrefix(c.Cause, "node.") && got != "" {
		want = "node node-1"
	}
	if want == anyProcess && strings.HasPrefix(got, "process ") {
		return
	}
	if got != want && (got != "" || widest) {
		t.Errorf("the culprit is %q, not %q", got, want)
	}
}

// owesCulprit reports whether the first cause has a culprit that a source would name which has not answered in time.
func (c *Case) owesCulprit(r *causes.Report, s *evidence.Snapshot) bool {
	return c.Culprit != "" && culpritOf(r) == "" && late(s)
}

// culpritOf returns what the first cause says keeps the pod, or an empty text.
func culpritOf(r *causes.Report) string {
	if len(r.Findings) == 0 || r.Findings[0].Culprit == nil {
		return ""
	}
	return r.Findings[0].Culprit.In(words.English)
}

// late reports whether a source did not answer in time, on a busy machine. Its answer may be what names the cause, so
// it is asked again.
func late(s *evidence.Snapshot) bool {
	return slices.ContainsFunc(s.Unseen, func(u evidence.Unseen) bool { return u.Why == evidence.Late })
}

// unrelated reports whether, by the first cause, the API server did not yet know that the pod is on the node. A node may read only
// what its pods use. The API server refuses a kubelet that is quicker than its own watch, and the kubelet asks again.
func unrelated(r *causes.Report) bool {
	return len(r.Findings) > 0 && slices.ContainsFunc(r.Findings[0].Evidence, func(e causes.Evidence) bool {
		return strings.Contains(e.Text.En, "no relationship found between node")
	})
}

// meanwhile reports whether a cause may come first for a while.
func (c *Case) meanwhile(id string) bool {
	return slices.ContainsFunc(c.Meanwhile, func(glob string) bool {
		ok, _ := path.Match(glob, id)
		return ok
	})
}

// firstOf returns the id of the first cause, or an empty text.
func firstOf(r *causes.Report) string {
	if len(r.Findings) == 0 {
		return ""
	}
	return r.Findings[0].Cause.ID
}

// show returns a report, with the snapshot that it is of, for a failed test.
func show(r *causes.Report, s *evidence.Snapshot) string {
	var b strings.Builder
	b.WriteString(r.Word() + ", " + string(r.Phase))
	for i := range r.Findings {
		f := &r.Findings[i]
		b.WriteString("\n  " + f.Cause.ID + " " + string(f.Confidence) + " of " + f.Of)
		for _, e := range f.Evidence {
			b.WriteString("\n    " + string(e.Source) + " " + e.Where.En + ": " + e.Text.En)
		}
	}
	text, _ := json.Marshal(s)
	return b.String() + "\n" + string(text)
}

// record keeps the snapshots that name the cause, if PODSTEP_RECORD is set.
func (c *Case) record(t *testing.T, proof string, named ...recording.Sight) {
	t.Helper()
	keep(t, recording.File{Cause: c.Cause, Proof: proof, Name: c.Name}, named...)
}

// keep writes snapshots below the directory that PODSTEP_RECORD names. If that is empty, it writes none.
func keep(t *testing.T, f recording.File, taken ...recording.Sight) {
	t.Helper()
	dir := os.Getenv("PODSTEP_RECORD")
	if dir == "" {
		return
	}
	named := func(s *evidence.Snapshot) bool { return firstOf(causes.Explain(s)) == f.Cause }
	if err := recording.Keep(dir, f, taken, named); err != nil {
		t.Fatal(err)
	}
}

// Client returns a client of a lab's API server.
func Client(tb testing.TB, l *labtest.Lab) *kubeapi.Client {
	tb.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", l.State.Kubeconfig)
	if err != nil {
		tb.Fatal(err)
	}
	c, err := kubeapi.New(config)
	if err != nil {
		tb.Fatal(err)
	}
	return c
}
