package gather

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/podstep/podstep/agent/explain/evidence"
	"github.com/podstep/podstep/agent/kubeapi"
	"github.com/podstep/podstep/agent/kubeapi/apitest"
)

// slowServer answers each request after a while. In a bubble of testing/synctest that while is exact, so that the time of an
// answer counts how many requests waited for one another.
type slowServer struct {
	http.Handler
	took func(path string) time.Duration

	mu    sync.Mutex
	paths map[string]int
}

// RoundTrip answers a request without a network.
func (s *slowServer) RoundTrip(r *http.Request) (*http.Response, error) {
	s.mu.Lock()
	s.paths[r.URL.RequestURI()]++
	s.mu.Unlock()
	select {
	case <-time.After(s.took(r.URL.Path)):
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w.Result(), nil
}

func (s *slowServer) requests() (n int) {
	for _, times := range s.paths {
		n += times
	}
	return n
}

func newSlow(t *testing.T, objects apitest.Objects, took func(path string) time.Duration) (*slowServer, From) {
	s := &slowServer{Handler: objects, took: took, paths: map[string]int{}}
	api, err := kubeapi.New(&rest.Config{Host: "http://api", Transport: s})
	if err != nil {
		t.Fatal(err)
	}
	return s, From{API: api}
}

// manyPods returns a cluster of 500 pods of 100 Deployments in ten namespaces, of which half have no node.
func manyPods() apitest.Objects {
	objects, pods, yes := apitest.Objects{}, []any{}, true
	now := time.Now()
	for i := range 500 {
		namespace, owner := fmt.Sprint("team-", i%10), fmt.Sprint("web-", i%100)
		p := corev1.Pod{ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: fmt.Sprint("pod-", i), UID: "u", CreationTimestamp: metav1.NewTime(now.Add(-time.Hour)),
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: owner, Controller: &yes}},
		}, Spec: corev1.PodSpec{ServiceAccountName: "default"}, Status: corev1.PodStatus{Phase: corev1.PodPending}}
		if i%2 == 0 {
			p.Spec.NodeName = fmt.Sprint("node-", i%20)
		} else {
			p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable, Message: "0/1 nodes are available: 1 Insufficient cpu."}}
		}
		pods = append(pods, p)
		objects["apis/apps/v1/namespaces/"+namespace+"/replicasets/"+owner] = map[string]any{"metadata": map[string]any{
			"name": owner, "uid": owner, "ownerReferences": []any{map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "name": owner, "controller": true}},
		}}
		objects["apis/apps/v1/namespaces/"+namespace+"/deployments/"+owner] = map[string]any{"metadata": map[string]any{"name": owner, "uid": "d" + owner}}
	}
	objects["api/v1/pods"] = listOf(pods...)
	return objects
}

func everyPod(*evidence.Snapshot) bool { return true }

// TestManyWaves: 500 pods take few requests one after the other, however many there are beside one another.
func TestManyWaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const each = 500 * time.Millisecond
		server, from := newSlow(t, manyPods(), func(string) time.Duration { return each })
		began := time.Now()
		m, err := from.All(context.Background(), "", everyPod)
		if err != nil {
			t.Fatal(err)
		}
		if len(m.Pods) != 500 {
			t.Fatalf("%d pods", len(m.Pods))
		}
		waves := int(time.Since(began) / each)
		t.Logf("%d requests, of which %d waited for one another", server.requests(), waves)
		// All requests, each of them once, with maxAsked at one time, and the depth of one pod: the list, its owners one above
		// the other.
		if most := server.requests()/maxAsked + 5; waves > most || waves > 11 {
			t.Errorf("%d requests wait for one another, more than %d", waves, most)
		}
		for path, times := range server.paths {
			if times > 1 {
				t.Errorf("%s is asked for %d times", path, times)
			}
		}
		for _, s := range m.Pods {
			if len(s.Cluster.Owners) != 2 || s.Pod.Spec.NodeName == "" && len(s.Cluster.Placed.Pods) != 250 {
				t.Fatalf("%s has %d owners", s.Name, len(s.Cluster.Owners))
			}
		}
	})
}

// TestManySlowEvents: events that do not come keep no pod from its answer, and the answer says that they are missing.
func TestManySlowEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, from := newSlow(t, manyPods(), func(path string) time.Duration {
			if strings.HasSuffix(path, "/events") {
				return time.Hour
			}
			return time.Millisecond
		})
		m, err := from.All(context.Background(), "", everyPod)
		if err != nil {
			t.Fatal(err)
		}
		if len(m.Pods) != 500 {
			t.Fatalf("%d pods", len(m.Pods))
		}
		for _, s := range m.Pods {
			if len(s.Cluster.Owners) != 2 {
				t.Fatalf("%s: %+v", s.Name, s.Unseen)
			}
			if text := fmt.Sprint(s.Unseen); !strings.Contains(text, "events of namespace "+s.Name.Namespace) || !strings.Contains(text, evidence.Late) {
				t.Fatalf("%s: what is missing is %s", s.Name, text)
			}
		}
		if !strings.Contains(fmt.Sprint(m.Unseen), "events FailedCreate") {
			t.Errorf("what is missing: %v", m.Unseen)
		}
	})
}

// TestManyHalf: if the list of pods ends early, those that came are explained, and the answer says so.
func TestManyHalf(t *testing.T) {
	pages := 0
	first := manyPods()["api/v1/pods"].(map[string]any)
	objects := manyPods()
	server := apitest.Start(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/api/v1/pods" {
			objects.ServeHTTP(w, r)
			return
		}
		if pages++; pages > 1 {
			apitest.Fail(w, http.StatusInternalServerError, "the storage is away")
			return
		}
		apitest.Answer(w, http.StatusOK, map[string]any{"items": first["items"], "metadata": map[string]any{"continue": "more"}})
	}))
	m, err := From{API: server.Client(t)}.All(t.Context(), "", everyPod)
	if err != nil || len(m.Pods) != 500 || !strings.Contains(fmt.Sprint(m.Unseen), "pods after the first 500") {
		t.Errorf("%v, %d pods, unseen: %+v", err, len(m.Pods), m.Unseen)
	}
}
