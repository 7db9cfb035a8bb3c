package gather

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/podstep/podstep/agent/explain/evidence"
	"github.com/podstep/podstep/agent/kubeapi"
	"github.com/podstep/podstep/agent/redact"
)

const proxied = "/api/v1/nodes/no-such-node/proxy"

// proxy starts an API server with a kubelet behind it. answers are by path; a text that begins
// with a number and a space is an error of that status.
func proxy(t *testing.T, answers map[string]string) (*kubeapi.Client, *[]string) {
	t.Helper()
	var asked []string
	lock := make(chan struct{}, 1)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		lock <- struct{}{}
		asked = append(asked, r.URL.Path)
		<-lock
		text, ok := answers[strings.TrimPrefix(r.URL.Path, proxied)]
		switch {
		case !ok:
			http.Error(w, "you may not", http.StatusForbidden)
		case strings.HasPrefix(text, "500 "):
			http.Error(w, text[4:], http.StatusInternalServerError)
		default:
			_, _ = w.Write([]byte(text))
		}
	}))
	t.Cleanup(s.Close)
	c, err := kubeapi.New(&rest.Config{Host: s.URL})
	if err != nil {
		t.Fatal(err)
	}
	return c, &asked
}

func onNode(uid string) *Subject {
	name := evidence.Name{Namespace: "default", Name: "hang", UID: uid}
	return &Subject{Name: name, Kubelet: name, Snapshot: &evidence.Snapshot{Pod: &corev1.Pod{Spec: corev1.PodSpec{NodeName: "no-such-node"}}}}
}

func kubeletsPods(t *testing.T) string {
	t.Helper()
	list := corev1.PodList{}
	for _, uid := range []types.UID{stopping, hooked, waiting} {
		list.Items = append(list.Items, corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "pod-" + string(uid[:4]), UID: uid},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "app", Env: []corev1.EnvVar{{Name: "A", Value: "hunter2"}}}}},
		})
	}
	b, err := json.Marshal(list)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func look(t *testing.T, s Source, of *Subject) *evidence.Snapshot {
	t.Helper()
	out := &evidence.Snapshot{}
	if fill := s.Look(t.Context(), of); fill != nil {
		fill(out)
	}
	return out
}

// TestThroughAPI: one look at a node's kubelet serves many pods of the node.
func TestThroughAPI(t *testing.T) {
	api, asked := proxy(t, map[string]string{
		pathPods: kubeletsPods(t), pathHealthz: "500 [+]ping ok\n[-]syncloop failed: reason withheld\nhealthz check failed",
		pathSyncLoop: "500 internal server error: sync Loop took longer than expected", pathConfigz: someConfig, pathMetrics: someMetrics, pathDump: string(recorded(t)),
	})
	k := &Kubelet{API: api, Whole: true}
	for _, uid := range []string{hooked, "44444444-4444-4444-8444-444444444444", waiting} {
		s := look(t, k, onNode(uid))
		has := slices.Contains([]string{hooked, waiting}, uid)
		if s.Kubelet == nil || s.Kubelet.HasPod == nil || *s.Kubelet.HasPod != has || (s.KubeletPod != nil) != has {
			t.Fatalf("%+v", s.Kubelet)
		}
		if has && (string(s.KubeletPod.UID) != uid || s.KubeletPod.Spec.Containers[0].Env[0].Value != redact.Redacted) {
			t.Errorf("pod %+v", s.KubeletPod)
		}
		if !strings.Contains(s.Kubelet.Healthz, "[-]syncloop failed") || !strings.Contains(s.Kubelet.SyncLoop, "sync Loop took longer") ||
			s.Kubelet.Config.MaxPods != 110 || len(s.Kubelet.Metrics) != 4 || len(s.Kubelet.Goroutines) == 0 {
			t.Errorf("%+v", s.Kubelet)
		}
		if has != slices.ContainsFunc(s.Unseen, func(u evidence.Unseen) bool { return strings.HasPrefix(u.What, "whose ") }) {
			t.Errorf("unseen %+v", s.Unseen)
		}
	}
	if len(*asked) != 6 {
		t.Errorf("asked %q", *asked)
	}
}

// TestMayNotProxy: without the right to nodes/proxy, the snapshot says so once.
func TestMayNotProxy(t *testing.T) {
	api, _ := proxy(t, nil)
	s := look(t, &Kubelet{API: api}, onNode(hooked))
	if s.Kubelet != nil || len(s.Unseen) != 1 || s.Unseen[0].Why != evidence.Forbidden || s.Unseen[0].What != "port" {
		t.Errorf("%+v, unseen %+v", s.Kubelet, s.Unseen)
	}
}

// TestForeignAnswers: whatever answers in the kubelet's place may answer anything.
func TestForeignAnswers(t *testing.T) {
	api, _ := proxy(t, map[string]string{
		pathPods: "<html>", pathHealthz: "500 no", pathSyncLoop: "\x1b[31mok", pathConfigz: "[]", pathMetrics: "\x00", pathDump: "goroutine 1 [x]:\n",
	})
	s := look(t, &Kubelet{API: api}, onNode(hooked))
	if s.Kubelet == nil || s.Kubelet.HasPod != nil || s.Kubelet.Config != nil || s.Kubelet.Healthz != "" || s.Kubelet.SyncLoop != "\\x1b[31mok" || len(s.Unseen) != 3 {
		t.Errorf("%+v, unseen %+v", s.Kubelet, s.Unseen)
	}
}

// TestNoNode: a pod without a node has no kubelet to ask.
func TestNoNode(t *testing.T) {
	api, asked := proxy(t, nil)
	of := onNode(hooked)
	of.Snapshot.Pod.Spec.NodeName = ""
	for _, source := range OnNode(api, &Nearby{}, false) {
		if s := look(t, source, of); len(s.Unseen) > 0 || len(*asked) > 0 {
			t.Errorf("%+v, asked %q", s.Unseen, *asked)
		}
	}
}

// TestElsewhere: for a pod on another machine, the snapshot says so once.
func TestElsewhere(t *testing.T) {
	n := 0
	for _, source := range OnNode(nil, &Nearby{}, false) {
		s := look(t, source, onNode(hooked))
		n += len(s.Unseen)
		for _, u := range s.Unseen {
			if u.Why != evidence.Absent || u.Source != evidence.Node {
				t.Errorf("unseen %+v", u)
			}
		}
	}
	if n != 1 {
		t.Errorf("%d words", n)
	}
}
