//go:build node

package lab

import (
	"context"
	"errors"
	"io"
	"maps"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
	toolswatch "k8s.io/client-go/tools/watch"

	"github.com/podstep/podstep/agent/kubeapi"
	"github.com/podstep/podstep/agent/logstory"
	"github.com/podstep/podstep/agent/nodelog"
	"github.com/podstep/podstep/agent/wire"
)

const examples = "../docs/examples"

// create creates the objects of an example.
func (l *testLab) create(ctx context.Context, example string) {
	l.t.Helper()
	text, err := os.ReadFile(filepath.Join(examples, example))
	if err != nil {
		l.t.Fatal(err)
	}
	var options metav1.CreateOptions
	for _, doc := range strings.Split(string(text), "\n---\n") {
		object, _, err := scheme.Codecs.UniversalDeserializer().Decode([]byte(doc), nil, nil)
		if err != nil {
			l.t.Fatalf("read %s: %v", example, err)
		}
		switch o := object.(type) {
		case *corev1.Pod:
			_, err = l.client.CoreV1().Pods("default").Create(ctx, o, options)
		case *corev1.ConfigMap:
			_, err = l.client.CoreV1().ConfigMaps("default").Create(ctx, o, options)
		case *batchv1.Job:
			_, err = l.client.BatchV1().Jobs("default").Create(ctx, o, options)
		case *appsv1.Deployment:
			_, err = l.client.AppsV1().Deployments("default").Create(ctx, o, options)
		default:
			l.t.Fatalf("%s holds a %T", example, o)
		}
		if err != nil {
			l.t.Fatalf("create %s: %v", example, err)
		}
	}
}

// until watches the pod until is reports true.
func (l *testLab) until(ctx context.Context, pod, what string, is func(*corev1.Pod) bool) *corev1.Pod {
	l.t.Helper()
	begin := time.Now()
	var last *corev1.Pod
	selector := fields.OneTermEqualSelector("metadata.name", pod)
	lw := cache.NewListWatchFromClient(l.client.CoreV1().RESTClient(), "pods", "default", selector)
	_, err := toolswatch.UntilWithSync(ctx, lw, &corev1.Pod{}, nil, func(e watch.Event) (bool, error) {
		if e.Type == watch.Deleted {
			return false, nil
		}
		last = e.Object.(*corev1.Pod)
		return is(last), nil
	})
	if err != nil {
		l.t.Fatalf("pod %s is not %s: %v: %+v", pod, what, err, last)
	}
	l.t.Logf("pod %s %s after %.1fs", pod, what, time.Since(begin).Seconds())
	return last
}

func (l *testLab) delete(ctx context.Context, pod string) {
	l.t.Helper()
	begin := time.Now()
	if err := l.client.CoreV1().Pods("default").Delete(ctx, pod, metav1.DeleteOptions{}); err != nil {
		l.t.Fatal(err)
	}
	selector := fields.OneTermEqualSelector("metadata.name", pod)
	lw := cache.NewListWatchFromClient(l.client.CoreV1().RESTClient(), "pods", "default", selector)
	gone := func(s cache.Store) (bool, error) { return len(s.List()) == 0, nil }
	_, err := toolswatch.UntilWithSync(ctx, lw, &corev1.Pod{}, gone, func(e watch.Event) (bool, error) { return e.Type == watch.Deleted, nil })
	if err != nil {
		l.t.Fatalf("pod %s is not gone: %v", pod, err)
	}
	l.t.Logf("pod %s gone after %.1fs", pod, time.Since(begin).Seconds())
}

func isReady(p *corev1.Pod) bool {
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue {
			return true
		}
	}
	return false
}

func waitsFor(reasons ...string) func(*corev1.Pod) bool {
	return func(p *corev1.Pod) bool {
		for _, c := range p.Status.ContainerStatuses {
			if c.State.Waiting != nil && slices.Contains(reasons, c.State.Waiting.Reason) {
				return true
			}
		}
		return false
	}
}

func TestNode(t *testing.T) {
	before := lookAtMachine(t)
	l := startLab(t, labDir(t))
	l.runExamples()
	l.leave()
	before.same(t)
}

// runExamples runs the examples on a new node.
func (l *testLab) runExamples() {
	l.t.Helper()
	ctx := testContext(l.t)

	l.create(ctx, "web.yaml")
	web := l.until(ctx, "web", "Ready", isReady)
	if subnet := netip.MustParsePrefix(l.state.Subnet); web.Status.HostIP != hostAddress(subnet).String() {
		l.t.Errorf("the node's address is %s, and its network %s", web.Status.HostIP, subnet)
	}
	l.create(ctx, "no-image.yaml")
	l.until(ctx, "no-image", "without its image", waitsFor("ErrImagePull", "ImagePullBackOff"))
	l.create(ctx, "crashloop.yaml")
	l.create(ctx, "job.yaml")
	l.create(ctx, "deployment.yaml")
	l.untilDeployed(ctx, "shop")
	l.untilComplete(ctx, "job")
	l.until(ctx, "crashloop", "in CrashLoopBackOff", waitsFor("CrashLoopBackOff"))
	l.static(ctx)
	l.logs(ctx, "crashloop", "no configuration\n")
	l.serves(ctx, "web")

	l.delete(ctx, "web")
}

// leave ends the lab, and checks that only logs are left.
func (l *testLab) leave() {
	l.t.Helper()
	l.stop()
	nothingLeft(l.t, l.names, l.dir)
	onlyLogs(l.t, l.dir)
}

// static puts a pod into the manifests directory.
func (l *testLab) static(ctx context.Context) {
	l.t.Helper()
	text, err := os.ReadFile(filepath.Join(examples, "static.yaml"))
	if err != nil {
		l.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(l.dir, "manifests", "static.yaml"), text, 0o644); err != nil {
		l.t.Fatal(err)
	}
	l.until(ctx, "static-"+nodeName, "Ready", isReady)
}

// logs reads a container's log through the API server and the kubelet.
func (l *testLab) logs(ctx context.Context, pod, want string) {
	l.t.Helper()
	for {
		got, err := l.client.CoreV1().Pods("default").GetLogs(pod, &corev1.PodLogOptions{}).Do(ctx).Raw()
		if err == nil && string(got) == want {
			return
		}
		// A container that was just replaced has no log any more.
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
			l.t.Fatalf("logs of pod %s are %q, %v, not %q", pod, got, err, want)
		}
	}
}

// serves tells the story of a pod from the logs that the kubelet serves.
func (l *testLab) serves(ctx context.Context, pod string) {
	l.t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", filepath.Join(l.dir, "kubeconfig"))
	if err != nil {
		l.t.Fatal(err)
	}
	api, err := kubeapi.New(config)
	if err != nil {
		l.t.Fatal(err)
	}
	s, err := logstory.Open([]string{"node/" + nodeName}, logstory.Options{Fetch: func(node string, keep nodelog.Keep) error {
		return (&nodelog.Remote{API: api, Node: node}).Each(ctx, keep)
	}})
	if err != nil {
		l.t.Fatal(err)
	}
	defer s.Close()
	called, decode := map[string]bool{}, wire.NewDecoder(s.Header().Info)
	for {
		b, err := s.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			l.t.Fatal(err)
		}
		decode.AddPods(b.Pods)
		for _, raw := range b.Events {
			if e := decode.Event(raw); e.Pod.Name == pod {
				called[e.Step] = true
			}
		}
	}
	for _, step := range []string{"loop.add", "cri.RunPodSandbox", "cri.StartContainer"} {
		if !called[step] {
			l.t.Errorf("the logs that the kubelet serves have no %s of pod %s, but %v", step, pod, slices.Sorted(maps.Keys(called)))
		}
	}
}

func (l *testLab) untilDeployed(ctx context.Context, name string) {
	l.t.Helper()
	lw := cache.NewListWatchFromClient(l.client.AppsV1().RESTClient(), "deployments", "default", fields.OneTermEqualSelector("metadata.name", name))
	_, err := toolswatch.UntilWithSync(ctx, lw, &appsv1.Deployment{}, nil, func(e watch.Event) (bool, error) {
		d := e.Object.(*appsv1.Deployment)
		return d.Status.ReadyReplicas == *d.Spec.Replicas, nil
	})
	if err != nil {
		l.t.Fatalf("deployment %s is not ready: %v", name, err)
	}
}

func (l *testLab) untilComplete(ctx context.Context, name string) {
	l.t.Helper()
	lw := cache.NewListWatchFromClient(l.client.BatchV1().RESTClient(), "jobs", "default", fields.OneTermEqualSelector("metadata.name", name))
	_, err := toolswatch.UntilWithSync(ctx, lw, &batchv1.Job{}, nil, func(e watch.Event) (bool, error) {
		return e.Object.(*batchv1.Job).Status.Succeeded > 0, nil
	})
	if err != nil {
		l.t.Fatalf("job %s is not complete: %v", name, err)
	}
}

// After kill -9 pods run, and no part of the lab does. The next lab in the directory, or clean, removes them.
func TestKilled(t *testing.T) {
	before := lookAtMachine(t)
	dir := labDir(t)
	l := startLab(t, dir)
	ctx := testContext(t)
	l.create(ctx, "web.yaml")
	l.until(ctx, "web", "Ready", isReady)
	l.kill()
	if left := processesOf(t, l.names, l.dir); len(left) == 0 {
		t.Error("the pod died with the lab: this test tests nothing")
	}

	l = startLab(t, dir)
	if pods, err := l.client.CoreV1().Pods("").List(ctx, metav1.ListOptions{}); err != nil || len(pods.Items) > 0 {
		t.Errorf("the new lab begins with pods %v, error %v", pods.Items, err)
	}
	l.create(ctx, "web.yaml")
	l.until(ctx, "web", "Ready", isReady)
	l.kill()
	begin := time.Now()
	if err := Clean(dir); err != nil {
		t.Fatal(err)
	}
	t.Logf("cleaned in %.1fs", time.Since(begin).Seconds())
	nothingLeft(t, l.names, l.dir)
	before.same(t)
	if _, err := os.Stat(dir); err == nil {
		t.Errorf("directory %s is left", dir)
	}
}

// Two labs do not disturb each other.
func TestTwoLabs(t *testing.T) {
	before := lookAtMachine(t)
	a, b := startLab(t, labDir(t)), startLab(t, labDir(t))
	ctx := testContext(t)
	for _, l := range []*testLab{a, b} {
		l.create(ctx, "web.yaml")
		l.until(ctx, "web", "Ready", isReady)
	}
	a.stop()
	nothingLeft(t, a.names, a.dir)
	b.delete(ctx, "web")
	b.create(ctx, "deployment.yaml")
	b.untilDeployed(ctx, "shop")
	b.stop()
	nothingLeft(t, b.names, b.dir)
	before.same(t)
}
