package gather

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	corev1 "k8s.io/api/core/v1"

	"github.com/podstep/podstep/agent/explain/causes"
	"github.com/podstep/podstep/agent/explain/evidence"
	"github.com/podstep/podstep/agent/kubeapi"
	"github.com/podstep/podstep/agent/kubeapi/apitest"
	"github.com/podstep/podstep/probes/words"
)

var web = evidence.Name{Namespace: "shop", Name: "web"}

// TestPod: all that the pod refers to is in the snapshot, nothing else was read, and nothing was changed.
func TestPod(t *testing.T) {
	api := apitest.Start(t, richCluster())
	s := From{API: api.Client(t)}.Pod(t.Context(), web)
	c := &s.Cluster
	if s.Pod == nil || len(c.Events) == 0 || len(c.Owners) != 1 || c.Node == nil || c.Lease == nil || len(c.Claims) != 1 || len(c.Volumes) != 1 ||
		len(c.Classes) != 1 || c.CSINode == nil || len(c.Secrets) != 2 || len(c.ConfigMaps) != 1 || c.ServiceAccount == nil || c.RuntimeClass == nil ||
		len(c.ResourceClaims) != 1 || len(c.DeviceClasses) != 1 || len(s.Unseen) > 0 || len(c.Missing) > 0 {
		text, _ := json.MarshalIndent(s, "", " ")
		t.Fatalf("the snapshot is %s", text)
	}
	if k := c.ConfigMaps[0]; !slices.Equal(k.Keys, []string{"a.conf", "b.bin"}) {
		t.Errorf("the keys of the ConfigMap are %q", k.Keys)
	}
	for _, r := range api.Requests() {
		if r.Method != http.MethodGet {
			t.Errorf("%s", r)
		}
		if strings.HasSuffix(r.Path, "/pods") && !strings.Contains(r.Path, "namespaces/shop") {
			t.Errorf("pods of other namespaces were read: %s", r)
		}
	}
	var again evidence.Snapshot
	text, _ := json.Marshal(s)
	if err := json.Unmarshal(text, &again); err != nil {
		t.Fatal(err)
	}
	if second, _ := json.Marshal(again); string(second) != string(text) {
		t.Errorf("a snapshot is not the same after JSON and back")
	}
}

// TestSecrets: no value that may be secret is in a snapshot or in what is found.
func TestSecrets(t *testing.T) {
	api := apitest.Start(t, richCluster())
	s := From{API: api.Client(t)}.Pod(t.Context(), web)
	text, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	if i := strings.Index(string(text), "canary-"); i >= 0 {
		t.Errorf("the snapshot has %s", text[max(0, i-60):min(len(text), i+60)])
	}
}

// TestRefused: if one permission is missing, whichever it is, there is still a report, which
// names what could not be seen.
func TestRefused(t *testing.T) {
	for path := range richCluster() {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			api := apitest.Start(t, richCluster())
			api.Refuse("/"+path, http.StatusForbidden)
			s := From{API: api.Client(t)}.Pod(t.Context(), web)
			if !slices.ContainsFunc(s.Unseen, func(u evidence.Unseen) bool { return u.Why == evidence.Forbidden }) {
				t.Errorf("it is not said that %s may not be read: %+v", path, s.Unseen)
			}
			if r := causes.Explain(s); r == nil || path != "api/v1/namespaces/shop/pods/web" && r.Phase == causes.Missing {
				t.Errorf("without %s the report is %+v", path, r)
			}
		})
	}
}

// TestHangs: if one part does not answer, whichever it is, the snapshot is there within the
// deadline, and names that part.
func TestHangs(t *testing.T) {
	for _, path := range []string{"pods/web", "events", "replicasets", "nodes/node-1", "secrets", "persistentvolumeclaims", "volumeattachments", "runtimeclasses"} {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			api := apitest.Start(t, hanging(path, richCluster()))
			ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
			defer cancel()
			s := From{API: api.Client(t)}.Pod(ctx, web)
			if !slices.ContainsFunc(s.Unseen, func(u evidence.Unseen) bool { return u.Why == evidence.Late }) {
				t.Errorf("it is not said that %s did not answer: %+v", path, s.Unseen)
			}
			_ = causes.Explain(s)
		})
	}
}

// sleeper is a source that does not answer before it is released.
type sleeper struct{ done chan struct{} }

func (sleeper) Names() (evidence.Source, string) { return evidence.Node, "mounts" }
func (s sleeper) Look(context.Context, *Subject) func(*evidence.Snapshot) {
	<-s.done
	return nil
}

// TestDeafSource: a source that ignores its context costs nothing but its own part.
func TestDeafSource(t *testing.T) {
	done := make(chan struct{})
	defer close(done)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	s := From{More: []Source{sleeper{done}}}.Pod(ctx, web)
	if len(s.Unseen) != 1 || s.Unseen[0].What != "mounts" || s.Unseen[0].Why != evidence.Late {
		t.Errorf("unseen are %+v", s.Unseen)
	}
}

// TestForeignText: texts from outside may have anything in them. Texts that are printed do not.
func TestForeignText(t *testing.T) {
	objects := richCluster()
	p := richPod()
	evil := "\x1b[2J\x07 bad \xff\xfe \u202e " + strings.Repeat("long ", 1<<18)
	p.Status.ContainerStatuses[0].State.Waiting = &corev1.ContainerStateWaiting{Reason: "ErrImagePull", Message: "not found" + evil}
	p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: "False", Reason: "Unschedulable", Message: evil}}
	objects["api/v1/namespaces/shop/pods/web"] = p
	api := apitest.Start(t, objects)
	s := From{API: api.Client(t)}.Pod(t.Context(), web)
	text, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	if len(text) > 256<<10 {
		t.Errorf("the snapshot has %d bytes", len(text))
	}
	r := causes.Explain(s)
	if len(r.Findings) == 0 {
		t.Error("nothing is found")
	}
	for i := range r.Findings {
		f := &r.Findings[i]
		for _, l := range []words.Lang{words.English, words.Chinese} {
			for _, text := range []string{f.Title(l), f.Sentence(l), f.Clock(l), f.Chain(l)} {
				if !utf8.ValidString(text) || strings.IndexFunc(text, words.Unsafe) >= 0 || len(text) > 8<<10 {
					t.Errorf("%s: %.200q", f.Cause.ID, text)
				}
			}
			for _, d := range f.Advice(l) {
				if strings.IndexFunc(d.Run, words.Unsafe) >= 0 {
					t.Errorf("%s: %q", f.Cause.ID, d.Run)
				}
			}
		}
	}
}

// TestVanishing: a pod that goes while it is asked about is no error.
func TestVanishing(t *testing.T) {
	api := apitest.Start(t, apitest.Objects{})
	s := From{API: api.Client(t)}.Pod(t.Context(), web)
	if s.Pod != nil || !slices.Contains(s.Cluster.Missing, "pods/web") {
		t.Errorf("the snapshot is %+v", s)
	}
	if r := causes.Explain(s); r.Word() != causes.Unknown || r.Phase != causes.Missing {
		t.Errorf("the report is %+v", r)
	}
}

// TestNonsense: answers that are no objects are errors of that part alone.
func TestNonsense(t *testing.T) {
	for _, body := range []string{"", "null", "[]", "{", `"text"`, "<html>", `{"items": 3}`, `{"metadata": {"name": 7}}`} {
		for path := range richCluster() {
			objects := richCluster()
			objects[path] = body
			api := apitest.Start(t, objects)
			_ = causes.Explain(From{API: api.Client(t)}.Pod(t.Context(), web))
		}
	}
}

// TestWhyNot: why a source could not be read is known by the kind of its error.
func TestWhyNot(t *testing.T) {
	for want, errs := range map[string][]error{
		evidence.Late:        {context.DeadlineExceeded},
		evidence.Forbidden:   {&kubeapi.StatusError{Code: http.StatusForbidden}, fs.ErrPermission},
		evidence.Absent:      {&kubeapi.StatusError{Code: http.StatusNotFound}, fs.ErrNotExist},
		evidence.Unreachable: {&net.OpError{Op: "dial", Err: errors.New("connection refused")}, status.Error(codes.Unavailable, "connection refused")},
		evidence.Failed:      {errors.New("no"), status.Error(codes.Internal, "no")},
	} {
		for _, err := range errs {
			if code, _ := WhyNot(fmt.Errorf("ask: %w", err)); code != want {
				t.Errorf("%v is %s, want %s", err, code, want)
			}
		}
	}
}
