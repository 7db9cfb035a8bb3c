package stuck

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	fwk "k8s.io/kube-scheduler/framework"
	scheduling "k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/testing/defaults"
	"k8s.io/kubernetes/pkg/scheduler/backend/cache"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins"
	frameworkruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"
	"k8s.io/kubernetes/pkg/scheduler/metrics"

	"github.com/podstep/podstep/agent/explain/filters"
)

// madeClusters is how many clusters the rules are held against.
const madeClusters = 1000

// plugin returns the scheduler's plugin that a filter is a part of.
func plugin(f filters.Filter) string {
	switch f {
	case filters.PodAffinity, filters.PodAntiAffinity, filters.ExistingAntiAffinity:
		return "InterPodAffinity"
	}
	return string(f)
}

// reasons has a part of what the scheduler answer for each of the filters that are parts of one plugin.
var reasons = map[filters.Filter]string{
	filters.PodAffinity: "didn't match pod affinity rules", filters.PodAntiAffinity: "didn't match pod anti-affinity rules",
	filters.ExistingAntiAffinity: "existing pods anti-affinity rules",
}

// covered are the plugins that package filters knows, in the scheduler's order.
var covered = []string{
	"NodeUnschedulable", "NodeName", "TaintToleration", "NodeAffinity", "NodePorts", "NodeResourcesFit", "VolumeBinding", "VolumeZone", "PodTopologySpread", "InterPodAffinity",
}

// TestFilters: the rules of package filters refuse the same nodes as the scheduler's plugins, plugin by plugin, and for the
// same reason first.
func TestFilters(t *testing.T) {
	metrics.Register()
	refused := map[string]int{}
	for seed := range uint64(madeClusters) {
		m := makeCluster(seed)
		if problem := m.compare(t, refused); problem != "" {
			t.Fatalf("cluster %d: %s\npod: %+v", seed, problem, m.pod.Spec)
		}
	}
	for _, name := range append([]string{"nothing"}, covered...) {
		if refused[name] < madeClusters/50 && name != "NodeName" { // a pod without a node names none
			t.Errorf("only %d nodes are refused by %s: the made clusters say too little of it", refused[name], name)
		}
	}
	t.Logf("nodes by the plugin that refuses them first: %v", refused)
}

// compare runs the scheduler's plugins over a cluster, and returns in what package filters differs from them.
func (m *made) compare(t *testing.T, refused map[string]int) string {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	f, all := m.framework(t, ctx)
	state := framework.NewCycleState()
	only, status, _ := f.RunPreFilterPlugins(ctx, state, m.pod)
	if !status.IsSuccess() && status.Plugin() != "NodeAffinity" {
		return "PreFilter: " + status.Message()
	}
	for _, v := range filters.Hold(m.pod, m.in) {
		info, err := f.SnapshotSharedLister().NodeInfos().Get(v.Node.Name)
		if err != nil {
			return err.Error()
		}
		first := ""
		if !status.IsSuccess() || !only.AllNodes() && !only.NodeNames.Has(v.Node.Name) {
			if v.Of(filters.NodeAffinity) == nil {
				return v.Node.Name + ": NodeAffinity leaves the node out before it filters, and podstep does not"
			}
			continue
		}
		for _, name := range covered {
			var answer *fwk.Status
			if !state.GetSkipFilterPlugins().Has(name) {
				answer = all[name].(fwk.FilterPlugin).Filter(ctx, state, m.pod, info)
			}
			ours := refusalsOf(&v, name)
			if answer.IsSuccess() != (len(ours) == 0) {
				return fmt.Sprintf("%s: %s says %q, podstep %+v", v.Node.Name, name, answer.Message(), ours)
			}
			if answer.IsSuccess() {
				continue
			}
			if problem := sameReason(answer, ours); problem != "" {
				return v.Node.Name + ": " + problem
			}
			if first == "" {
				first = name
			}
		}
		got := ""
		if answer := f.RunFilterPlugins(ctx, state, m.pod, info); answer != nil {
			got = answer.Plugin()
		}
		if got != first || len(v.Refusals) > 0 && plugin(v.Refusals[0].Filter) != first {
			return fmt.Sprintf("%s: first %s, podstep %+v", v.Node.Name, got, v.Refusals)
		}
		if first == "" {
			first = "nothing"
		}
		refused[first]++
	}
	return ""
}

func refusalsOf(v *filters.Verdict, name string) (out []filters.Refusal) {
	for _, r := range v.Refusals {
		if plugin(r.Filter) == name {
			out = append(out, r)
		}
	}
	return out
}

// sameReason compares the words of a plugin with a refusal.
func sameReason(answer *fwk.Status, ours []filters.Refusal) string {
	if text := reasons[ours[0].Filter]; !strings.Contains(answer.Message(), text) {
		return fmt.Sprintf("the scheduler says %q, podstep %s", answer.Message(), ours[0].Filter)
	}
	if ours[0].Filter != filters.Resources {
		return ""
	}
	lacks := map[string]bool{}
	for _, l := range ours[0].Lacks {
		text := "Insufficient " + string(l.Resource)
		if l.Resource == corev1.ResourcePods {
			text = "Too many pods"
		}
		lacks[text] = true
	}
	for _, r := range answer.Reasons() {
		if !lacks[r] || len(answer.Reasons()) != len(lacks) {
			return fmt.Sprintf("the scheduler says %q, podstep %+v", answer.Reasons(), ours[0].Lacks)
		}
	}
	return ""
}

// framework returns the scheduler's framework over a cluster, and its plugins by their names.
func (m *made) framework(t *testing.T, ctx context.Context) (framework.Framework, map[string]fwk.Plugin) {
	all, registry := map[string]fwk.Plugin{}, frameworkruntime.Registry{}
	for name, build := range plugins.NewInTreeRegistry() {
		registry[name] = func(ctx context.Context, args runtime.Object, h fwk.Handle) (fwk.Plugin, error) {
			p, err := build(ctx, args, h)
			all[name] = p
			return p, err
		}
	}
	set := scheduling.PluginSet{}
	for _, name := range covered {
		set.Enabled = append(set.Enabled, scheduling.Plugin{Name: name})
	}
	pre := scheduling.PluginSet{}
	for _, p := range set.Enabled {
		if p.Name != "NodeUnschedulable" && p.Name != "NodeName" && p.Name != "TaintToleration" {
			pre.Enabled = append(pre.Enabled, p)
		}
	}
	one := func(name string) scheduling.PluginSet {
		return scheduling.PluginSet{Enabled: []scheduling.Plugin{{Name: name}}}
	}
	profile := &scheduling.KubeSchedulerProfile{SchedulerName: "made", PluginConfig: defaults.PluginConfigsV1, Plugins: &scheduling.Plugins{
		PreFilter: pre, Filter: set, QueueSort: one("PrioritySort"), Bind: one("DefaultBinder"),
	}}
	client := fake.NewClientset(m.objects...)
	factory := informers.NewSharedInformerFactory(client, 0)
	f, err := frameworkruntime.NewFramework(ctx, registry, profile, frameworkruntime.WithClientSet(client),
		frameworkruntime.WithInformerFactory(factory), frameworkruntime.WithSnapshotSharedLister(cache.NewSnapshot(m.pods, m.nodes)))
	if err != nil {
		t.Fatal(err)
	}
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	return f, all
}

// made is a cluster that was made by chance, with a pod that has no node.
type made struct {
	*rand.Rand
	pod     *corev1.Pod
	nodes   []*corev1.Node
	pods    []*corev1.Pod
	objects []runtime.Object // for the API server that is pretended
	in      *filters.Cluster
}

func makeCluster(seed uint64) *made {
	m := &made{Rand: rand.New(rand.NewPCG(seed, 32)), in: &filters.Cluster{Namespaces: map[string]labels.Set{}}}
	for name, team := range map[string]string{"shop": "red", "bank": "blue", "mail": "red"} {
		set := labels.Set{"team": team, corev1.LabelMetadataName: name}
		m.in.Namespaces[name] = set
		m.objects = append(m.objects, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: set}})
	}
	for i := range 1 + m.IntN(7) {
		m.addNode(i)
	}
	for i := range m.IntN(25) {
		m.addPod(i)
	}
	m.newcomer()
	for _, n := range m.nodes {
		m.in.Nodes = append(m.in.Nodes, *n)
	}
	for _, p := range m.pods {
		m.in.Pods = append(m.in.Pods, *p)
	}
	return m
}

// once is true once in n times.
func (m *made) once(n int) bool { return m.IntN(n) == 0 }

func oneOf[T any](m *made, all ...T) T { return all[m.IntN(len(all))] }
