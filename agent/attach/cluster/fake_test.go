package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podstep/podstep/agent/kubeapi"
	"github.com/podstep/podstep/agent/kubeapi/apitest"
	"github.com/podstep/podstep/probes"
)

// fakeAPI lists and watches as an API server does: with versions, pages and bookmarks, and it forgets the past.
type fakeAPI struct {
	*apitest.Server

	mu      sync.Mutex
	cond    *sync.Cond
	version int
	objects map[string]map[types.UID]any // by path
	log     []change
	forgot  int // watches may not begin before this version
	// forgetful: watches may not begin at any version.
	forgetful bool
	// refuseList, if set, is called with the version of each list, and returns the error for it, or nil.
	refuseList func(version string) *kubeapi.StatusError
	many       map[string]int // by path: how many objects the server counts
	epoch      int            // watches of an earlier epoch end
	open       int            // how many watches of events are open
	most       int            // how many of these were ever open at one time
}

type change struct {
	version    int
	path, kind string
	object     any
}

func newFakeAPI(t *testing.T) *fakeAPI {
	f := &fakeAPI{version: 100, objects: map[string]map[types.UID]any{}, many: map[string]int{}}
	f.cond = sync.NewCond(&f.mu)
	f.Server = apitest.Start(t, f)
	t.Cleanup(f.cut)
	return f
}

const podsPath, eventsPath = "/api/v1/pods", "/api/v1/namespaces/default/events"

// put makes or changes an object; kind is the type of the change in a watch.
func (f *fakeAPI) put(path, kind string, object metav1.Object) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.version++
	object.SetResourceVersion(strconv.Itoa(f.version))
	if f.objects[path] == nil {
		f.objects[path] = map[types.UID]any{}
	}
	if kind == "DELETED" {
		delete(f.objects[path], object.GetUID())
	} else {
		f.objects[path][object.GetUID()] = object
	}
	f.log = append(f.log, change{f.version, path, kind, object})
	f.cond.Broadcast()
}

// cut ends all watches.
func (f *fakeAPI) cut() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.epoch++
	f.cond.Broadcast()
}

// forgetPast makes the server forget the past, so that a client that was away has to list.
func (f *fakeAPI) forgetPast() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.version++
	f.forgot, f.log = f.version, nil
}

func (f *fakeAPI) wake() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.cond.Broadcast()
}

// until waits until holds returns true.
func (f *fakeAPI) until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	now := func() bool {
		f.mu.Lock()
		defer f.mu.Unlock()
		return holds()
	}
	for end := time.Now().Add(patience); !now(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("it never came that %s; asked: %v", what, f.Requests())
		}
	}
}

func (f *fakeAPI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Query().Get("watch") != "" {
		f.watch(w, r)
		return
	}
	f.list(w, r)
}

// list answers with all objects, or with one a page if there is a limit, in the order of their names.
func (f *fakeAPI) list(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	q := r.URL.Query()
	if f.refuseList != nil {
		if err := f.refuseList(q.Get("resourceVersion")); err != nil {
			apitest.Fail(w, err.Code, err.Message, err.Causes...)
			return
		}
	}
	all := f.objects[r.URL.Path]
	var uids []types.UID
	for id, object := range all {
		if string(id) > q.Get("continue") && selected(q, object) {
			uids = append(uids, id)
		}
	}
	slices.Sort(uids)
	meta := metav1.ListMeta{ResourceVersion: strconv.Itoa(f.version)}
	if q.Get("limit") != "" && len(uids) > 1 {
		left := int64(len(uids) - 1)
		meta.Continue, meta.RemainingItemCount = string(uids[0]), &left
		uids = uids[:1]
	}
	if n := int64(f.many[r.URL.Path]); n > 0 {
		meta.RemainingItemCount = &n
	}
	items := []any{}
	for _, id := range uids {
		items = append(items, all[id])
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"metadata": meta, "items": items})
}

// selected reports whether an event is of the pod in the field selector.
func selected(q url.Values, object any) bool {
	_, name, some := strings.Cut(q.Get("fieldSelector"), "involvedObject.name=")
	e, is := object.(*v1.Event)
	return !some || !is || e.InvolvedObject.Name == name
}

func (f *fakeAPI) watch(w http.ResponseWriter, r *http.Request) {
	from, err := strconv.Atoi(r.URL.Query().Get("resourceVersion"))
	if err != nil {
		apitest.Fail(w, http.StatusBadRequest, err.Error())
		return
	}
	out := json.NewEncoder(w)
	f.mu.Lock()
	defer f.mu.Unlock()
	if from < f.forgot || f.forgetful {
		_ = out.Encode(map[string]any{"type": "ERROR", "object": metav1.Status{Code: http.StatusGone, Message: "too old resource version"}})
		return
	}
	if r.URL.Path != podsPath {
		f.open++
		f.most = max(f.most, f.open)
		defer func() { f.open-- }()
	}
	// The client may end the watch.
	defer context.AfterFunc(r.Context(), f.wake)()
	for epoch := f.epoch; epoch == f.epoch && r.Context().Err() == nil; {
		for _, c := range f.log {
			if c.version > from && c.path == r.URL.Path && selected(r.URL.Query(), c.object) {
				_ = out.Encode(map[string]any{"type": c.kind, "object": c.object})
			}
		}
		from = f.version
		_ = out.Encode(map[string]any{"type": "BOOKMARK", "object": map[string]any{"metadata": map[string]any{"resourceVersion": strconv.Itoa(from)}}})
		w.(http.Flusher).Flush()
		if epoch == f.epoch && r.Context().Err() == nil {
			f.cond.Wait()
		}
	}
}

// fakeKubelet answers with the pods that a test sets.
type fakeKubelet struct {
	*httptest.Server
	mu   sync.Mutex
	pods []v1.Pod
	code int
}

func newFakeKubelet(t *testing.T) *fakeKubelet {
	k := &fakeKubelet{}
	k.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		k.mu.Lock()
		defer k.mu.Unlock()
		if k.code != 0 {
			http.Error(w, "Forbidden (user=x)", k.code)
			return
		}
		_ = json.NewEncoder(w).Encode(v1.PodList{Items: k.pods})
	}))
	t.Cleanup(k.Close)
	return k
}

func (k *fakeKubelet) set(code int, pods ...v1.Pod) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.pods, k.code = pods, code
}

// collector collects the reports. Several sources report, each in its own order. So a test waits for each report by
// itself, and checks with inOrder in which order they came.
type collector struct {
	t       *testing.T
	reports chan Report
	notes   chan string
	past    []string // all reports and notes, as text
	waiting []Report // reports for which no test has waited yet
}

// follow runs the package until the test ends.
func follow(t *testing.T, o Options) *collector { return followAs(t, "node-1", o) }

func followAs(t *testing.T, node string, o Options) *collector {
	t.Helper()
	return followBy(t, quickClock(), node, o)
}

// quickClock is a clock with which waiting takes a hundredth of the time.
func quickClock() clock {
	return clock{time.Now, func(d time.Duration) <-chan time.Time { return time.After(d / 100) }}
}

// followBy runs the package with another clock.
func followBy(t *testing.T, by clock, node string, o Options) *collector {
	t.Helper()
	h := &collector{t: t, reports: make(chan Report, 10_000), notes: make(chan string, 100)}
	o.Node = node
	o.Report = func(s Report) { h.reports <- s }
	o.Note = func(text string, err error) {
		if err != nil {
			text += ": " + err.Error()
		}
		h.notes <- text
	}
	o.State = func(by probes.Witness, err error) {
		if err != nil {
			h.notes <- fmt.Sprintf("%s fails: %v", by, err)
			return
		}
		h.notes <- string(by) + " works"
	}
	c, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	c.clock = by
	var ran sync.WaitGroup
	ran.Go(func() { c.RunAPI(t.Context()) })
	ran.Go(func() { c.RunKubelet(t.Context()) })
	t.Cleanup(ran.Wait) // the test's context has ended by then
	return h
}

// patience is how long a test waits for what must happen.
const patience = 30 * time.Second

// until waits for a report of a step whose fields, as text, contain all of want. It returns each report only once.
func (h *collector) until(step string, want ...string) Report {
	h.t.Helper()
	is := func(s Report) bool { return s.Step == step && containsAll(line(h.t, s), want) }
	if i := slices.IndexFunc(h.waiting, is); i >= 0 {
		s := h.waiting[i]
		h.waiting = slices.Delete(h.waiting, i, i+1)
		return s
	}
	end := time.After(patience)
	for {
		select {
		case s := <-h.reports:
			h.past = append(h.past, line(h.t, s))
			if is(s) {
				return s
			}
			h.waiting = append(h.waiting, s)
		case <-end:
			h.t.Fatalf("%s %v was not published, but\n  %s", step, want, strings.Join(h.past, "\n  "))
		}
	}
}

func (h *collector) noted(want ...string) {
	h.t.Helper()
	end := time.After(patience)
	for {
		select {
		case text := <-h.notes:
			h.past = append(h.past, text)
			if containsAll(text, want) {
				return
			}
		case <-end:
			h.t.Fatalf("%v was not noted, but\n  %s", want, strings.Join(h.past, "\n  "))
		}
	}
}

func containsAll(text string, want []string) bool {
	for _, w := range want {
		if !strings.Contains(text, w) {
			return false
		}
	}
	return true
}
