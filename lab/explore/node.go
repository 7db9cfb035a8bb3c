package explore

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"

	"github.com/podstep/podstep/agent/kubeapi"
	"github.com/podstep/podstep/lab/faults"
)

// Node is a simulated node whose kubelet makes all its calls through Table.
type Node struct {
	Client  *kubernetes.Clientset
	API     *kubeapi.Client // for `why`
	Agent   string          // the socket of the agent in the kubelet
	Devices string          // the socket of the DRA driver itself
	Table   *faults.Table
	Kubelet Kubelet
	Anew    func() error // has the device plugin begin anew

	pid   atomic.Int64 // of the kubelet; 0: it is restarted just now
	pods  corelisters.PodLister
	ready chan string // namespaces that are ready for a pod
	mu    sync.Mutex
	next  int
}

const (
	configName = "settings"
	secretName = "key"
)

// aheadOf is how many namespaces wait for their pods.
const aheadOf = 6

// open begins to watch the pods, and to prepare namespaces, until ctx ends.
func (n *Node) open(ctx context.Context) error {
	factory := informers.NewSharedInformerFactory(n.Client, 0)
	pods := factory.Core().V1().Pods()
	n.pods = pods.Lister()
	pods.Informer()
	factory.Start(ctx.Done())
	for kind, synced := range factory.WaitForCacheSync(ctx.Done()) {
		if !synced {
			return fmt.Errorf("watch %s: %w", kind, context.Cause(ctx))
		}
	}
	n.pid.Store(int64(n.Kubelet.PID()))
	n.ready = make(chan string, aheadOf)
	for range 2 {
		go n.prepare(ctx)
	}
	return nil
}

// prepare makes namespaces until ctx ends.
func (n *Node) prepare(ctx context.Context) {
	for ctx.Err() == nil {
		n.mu.Lock()
		n.next++
		name := fmt.Sprintf("explore-%d", n.next)
		n.mu.Unlock()
		if n.makeNamespace(ctx, name) != nil {
			continue
		}
		select {
		case n.ready <- name:
		case <-ctx.Done():
		}
	}
}

func (n *Node) makeNamespace(ctx context.Context, name string) error {
	core, options := n.Client.CoreV1(), metav1.CreateOptions{}
	of := metav1.ObjectMeta{Namespace: name}
	if _, err := core.Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, options); err != nil {
		return fmt.Errorf("create namespace: %w", err)
	}
	of.Name = configName
	if _, err := core.ConfigMaps(name).Create(ctx, &corev1.ConfigMap{ObjectMeta: of, Data: map[string]string{"colour": "blue"}}, options); err != nil {
		return fmt.Errorf("create ConfigMap: %w", err)
	}
	of.Name = secretName
	if _, err := core.Secrets(name).Create(ctx, &corev1.Secret{ObjectMeta: of, StringData: map[string]string{"key": "value"}}, options); err != nil {
		return fmt.Errorf("create Secret: %w", err)
	}
	return until(ctx, 20*time.Second, func() bool {
		_, err := core.ServiceAccounts(name).Get(ctx, "default", metav1.GetOptions{})
		if err == nil {
			_, err = core.ConfigMaps(name).Get(ctx, "kube-root-ca.crt", metav1.GetOptions{})
		}
		return err == nil
	})
}

// namespace returns one that is ready for a pod.
func (n *Node) namespace(ctx context.Context) (string, error) {
	select {
	case name := <-n.ready:
		return name, nil
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}

// boundWithin is how long the scheduler may take.
const boundWithin = 30 * time.Second

// make makes a pod that the table knows by its uid from then on.
func (n *Node) make(ctx context.Context, p *corev1.Pod) error {
	made, err := n.Client.CoreV1().Pods(p.Namespace).Create(ctx, p, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("create pod: %w", err)
	}
	n.Table.Learn(p.Namespace, string(made.UID))
	n.Table.Learn(p.Namespace, p.Namespace) // it is in the names of files
	return nil
}

// create makes a pod, and waits until it is bound to the node.
func (n *Node) create(ctx context.Context, p *corev1.Pod) error {
	if err := n.make(ctx, p); err != nil {
		return err
	}
	err := until(ctx, boundWithin, func() bool { made := n.pod(p.Namespace, p.Name); return made != nil && made.Spec.NodeName != "" })
	if err != nil {
		return fmt.Errorf("the pod is not bound to the node: %w", err)
	}
	return nil
}

// pod returns a pod as the API server has it; nil: it has none.
func (n *Node) pod(namespace, name string) *corev1.Pod {
	p, err := n.pods.Pods(namespace).Get(name)
	if err != nil {
		return nil
	}
	return p
}

// remove removes a pod at once, whatever state it is in.
func (n *Node) remove(namespace, name string) {
	ctx, cancel := context.WithTimeout(context.Background(), endWithin)
	defer cancel()
	now := int64(0)
	_ = n.Client.CoreV1().Pods(namespace).Delete(ctx, name, metav1.DeleteOptions{GracePeriodSeconds: &now})
}

// askEvery is how often a condition is looked at.
const askEvery = 200 * time.Millisecond

// until waits until is reports true. It returns an error if ctx ends or d is over before.
func until(ctx context.Context, d time.Duration, is func() bool) error {
	ctx, cancel := context.WithTimeoutCause(ctx, d, errLate)
	defer cancel()
	tick := time.NewTicker(askEvery)
	defer tick.Stop()
	for !is() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}
