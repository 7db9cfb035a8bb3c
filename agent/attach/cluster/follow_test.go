package cluster

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/podstep/podstep/agent/kubeapi"
	"github.com/podstep/podstep/agent/kubeport"
)

func namedPod(name string) *v1.Pod {
	return with(webPod(), func(p *v1.Pod) { p.Name, p.UID = name, types.UID("uid-"+name) })
}

func eventOf(name, reason string) *v1.Event {
	return &v1.Event{
		ObjectMeta: metav1.ObjectMeta{UID: types.UID("event-" + name + reason)}, Reason: reason, LastTimestamp: at(9),
		InvolvedObject: v1.ObjectReference{Name: name, UID: types.UID("uid-" + name)}, Source: v1.EventSource{Host: "node-1"},
	}
}

func TestFollow(t *testing.T) {
	f := newFakeAPI(t)
	f.put(podsPath, "ADDED", namedPod("a"))
	f.put(podsPath, "ADDED", namedPod("b"))
	f.put(podsPath, "ADDED", namedPod("c"))
	f.put(eventsPath, "ADDED", eventOf("b", "Pulled"))
	h := follow(t, Options{API: f.Config()})
	for range 3 {
		if s := h.until("cluster.bound", "from=object"); !s.At.Equal(at(1).Time) {
			t.Errorf("bound at %v, the object says %v", s.At, at(1))
		}
	}
	h.until("reported.phase", "from=object")
	h.until("reported.condition", "from=object")
	h.until("reported.event", "reason=Pulled", "from=object")

	f.put(podsPath, "ADDED", namedPod("d"))
	if s := h.until("cluster.bound"); s.Pod.Name != "d" || s.Values[len(s.Values)-1] != nil {
		t.Errorf("published %s of %s", line(t, s), s.Pod.Name)
	}
	f.put(eventsPath, "ADDED", eventOf("d", "Scheduled"))
	h.until("reported.event", "reason=Scheduled")

	// The server ends the watch, as it does every few minutes.
	f.cut()
	f.put(podsPath, "MODIFIED", with(namedPod("d"), func(p *v1.Pod) { p.Status.Phase = v1.PodRunning }))
	h.until("reported.phase", "phase=Running")
	f.put(podsPath, "DELETED", with(namedPod("d"), func(p *v1.Pod) { p.Status.Phase = v1.PodSucceeded }))
	h.until("cluster.gone", "phase=Succeeded")
	checkAsked(t, f)
}

// TestUserAgent: the API server sees which node's podstep asks.
func TestUserAgent(t *testing.T) {
	f := newFakeAPI(t)
	f.put(podsPath, "ADDED", namedPod("a"))
	h := follow(t, Options{API: f.Config()})
	h.until("cluster.bound")
	f.until(t, "events are watched", func() bool { return f.open == 1 })
	for _, a := range f.Requests() {
		if want := kubeapi.UserAgent("attach/node-1"); a.Agent != want {
			t.Errorf("%s is asked for by %q, want %q", a.Path, a.Agent, want)
		}
	}
}

// checkAsked checks that only the pods of this node are listed, once, from the watch cache, and that the next watch
// goes on from the last version.
func checkAsked(t *testing.T, f *fakeAPI) {
	t.Helper()
	all := f.RequestsFor(podsPath)
	last := 0
	for i, a := range all {
		version, err := strconv.Atoi(a.Query.Get("resourceVersion"))
		if a.Query.Get("fieldSelector") != "spec.nodeName=node-1" || a.Query.Has("limit") || err != nil {
			t.Errorf("asked for %v", a.Query)
		}
		switch {
		case i == 0 && (a.Watch() || version != 0):
			t.Errorf("first asked for %v", a.Query)
		case i > 0 && (!a.Watch() || a.Query.Get("allowWatchBookmarks") == "" || version < last || version < 104):
			t.Errorf("then asked for %v, after version %d", a.Query, last)
		}
		last = version
	}
	if len(all) < 3 || last < 106 { // the watch was cut after that
		t.Errorf("%d requests, the last one from version %d", len(all), last)
	}
}

// TestTooOld: if the server has forgotten what happened, podstep lists again, and reports which pods are gone and
// what is new.
func TestTooOld(t *testing.T) {
	f := newFakeAPI(t)
	f.put(podsPath, "ADDED", namedPod("a"))
	f.put(podsPath, "ADDED", namedPod("b"))
	h := follow(t, Options{API: f.Config()})
	h.until("cluster.bound")
	h.until("cluster.bound")
	f.put(podsPath, "ADDED", namedPod("c"))
	h.until("cluster.bound")
	f.Refuse(podsPath, http.StatusServiceUnavailable)
	f.cut()
	h.noted("api fails", "the test says so")
	f.put(podsPath, "DELETED", namedPod("a"))
	f.put(podsPath, "MODIFIED", with(namedPod("b"), func(p *v1.Pod) { p.Status.Phase = v1.PodRunning }))
	f.forgetPast()
	f.Refuse(podsPath, 0)
	h.noted("api works")
	if s := h.until("cluster.gone"); s.Pod.Name != "a" {
		t.Errorf("%s is gone", s.Pod.Name)
	}
	f.put(podsPath, "MODIFIED", with(namedPod("c"), func(p *v1.Pod) { p.Status.Phase = v1.PodFailed }))
	h.until("reported.phase", "phase=Failed")
	running, bound := 0, 0
	for _, text := range h.past {
		if strings.Contains(text, "phase=Running") {
			running++
		}
		if strings.Contains(text, "cluster.bound") {
			bound++
		}
	}
	if bound != 3 {
		t.Errorf("that three pods are bound was published %d times: %v", bound, h.past)
	}
	if running != 1 {
		t.Errorf("that b runs was published %d times: %v", running, h.past)
	}
	var lists []string
	for _, a := range f.RequestsFor(podsPath) {
		if v := a.Query.Get("resourceVersion"); !a.Watch() && !slices.Contains(lists, v) {
			lists = append(lists, v)
		}
	}
	if want := []string{"0", "103"}; !slices.Equal(lists, want) {
		t.Errorf("listed from the versions %v, want %v: the watch cache has what is not older than what was seen", lists, want)
	}
}

// TestForbidden: without the right to read events, podstep still has the pods, and names the missing right.
func TestForbidden(t *testing.T) {
	f := newFakeAPI(t)
	f.Refuse(eventsPath, http.StatusForbidden)
	f.put(podsPath, "ADDED", namedPod("a"))
	h := follow(t, Options{API: f.Config()})
	h.noted("events of the API server are not shown", "/events is forbidden", "--kubeconfig")
	h.until("cluster.bound")
	f.put(podsPath, "ADDED", namedPod("b"))
	h.until("cluster.bound")
}

// TestAbsentAPI: while there is no API server yet, podstep asks the kubelet.
func TestAbsentAPI(t *testing.T) {
	f := newFakeAPI(t)
	f.Refuse(podsPath, http.StatusInternalServerError)
	f.Refuse(eventsPath, http.StatusInternalServerError)
	k := newFakeKubelet(t)
	static := *with(kubeletPod(), func(p *v1.Pod) { p.UID = "hash" })
	k.set(0, static)
	h := follow(t, Options{API: f.Config(), Kubelet: &kubeport.Port{URLs: []string{k.URL}, Client: k.Client()}})
	h.noted("api fails")
	h.until("cluster.kubelet", "known=true", "from=object")
	static.Status.Phase = v1.PodRunning
	k.set(0, static)
	h.until("reported.phase", "phase=Running", "from=kubelet")
	f.put(podsPath, "ADDED", namedPod("a"))
	f.Refuse(podsPath, 0)
	h.noted("api works")
	h.until("cluster.bound", "from=object")
}

func TestNobodyThere(t *testing.T) {
	gone := httptest.NewServer(nil)
	gone.Close()
	h := follow(t, Options{
		API: &rest.Config{Host: gone.URL}, Kubelet: &kubeport.Port{URLs: []string{gone.URL}, Client: gone.Client()},
	})
	notes := <-h.notes + <-h.notes
	for _, what := range []string{"api fails", "kubelet fails"} {
		if !strings.Contains(notes, what) {
			t.Errorf("of %s nothing is noted: %s", what, notes)
		}
	}
}

func TestKubeletRefuses(t *testing.T) {
	k := newFakeKubelet(t)
	k.set(http.StatusForbidden)
	h := follow(t, Options{Kubelet: &kubeport.Port{URLs: []string{k.URL}, Client: k.Client()}})
	h.noted("kubelet fails", "Forbidden (user=x)", "nodes/pods")
	k.set(0, *kubeletPod())
	h.noted("kubelet works")
	h.until("cluster.kubelet", "known=true", "source=api", "since=+3")
	// A failure is not the end of the pods.
	k.set(http.StatusInternalServerError)
	h.noted("kubelet fails")
	k.set(0, *with(kubeletPod(), func(p *v1.Pod) { p.Status.Phase = v1.PodRunning }))
	h.until("reported.phase", "phase=Running")
	if strings.Contains(strings.Join(h.past, "\n"), "known=false") {
		t.Error("a failure makes the pod disappear")
	}
	k.set(0)
	h.until("cluster.kubelet", "known=false")
}
