package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podstep/podstep/agent/agenttest"
	"github.com/podstep/podstep/agent/client"
	"github.com/podstep/podstep/agent/kubeapi/apitest"
)

// fakeCluster is a cluster with the pod default/web on node-1, and a kubelet that runs pods of podstep: an exec in one
// reaches a fakeAgent.
type fakeCluster struct {
	t          *testing.T
	api        *apitest.Server
	exec       *apitest.Exec
	kubeconfig string
	agent      *fakeAgent
	socket     string

	mu   sync.Mutex
	pods []*corev1.Pod // of podstep
	// start is what the kubelet does with a pod that was made; nil: it runs.
	start func(*corev1.Pod)
	// refusal is the answer to a pod that is made; nil: it is made.
	refusal func(w http.ResponseWriter)
	user    string
}

func newFakeCluster(t *testing.T) *fakeCluster {
	c := &fakeCluster{t: t, agent: newFakeAgent(), user: "ada", socket: filepath.Join(t.TempDir(), "a")}
	agenttest.Serve(t, c.agent, c.socket)
	c.exec = &apitest.Exec{Run: func(pod string, command []string, in io.Reader, out, errOut io.Writer) int {
		a := &app{where: (&where{}).with(client.At(c.socket))}
		if err := a.joinAgent(t.Context(), slices.Contains(command, "--own-rights"), in, out); err != nil {
			fmt.Fprintln(errOut, "podstep:", err)
			return exitFailed
		}
		return exitDone
	}}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /apis/authentication.k8s.io/v1/selfsubjectreviews", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"status":{"userInfo":{"username":"`+c.user+`"}}}`)
	})
	mux.HandleFunc("GET /api/v1/namespaces/default/pods/web", func(w http.ResponseWriter, _ *http.Request) {
		apitest.Answer(w, http.StatusOK, corev1.Pod{Spec: corev1.PodSpec{NodeName: "node-1"}})
	})
	mux.HandleFunc("GET /api/v1/namespaces/default/pods/lost", func(w http.ResponseWriter, _ *http.Request) {
		apitest.Answer(w, http.StatusOK, corev1.Pod{})
	})
	mux.HandleFunc("GET /api/v1/pods", c.list)
	mux.HandleFunc("POST /api/v1/namespaces/{namespace}/pods", c.make)
	mux.HandleFunc("GET /api/v1/namespaces/{namespace}/pods/{name}", c.get)
	mux.HandleFunc("DELETE /api/v1/namespaces/{namespace}/pods/{name}", c.delete)
	mux.HandleFunc("PATCH /api/v1/namespaces/{namespace}/pods/{name}", func(w http.ResponseWriter, _ *http.Request) {
		apitest.Answer(w, http.StatusOK, corev1.Pod{})
	})
	mux.HandleFunc("GET /api/v1/namespaces/{namespace}/pods/{name}/log", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "podstep: no kubelet runs on this machine\n")
	})
	mux.Handle("/api/v1/namespaces/{namespace}/pods/{pod}/exec", c.exec)
	c.api = apitest.Start(t, mux)
	c.kubeconfig = filepath.Join(t.TempDir(), "kubeconfig")
	text := fmt.Sprintf(`{apiVersion: v1, kind: Config, current-context: c, clusters: [{name: c, cluster: {server: %q}}], contexts: [{name: c, context: {cluster: c, user: u}}], users: [{name: u}]}`, c.api.URL)
	if err := os.WriteFile(c.kubeconfig, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return c
}

func (c *fakeCluster) list(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var list corev1.PodList
	key, value, valued := strings.Cut(r.URL.Query().Get("labelSelector"), "=")
	_, node, _ := strings.Cut(r.URL.Query().Get("fieldSelector"), "spec.nodeName=")
	for _, p := range c.pods {
		if v, has := p.Labels[key]; has && (!valued || v == value) && (node == "" || node == p.Spec.NodeName) {
			list.Items = append(list.Items, *p)
		}
	}
	apitest.Answer(w, http.StatusOK, list)
}

func (c *fakeCluster) make(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.refusal != nil {
		c.refusal(w)
		return
	}
	var p corev1.Pod
	if err := json.NewDecoder(r.Body).Decode(&p); err != nil {
		c.t.Error(err)
	}
	p.Name = fmt.Sprintf("%s%d", p.GenerateName, len(c.pods))
	p.UID, p.CreationTimestamp = types.UID("u-"+p.Name), metav1.Now()
	runPod(&p)
	if c.start != nil {
		c.start(&p)
	}
	c.pods = append(c.pods, &p)
	apitest.Answer(w, http.StatusCreated, p)
}

func (c *fakeCluster) find(r *http.Request) *corev1.Pod {
	i := slices.IndexFunc(c.pods, func(p *corev1.Pod) bool {
		return p.Namespace == r.PathValue("namespace") && p.Name == r.PathValue("name")
	})
	if i < 0 {
		return nil
	}
	return c.pods[i]
}

func (c *fakeCluster) get(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if p := c.find(r); p != nil {
		apitest.Answer(w, http.StatusOK, p)
		return
	}
	apitest.Fail(w, http.StatusNotFound, "pods not found")
}

func (c *fakeCluster) delete(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var o metav1.DeleteOptions
	if err := json.NewDecoder(r.Body).Decode(&o); err != nil || o.Preconditions == nil {
		c.t.Errorf("a pod is deleted whatever its UID: %+v, %v", o, err)
	}
	p := c.find(r)
	if p == nil {
		apitest.Fail(w, http.StatusNotFound, "pods not found")
		return
	}
	c.pods = slices.DeleteFunc(c.pods, func(other *corev1.Pod) bool { return other == p })
	apitest.Answer(w, http.StatusOK, p)
}

// add adds a pod of podstep on a node that runs.
func (c *fakeCluster) add(name, node string, change func(*corev1.Pod)) {
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: name, UID: types.UID("u-" + name), Labels: map[string]string{"app.kubernetes.io/name": "podstep"}, CreationTimestamp: metav1.NewTime(time.Now().Add(-time.Hour))},
		Spec:       corev1.PodSpec{NodeName: node},
	}
	runPod(p)
	if change != nil {
		change(p)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pods = append(c.pods, p)
}

func runPod(p *corev1.Pod) {
	p.Status = corev1.PodStatus{Phase: corev1.PodRunning, StartTime: new(metav1.Now()), ContainerStatuses: []corev1.ContainerStatus{{
		Name: "podstep", Ready: true, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}},
	}}}
}

// ofOwner makes a pod one that a person's podstep has made.
func ofOwner(owner string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Labels["podstep.dev/temporary"], p.Annotations = "true", map[string]string{"podstep.dev/owner": owner}
	}
}

// left returns the names of the pods of podstep that are there.
func (c *fakeCluster) left() (names []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, p := range c.pods {
		names = append(names, p.Name)
	}
	return names
}
