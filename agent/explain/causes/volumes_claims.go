package causes

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/podstep/podstep/agent/explain/evidence"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/words"
)

// claimed is a volume of the pod that comes from a claim.
type claimed struct {
	volume, name string
	claim        *corev1.PersistentVolumeClaim // nil: not known
	pv           *corev1.PersistentVolume      // nil: not known, or not bound
}

// claimed returns the pod's volumes that come from claims.
func (c *Case) claimed() (out []claimed) {
	for _, v := range c.volumes() {
		k := claimed{volume: v.Name}
		switch {
		case v.PersistentVolumeClaim != nil:
			k.name = v.PersistentVolumeClaim.ClaimName
		case v.Ephemeral != nil:
			k.name = c.Spec.Name + "-" + v.Name
		default:
			continue
		}
		if i := slices.IndexFunc(c.Cluster.Claims, func(p corev1.PersistentVolumeClaim) bool { return p.Name == k.name }); i >= 0 {
			k.claim = &c.Cluster.Claims[i]
			k.pv = c.persistentVolume(k.claim.Spec.VolumeName)
		}
		out = append(out, k)
	}
	return out
}

func (c *Case) persistentVolume(name string) *corev1.PersistentVolume {
	if i := slices.IndexFunc(c.Cluster.Volumes, func(v corev1.PersistentVolume) bool { return v.Name == name }); i >= 0 {
		return &c.Cluster.Volumes[i]
	}
	return nil
}

// protection is the finalizer that keeps a claim as long as a pod uses it.
const protection = "kubernetes.io/pvc-protection"

// claims finds claims with which the kubelet does not start the pod.
func (c *Case) claims() (out []Finding) {
	for _, k := range c.claimed() {
		args := Args{"subject": k.name, "volume": k.volume}
		find := func(id, where string, text probes.Text) {
			out = append(out, c.found(id, k.name, args, Certain, c.Since, c.object(words.Same(where), text, time.Time{})))
		}
		where := "persistentvolumeclaims/" + k.name
		switch {
		case c.isMissing(where):
			find("volumes.claimMissing", where, words.Text("the API server has no claim of this name", "API server 上没有这个名字的声明"))
		case k.claim == nil:
		case k.claim.DeletionTimestamp != nil && !slices.Contains(k.claim.Finalizers, protection):
			find("volumes.claimDeleting", where, words.With(words.Text("deletionTimestamp is set, and the finalizer %s is not there", "已设置 deletionTimestamp，而 finalizer %s 不在"), protection))
		case k.claim.Status.Phase == corev1.ClaimLost:
			args["pv"] = k.claim.Spec.VolumeName
			find("volumes.claimLost", where, words.Same("phase Lost"))
		case k.claim.Status.Phase != corev1.ClaimBound || k.claim.Spec.VolumeName == "":
			out = append(out, c.pendingClaim(&k, args))
		default:
			c.boundClaim(&k, args, find)
		}
	}
	return out
}

// pendingClaim makes the finding on a claim that is not bound, with what was said of it.
func (c *Case) pendingClaim(k *claimed, args Args) Finding {
	args["detail"], args["detailZh"] = "Nobody says why.", "没有人说明原因。"
	f := c.found("volumes.claimPending", k.name, args, Certain, c.Since, c.object(words.Same("persistentvolumeclaims/"+k.name), words.Same("phase "+string(k.claim.Status.Phase)), time.Time{}))
	if e := c.newestOf("PersistentVolumeClaim", k.name); e != nil {
		f.Args["detail"], f.Args["detailZh"] = e.Reason+": "+e.Message, e.Reason+"："+e.Message
		f.Evidence = append(f.Evidence, c.event(e))
	}
	return f
}

// newestOf returns the newest event about an object; nil: there is none.
func (c *Case) newestOf(kind, name string) *evidence.Event {
	for i := len(c.Cluster.Events) - 1; i >= 0; i-- {
		if e := &c.Cluster.Events[i]; e.Kind == kind && e.Name == name {
			return e
		}
	}
	return nil
}

// boundClaim finds what is wrong with the volume that a claim is bound to.
func (c *Case) boundClaim(k *claimed, args Args, find func(id, where string, text probes.Text)) {
	name := k.claim.Spec.VolumeName
	args["pv"] = name
	where := "persistentvolumes/" + name
	switch {
	case c.isMissing(where):
		find("volumes.volumeMissing", where, words.Text("the API server has no PersistentVolume of this name", "API server 上没有这个名字的 PersistentVolume"))
	case k.pv == nil:
	case k.pv.Spec.ClaimRef == nil:
		find("volumes.claimRefWrong", where, words.Text("it has no claimRef", "它没有 claimRef"))
	case k.pv.Spec.ClaimRef.UID != k.claim.UID:
		find("volumes.claimRefWrong", where, words.With(words.Text("claimRef.uid is %s, the claim's uid is %s", "claimRef.uid 是 %s，声明的 uid 是 %s"), k.pv.Spec.ClaimRef.UID, k.claim.UID))
	default:
		block := k.pv.Spec.VolumeMode != nil && *k.pv.Spec.VolumeMode == corev1.PersistentVolumeBlock
		if c.uses(k.volume, !block) {
			args["subject"], args["mode"], args["under"] = k.volume, "Filesystem", "volumeDevices"
			if block {
				args["mode"], args["under"] = "Block", "volumeMounts"
			}
			find("volumes.modeWrong", where, words.Same("volumeMode "+args["mode"]))
		}
	}
}
