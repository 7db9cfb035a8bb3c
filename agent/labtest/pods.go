package labtest

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/cache"
	toolswatch "k8s.io/client-go/tools/watch"

	"github.com/podstep/podstep/agent/labstate"
)

// Image is an image that the lab has without a pull.
const Image = labstate.Image

// BusyboxPod returns a pod with one container that runs a shell script.
func BusyboxPod(name, script string) *corev1.Pod {
	grace := int64(1)
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default"},
		Spec: corev1.PodSpec{
			TerminationGracePeriodSeconds: &grace,
			Containers: []corev1.Container{{
				Name: "app", Image: Image, ImagePullPolicy: corev1.PullIfNotPresent, Command: []string{"sh", "-c", script},
			}},
		},
	}
}

// Sleep is a script that ends when it is asked to.
const Sleep = "trap 'exit 0' TERM; sleep 1000000 & wait"

// Apply creates the objects of a manifest file.
func (l *Lab) Apply(file string) {
	l.tb.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		l.tb.Fatal(err)
	}
	for _, doc := range strings.Split(string(text), "\n---\n") {
		if err := l.create(doc); err != nil {
			l.tb.Fatalf("create %s: %v", file, err)
		}
	}
}

func (l *Lab) create(doc string) error {
	object, _, err := scheme.Codecs.UniversalDeserializer().Decode([]byte(doc), nil, nil)
	if err != nil {
		return err
	}
	ctx, options := l.Context(), metav1.CreateOptions{}
	switch o := object.(type) {
	case *corev1.Pod:
		_, err = l.Client.CoreV1().Pods("default").Create(ctx, o, options)
	case *corev1.ConfigMap:
		_, err = l.Client.CoreV1().ConfigMaps("default").Create(ctx, o, options)
	case *batchv1.Job:
		_, err = l.Client.BatchV1().Jobs("default").Create(ctx, o, options)
	case *appsv1.Deployment:
		_, err = l.Client.AppsV1().Deployments("default").Create(ctx, o, options)
	default:
		l.tb.Fatalf("the manifest holds a %T", o)
	}
	return err
}

// Create creates a pod.
func (l *Lab) Create(p *corev1.Pod) *corev1.Pod {
	l.tb.Helper()
	out, err := l.Client.CoreV1().Pods(p.Namespace).Create(l.Context(), p, metav1.CreateOptions{})
	if err != nil {
		l.tb.Fatalf("create pod %s: %v", p.Name, err)
	}
	return out
}

// Until watches a pod of namespace default until is returns true, and returns that pod.
func (l *Lab) Until(pod, what string, is func(*corev1.Pod) bool) *corev1.Pod {
	l.tb.Helper()
	var last *corev1.Pod
	if err := l.watch(l.Context(), pod, nil, func(e watch.Event) (bool, error) {
		if e.Type == watch.Deleted {
			return false, nil
		}
		last = e.Object.(*corev1.Pod)
		return is(last), nil
	}); err != nil {
		l.tb.Fatalf("pod %s is not %s: %v: %+v", pod, what, err, last)
	}
	return last
}

// UntilReady waits until a pod is Ready.
func (l *Lab) UntilReady(pod string) *corev1.Pod {
	l.tb.Helper()
	return l.Until(pod, "Ready", Ready)
}

// Ready reports whether a pod is Ready.
func Ready(p *corev1.Pod) bool {
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

// Delete deletes a pod of namespace default.
func (l *Lab) Delete(pod string) {
	l.tb.Helper()
	if err := l.Client.CoreV1().Pods("default").Delete(l.Context(), pod, metav1.DeleteOptions{}); err != nil {
		l.tb.Fatalf("delete pod %s: %v", pod, err)
	}
}

// UntilGone waits until a pod is gone from the API.
func (l *Lab) UntilGone(pod string) {
	l.tb.Helper()
	none := func(s cache.Store) (bool, error) { return len(s.List()) == 0, nil }
	if err := l.watch(l.Context(), pod, none, func(e watch.Event) (bool, error) { return e.Type == watch.Deleted, nil }); err != nil {
		l.tb.Fatalf("pod %s is not gone: %v", pod, err)
	}
}

// Worked changes a pod of namespace default twice a second, so that the kubelet works on it, while do runs.
func (l *Lab) Worked(pod string, do func()) {
	l.tb.Helper()
	ctx, cancel := context.WithCancel(context.Background()) // do takes the time that it takes
	defer cancel()                                          // do may end the test
	ended := make(chan error, 1)
	go func() {
		tick := time.NewTicker(500 * time.Millisecond)
		defer tick.Stop()
		for n := 0; ; n++ {
			patch := fmt.Appendf(nil, `{"metadata":{"labels":{"example.com/change":"%d"}}}`, n)
			if _, err := l.Client.CoreV1().Pods("default").Patch(ctx, pod, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil && ctx.Err() == nil {
				ended <- err
				return
			}
			select {
			case <-ctx.Done():
				ended <- nil
				return
			case <-tick.C:
			}
		}
	}()
	do()
	cancel()
	if err := <-ended; err != nil {
		l.tb.Fatalf("change pod %s: %v", pod, err)
	}
}

// LetGo lets a pod go that is held, and deletes it once it is ready.
func (l *Lab) LetGo(pod string) {
	l.tb.Helper()
	l.Must("continue", "default/"+pod)
	l.UntilReady(pod)
	l.Delete(pod)
	l.UntilGone(pod)
}

func (l *Lab) watch(ctx context.Context, pod string, before toolswatch.PreconditionFunc, until toolswatch.ConditionFunc) error {
	lw := cache.NewListWatchFromClient(l.Client.CoreV1().RESTClient(), "pods", "default", fields.OneTermEqualSelector("metadata.name", pod))
	_, err := toolswatch.UntilWithSync(ctx, lw, &corev1.Pod{}, before, until)
	return err
}

// NodeReady reports whether the node is Ready, and when its lease was last renewed.
func (l *Lab) NodeReady() (ready bool, renewed time.Time) {
	l.tb.Helper()
	n, err := l.Client.CoreV1().Nodes().Get(l.Context(), l.State.Node, metav1.GetOptions{})
	if err != nil {
		l.tb.Fatal(err)
	}
	for _, c := range n.Status.Conditions {
		ready = ready || (c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue)
	}
	lease, err := l.Client.CoordinationV1().Leases("kube-node-lease").Get(l.Context(), l.State.Node, metav1.GetOptions{})
	if err != nil {
		l.tb.Fatal(err)
	}
	if lease.Spec.RenewTime != nil {
		renewed = lease.Spec.RenewTime.Time
	}
	return ready, renewed
}

// NodeShort reports whether the node says that it is short of memory, disk or processes.
func (l *Lab) NodeShort() bool {
	l.tb.Helper()
	n, err := l.Client.CoreV1().Nodes().Get(l.Context(), l.State.Node, metav1.GetOptions{})
	if err != nil {
		l.tb.Fatal(err)
	}
	return slices.ContainsFunc(n.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type != corev1.NodeReady && c.Status == corev1.ConditionTrue
	})
}
