package causes

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podstep/podstep/agent/explain/evidence"
	"github.com/podstep/podstep/agent/explain/filters"
	"github.com/podstep/podstep/probes/words"
)

// askedFor returns a container that asks for resources, as name, amount, name, amount.
func askedFor(name string, list ...string) corev1.Container {
	c := corev1.Container{Name: name, Image: "web:1", Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{}}}
	for i := 0; i < len(list); i += 2 {
		c.Resources.Requests[corev1.ResourceName(list[i])] = resource.MustParse(list[i+1])
	}
	return c
}

func onNode(node, name string, list ...string) corev1.Pod {
	p := corev1.Pod{}
	p.Namespace, p.Name, p.Labels = "shop", name, map[string]string{"app": name}
	p.Spec.NodeName, p.Spec.Containers = node, []corev1.Container{askedFor("app", list...)}
	return p
}

// manyNodes returns a snapshot of a pod without a node on a cluster as there are many: one node that is nearly full, one that
// is cordoned, two pools with taints, and a control plane. The scheduler's message is what the filters give.
func manyNodes(change func(*evidence.Snapshot)) *evidence.Snapshot {
	began := time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)
	p := &corev1.Pod{}
	p.Namespace, p.Name, p.UID, p.CreationTimestamp = "shop", "new", "u-1", metav1.NewTime(began)
	p.Status.Phase = corev1.PodPending
	p.Spec.Containers = []corev1.Container{askedFor("app", "cpu", "100m")}
	s := &evidence.Snapshot{Taken: began.Add(10 * time.Minute), Name: evidence.Name{Namespace: "shop", Name: "new", UID: "u-1"}, Pod: p}
	node := func(name, zone string, taints ...corev1.Taint) evidence.Candidate {
		return evidence.Candidate{
			Name: name, Taints: taints, Labels: map[string]string{corev1.LabelHostname: name, corev1.LabelArchStable: "amd64", corev1.LabelTopologyZone: zone},
			Allocatable: corev1.ResourceList{"cpu": resource.MustParse("4"), "memory": resource.MustParse("8Gi"), "pods": resource.MustParse("110")},
		}
	}
	taint := func(key, value string) corev1.Taint {
		return corev1.Taint{Key: key, Value: value, Effect: corev1.TaintEffectNoSchedule}
	}
	cordoned := node("node-b1", "b", taint(corev1.TaintNodeUnschedulable, ""))
	cordoned.Unschedulable = true
	gpu := node("node-gpu", "b", taint("dedicated", "gpu"))
	gpu.Allocatable["cpu"], gpu.Allocatable["example.com/gpu"] = resource.MustParse("64"), resource.MustParse("8")
	s.Cluster.Candidates = []evidence.Candidate{node("node-1", "a"), cordoned, gpu, node("node-old", "b", taint("pool", "old")), node("master", "a", taint("node-role.kubernetes.io/control-plane", ""))}
	s.Cluster.Placed = &evidence.Placed{Pods: []corev1.Pod{onNode("node-1", "boss", "cpu", "2"), onNode("node-1", "web", "cpu", "1200m"), onNode("node-1", "tiny", "cpu", "10m")}}
	change(s)
	p.Status.Conditions = []corev1.PodCondition{{
		Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable, LastTransitionTime: metav1.NewTime(began), Message: messageOf(s),
	}}
	return s
}

// messageOf returns what a scheduler says of a pod.
func messageOf(s *evidence.Snapshot) string {
	text := map[string]string{}
	for f, t := range map[filters.Filter]string{
		filters.Cordon: "node(s) were unschedulable", filters.Taint: "node(s) had untolerated taint(s)", filters.NodeAffinity: "node(s) didn't match Pod's node affinity/selector",
		filters.Ports: "node(s) didn't have free ports for the requested pod ports", filters.VolumeNode: "node(s) didn't match PersistentVolume's node affinity",
		filters.Spread: "node(s) didn't match pod topology spread constraints", filters.PodAffinity: "node(s) didn't match pod affinity rules",
	} {
		text[string(f)] = t
	}
	counts, c := map[string]int{}, newCase(s)
	for _, v := range filters.Hold(s.Pod, c.schedulersView()) {
		if len(v.Refusals) == 0 {
			continue
		}
		for _, class := range classesOf(&v.Refusals[0]) {
			counts[cmpOr(text[class], "Insufficient "+class)]++
		}
	}
	var parts []string
	for _, class := range slices.Sorted(maps.Keys(counts)) {
		parts = append(parts, fmt.Sprintf("%d %s", counts[class], class))
	}
	n := len(s.Cluster.Candidates)
	return fmt.Sprintf("0/%d nodes are available: %s. preemption: 0/%d nodes are available: %d Preemption is not helpful for scheduling.", n, strings.Join(parts, ", "), n, n)
}

func cmpOr(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// nodewiseCases are pods that a scheduler refuses, by what matters for each.
var nodewiseCases = []struct {
	name, first string
	// sentence and shows have parts of the first finding's sentence and of its evidence. No part of never may be in the sentence.
	sentence, shows, never []string
	change                 func(*evidence.Snapshot)
}{
	{
		"its CPU", "scheduling.insufficient",
		[]string{"node-b1 fits if it is uncordoned", "node-1 lacks 410m of cpu, held by boss (2), web (1200m), tiny (10m)"},
		[]string{"closed by a taint, and nothing relates the pod to them: node-gpu (dedicated=gpu:NoSchedule), node-old (pool=old:NoSchedule), master"}, []string{"toleration"},
		func(s *evidence.Snapshot) { s.Pod.Spec.Containers[0] = askedFor("app", "cpu", "1200m") },
	},
	{
		"an architecture that no node has", "scheduling.nodeAffinity", []string{"5 of 5 nodes", "No node has kubernetes.io/arch=arm64."}, nil, []string{"toleration"},
		func(s *evidence.Snapshot) {
			s.Pod.Spec.NodeSelector = map[string]string{corev1.LabelArchStable: "arm64"}
		},
	},
	{
		"a node affinity that no node meets", "scheduling.nodeAffinity", []string{"No node has disk In (nvme, ssd)."}, nil, nil,
		func(s *evidence.Snapshot) {
			s.Pod.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
				NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{
					{Key: corev1.LabelArchStable, Operator: corev1.NodeSelectorOpExists}, {Key: "disk", Operator: corev1.NodeSelectorOpIn, Values: []string{"nvme", "ssd"}},
				}}},
			}}}
		},
	},
	{
		"a zone that is closed", "scheduling.spread", []string{"topology.kubernetes.io/zone=b counts", "node-b1, node-gpu, node-old", "nodeTaintsPolicy: Honor", "node-b1 fits if it is uncordoned"}, nil, nil,
		func(s *evidence.Snapshot) {
			s.Pod.Labels = map[string]string{"app": "boss"}
			s.Pod.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{
				MaxSkew: 1, TopologyKey: corev1.LabelTopologyZone, WhenUnsatisfiable: corev1.DoNotSchedule, LabelSelector: &metav1.LabelSelector{MatchLabels: s.Pod.Labels},
			}}
		},
	},
	{
		"a volume of a node that is gone", "scheduling.volumeNodeAffinity", []string{"The volume pv-gone can be used only where kubernetes.io/hostname In (node-replaced-7). There is no such node"},
		[]string{"podstep did not look at: NodeVolumeLimits, VolumeRestrictions"}, nil,
		func(s *evidence.Snapshot) { bindTo(s, "node-replaced-7") },
	},
	{
		"a volume of a node that is cordoned", "scheduling.cordoned", []string{"node-b1 fits if it is uncordoned"}, nil, nil,
		func(s *evidence.Snapshot) { bindTo(s, "node-b1") },
	},
	{
		"pods that nobody has", "scheduling.podAffinity", []string{"No pod that has a node matches app=cache-typo."}, []string{"is not near any pod with app=cache-typo"}, nil,
		func(s *evidence.Snapshot) {
			s.Pod.Spec.Affinity = &corev1.Affinity{PodAffinity: &corev1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
				TopologyKey: corev1.LabelHostname, LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "cache-typo"}},
			}}}}
		},
	},
	{
		"a large init container", "scheduling.tooLarge", []string{"asks for 16 of cpu", "the largest node that it may use has only 4", "16 of cpu are for the init container setup."}, nil, nil,
		func(s *evidence.Snapshot) {
			s.Pod.Spec.InitContainers = []corev1.Container{askedFor("setup", "cpu", "16")}
		},
	},
	{
		"a large overhead", "scheduling.tooLarge", []string{"10100m of cpu are 10 overhead of RuntimeClass kata, 100m for container app."}, nil, nil,
		func(s *evidence.Snapshot) {
			class := "kata"
			s.Pod.Spec.RuntimeClassName, s.Pod.Spec.Overhead = &class, corev1.ResourceList{"cpu": resource.MustParse("10")}
		},
	},
	{
		"a container that was added", "scheduling.tooLarge", []string{"6 for container proxy (not in the template of ReplicaSet web: a webhook has added it), 100m for container app."}, nil, nil,
		func(s *evidence.Snapshot) {
			s.Pod.Spec.Containers = append(s.Pod.Spec.Containers, askedFor("proxy", "cpu", "6"))
			s.Cluster.Owners = []evidence.Owner{{Kind: "ReplicaSet", Name: "web", Wanted: 1, Made: 1, Containers: []string{"app"}}}
		},
	},
	{
		"huge pages", "scheduling.hugePages", []string{"64Mi of hugepages-2Mi"}, nil, []string{"device plugin"},
		func(s *evidence.Snapshot) { s.Pod.Spec.Containers[0] = askedFor("app", "hugepages-2Mi", "64Mi") },
	},
	{
		"a device that only a pool has", "scheduling.taint", []string{"dedicated=gpu:NoSchedule", "node-gpu has the taint"}, nil, nil,
		func(s *evidence.Snapshot) { s.Pod.Spec.Containers[0] = askedFor("app", "example.com/gpu", "1") },
	},
	{
		"a pool that it selects", "scheduling.taint", []string{"node-old has the taint pool=old:NoSchedule"}, nil, nil,
		func(s *evidence.Snapshot) {
			s.Cluster.Candidates[3].Labels["pool"] = "old"
			s.Pod.Spec.NodeSelector = map[string]string{"pool": "old"}
		},
	},
	{
		"a host port", "scheduling.hostPort", []string{"node-1 has host port 80 taken by shop/web"}, nil, nil,
		func(s *evidence.Snapshot) {
			s.Pod.Spec.Containers[0].Ports = []corev1.ContainerPort{{HostPort: 80}}
			s.Cluster.Placed.Pods[1].Spec.Containers[0].Ports = []corev1.ContainerPort{{HostPort: 80}}
		},
	},
	{
		"a daemon's own node", "scheduling.insufficient", []string{"1 of 5 nodes", "node-1 lacks 410m of cpu"}, nil, []string{"node-b1"},
		func(s *evidence.Snapshot) {
			s.Pod.Spec.Containers[0] = askedFor("app", "cpu", "1200m")
			s.Pod.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
				NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchFields: []corev1.NodeSelectorRequirement{{Key: metav1.ObjectNameField, Operator: corev1.NodeSelectorOpIn, Values: []string{"node-1"}}}}},
			}}}
		},
	},
	{
		"an open node", "scheduling.taint", []string{"dedicated=gpu:NoSchedule, pool=old:NoSchedule"}, nil, []string{"nearest"},
		func(s *evidence.Snapshot) { s.Cluster.Candidates = s.Cluster.Candidates[2:] },
	},
}

// bindTo gives the pod a claim that is bound to a volume of one node.
func bindTo(s *evidence.Snapshot, node string) {
	s.Pod.Spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data"}}}}
	claim, volume := corev1.PersistentVolumeClaim{}, corev1.PersistentVolume{}
	claim.Name, claim.Spec.VolumeName, claim.Status.Phase, volume.Name = "data", "pv-gone", corev1.ClaimBound, "pv-gone"
	volume.Spec.NodeAffinity = &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
		MatchExpressions: []corev1.NodeSelectorRequirement{{Key: corev1.LabelHostname, Operator: corev1.NodeSelectorOpIn, Values: []string{node}}},
	}}}}
	s.Cluster.Claims, s.Cluster.Volumes = []corev1.PersistentVolumeClaim{claim}, []corev1.PersistentVolume{volume}
}

// TestNodewise: on a cluster with pools, the first finding is the one that matters for this pod, and names the nearest node.
func TestNodewise(t *testing.T) {
	for _, test := range nodewiseCases {
		t.Run(test.name, func(t *testing.T) {
			r := Explain(manyNodes(test.change))
			if len(r.Findings) == 0 || r.Findings[0].Cause.ID != test.first {
				t.Fatalf("found: %v", ids(r))
			}
			f := &r.Findings[0]
			if f.Confidence != Certain {
				t.Errorf("it is %s", f.Confidence)
			}
			shown := ""
			for _, fact := range r.Facts(f, words.English) {
				shown += fact.Text + "\n"
			}
			t.Logf("%s\n%s\n%s", f.Sentence(words.English), f.Sentence(words.Chinese), shown)
			for _, part := range test.sentence {
				if !strings.Contains(f.Sentence(words.English), part) {
					t.Errorf("%q is not said", part)
				}
			}
			for _, part := range test.shows {
				if !strings.Contains(shown, part) {
					t.Errorf("%q is not shown", part)
				}
			}
			for _, part := range test.never {
				if strings.Contains(f.Sentence(words.English), part) {
					t.Errorf("%q is there", part)
				}
			}
			if strings.Contains(f.Sentence(words.Chinese), "%!") || strings.Contains(f.Sentence(words.English)+shown, "%!") {
				t.Error("a text has the wrong arguments")
			}
			whole(t, test.name, f)
		})
	}
}

// TestContradiction: where podstep reckons that a node fits, what the scheduler says stands, and the difference is said.
func TestContradiction(t *testing.T) {
	s := manyNodes(func(s *evidence.Snapshot) { s.Pod.Spec.Containers[0] = askedFor("app", "cpu", "1200m") })
	s.Cluster.Placed.Pods = s.Cluster.Placed.Pods[1:] // the largest one has gone since
	const yet = "Yet podstep reckons that node-1 fits"
	r := Explain(s)
	if f := &r.Findings[0]; !strings.Contains(f.Sentence(words.English), yet) || f.Evidence[len(f.Evidence)-1].Where.En != "podstep's reckoning" {
		t.Errorf("%s: %s", f.Cause.ID, f.Sentence(words.English))
	}
	if !slices.Contains(ids(r), "scheduling.insufficient") {
		t.Errorf("found: %v", ids(r))
	}
	s.Cluster.Placed = nil // nobody knows
	if r := Explain(s); strings.Contains(r.Findings[0].Sentence(words.English), yet) || !slices.Contains(ids(r), "scheduling.insufficient") {
		t.Errorf("without the pods of the nodes: %v", ids(r))
	}
}

// TestDifference: where the scheduler counts other nodes than podstep, that is said, and nothing is certain by podstep alone.
func TestDifference(t *testing.T) {
	s := manyNodes(func(s *evidence.Snapshot) { s.Pod.Spec.Containers[0] = askedFor("app", "cpu", "1200m") })
	s.Pod.Status.Conditions[0].Message = strings.Replace(s.Pod.Status.Conditions[0].Message, "1 Insufficient cpu", "1 Insufficient memory", 1)
	r := Explain(s)
	f := &r.Findings[0]
	i := slices.IndexFunc(f.Evidence, func(e Evidence) bool {
		return strings.Contains(e.Text.En, "cpu: the scheduler says 0, podstep 1; memory: the scheduler says 1, podstep 0")
	})
	if f.Confidence == Certain || i < 0 {
		t.Errorf("%s is %s by %+v", f.Cause.ID, f.Confidence, f.Evidence)
	}
}

// TestNominated: a nominated node alone does not show that pods are put away.
func TestNominated(t *testing.T) {
	gone, high, low := metav1.Now(), int32(100), int32(1)
	for name, test := range map[string]struct {
		want   string
		change func(*evidence.Snapshot)
	}{
		"no pod is put away": {"scheduling.chosen", func(*evidence.Snapshot) {}},
		"a pod is put away":  {"scheduling.preempting", func(s *evidence.Snapshot) { s.Cluster.Placed.Pods[0].DeletionTimestamp = &gone }},
		"an important one goes": {"scheduling.chosen", func(s *evidence.Snapshot) {
			p := &s.Cluster.Placed.Pods[0]
			p.DeletionTimestamp, p.Spec.Priority = &gone, &high
		}},
		"one of another node goes": {"scheduling.chosen", func(s *evidence.Snapshot) {
			p := &s.Cluster.Placed.Pods[0]
			p.DeletionTimestamp, p.Spec.NodeName = &gone, "node-old"
		}},
		"one goes for another why": {"scheduling.chosen", func(s *evidence.Snapshot) {
			p := &s.Cluster.Placed.Pods[0]
			p.DeletionTimestamp, p.Status.Conditions = &gone, []corev1.PodCondition{{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: "EvictionByEvictionAPI"}}
		}},
	} {
		s := manyNodes(func(s *evidence.Snapshot) {
			s.Pod.Spec.Priority, s.Cluster.Placed.Pods[0].Spec.Priority, s.Pod.Status.NominatedNodeName = &high, &low, "node-1"
			test.change(s)
		})
		s.Pod.Status.Conditions = nil
		if r := Explain(s); len(r.Findings) == 0 || r.Findings[0].Cause.ID != test.want || slices.Contains(ids(r), "scheduling.schedulerSilent") {
			t.Errorf("%s: %v", name, ids(r))
		}
	}
}
