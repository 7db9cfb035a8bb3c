package main

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/kubeapi/apitest"
)

// Stats answers as an agent with one client, the one that asks.
func (f *fakeAgent) Stats(context.Context, *agentpb.StatsRequest) (*agentpb.StatsResponse, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return &agentpb.StatsResponse{Connections: 1 + f.others}, nil
}

// connect runs the command as a plugin of kubectl.
func (c *fakeCluster) connect(args ...string) (code int, out, errs string) {
	c.t.Helper()
	return c.connectUntil(c.t.Context(), &bytes.Buffer{}, args...)
}

func (c *fakeCluster) connectUntil(ctx context.Context, stdout interface {
	Write([]byte) (int, error)
	String() string
}, args ...string,
) (code int, out, errs string) {
	var stderr bytes.Buffer
	code = run(ctx, append([]string{"/x/kubectl-podstep", "--kubeconfig", c.kubeconfig, "--plain"}, args...), stdout, &stderr)
	return code, stdout.String(), stderr.String()
}

// TestConnectMakesPod: without an agent on the node podstep makes the pod that it has shown, opens the screen, and removes
// the pod.
func TestConnectMakesPod(t *testing.T) {
	c := newFakeCluster(t)
	code, out, errs := c.connect("web", "--yes", "--image", "example/podstep:1", "--for", "15m", "--allow-holds", "--attach-flag=--tier=2")
	if code != exitDone || !strings.Contains(out, "default/web") {
		t.Fatalf("exit code %d, %s, %s", code, out, errs)
	}
	for _, want := range []string{"example/podstep:1", "privileged", "15m0s", "made pod kube-system/podstep-0 on node node-1", "removed pod kube-system/podstep-0"} {
		if !strings.Contains(errs, want) {
			t.Errorf("podstep does not print %q but %s", want, errs)
		}
	}
	if left := c.left(); len(left) > 0 {
		t.Errorf("left are %v", left)
	}
	made := c.api.RequestsFor("/api/v1/namespaces/kube-system/pods")
	var p corev1.Pod
	if len(made) != 1 {
		t.Fatalf("%d pods were made", len(made))
	}
	if err := json.Unmarshal([]byte(made[0].Body), &p); err != nil {
		t.Fatal(err)
	}
	s, container := &p.Spec, &p.Spec.Containers[0]
	if s.NodeName != "node-1" || !s.HostPID || !s.HostNetwork || s.RestartPolicy != corev1.RestartPolicyNever || *s.ActiveDeadlineSeconds != 900 ||
		!*container.SecurityContext.Privileged || s.Tolerations[0].Operator != corev1.TolerationOpExists || p.Annotations["podstep.dev/owner"] != "ada" {
		t.Errorf("the pod is %s", made[0].Body)
	}
	if got := strings.Join(container.Args, " "); got != "--no-tui --node=node-1 --allow-holds --without-token=hold --token-namespace=kube-system --tier=2" {
		t.Errorf("podstep attach gets %s", got)
	}
}

// TestConnectToAgent: an agent that is there is used, and its pod stays; that of the DaemonSet comes before another
// person's.
func TestConnectToAgent(t *testing.T) {
	c := newFakeCluster(t)
	c.add("a-other", "node-1", ofOwner("grace"))
	c.add("b-daemon", "node-1", nil)
	c.add("c-elsewhere", "node-2", nil)
	code, out, errs := c.connect("web", "-n", "default")
	if code != exitDone || !strings.Contains(out, "default/web") || errs != "" {
		t.Fatalf("exit code %d, %s, %s", code, out, errs)
	}
	if len(c.api.RequestsFor("/api/v1/namespaces/kube-system/pods/b-daemon/exec")) != 1 || len(c.left()) != 3 {
		t.Errorf("asked were %v, and left are %v", c.api.Requests(), c.left())
	}
	c.agent.About.ReadOnly = true
	if code, _, errs := c.connect("web", "--allow-holds"); code != exitFailed || !strings.Contains(errs, "only looks") {
		t.Errorf("of an agent that only looks: %d, %s", code, errs)
	}
}

// TestConnectEnds: however podstep ends, its pod is removed.
func TestConnectEnds(t *testing.T) {
	ends := map[string]func(c *fakeCluster, cancel func()){
		"Ctrl-C or SIGTERM": func(_ *fakeCluster, cancel func()) { cancel() },
		"SIGHUP":            func(*fakeCluster, func()) { _ = syscall.Kill(syscall.Getpid(), syscall.SIGHUP) },
		"the way breaks and Ctrl-C": func(c *fakeCluster, cancel func()) {
			c.exec.Cut()
			cancel()
		},
	}
	for name, end := range ends {
		t.Run(name, func(t *testing.T) {
			c := newFakeCluster(t)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			in := openForEver(t)
			defer in()
			stdout := &cancelling{want: "default/web", cancel: func() { end(c, cancel) }}
			_, out, errs := c.connectUntil(ctx, stdout, "web", "--yes", "--image", "i")
			if left := c.left(); len(left) > 0 || !strings.Contains(errs, "removed pod") {
				t.Errorf("left are %v: %s, %s", left, out, errs)
			}
		})
	}
}

// TestConnectWhileStarting: a person who does not wait for the pod leaves none behind.
func TestConnectWhileStarting(t *testing.T) {
	c := newFakeCluster(t)
	ctx, cancel := context.WithCancel(t.Context())
	c.start = func(p *corev1.Pod) {
		p.Status = corev1.PodStatus{Phase: corev1.PodPending}
		time.AfterFunc(10*time.Millisecond, cancel)
	}
	code, _, errs := c.connectUntil(ctx, &bytes.Buffer{}, "web", "--yes", "--image", "i")
	if left := c.left(); code != exitFailed || len(left) > 0 || !strings.Contains(errs, "removed pod") {
		t.Errorf("exit code %d, left are %v: %s", code, left, errs)
	}
}

// TestConnectRefused: podstep explains why there is no pod, and which ways are left; it leaves no pod behind.
func TestConnectRefused(t *testing.T) {
	waits := func(reason, message string) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			p.Status = corev1.PodStatus{Phase: corev1.PodPending, StartTime: new(metav1.Now()), ContainerStatuses: []corev1.ContainerStatus{{
				Name: "podstep", Image: "i", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}},
			}}}
		}
	}
	refuses := func(code int, message string) func(http.ResponseWriter) {
		return func(w http.ResponseWriter) { apitest.Fail(w, code, message) }
	}
	for name, c := range map[string]struct {
		args    string
		start   func(*corev1.Pod)
		refusal func(http.ResponseWriter)
		code    int
		want    []string
	}{
		"image": {"web --yes --image i", waits("ErrImagePull", "no such image"), nil, exitFailed, []string{"cannot get the image i: no such image", "--ssh node-1", "removed pod"}},
		"ended": {"web --yes --image i", func(p *corev1.Pod) {
			p.Status.Phase = corev1.PodFailed
			p.Status.ContainerStatuses = nil
			p.Status.Reason = "OutOfpods"
		}, nil, exitFailed, []string{"has ended: OutOfpods", "removed pod"}},
		"podstep ended": {"web --yes --image i", func(p *corev1.Pod) {
			p.Status.ContainerStatuses[0].State = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 1}}
		}, nil, exitFailed, []string{"exit code 1: podstep: no kubelet runs", "removed pod"}},
		"Pod Security":   {"web --yes --image i", nil, refuses(http.StatusForbidden, `pods "p" is forbidden: violates PodSecurity "restricted:latest": privileged`), exitFailed, []string{"admits no privileged pod", "--agent-namespace", "--ssh node-1"}},
		"no right":       {"web --yes --image i", nil, refuses(http.StatusForbidden, `User "ada" cannot create resource "pods"`), exitFailed, []string{"cannot create resource", "--ssh node-1"}},
		"nobody asked":   {"web --image i", nil, nil, exitUsage, []string{"--yes"}},
		"no image":       {"web --yes", nil, nil, exitUsage, []string{"--image"}},
		"no such pod":    {"nope --yes --image i", nil, nil, exitFailed, []string{"there is no pod default/nope"}},
		"like a command": {"wyh --yes --image i", nil, nil, exitFailed, []string{"there is no pod default/wyh", "did you mean kubectl podstep why?"}},
		"no node":        {"lost --yes --image i", nil, nil, exitFailed, []string{"is on no node yet"}},
		"too long":       {"web --yes --image i --for 48h", nil, nil, exitUsage, []string{"--for 48h"}},
		"another agent":  {"web --node node-2", nil, nil, exitUsage, []string{"leave out --socket, --node and --ssh"}},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFakeCluster(t)
			f.start, f.refusal = c.start, c.refusal
			code, _, errs := f.connect(strings.Fields(c.args)...)
			if code != c.code || len(f.left()) > 0 {
				t.Errorf("exit code %d, left are %v", code, f.left())
			}
			for _, want := range c.want {
				if !strings.Contains(errs, want) {
					t.Errorf("podstep does not print %q but %s", want, errs)
				}
			}
		})
	}
}

// TestOrphans: podstep removes the pods that an earlier podstep of the same user has left, and no other.
func TestOrphans(t *testing.T) {
	c := newFakeCluster(t)
	ended := func(p *corev1.Pod) {
		ofOwner("ada")(p)
		p.Status = corev1.PodStatus{Phase: corev1.PodFailed}
	}
	young := func(p *corev1.Pod) {
		ofOwner("ada")(p)
		p.CreationTimestamp = metav1.Now()
	}
	c.add("daemon", "node-1", nil)
	c.add("unused", "node-2", ofOwner("ada"))
	c.add("ended", "node-3", ended)
	c.add("young", "node-4", young)
	c.add("other", "node-5", ofOwner("grace"))
	if code, _, errs := c.connect("web"); code != exitDone || !strings.Contains(errs, "removed pod kube-system/unused on node node-2") {
		t.Errorf("exit code %d, %s", code, errs)
	}
	if left := c.left(); !slices.Equal(left, []string{"daemon", "young", "other"}) {
		t.Errorf("left are %v", left)
	}
	c.add("used", "node-2", ofOwner("ada"))
	c.agent.others = 1
	if c.connect("web"); !slices.Contains(c.left(), "used") {
		t.Error("a pod that somebody uses was removed")
	}
}

// TestNodeFlag: each command speaks to the agent on a node.
func TestNodeFlag(t *testing.T) {
	c := newFakeCluster(t)
	c.add("daemon", "node-1", nil)
	for _, args := range []string{"pods", "trace web --until ready", "version", "steps --agent", "top web -o json", "continue --all -o json", "why default/web"} {
		code, out, errs := runPlain(c, append(strings.Fields(args), "--node", "node-1")...)
		if code != exitDone && code != exitWrong || out == "" || args == "version" && !strings.Contains(out, "v0.0.9 at node node-1") {
			t.Errorf("%s: exit code %d, %s, %s", args, code, out, errs)
		}
	}
	code, _, errs := runPlain(c, "pods", "--node", "node-2")
	if code != exitFailed || !strings.Contains(errs, "no pod of podstep is ready on node node-2") {
		t.Errorf("without an agent: exit code %d, %s", code, errs)
	}
}

// TestAllNodes: --all-nodes names the agents of a cluster as --socket names those of this machine, one or several.
func TestAllNodes(t *testing.T) {
	c := newFakeCluster(t)
	code, _, errs := runPlain(c, "pods", "--all-nodes")
	if code != exitFailed || !strings.Contains(errs, "no pod of podstep is ready in this cluster") {
		t.Errorf("without an agent: exit code %d, %s", code, errs)
	}
	c.add("daemon", "node-1", nil)
	for _, args := range []string{"pods", "version", "stack web"} {
		code, out, errs := runPlain(c, append(strings.Fields(args), "--all-nodes")...)
		if strings.Contains(errs, "no agent") || args != "stack web" && (code != exitDone || strings.Contains(out, "NODE")) {
			t.Errorf("with one agent, %s: exit code %d, %s, %s", args, code, out, errs)
		}
	}
	c.add("other", "node-2", nil)
	for args, want := range map[string]string{
		"pods":                          "node-2",
		"pods --node node-2":            "web",
		"version --node node-2":         "v0.0.9 at node node-2",
		"holds":                         "node-1",
		"continue --all":                "shop/db-0 goes on",
		"compare web web --node node-1": "web",
	} {
		code, out, errs := runPlain(c, append(strings.Fields(args), "--all-nodes")...)
		if code != exitDone || !strings.Contains(out, want) {
			t.Errorf("%s: exit code %d, %s, %s; want %s", args, code, out, errs, want)
		}
	}
	if code, _, errs := runPlain(c, "break", "ls", "--all-nodes"); code != exitUsage || !strings.Contains(errs, "choose it with --node") {
		t.Errorf("what is about one node: exit code %d, %s", code, errs)
	}
}

func runPlain(c *fakeCluster, args ...string) (int, string, string) {
	var out, errs bytes.Buffer
	code := run(c.t.Context(), append([]string{"podstep", "--kubeconfig", c.kubeconfig}, args...), &out, &errs)
	return code, out.String(), errs.String()
}

// openForEver makes standard input one that never ends, and returns a function that puts the former one back.
func openForEver(t *testing.T) (restore func()) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	before := os.Stdin
	os.Stdin = r
	return func() {
		os.Stdin = before
		_ = w.Close()
		_ = r.Close()
	}
}
