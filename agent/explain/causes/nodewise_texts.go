package causes

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/podstep/podstep/agent/explain/filters"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/words"
)

const (
	// maxNear bounds the nodes of which a finding shows what they lack, and maxNearest those that its sentence names.
	maxNear, maxNearest = 4, 2
	// maxHolders bounds the pods that are named on one node.
	maxHolders = 3
)

// comma stands between the items of a list.
var comma = words.Text(", ", "，")

// stop ends a sentence.
var stop = words.Text(".", "。")

// showNodes adds to the first finding what the nearest nodes lack, which nodes are in the background, and where podstep
// and the scheduler differ.
func (c *Case) showNodes(k *reckoning, f *Finding) {
	var sentence []probes.Text
	near := k.nearest()
	for i, v := range near {
		text := c.lacksText(k, v)
		f.Evidence = append(f.Evidence, c.object(words.Same("nodes/"+v.Node.Name), text, c.Now))
		if i < maxNearest {
			sentence = append(sentence, words.Joined(words.Same(" "), words.Same(v.Node.Name), text))
		}
	}
	if len(sentence) > 0 {
		f.Nearest = words.Joined(words.Same(""), words.Joined(words.Text("; ", "；"), sentence...), stop)
	}
	if text := k.background(near); text.En != "" {
		f.Evidence = append(f.Evidence, c.object(words.Text("other nodes", "其他节点"), text, c.Now))
	}
	if text := c.difference(k); text.En != "" {
		f.Evidence = append(f.Evidence, c.object(words.Text("podstep's reckoning", "podstep 的推算"), text, c.Now))
		f.Confidence = lower(f.Confidence)
	}
	if len(k.unlooked) > 0 {
		f.Evidence = append(f.Evidence, c.object(words.Text("podstep's reckoning", "podstep 的推算"),
			words.With(words.Text("podstep did not look at: %s", "podstep 没有检查：%s"), strings.Join(k.unlooked, ", ")), c.Now))
	}
}

// lower returns the confidence in what the one who decides does not say so.
func lower(c Confidence) Confidence {
	if c == Certain {
		return Likely
	}
	return c
}

// nearest returns the nodes that the fewest filters refuse: those that matter, and cordoned ones that need nothing else.
func (k *reckoning) nearest() (out []*filters.Verdict) {
	for i := range k.verdicts {
		v := &k.verdicts[i]
		if slices.Contains(k.near, v) || closureOf(v) == byCordon && onlyCordoned(v) {
			out = append(out, v)
		}
	}
	slices.SortStableFunc(out, func(a, b *filters.Verdict) int { return cmp.Compare(reasonsOf(a), reasonsOf(b)) })
	return out[:min(len(out), maxNear)]
}

// onlyCordoned reports whether a node refuses the pod for its cordon alone.
func onlyCordoned(v *filters.Verdict) bool {
	return len(v.Refusals) > 0 && !slices.ContainsFunc(v.Refusals, func(r filters.Refusal) bool {
		return r.Filter != filters.Cordon && (r.Filter != filters.Taint || closureOf(v) != byCordon)
	})
}

// reasonsOf counts the reasons for which a node refuses the pod. A cordon with its taint is one.
func reasonsOf(v *filters.Verdict) (n int) {
	if onlyCordoned(v) {
		return 1
	}
	for _, r := range v.Refusals {
		n += max(1, len(r.Lacks))
	}
	return n
}

// background says which nodes are closed to the pod without anything that relates them, and are not among those shown.
func (k *reckoning) background(shown []*filters.Verdict) probes.Text {
	var cordoned, ill, tainted []string
	for i := range k.verdicts {
		v := &k.verdicts[i]
		if slices.Contains(k.near, v) || slices.Contains(shown, v) || len(k.near) == 0 {
			continue
		}
		switch closureOf(v) {
		case byCordon:
			cordoned = append(cordoned, v.Node.Name)
		case byIllness:
			ill = append(ill, v.Node.Name+" ("+taintsOf(v)+")")
		case byTaint:
			tainted = append(tainted, v.Node.Name+" ("+taintsOf(v)+")")
		}
	}
	if len(cordoned)+len(ill)+len(tainted) == 0 {
		return probes.Text{}
	}
	few := func(all []string) string {
		if len(all) > maxNames {
			return strings.Join(all[:maxNames], ", ") + ", ..."
		}
		return strings.Join(all, ", ")
	}
	var parts []probes.Text
	if len(cordoned) > 0 {
		parts = append(parts, words.With(words.Text("cordoned: %s", "被隔离：%s"), few(cordoned)))
	}
	if len(ill) > 0 {
		parts = append(parts, words.With(words.Text("not well: %s", "状态不正常：%s"), few(ill)))
	}
	if len(tainted) > 0 {
		parts = append(parts, words.With(words.Text("closed by a taint, and nothing relates the pod to them: %s", "因污点而关闭，且与这个 Pod 无关：%s"), few(tainted)))
	}
	return words.Joined(words.Text("; ", "；"), parts...)
}

// taintsOf names the taints that close a node to the pod.
func taintsOf(v *filters.Verdict) string {
	var all []string
	for _, t := range v.Of(filters.Taint).Taints {
		all = append(all, t.ToString())
	}
	return strings.Join(all, ", ")
}

// lacksText says what one node lacks, or what it would take.
func (c *Case) lacksText(k *reckoning, v *filters.Verdict) probes.Text {
	if onlyCordoned(v) {
		return words.Text("fits if it is uncordoned", "解除隔离（uncordon）后就合适")
	}
	var parts []probes.Text
	for i := range v.Refusals {
		r := &v.Refusals[i]
		if r.Filter == filters.Taint && closureOf(v) == byCordon {
			continue // the control plane gives it to nodes that are cordoned
		}
		parts = append(parts, c.refusalText(k, v, r))
	}
	return words.Joined(words.Text(", and ", "，并且"), parts...)
}

// refusalText says why one filter refuses the pod on a node.
func (c *Case) refusalText(k *reckoning, v *filters.Verdict, r *filters.Refusal) probes.Text {
	switch r.Filter {
	case filters.Cordon:
		return words.Text("is cordoned", "被隔离（cordon）")
	case filters.Taint:
		return words.With(words.Text("has the taint %s", "带有污点 %s"), taintsOf(v))
	case filters.NodeAffinity:
		return words.Text("does not have the labels", "没有要求的标签")
	case filters.Ports:
		return words.With(words.Text("has host port %d taken by %s", "的主机端口 %d 被 %s 占用"), r.Port.HostPort, k.names(r.Pods))
	case filters.Resources:
		return k.lackText(r)
	case filters.VolumeNode:
		return words.With(words.Text("cannot use the volume %s", "不能使用卷 %s"), r.Volume.Name)
	case filters.VolumeZone:
		return words.With(words.Text("is not in the zone of the volume %s (%s)", "不在卷 %s 的可用区（%s）"), r.Volume.Name, r.Volume.Labels[r.Label])
	case filters.Spread:
		return spreadText(r)
	case filters.PodAffinity:
		if r.Label != "" {
			return words.With(words.Text("has no label %s", "没有标签 %s"), r.Label)
		}
		return words.With(words.Text("is not near any pod with %s", "附近没有带 %s 的 Pod"), cmp.Or(r.Selector, "-"))
	case filters.PodAntiAffinity:
		return words.With(words.Text("is near %s, which the pod excludes", "附近有这个 Pod 所排斥的 %s"), k.names(r.Pods))
	case filters.ExistingAntiAffinity:
		return words.With(words.Text("is near %s, which excludes the pod", "附近有排斥这个 Pod 的 %s"), k.names(r.Pods))
	}
	return words.With(words.Text("is refused by %s", "被 %s 拒绝"), string(r.Filter))
}

// lackText says of which resources a node has too little left, and which pods have asked for the first one.
func (k *reckoning) lackText(r *filters.Refusal) probes.Text {
	var parts []probes.Text
	for i := range r.Lacks {
		l := &r.Lacks[i]
		short := l.Short()
		switch {
		case l.Resource == corev1.ResourcePods:
			parts = append(parts, words.With(words.Text("takes no more than %s pods", "最多容纳 %s 个 Pod"), l.Has.String()))
		case l.Has.IsZero():
			parts = append(parts, words.With(words.Text("offers no %s", "不提供 %s"), l.Resource))
		case l.Never():
			parts = append(parts, words.With(words.Text("has %s of %s in all", "总共只有 %s 的 %s"), l.Has.String(), l.Resource))
		default:
			parts = append(parts, words.With(words.Text("lacks %s of %s", "缺 %s 的 %s"), short.String(), l.Resource))
		}
	}
	out := words.Joined(words.Text(" and ", "和"), parts...)
	first := r.Lacks[0]
	if first.Never() || len(r.Pods) == 0 || first.Resource == corev1.ResourcePods {
		return out
	}
	var held []string
	for _, i := range r.Pods[:min(len(r.Pods), maxHolders)] {
		q := filters.Taken(&k.in.Pods[i])[first.Resource]
		held = append(held, fmt.Sprintf("%s (%s)", k.in.Pods[i].Name, q.String()))
	}
	return words.Joined(comma, out, words.With(words.Text("held by %s", "被占用：%s"), strings.Join(held, ", ")))
}

// inTheWay returns the one pod, as NAMESPACE/NAME, without which a filter would let the pod pass on the only node that matters;
// empty: there is no such pod, or other nodes matter, too.
func (k *reckoning) inTheWay(f filters.Filter) string {
	if len(k.near) != 1 {
		return ""
	}
	r := k.near[0].Of(f)
	if r == nil || len(r.Pods) == 0 {
		return ""
	}
	p := &k.in.Pods[r.Pods[0]]
	alone := len(r.Pods) == 1
	if f == filters.Resources {
		alone = !slices.ContainsFunc(r.Lacks, func(l filters.Lack) bool {
			gives, short := filters.Taken(p)[l.Resource], l.Short()
			return gives.Cmp(short) < 0
		})
	}
	if !alone {
		return ""
	}
	return p.Namespace + "/" + p.Name
}

func spreadText(r *filters.Refusal) probes.Text {
	if r.Constraint == nil {
		return words.With(words.Text("has no label %s", "没有标签 %s"), r.Label)
	}
	s := r.Constraint
	if s.LeastAt == "" {
		return words.With(words.Text("would have %d pods of its kind in %s=%s, at most %d while there are too few topologies", "在 %[2]s=%[3]s 里会有 %[1]d 个同类 Pod，拓扑域不足时最多 %[4]d 个"),
			s.Here, s.Key, s.Value, s.Max)
	}
	return words.With(words.Text("would have %d pods of its kind in %s=%s, %s has %d, and %d more are allowed", "在 %[2]s=%[3]s 里会有 %[1]d 个同类 Pod，%[4]s 里有 %[5]d 个，最多允许多 %[6]d 个"),
		s.Here, s.Key, s.Value, s.LeastAt, s.Least, s.Max)
}

// names names some pods of the nodes.
func (k *reckoning) names(pods []int) string {
	var out []string
	for _, i := range pods[:min(len(pods), maxHolders)] {
		out = append(out, k.in.Pods[i].Namespace+"/"+k.in.Pods[i].Name)
	}
	if len(pods) > maxHolders {
		out = append(out, "...")
	}
	return strings.Join(out, ", ")
}

// whyDemanded names what no node offers, or says why a topology counts.
func (c *Case) whyDemanded(k *reckoning, f filters.Filter) probes.Text {
	switch f {
	case filters.NodeAffinity:
		if missing := c.unmetLabels(k); len(missing) > 0 {
			return words.With(words.Text("No node has %s.", "没有节点带有 %s。"), strings.Join(missing, ", "))
		}
	case filters.VolumeNode:
		return k.volumeText()
	case filters.PodAffinity:
		if c.Cluster.Placed != nil && len(k.unlooked) == 0 {
			return k.nobodyText(c.Spec)
		}
	case filters.Spread:
		return k.emptiestText()
	}
	return probes.Text{}
}

// unmetLabels returns the requirements of the pod's node selector and node affinity that no node meets.
func (c *Case) unmetLabels(k *reckoning) (out []string) {
	for _, key := range slices.Sorted(maps.Keys(c.Spec.Spec.NodeSelector)) {
		value := c.Spec.Spec.NodeSelector[key]
		if !slices.ContainsFunc(k.in.Nodes, func(n corev1.Node) bool { return n.Labels[key] == value }) {
			out = append(out, key+"="+value)
		}
	}
	a := c.Spec.Spec.Affinity
	if a == nil || a.NodeAffinity == nil || a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		return out
	}
	terms := a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms
	if len(terms) != 1 { // a node fits if it meets one of them
		return out
	}
	for _, e := range terms[0].MatchExpressions {
		if !k.meets(corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{e}}) {
			out = append(out, requirementText(e))
		}
	}
	for _, e := range terms[0].MatchFields {
		if !k.meets(corev1.NodeSelectorTerm{MatchFields: []corev1.NodeSelectorRequirement{e}}) {
			out = append(out, requirementText(e))
		}
	}
	return out
}

// meets reports whether any node meets a term.
func (k *reckoning) meets(t corev1.NodeSelectorTerm) bool {
	asks := &corev1.Pod{Spec: corev1.PodSpec{Affinity: &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{t}},
	}}}}
	all := filters.Hold(asks, &filters.Cluster{Nodes: k.in.Nodes})
	return slices.ContainsFunc(all, func(v filters.Verdict) bool { return v.Of(filters.NodeAffinity) == nil })
}

func requirementText(e corev1.NodeSelectorRequirement) string {
	out := e.Key + " " + string(e.Operator)
	if len(e.Values) > 0 {
		out += " (" + strings.Join(e.Values, ", ") + ")"
	}
	return out
}

// volumeText says where the volume can be used that keeps the pod from most nodes.
func (k *reckoning) volumeText() probes.Text {
	for i := range k.verdicts {
		r := k.verdicts[i].Of(filters.VolumeNode)
		if r == nil {
			continue
		}
		var where []string
		for _, t := range r.Volume.Spec.NodeAffinity.Required.NodeSelectorTerms {
			for _, e := range append(slices.Clone(t.MatchExpressions), t.MatchFields...) {
				where = append(where, requirementText(e))
			}
		}
		text := words.With(words.Text("The volume %s can be used only where %s.", "卷 %s 只能在满足 %s 的节点上使用。"), r.Volume.Name, strings.Join(where, ", "))
		if slices.ContainsFunc(k.verdicts, func(v filters.Verdict) bool { return v.Of(filters.VolumeNode) == nil }) {
			return text
		}
		return words.Joined(words.Same(""), text, words.Text(" There is no such node: its data is lost or elsewhere.", "没有这样的节点：数据已丢失或在别处。"))
	}
	return probes.Text{}
}

// nobodyText says that no pod on any node is one that the pod's affinity asks for; empty: there is one.
func (k *reckoning) nobodyText(pod *corev1.Pod) probes.Text {
	for i := range k.verdicts {
		r := k.verdicts[i].Of(filters.PodAffinity)
		if r == nil || r.Selector == "" {
			continue
		}
		if n := filters.Wanted(pod, k.in); n == 0 {
			return words.With(words.Text("No pod that has a node matches %s.", "没有任何已调度的 Pod 匹配 %s。"), r.Selector)
		}
	}
	return probes.Text{}
}

// emptiestText says that a topology counts although all of its nodes are closed to the pod; empty: there is none.
func (k *reckoning) emptiestText() probes.Text {
	for _, v := range k.near {
		r := v.Of(filters.Spread)
		if r == nil || r.Constraint == nil || r.Constraint.LeastAt == "" {
			continue
		}
		at, closed := r.Constraint, []string{}
		for i := range k.verdicts {
			o := &k.verdicts[i]
			if o.Node.Labels[at.Key] != at.LeastAt {
				continue
			}
			if closureOf(o) == "" {
				return probes.Text{}
			}
			closed = append(closed, o.Node.Name)
		}
		return words.With(words.Text("%s=%s counts, although its nodes are closed to the pod: %s. With nodeTaintsPolicy: Honor, nodes with such taints do not count.",
			"%s=%s 参与计数，尽管其中的节点都不接受这个 Pod：%s。设置 nodeTaintsPolicy: Honor 后，带这类污点的节点不再参与计数。"), at.Key, at.LeastAt, strings.Join(closed, ", "))
	}
	return probes.Text{}
}
