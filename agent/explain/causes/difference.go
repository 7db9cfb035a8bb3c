package causes

import (
	"maps"
	"regexp"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"

	"github.com/podstep/podstep/agent/explain/filters"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/words"
)

// difference says where the counts of a scheduler's message are not those that podstep reckons; empty: nowhere. Only the
// filters count that podstep looks at.
func (c *Case) difference(k *reckoning) probes.Text {
	if len(k.unlooked) > 0 {
		return probes.Text{}
	}
	counted, reckoned := map[string]int{}, map[string]int{}
	for _, r := range k.reasons {
		counted[reasonClass(r.text)] += r.nodes
	}
	for i := range k.verdicts {
		if all := k.verdicts[i].Refusals; len(all) > 0 {
			for _, class := range classesOf(&all[0]) {
				reckoned[class]++
			}
		}
	}
	var parts []probes.Text
	for _, class := range slices.Sorted(maps.Keys(merged(counted, reckoned))) {
		if counted[class] != reckoned[class] && class != "" {
			parts = append(parts, words.With(words.Text("%s: the scheduler says %s, podstep %s", "%s：调度器说 %s，podstep 算得 %s"), class, strconv.Itoa(counted[class]), strconv.Itoa(reckoned[class])))
		}
	}
	if len(parts) == 0 {
		return probes.Text{}
	}
	return words.Joined(words.Text("; ", "；"), append(parts, words.Text("nodes or pods have changed since, or a filter of this cluster differs", "此后节点或 Pod 有变化，或者这个集群的过滤器不同"))...)
}

func merged(a, b map[string]int) map[string]int {
	out := maps.Clone(a)
	maps.Copy(out, b)
	return out
}

// reasonWords are the words of the scheduler for the reasons of its filters.
var reasonWords = []struct {
	filter filters.Filter
	words  *regexp.Regexp
}{
	{filters.Cordon, regexp.MustCompile(`were unschedulable`)},
	{filters.Taint, regexp.MustCompile(`untolerated taint|that the pod didn't tolerate`)},
	{filters.NodeAffinity, regexp.MustCompile(`didn't match Pod's node affinity|didn't satisfy plugin\(s\) \[NodeAffinity\]`)},
	{filters.Ports, regexp.MustCompile(`didn't have free ports`)},
	{filters.VolumeNode, regexp.MustCompile(`didn't match PersistentVolume's node affinity|volume node affinity conflict`)},
	{filters.VolumeZone, regexp.MustCompile(`no available volume zone`)},
	{filters.Spread, regexp.MustCompile(`pod topology spread constraints`)},
	{filters.PodAffinity, regexp.MustCompile(`didn't match pod affinity rules`)},
	{filters.PodAntiAffinity, regexp.MustCompile(`didn't match pod anti-affinity rules`)},
	{filters.ExistingAntiAffinity, regexp.MustCompile(`existing pods anti-affinity rules`)},
}

// reasonClass returns the class of a scheduler's reason: the filter, or the resource; empty: podstep does not know it.
func reasonClass(text string) string {
	if m := insufficient.FindStringSubmatch(text); m != nil {
		return m[1]
	}
	if text == "Too many pods" {
		return string(corev1.ResourcePods)
	}
	for _, r := range reasonWords {
		if r.words.MatchString(text) {
			return string(r.filter)
		}
	}
	return ""
}

// classesOf returns the classes under which the scheduler counts a node that a filter refuses.
func classesOf(r *filters.Refusal) (out []string) {
	if r.Filter != filters.Resources {
		return []string{string(r.Filter)}
	}
	for _, l := range r.Lacks {
		out = append(out, string(l.Resource))
	}
	return out
}
