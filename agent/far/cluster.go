package far

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"

	"github.com/podstep/podstep/agent/client"
	"github.com/podstep/podstep/agent/kubeapi"
	"github.com/podstep/podstep/probes/words"
)

// The label of the pods in which agents run, and the container in them. The chart's DaemonSet has both.
const (
	nameLabel = "app.kubernetes.io/name"
	nameValue = "podstep"
	container = "podstep"
)

// Cluster is a cluster whose agents are reached through its API server.
type Cluster struct {
	config *rest.Config
	api    *kubeapi.Client
	// namespace is where pods of podstep are looked for if the user may not list those of all namespaces.
	namespace string
	user      *user
}

// NewCluster returns the cluster of an API server and a user. namespace is where agents run if the user may list pods
// there alone.
func NewCluster(config *rest.Config, namespace string) (*Cluster, error) {
	api, err := kubeapi.New(config)
	if err != nil {
		return nil, err
	}
	return &Cluster{config, api, namespace, &user{api: api, tokens: map[string]token{}}}, nil
}

// Agent is a pod of podstep.
type Agent struct {
	Namespace, Name, UID string
	Node                 string
	// Ready says that the pod's container is ready and nobody has deleted the pod.
	Ready bool
	// Temporary says that a person's podstep made the pod for a while, Owner who that is.
	Temporary bool
	Owner     string

	made           time.Time
	ended, leaving bool // the pod has ended; somebody has deleted it
}

// String returns NAMESPACE/NAME.
func (a *Agent) String() string { return a.Namespace + "/" + a.Name }

func newAgent(p *corev1.Pod) Agent {
	a := Agent{Namespace: p.Namespace, Name: p.Name, UID: string(p.UID), Node: p.Spec.NodeName, Owner: p.Annotations[ownerAnnotation]}
	_, a.Temporary = p.Labels[temporaryLabel]
	a.made, a.leaving = p.CreationTimestamp.Time, p.DeletionTimestamp != nil
	a.ended = p.Status.Phase == corev1.PodFailed || p.Status.Phase == corev1.PodSucceeded
	a.Ready = !a.leaving && !a.ended && slices.ContainsFunc(p.Status.ContainerStatuses, func(s corev1.ContainerStatus) bool {
		return s.Name == container && s.Ready
	})
	return a
}

// Agents returns the pods of podstep on a node, or on all nodes if node is empty. Errors are those of the API server.
func (c *Cluster) Agents(ctx context.Context, node string) ([]Agent, error) {
	return c.list(ctx, nameLabel+"="+nameValue, node)
}

// list returns the pods of podstep that a selector of labels chooses.
func (c *Cluster) list(ctx context.Context, labels, node string) ([]Agent, error) {
	query := url.Values{"labelSelector": {labels}}
	if node != "" {
		query.Set("fieldSelector", "spec.nodeName="+node)
	}
	var all []Agent
	add := func(p *corev1.Pod) { all = append(all, newAgent(p)) }
	_, err := kubeapi.List(ctx, c.api, "api/v1/pods", query, add)
	if kubeapi.IsCode(err, http.StatusForbidden) {
		all = nil
		_, err = kubeapi.List(ctx, c.api, "api/v1/namespaces/"+url.PathEscape(c.namespace)+"/pods", query, add)
	}
	if err != nil {
		return nil, c.explain(ctx, fmt.Errorf("list the pods of podstep: %w", err), findRole)
	}
	return all, nil
}

// ready returns the agent to use among those of a node: one that is there for good rather than a person's.
func ready(all []Agent) *Agent {
	var best *Agent
	for i := range all {
		if a := &all[i]; a.Ready && (best == nil || best.Temporary && !a.Temporary) {
			best = a
		}
	}
	return best
}

// Ready returns the agent to use on a node; nil: none is ready there. Errors are those of Agents.
func (c *Cluster) Ready(ctx context.Context, node string) (*Agent, error) {
	all, err := c.Agents(ctx, node)
	return ready(all), err
}

// nodePlace is the agent on a node, in whichever pod it runs.
type nodePlace struct {
	c    *Cluster
	node string
	// in is the namespace of the pod to which the last connection goes.
	in atomic.Value
}

// OnNode returns the place of the agent on a node. Each connection looks for the agent's pod anew: an update of the
// DaemonSet replaces it.
func (c *Cluster) OnNode(node string) client.Place { return &nodePlace{c: c, node: node} }

func (p *nodePlace) String() string { return "node " + p.node }

// Connect finds the agent's pod and starts agent-stdio in it.
func (p *nodePlace) Connect(ctx context.Context) (net.Conn, error) {
	a, err := p.c.Ready(ctx, p.node)
	if err != nil {
		return nil, notReached(p.String(), err)
	}
	if a == nil {
		return nil, client.Fail(client.NoAgent, nil, words.Text(
			"no pod of podstep is ready on node %s: podstep connect POD makes one for a while, the chart puts one on each node, and --ssh %[1]s reaches an agent that runs there",
			"节点 %s 上没有就绪的 podstep Pod：podstep connect POD 可临时创建一个，chart 会在每个节点上各放一个，--ssh %[1]s 可连接那里运行的代理"), p.node)
	}
	p.in.Store(a.Namespace)
	return p.c.InPod(a).Connect(ctx)
}

// Identify shows the user of the cluster.
func (p *nodePlace) Identify(ctx context.Context, account string) ([]string, error) {
	in, _ := p.in.Load().(string)
	return p.c.user.identify(ctx, in, account)
}

// podPlace is the agent in a pod.
type podPlace struct {
	c *Cluster
	a Agent
}

// InPod returns the place of an agent in its pod.
func (c *Cluster) InPod(a *Agent) client.Place { return &podPlace{c, *a} }

func (p *podPlace) String() string { return "node " + p.a.Node + ", in pod " + p.a.String() }

// Connect starts agent-stdio in the pod.
func (p *podPlace) Connect(ctx context.Context) (net.Conn, error) {
	return open(ctx, p.String(), func(ctx context.Context, s streams) error { return p.c.exec(ctx, &p.a, stdioCommand, s) })
}

// Identify shows the user of the cluster.
func (p *podPlace) Identify(ctx context.Context, account string) ([]string, error) {
	return p.c.user.identify(ctx, p.a.Namespace, account)
}
