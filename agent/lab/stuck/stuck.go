package stuck

import (
	"context"
	"encoding/json"
	"os"
	"path"
	"path/filepath"
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
	"github.com/podstep/podstep/agent/kubeapi"
	"github.com/podstep/podstep/agent/lab/labtest"
)

// Way is how much can be seen.
type Way string

// The ways.
const (
	// API: the API server alone, far from the node, without nodes/proxy.
	API Way = "api"
	// Near: the API server, the kubelet's port, the runtime and the machine; no probe.
	Near Way = "near"
	// Attach: as Near, with podstep attach beside an unmodified kubelet.
	Attach Way = "attach"
	// Woven: as Near, with a woven kubelet.
	Woven Way = "woven"
)

// Case is a pod that gets stuck.
type Case struct {
	// Cause is the id of the cause that has to be named first.
	Cause string
	// Name tells several cases of a cause apart; empty: there is one.
	Name string
	// Make makes the pod stuck. It names the pod with Env.Pod, or with Env.Watch.
	Make func(*Env)
	// Meanwhile are the ids of causes, as globs, that may come first for a while, as long as
	// nothing better is known, such as a container's failing start before its crash loop.
	Meanwhile []string
	// Only are ids that some ways cannot get beyond: what they name instead. An empty id
	// is that they name nothing, or say that they do not know. Ways that are not in it
	// have to name Cause.
	Only map[Way]string
	// Skip are ways in which the case makes no sense.
	Skip []Way

	// alone: no other case is on its lab.
	alone bool
}

func (c *Case) id() string { return strings.TrimSuffix(c.Cause+"-"+c.Name, "-") }

// Env is where a case makes its pod.
type Env struct {
	T *testing.T
	*labtest.Lab
	// Namespace is the case's own; it goes with the case.
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

// Busybox creates the pod of one container that runs a script, after it was changed.
func (e *Env) Busybox(script string, change func(*corev1.Pod)) *corev1.Pod {
	e.T.Helper()
	p := labtest.BusyboxPod("web", script)
	if change != nil {
		change(p)
	}
	return e.Pod(p)
}

// Watch has `why` asked about a pod of the case's namespace.
func (e *Env) Watch(name string) { e.watched = evidence.Name{Namespace: e.Namespace, Name: name} }

// WatchIn is Watch for another namespace.
func (e *Env) WatchIn(namespace, name string) {
	e.watched = evidence.Name{Namespace: namespace, Name: name}
}

// Until waits until the watched pod is as wanted.
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

// Sources gives where to look in some way on a lab.
type Sources func(tb testing.TB, l *labtest.Lab, way Way) gather.From

// Run has every case come about on a lab, all at once, and asks in each of the ways
// until the cause is named. proof is what a recorded snapshot is called: lab or node.
func Run(t *testing.T, l *labtest.Lab, cases []Case, from Sources, proof string, ways ...Way) {
	for _, c := range cases {
		t.Run(c.id(), func(t *testing.T) {
			t.Parallel()
			e := newEnv(t, l.For(t), c.id())
			e.alone = c.alone
			c.Make(e)
			for _, way := range ways {
				if !slices.Contains(c.Skip, way) {
					c.check(t, e, way, from(t, e.Lab, way), proof)
				}
			}
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

// check asks in one way until the cause is named. A wrong cause that is named first
// meanwhile fails the test.
func (c *Case) check(t *testing.T, e *Env, way Way, from gather.From, proof string) {
	t.Helper()
	want, limited := c.Only[way]
	if !limited {
		want = c.Cause
	}
	var last *causes.Report
	deadline := time.Now().Add(labtest.Patience)
	for {
		s := from.Pod(t.Context(), e.watched)
		last = causes.Explain(s)
		id := firstOf(last)
		if id == want && (want != "" || last.Verdict != causes.OK) {
			c.record(t, s, way, proof)
			return
		}
		if id != "" && id != "unexplained" && !c.meanwhile(id) && !late(s) {
			t.Errorf("%s: %s is named first, not %s: %s", way, id, want, show(last, s))
			return
		}
		if time.Now().After(deadline) {
			t.Errorf("%s: %s is never named first: %s", way, want, show(last, s))
			return
		}
		select {
		case <-time.After(askEvery):
		case <-t.Context().Done():
			return
		}
	}
}

// late reports whether a source did not answer in time, on a busy machine. What it would
// have shown can be what names the cause, so it is asked again.
func late(s *evidence.Snapshot) bool {
	return slices.ContainsFunc(s.Unseen, func(u evidence.Unseen) bool { return u.Why == evidence.Late })
}

// meanwhile reports whether a cause may come first for a while.
func (c *Case) meanwhile(id string) bool {
	return slices.ContainsFunc(c.Meanwhile, func(glob string) bool {
		ok, _ := path.Match(glob, id)
		return ok
	})
}

// askEvery is how often is asked anew. There is no event for that a cause can be seen.
const askEvery = 500 * time.Millisecond

// firstOf is the id of the first cause, or empty.
func firstOf(r *causes.Report) string {
	if len(r.Findings) == 0 {
		return ""
	}
	return r.Findings[0].Cause.ID
}

// show is a report with the snapshot that it is of, for a failed test.
func show(r *causes.Report, s *evidence.Snapshot) string {
	var b strings.Builder
	b.WriteString(string(r.Verdict) + ", " + string(r.Phase))
	for i := range r.Findings {
		f := &r.Findings[i]
		b.WriteString("\n  " + f.Cause.ID + " " + string(f.Confidence) + " of " + f.Of)
		for _, e := range f.Evidence {
			b.WriteString("\n    " + string(e.Source) + " " + e.Where + ": " + e.Text)
		}
	}
	text, _ := json.Marshal(s)
	return b.String() + "\n" + string(text)
}

// record keeps the snapshot, if that is asked for.
func (c *Case) record(t *testing.T, s *evidence.Snapshot, way Way, proof string) {
	dir := os.Getenv("PODSTEP_RECORD")
	if dir == "" {
		return
	}
	cause := c.Cause
	if _, limited := c.Only[way]; limited {
		return
	}
	text, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	name := strings.TrimSuffix(proof+"-"+string(way)+"-"+c.Name, "-") + ".json"
	file := filepath.Join(dir, cause, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, append(text, '\n'), 0o644); err != nil {
		t.Fatal(err)
	}
}

// Client is a client for the API server of a lab.
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
