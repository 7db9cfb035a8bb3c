package causes

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/podstep/podstep/agent/explain/evidence"
	"github.com/podstep/podstep/agent/explain/filters"
	"github.com/podstep/podstep/probes/words"
)

// rolloutChecks are the checks of table/controllers.yaml about how owners replace their pods.
var rolloutChecks = []check{lockedRollout, keptRevision, waitsForDeletion, forbiddenRun, scheduledRun, retryingJob}

// lockedRollout finds that a Deployment's rollout waits for itself: its new pod finds no node because of an old one, and the
// old one stays until the new one is ready.
func lockedRollout(c *Case) []Finding {
	i := slices.IndexFunc(c.Cluster.Owners, func(o evidence.Owner) bool { return o.Kind == "Deployment" })
	k, ok := c.reckon()
	if i < 0 || !ok || len(k.near) == 0 || !noneMayMiss(&c.Cluster.Owners[i]) {
		return nil
	}
	var old []string
	what := words.Text("the host port", "主机端口")
	for _, v := range k.near {
		r := v.Of(filters.Ports)
		if r == nil {
			if r = v.Of(filters.PodAntiAffinity); r == nil {
				return nil
			}
			what = words.Text("the node that its anti-affinity wants for itself", "反亲和性要求独占的节点")
		}
		at := slices.IndexFunc(r.Pods, func(j int) bool { return isSibling(c.Spec, &k.in.Pods[j]) })
		if at < 0 || len(v.Refusals) > 1 {
			return nil
		}
		old = append(old, k.in.Pods[r.Pods[at]].Name)
	}
	o := &c.Cluster.Owners[i]
	args := c.ownerArgs(o)
	args["old"], args["exclusive"], args["exclusiveZh"] = strings.Join(old[:min(len(old), maxNames)], ", "), what.En, what.Zh
	return []Finding{c.found("controllers.rolloutLocked", "", args, k.sure, k.since, k.shown, c.noneMissing(o))}
}

// noneMissing shows that a Deployment's rollout takes away no old pod before a new one is ready.
func (c *Case) noneMissing(o *evidence.Owner) Evidence {
	text := words.With(words.Text("maxUnavailable %s of %d replicas: none may be missing", "maxUnavailable %s，副本 %d：一个都不能少"), cmp.Or(o.MaxUnavailable, defaultUnavailable), o.Wanted)
	return c.object(words.Same(o.Kind+" "+o.Name), text, c.Now)
}

// lockedByVolume finds that a Deployment's rollout waits for itself: its new pod waits for a volume that is attached to the node
// of an old pod, and the old one stays until the new one is ready. shown is what shows that the volume is elsewhere.
func (c *Case) lockedByVolume(k *claimed, sure Confidence, shown []Evidence) []Finding {
	i := slices.IndexFunc(c.Cluster.Owners, func(o evidence.Owner) bool { return o.Kind == "Deployment" })
	if i < 1 || !noneMayMiss(&c.Cluster.Owners[i]) {
		return nil
	}
	o, mine := &c.Cluster.Owners[i], c.Cluster.Owners[0].Name
	users := c.usersElsewhere(k.name)
	at := slices.IndexFunc(users, func(n *evidence.Neighbour) bool {
		// A Deployment names its ReplicaSets so (pkg/controller/deployment/sync.go: getNewReplicaSet).
		hash, is := strings.CutPrefix(n.ReplicaSet, o.Name+"-")
		return is && !strings.Contains(hash, "-") && n.ReplicaSet != mine && !n.Gone
	})
	if at < 0 {
		return nil
	}
	old := users[at]
	args := c.ownerArgs(o)
	args["subject"], args["old"], args["oldNode"] = k.pv.Name, old.Name.Name, old.Node
	return []Finding{c.found("controllers.rolloutLockedByVolume", k.pv.Name, args, sure, c.Since, append(slices.Clone(shown), c.noneMissing(o))...)}
}

// defaultUnavailable is how many pods of a Deployment may be missing, if it does not say so.
const defaultUnavailable = "25%"

// noneMayMiss reports whether a Deployment's rollout takes away no old pod before a new one is ready.
func noneMayMiss(o *evidence.Owner) bool {
	if o.Strategy != "RollingUpdate" || o.Wanted <= 0 {
		return false
	}
	v := intstr.Parse(cmp.Or(o.MaxUnavailable, defaultUnavailable))
	n, err := intstr.GetScaledValueFromIntOrPercent(&v, int(o.Wanted), false)
	return err == nil && n == 0
}

// isSibling reports whether an old pod is of the same Deployment as a new one: it has the labels of the new one, and another
// hash of its template. A pod with a node has further labels, of the node's topology.
func isSibling(p, old *corev1.Pod) bool {
	hash := p.Labels[appsv1.DefaultDeploymentUniqueLabelKey]
	if p.Namespace != old.Namespace || hash == "" || hash == old.Labels[appsv1.DefaultDeploymentUniqueLabelKey] {
		return false
	}
	for key, value := range p.Labels {
		if key != appsv1.DefaultDeploymentUniqueLabelKey && old.Labels[key] != value {
			return false
		}
	}
	return true
}

// keptRevision finds that a StatefulSet keeps a pod of an older revision that never gets ready: it replaces its pods one
// after the other, each when the one before is ready.
func keptRevision(c *Case) []Finding {
	if c.Spec == nil || len(c.Cluster.Owners) == 0 || c.Cluster.Owners[0].Kind != "StatefulSet" {
		return nil
	}
	o := &c.Cluster.Owners[0]
	has := c.Spec.Labels[appsv1.ControllerRevisionHashLabelKey]
	if k := condition(c.Spec, corev1.PodReady); !o.Ordered || o.Revision == "" || has == "" || has == o.Revision || k != nil && k.Status == corev1.ConditionTrue {
		return nil
	}
	args := c.ownerArgs(o)
	args["has"], args["wants"] = has, o.Revision
	text := words.With(words.Text("the pod has revision %s, and the StatefulSet is at %s", "Pod 的版本是 %s，StatefulSet 的版本是 %s"), has, o.Revision)
	return []Finding{c.found("controllers.keptRevision", "", args, Certain, c.Since, c.object(words.Same(o.Kind+" "+o.Name), text, c.Now))}
}

// waitsForDeletion finds that an owner replaces its pods only when somebody deletes them.
func waitsForDeletion(c *Case) []Finding {
	o := c.askedOwner()
	if o == nil || o.Strategy != "OnDelete" || o.Updated < 0 || o.Made <= 0 || o.Updated >= o.Made {
		return nil
	}
	args := c.ownerArgs(o)
	args["old"] = strconv.Itoa(int(o.Made - o.Updated))
	text := words.With(words.Text("updateStrategy OnDelete, %d of %d pods are updated", "updateStrategy OnDelete，%d/%d 个 Pod 已更新"), o.Updated, o.Made)
	return []Finding{c.found("controllers.onDelete", "", args, Certain, time.Time{}, c.object(words.Same(o.Kind+" "+o.Name), text, c.Now))}
}

// forbiddenRun finds that a CronJob makes no Job as long as another one of its Jobs runs.
func forbiddenRun(c *Case) []Finding {
	o := c.askedOwner()
	if o == nil || o.Kind != "CronJob" || o.Concurrency != "Forbid" || len(o.Running) == 0 || o.Suspended || o.Deleting {
		return nil
	}
	args := c.ownerArgs(o)
	args["job"] = o.Running[0]
	text := words.With(words.Text("concurrencyPolicy Forbid, active: %s", "concurrencyPolicy Forbid，正在运行：%s"), strings.Join(o.Running, ", "))
	return []Finding{c.found("controllers.runForbidden", "", args, Certain, o.LastScheduled, c.object(words.Same(o.Kind+" "+o.Name), text, c.Now))}
}

// retryingJob finds that the pods of a Job fail, and that it makes another one after its back-off.
func retryingJob(c *Case) []Finding {
	o := c.askedOwner()
	if o == nil {
		return nil
	}
	over := slices.ContainsFunc(o.Conditions, func(k evidence.Condition) bool {
		return k.Status == "True" && slices.Contains([]string{"Failed", "FailureTarget", "Complete", "SuccessCriteriaMet"}, k.Type)
	})
	if o.Kind != "Job" || over || o.Failed == 0 || !o.Lacks() {
		return nil
	}
	args := c.ownerArgs(o)
	args["failed"] = strconv.Itoa(int(o.Failed))
	return []Finding{c.found("controllers.jobRetries", "", args, Certain, c.ownerSince(o), c.object(words.Same(o.Kind+" "+o.Name), words.Same("status.failed: "+args["failed"]), c.Now))}
}
