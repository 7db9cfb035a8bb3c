//go:build sim

package stuck

import (
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podstep/podstep/agent/explain/causes"
	"github.com/podstep/podstep/agent/explain/columns"
	"github.com/podstep/podstep/agent/explain/evidence"
	"github.com/podstep/podstep/agent/explain/gather"
	"github.com/podstep/podstep/agent/explain/recording"
	"github.com/podstep/podstep/agent/labtest"
)

// How long the test asks about pods while they start, are replaced, and end.
const (
	startFor = 40 * time.Second
	rollFor  = 40 * time.Second
	endFor   = 100 * time.Second
	// roundEvery is the time from one round of questions to the next: questions without a pause take the processors from the pods.
	roundEvery = 5 * time.Second
)

// TestHealthy: about a hundred pods of many kinds, with which nothing is wrong, give no finding while they start, are
// replaced and end.
func TestHealthy(t *testing.T) {
	t.Parallel()
	onOwn.claim(t)
	e := newEnv(t, labtest.StartSim(t), "healthy")
	w := &wellness{e: e, from: map[Way]gather.From{API: simSources(t, e.Lab, API), Woven: simSources(t, e.Lab, Woven)}, seen: map[string]bool{}}
	e.healthyAlone()
	e.healthyOwned()
	e.healthyStatic()
	w.askFor(startFor, false)
	e.roll()
	w.askFor(rollFor, false)
	e.endAll()
	w.askFor(endFor, true)
	t.Logf("%d questions about %d pods", w.asked, len(w.seen))
	if len(w.seen) < 90 {
		t.Errorf("only %d pods were seen", len(w.seen))
	}
}

// wellness asks about pods with which nothing is wrong.
type wellness struct {
	e    *Env
	from map[Way]gather.From

	mu    sync.Mutex
	seen  map[string]bool // UIDs
	asked int
}

// askFor asks about all pods again and again. With untilGone it ends with the last pod.
func (w *wellness) askFor(d time.Duration, untilGone bool) {
	end := time.Now().Add(d)
	round := time.NewTicker(roundEvery)
	defer round.Stop()
	for ; time.Now().Before(end); <-round.C {
		list, err := w.e.Client.CoreV1().Pods(w.e.Namespace).List(w.e.Context(), metav1.ListOptions{})
		if err != nil {
			w.e.T.Fatal(err)
		}
		if untilGone && len(list.Items) == 0 {
			return
		}
		for i := range list.Items {
			for way, from := range w.from {
				w.ask(&list.Items[i], way, from)
			}
		}
	}
	if untilGone {
		w.e.T.Error("not all pods have ended")
	}
}

// ask asks about one pod in one way.
func (w *wellness) ask(p *corev1.Pod, way Way, from gather.From) {
	s := from.Pod(w.e.T.Context(), evidence.Name{Namespace: p.Namespace, Name: p.Name})
	r := causes.Explain(s)
	if len(r.Columns.Differing()) > 0 {
		w.untilSame(p, from)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.seen[string(p.UID)] = true
	w.asked++
	if r.Wrong() {
		w.e.T.Errorf("%s: %s: %s", way, p.Name, show(r, s))
		name := strings.ReplaceAll(firstOf(r), ".", "-") + "-" + p.Labels["kind"]
		keep(w.e.T, recording.File{Cause: recording.Healthy, Proof: "lab", Name: name}, recording.Sight{Way: way, Snapshot: s})
	}
}

// untilSame waits until all places have the same of a pod. On a busy machine news takes its time; what differs for good is a fault.
func (w *wellness) untilSame(p *corev1.Pod, from gather.From) {
	labtest.Eventually(w.e.T, "all places have the same of "+p.Name, func() bool {
		s := from.Pod(w.e.T.Context(), evidence.Name{Namespace: p.Namespace, Name: p.Name, UID: string(p.UID)})
		return len(columns.Of(s).Differing()) == 0
	})
}

// roll replaces the pods of all Deployments, StatefulSets and DaemonSets.
func (e *Env) roll() {
	e.T.Helper()
	patch := []byte(`{"spec":{"template":{"metadata":{"annotations":{"example.com/version":"2"}}}}}`)
	apps, ctx, o := e.Client.AppsV1(), e.Context(), metav1.PatchOptions{}
	for _, name := range healthyDeployments {
		if _, err := apps.Deployments(e.Namespace).Patch(ctx, name, types.StrategicMergePatchType, patch, o); err != nil {
			e.T.Fatal(err)
		}
	}
	if _, err := apps.StatefulSets(e.Namespace).Patch(ctx, "db", types.StrategicMergePatchType, patch, o); err != nil {
		e.T.Fatal(err)
	}
	if _, err := apps.DaemonSets(e.Namespace).Patch(ctx, "each", types.StrategicMergePatchType, patch, o); err != nil {
		e.T.Fatal(err)
	}
}

// endAll deletes everything as a person would, with the pods' own grace periods.
func (e *Env) endAll() {
	e.T.Helper()
	if err := os.Remove(e.manifest()); err != nil {
		e.T.Fatal(err)
	}
	behind := metav1.DeletePropagationBackground
	ctx, o, all := e.Context(), metav1.DeleteOptions{PropagationPolicy: &behind}, metav1.ListOptions{}
	for what, err := range map[string]error{
		"deployments":  e.Client.AppsV1().Deployments(e.Namespace).DeleteCollection(ctx, o, all),
		"statefulsets": e.Client.AppsV1().StatefulSets(e.Namespace).DeleteCollection(ctx, o, all),
		"daemonsets":   e.Client.AppsV1().DaemonSets(e.Namespace).DeleteCollection(ctx, o, all),
		"cronjobs":     e.Client.BatchV1().CronJobs(e.Namespace).DeleteCollection(ctx, o, all),
		"jobs":         e.Client.BatchV1().Jobs(e.Namespace).DeleteCollection(ctx, o, all),
		"pods":         e.Client.CoreV1().Pods(e.Namespace).DeleteCollection(ctx, o, all),
	} {
		if err != nil {
			e.T.Fatalf("delete %s: %v", what, err)
		}
	}
}
