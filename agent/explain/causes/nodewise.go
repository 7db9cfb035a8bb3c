package causes

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/podstep/podstep/agent/explain/evidence"
	"github.com/podstep/podstep/agent/explain/filters"
	"github.com/podstep/podstep/probes/words"
)

// A scheduler's message counts nodes by the first filter that refuses each. On a cluster of more than one node that filter
// need not matter: a tainted control plane refuses nearly every pod. So podstep holds the pod against each node itself. What
// no node offers comes first, then what the nodes lack that are open to the pod. Closed nodes are the background.

// reckoning is what podstep reckons of the nodes for a pod that a scheduler refuses.
type reckoning struct {
	refusal
	in       *filters.Cluster
	verdicts []filters.Verdict
	unlooked []string
	// near are the nodes that matter: those that have what the pod itself demands and that are open; if there is none, those
	// that are closed and may be opened for it. If there is none of these either, unmet reports whether that is because
	// of what the pod demands.
	near  []*filters.Verdict
	unmet bool
}

// demands are the filters of what the pod itself demands of a node.
var demands = []filters.Filter{filters.NodeName, filters.NodeAffinity, filters.VolumeNode, filters.VolumeZone}

// mostCandidates is how many nodes are read at most.
const mostCandidates = 500

// reckon holds the pod against the nodes; ok is false if too little is known for that.
func (c *Case) reckon() (k *reckoning, ok bool) {
	r, ok := c.refusal()
	nodes := c.Cluster.Candidates
	if !ok || !r.counted || len(nodes) == 0 || r.nodes > len(nodes) && len(nodes) >= mostCandidates {
		return nil, false
	}
	if slices.ContainsFunc(nodes, func(n evidence.Candidate) bool { return n.Labels == nil }) {
		return nil, false
	}
	k = &reckoning{refusal: r, in: c.schedulersView()}
	k.verdicts = filters.Hold(c.Spec, k.in)
	k.unlooked = filters.Unlooked(c.Spec, k.in)
	if c.Cluster.Placed == nil {
		k.unlooked = append(k.unlooked, "the pods of the nodes")
	}
	for i := range k.verdicts {
		v := &k.verdicts[i]
		v.Refusals = slices.DeleteFunc(v.Refusals, func(r filters.Refusal) bool { return !c.isKnown(&r) })
	}
	k.choose(c.Spec)
	return k, true
}

// schedulersView returns the cluster as package filters takes it.
func (c *Case) schedulersView() *filters.Cluster {
	in := &filters.Cluster{Claims: c.Cluster.Claims, Volumes: c.Cluster.Volumes, Namespaces: c.Cluster.NamespaceLabels}
	if p := c.Cluster.Placed; p != nil {
		in.Pods, in.Partial = p.Pods, p.Partial
	}
	for _, n := range c.Cluster.Candidates {
		node := corev1.Node{}
		node.Name, node.Labels, node.Spec.Taints, node.Spec.Unschedulable, node.Status.Allocatable = n.Name, n.Labels, n.Taints, n.Unschedulable, n.Allocatable
		in.Nodes = append(in.Nodes, node)
	}
	return in
}

// isKnown reports whether enough is known of the pods of the nodes for a refusal to count. Some of them show that a node is
// full, but not that a pod is nowhere.
func (c *Case) isKnown(r *filters.Refusal) bool {
	if p := c.Cluster.Placed; p != nil {
		return !p.Partial || !slices.Contains([]filters.Filter{filters.Spread, filters.PodAffinity}, r.Filter)
	}
	switch r.Filter {
	case filters.Resources:
		r.Lacks = slices.DeleteFunc(r.Lacks, func(l filters.Lack) bool { return !l.Never() })
		return len(r.Lacks) > 0
	case filters.Ports, filters.Spread, filters.PodAffinity, filters.PodAntiAffinity, filters.ExistingAntiAffinity:
		return false
	}
	return true
}

// choose finds the nodes that matter.
func (k *reckoning) choose(pod *corev1.Pod) {
	var open, openable, able []*filters.Verdict
	for i := range k.verdicts {
		v := &k.verdicts[i]
		if !hasDemanded(v) {
			continue
		}
		able = append(able, v)
		switch closureOf(v) {
		case "":
			open = append(open, v)
		case byCordon, byIllness:
			openable = append(openable, v)
		default:
			if k.isMeant(pod, v) {
				openable = append(openable, v)
			}
		}
	}
	switch {
	case len(open) > 0:
		k.near = open
	case len(openable) > 0:
		k.near = openable
	default:
		k.unmet = len(able) < len(k.verdicts)
	}
}

// hasDemanded reports whether a node has what the pod itself demands: the labels, the volume's place, a kind of resource.
func hasDemanded(v *filters.Verdict) bool {
	return v.Passes(demands...) && !slices.ContainsFunc(lacksOf(v), func(l filters.Lack) bool { return l.Has.IsZero() })
}

func lacksOf(v *filters.Verdict) []filters.Lack {
	if r := v.Of(filters.Resources); r != nil {
		return r.Lacks
	}
	return nil
}

// The ways in which a node is closed to a pod.
const (
	byCordon  = "cordon"
	byIllness = "illness"
	byTaint   = "taint"
)

// closureOf returns how a node is closed to the pod; empty: it is open. A taint weighs more than a cordon.
func closureOf(v *filters.Verdict) (how string) {
	if r := v.Of(filters.Taint); r != nil {
		for i := range r.Taints {
			switch key := r.Taints[i].Key; {
			case key == corev1.TaintNodeUnschedulable:
				how = cmp.Or(how, byCordon)
			case slices.Contains(illness, key):
				how = byIllness
			default:
				return byTaint
			}
		}
	}
	if v.Of(filters.Cordon) != nil {
		how = cmp.Or(how, byCordon)
	}
	return how
}

// isMeant reports whether something relates the pod to a node that has taints: it tolerates or selects by one of their keys,
// or only closed nodes have what it demands.
func (k *reckoning) isMeant(pod *corev1.Pod, v *filters.Verdict) bool {
	for _, t := range v.Of(filters.Taint).Taints {
		if isControlPlane(t.Key) {
			return false
		}
		_, selects := pod.Spec.NodeSelector[t.Key]
		if selects || slices.ContainsFunc(pod.Spec.Tolerations, func(l corev1.Toleration) bool { return l.Key == t.Key }) {
			return true
		}
	}
	refused := false
	for i := range k.verdicts {
		if closureOf(&k.verdicts[i]) == "" {
			refused = true
			if hasDemanded(&k.verdicts[i]) {
				return false
			}
		}
	}
	return refused
}

func isControlPlane(key string) bool {
	return strings.HasPrefix(key, "node-role.kubernetes.io/")
}

// nodewise are the causes that are found node by node. What the scheduler's message says of them is replaced.
var nodewise = map[filters.Filter]string{
	filters.Cordon: "scheduling.cordoned", filters.Taint: "scheduling.taint", filters.NodeAffinity: "scheduling.nodeAffinity", filters.Ports: "scheduling.hostPort",
	filters.Resources: "scheduling.insufficient", filters.VolumeNode: "scheduling.volumeNodeAffinity", filters.VolumeZone: "scheduling.volumeZone",
	filters.Spread: "scheduling.spread", filters.PodAffinity: "scheduling.podAffinity", filters.PodAntiAffinity: "scheduling.podAntiAffinity",
	filters.ExistingAntiAffinity: "scheduling.existingAntiAffinity",
}

// byNode replaces what a scheduler's message counts by what podstep reckons for each node. Where podstep reckons that the
// pod fits, the message stands, and the findings say so.
func (c *Case) byNode(all []Finding) []Finding {
	k, ok := c.reckon()
	if !ok {
		return all
	}
	if fits := k.fitting(); len(fits) > 0 {
		c.contradict(k, fits, all)
		return all
	}
	found := slices.DeleteFunc(c.refusedByNode(k), func(f Finding) bool { return c.Age() < f.Cause.Young })
	if len(found) == 0 {
		return all
	}
	slices.SortStableFunc(found, func(a, b Finding) int { return cmp.Compare(b.weight, a.weight) })
	c.showNodes(k, &found[0])
	all = slices.DeleteFunc(all, func(f Finding) bool { return c.replaced(k, f.Cause.ID) })
	return append(all, found...)
}

// replaced reports whether a finding is one that podstep reckons better by nodes.
func (c *Case) replaced(k *reckoning, id string) bool {
	switch id {
	case "scheduling.taintUnnamed", "scheduling.nodesIll", "scheduling.tooLarge", "scheduling.notOffered", "scheduling.hugePages", "scheduling.tooManyPods":
		return true
	}
	for f, cause := range nodewise {
		if cause == id {
			return k.refuses(f) || c.isKnown(&filters.Refusal{Filter: f}) && len(k.unlooked) == 0
		}
	}
	return false
}

// refuses reports whether a filter refuses the pod on any node.
func (k *reckoning) refuses(f filters.Filter) bool {
	return slices.ContainsFunc(k.verdicts, func(v filters.Verdict) bool { return v.Of(f) != nil })
}

// fitting returns the nodes on which nothing that podstep knows refuses the pod.
func (k *reckoning) fitting() (out []*filters.Verdict) {
	for i := range k.verdicts {
		if len(k.verdicts[i].Refusals) == 0 {
			out = append(out, &k.verdicts[i])
		}
	}
	return out
}

// contradict says in the findings that come of a scheduler's message on which nodes the pod fits by all that podstep knows.
// What podstep does not look at may refuse these nodes: then nothing is contradicted.
func (c *Case) contradict(k *reckoning, fits []*filters.Verdict, all []Finding) {
	if len(k.unlooked) > 0 {
		return
	}
	var names []string
	for _, v := range fits[:min(len(fits), maxNames)] {
		names = append(names, v.Node.Name)
	}
	text := words.With(words.Text("Yet podstep reckons that %s fits: nodes or pods have changed since the scheduler's answer, or it filters by more than podstep knows.",
		"但 podstep 推算 %s 合适：调度器回答之后节点或 Pod 有变化，或者它有 podstep 不知道的过滤器。"), strings.Join(names, ", "))
	for i := range all {
		if f := &all[i]; slices.Contains(f.Evidence, k.shown) {
			f.More = append(f.More, text)
			f.Evidence = append(f.Evidence, c.object(words.Text("podstep's reckoning", "podstep 的推算"),
				words.With(words.Text("no filter that podstep knows refuses the pod on %s", "podstep 所知的过滤器都没有在 %s 上拒绝这个 Pod"), strings.Join(names, ", ")), c.Now))
		}
	}
}

// refusedByNode returns the findings on the filters that matter, each with its weight.
func (c *Case) refusedByNode(k *reckoning) (out []Finding) {
	if len(k.near) == 0 {
		return c.unmetDemands(k)
	}
	closed := closureOf(k.near[0]) != ""
	if closed {
		out = append(out, c.closedNodes(k, k.near)...)
	}
	for _, f := range []filters.Filter{filters.Ports, filters.Spread, filters.PodAffinity, filters.PodAntiAffinity, filters.ExistingAntiAffinity, filters.Resources} {
		if n, alone := k.count(k.near, f); n > 0 {
			weight := 10*n + alone
			if closed {
				weight = 0
			}
			out = append(out, c.refusedOn(k, f, n, weight)...)
		}
	}
	return out
}

// count returns on how many of some nodes a filter refuses the pod, and on how many of them no other filter does.
func (k *reckoning) count(of []*filters.Verdict, f filters.Filter) (n, alone int) {
	for _, v := range of {
		if v.Of(f) != nil {
			n++
			if len(v.Refusals) == 1 {
				alone++
			}
		}
	}
	return n, alone
}

// unmetDemands returns the findings on what the pod demands and no node offers that is open to it; if all nodes offer it,
// on what closes them.
func (c *Case) unmetDemands(k *reckoning) (out []Finding) {
	if !k.unmet {
		all := []*filters.Verdict{}
		for i := range k.verdicts {
			all = append(all, &k.verdicts[i])
		}
		return c.closedNodes(k, all)
	}
	for _, f := range append(slices.Clone(demands), filters.PodAffinity, filters.Resources) {
		n := 0
		for i := range k.verdicts {
			if r := k.verdicts[i].Of(f); r != nil && (f != filters.Resources || slices.ContainsFunc(r.Lacks, func(l filters.Lack) bool { return l.Has.IsZero() })) {
				n++
			}
		}
		if n == 0 || f == filters.PodAffinity && n < len(k.verdicts) {
			continue
		}
		out = append(out, c.refusedOn(k, f, n, 10*n)...)
	}
	return out
}

// closedNodes returns the findings on what closes some nodes.
func (c *Case) closedNodes(k *reckoning, nodes []*filters.Verdict) (out []Finding) {
	names, taints, alone := map[string][]string{}, map[string][]string{}, map[string]int{}
	for _, v := range nodes {
		how := closureOf(v)
		if how == "" {
			continue
		}
		names[how] = append(names[how], v.Node.Name)
		if len(slices.DeleteFunc(slices.Clone(v.Refusals), func(r filters.Refusal) bool { return r.Filter == filters.Cordon || r.Filter == filters.Taint })) == 0 {
			alone[how]++
		}
		if r := v.Of(filters.Taint); r != nil {
			for i := range r.Taints {
				if text := r.Taints[i].ToString(); !slices.Contains(taints[how], text) {
					taints[how] = append(taints[how], text)
				}
			}
		}
	}
	for how, id := range map[string]string{byCordon: "scheduling.cordoned", byIllness: "scheduling.nodesIll", byTaint: "scheduling.taint"} {
		if len(names[how]) == 0 {
			continue
		}
		text := strings.Join(taints[how], ", ")
		shown := c.object(words.Text("nodes", "节点"), words.Same(cmp.Or(text, how)+": "+strings.Join(names[how], ", ")), c.Now)
		f := c.refusedFor(id, k.refusal, len(names[how]), Args{"taints": text}, shown)
		f.weight = 10*alone[how] + len(names[how])
		out = append(out, f)
	}
	return out
}

// refusedOn returns the findings on one filter that refuses the pod on some nodes: of NodeResourcesFit one for each resource.
func (c *Case) refusedOn(k *reckoning, f filters.Filter, nodes, weight int) (out []Finding) {
	if f == filters.Resources {
		return c.lackingResources(k, weight)
	}
	if nodewise[f] == "" {
		return nil
	}
	one := c.refusedFor(nodewise[f], k.refusal, nodes, Args{"inTheWay": k.inTheWay(f)})
	one.weight = weight
	if text := c.whyDemanded(k, f); text.En != "" {
		one.More = append(one.More, text)
	}
	return []Finding{one}
}

// lackingResources returns a finding for each resource of which the nodes that matter have too little.
func (c *Case) lackingResources(k *reckoning, weight int) (out []Finding) {
	of := k.near
	if len(of) == 0 {
		for i := range k.verdicts {
			of = append(of, &k.verdicts[i])
		}
	}
	lacking := map[corev1.ResourceName][]filters.Lack{}
	var names []corev1.ResourceName
	for _, v := range of {
		for _, l := range lacksOf(v) {
			if lacking[l.Resource] == nil {
				names = append(names, l.Resource)
			}
			lacking[l.Resource] = append(lacking[l.Resource], l)
		}
	}
	for _, name := range names {
		f := c.lackingResource(k, name, lacking[name], len(of))
		f.weight = weight
		out = append(out, f)
	}
	return out
}

// lackingResource makes the finding on a resource of which some of the nodes that matter have too little.
func (c *Case) lackingResource(k *reckoning, name corev1.ResourceName, lacks []filters.Lack, of int) Finding {
	id, args := "scheduling.insufficient", Args{"resource": string(name), "asks": lacks[0].Asks.String(), "inTheWay": k.inTheWay(filters.Resources)}
	largest := lacks[0].Has
	for i := range lacks {
		if lacks[i].Has.Cmp(largest) > 0 {
			largest = lacks[i].Has
		}
	}
	never := len(lacks) == of && !slices.ContainsFunc(lacks, func(l filters.Lack) bool { return !l.Never() })
	switch {
	case name == corev1.ResourcePods:
		id = "scheduling.tooManyPods"
	case never && largest.IsZero() && strings.HasPrefix(string(name), corev1.ResourceHugePagesPrefix):
		id = "scheduling.hugePages"
	case never && largest.IsZero():
		id = "scheduling.notOffered"
	case never:
		id, args["largest"] = "scheduling.tooLarge", largest.String()
	}
	f := c.refusedFor(id, k.refusal, len(lacks), args)
	if name != corev1.ResourcePods {
		if of := c.originOf(name); of.En != "" {
			f.Evidence = append(f.Evidence, c.object(words.Same("pods/"+c.Spec.Name+" spec"), of, c.Now))
			if never {
				f.More = append(f.More, words.Joined(words.Same(""), of, stop))
			}
		}
	}
	f.Args["count"] = strconv.Itoa(len(lacks))
	return f
}
