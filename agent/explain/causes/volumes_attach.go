package causes

import (
	"regexp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/podstep/podstep/agent/explain/evidence"
	"github.com/podstep/podstep/probes/words"
)

// How long attaching may take before it is worth a word that nobody answers.
const (
	attachTakes = 30 * time.Second
	// statusTakes is how long the node's status may lag behind: the kubelet sends it
	// every ten seconds, and backs off from its check.
	statusTakes = 20 * time.Second
)

// attachments finds volumes that are not attached to the pod's node, or not known to be.
func (c *Case) attachments() (out []Finding) {
	_, known := c.Origin(evidence.API, "volumeattachments")
	for _, k := range c.claimed() {
		if k.pv == nil || c.Spec.Spec.NodeName == "" {
			continue
		}
		here, elsewhere := c.attachmentsOf(k.pv.Name)
		switch {
		case here != nil:
			out = append(out, c.attachment(&k, here)...)
		case c.multiAttachEvent(k.pv.Name) != nil || elsewhere != nil && single(k.pv):
			out = append(out, c.elsewhere(&k, elsewhere)...)
		case known && c.attaches(k.pv) && c.Age() >= attachTakes:
			f := c.found("volumes.attachNotRequested", k.pv.Name, Args{"subject": k.pv.Name}, Likely, c.Since,
				c.object(words.Same("volumeattachments"), words.With(words.Text("none of volume %s and this node", "没有卷 %s 与本节点的"), k.pv.Name), time.Time{}))
			out = append(out, f)
		}
	}
	return out
}

// attachmentsOf returns the attachment of a volume to the pod's node, and one to another node;
// nil: there is none.
func (c *Case) attachmentsOf(pv string) (here, elsewhere *storagev1.VolumeAttachment) {
	for i := range c.Cluster.Attachments {
		a := &c.Cluster.Attachments[i]
		switch {
		case a.Spec.Source.PersistentVolumeName == nil || *a.Spec.Source.PersistentVolumeName != pv:
		case a.Spec.NodeName == c.Spec.Spec.NodeName:
			here = a
		default:
			elsewhere = a
		}
	}
	return here, elsewhere
}

// single reports whether a volume can be at one node only.
func single(pv *corev1.PersistentVolume) bool {
	return !slices.ContainsFunc(pv.Spec.AccessModes, func(m corev1.PersistentVolumeAccessMode) bool {
		return m == corev1.ReadWriteMany || m == corev1.ReadOnlyMany
	})
}

// attaches reports whether a CSI driver has to attach the volume.
func (c *Case) attaches(pv *corev1.PersistentVolume) bool {
	if pv.Spec.CSI == nil {
		return false
	}
	i := slices.IndexFunc(c.Cluster.Drivers, func(d storagev1.CSIDriver) bool { return d.Name == pv.Spec.CSI.Driver })
	return i < 0 || c.Cluster.Drivers[i].Spec.AttachRequired == nil || *c.Cluster.Drivers[i].Spec.AttachRequired
}

// attachment finds what is wrong with the attachment of a volume to the pod's node.
func (c *Case) attachment(k *claimed, a *storagev1.VolumeAttachment) []Finding {
	args := Args{"subject": k.pv.Name, "attachment": a.Name, "driver": a.Spec.Attacher}
	where := "volumeattachments/" + a.Name
	asked := latest(a.CreationTimestamp.Time, c.Since)
	switch {
	case !a.Status.Attached && a.Status.AttachError != nil:
		args["error"] = a.Status.AttachError.Message
		at := a.Status.AttachError.Time.Time
		return []Finding{c.found("volumes.attachFailed", k.pv.Name, args, Certain, asked, c.object(words.Same(where), words.Same("attachError: "+args["error"]), at))}
	case !a.Status.Attached && c.Now.Sub(asked) >= attachTakes:
		return []Finding{c.found("volumes.attachPending", k.pv.Name, args, Certain, asked, c.object(words.Same(where), words.Text("attached: false, no attachError", "attached: false，没有 attachError"), time.Time{}))}
	case a.Status.Attached && c.unreported(k.pv, asked):
		return []Finding{c.found("volumes.attachNotReported", k.pv.Name, args, Certain, asked,
			c.object(words.Same(where), words.Same("attached: true"), time.Time{}), c.object(words.Same("nodes/"+c.Spec.Spec.NodeName), words.Text("status.volumesAttached does not name the volume", "status.volumesAttached 里没有这个卷"), time.Time{}))}
	}
	return nil
}

// unreported reports whether the node's status should name a volume as attached by now, and does not.
func (c *Case) unreported(pv *corev1.PersistentVolume, since time.Time) bool {
	n := c.Cluster.Node
	if n == nil || pv.Spec.CSI == nil {
		return false
	}
	for i := range c.Cluster.Events {
		if e := &c.Cluster.Events[i]; e.Reason == "SuccessfulAttachVolume" && strings.Contains(e.Message, `"`+pv.Name+`"`) {
			since = latest(since, e.Last)
		}
	}
	name := uniqueName(pv)
	return c.Now.Sub(since) >= statusTakes && !slices.ContainsFunc(n.Status.VolumesAttached, func(a corev1.AttachedVolume) bool { return string(a.Name) == name })
}

// uniqueName returns the kubelet's name of a CSI volume.
func uniqueName(pv *corev1.PersistentVolume) string {
	return csiPlugin + "/" + pv.Spec.CSI.Driver + "^" + pv.Spec.CSI.VolumeHandle
}

// leaving finds volumes of the pod that the kubelet still takes from the node after another pod: it does one thing at a time with
// a volume.
func (c *Case) leaving() (out []Finding) {
	if c.Story == nil {
		return nil
	}
	for _, k := range c.claimed() {
		if k.pv == nil || k.pv.Spec.CSI == nil {
			continue
		}
		for i := range c.Story.Leaving {
			call := &c.Story.Leaving[i]
			if call.Fields["uniqueName"] == uniqueName(k.pv) && c.Now.Sub(call.Began) >= answerLong {
				args := Args{"subject": k.pv.Name, "csiDriver": k.pv.Spec.CSI.Driver}
				out = append(out, c.found("volumes.leaving", k.pv.Name, args, Certain, call.Began, c.call(call)))
			}
		}
	}
	return out
}

var multiAttach = regexp.MustCompile(`Multi-Attach error for volume "([^"]+)"`)

// multiAttachEvent returns the event that says that a volume is at another node. There is only
// one such event, however long that lasts.
func (c *Case) multiAttachEvent(pv string) *evidence.Event {
	for i := range c.Cluster.Events {
		e := &c.Cluster.Events[i]
		if m := multiAttach.FindStringSubmatch(e.Message); m != nil && m[1] == pv && e.Reason == "FailedAttachVolume" && c.ofPod(e) && !c.attached(e) {
			return e
		}
	}
	return nil
}

// elsewhere makes the finding on a volume that is attached to another node. a is its attachment
// there; nil: not known.
func (c *Case) elsewhere(k *claimed, a *storagev1.VolumeAttachment) []Finding {
	args := Args{"subject": k.pv.Name, "at": "another node", "atZh": "另一个节点", "holder": "", "holderZh": ""}
	sure := Likely
	var shown []Evidence
	if a != nil {
		sure = Certain
		args.holder(a.Spec.NodeName)
		shown = append(shown, c.object(words.Same("volumeattachments/"+a.Name), words.With(words.Text("at node %s", "在节点 %s"), a.Spec.NodeName), a.CreationTimestamp.Time))
	}
	if e := c.multiAttachEvent(k.pv.Name); e != nil {
		shown = append(shown, c.event(e))
	} else if c.Age() < statusTakes {
		return nil // it may be on its way from there
	}
	for _, n := range c.usersElsewhere(k.name) {
		args.holder(n.Node)
		args["holderPod"] = n.Name.Name
		args["holder"], args["holderZh"] = ", where pod "+n.Name.Name+" uses it", "，那里的 Pod "+n.Name.Name+" 在用它"
		shown = append(shown, c.object(words.Same("pods/"+n.Name.Name), words.With(words.Text("on node %s, with claim %s", "在节点 %s，使用声明 %s"), n.Node, k.name), time.Time{}))
	}
	return append([]Finding{c.found("volumes.multiAttach", k.pv.Name, args, sure, c.Since, shown...)}, c.lockedByVolume(k, sure, shown)...)
}

// usersElsewhere returns the pods on other nodes that use a claim.
func (c *Case) usersElsewhere(claim string) (out []*evidence.Neighbour) {
	for i := range c.Cluster.Neighbours {
		n := &c.Cluster.Neighbours[i]
		if n.Node != "" && n.Node != c.Spec.Spec.NodeName && slices.Contains(n.Claims, claim) {
			out = append(out, n)
		}
	}
	return out
}

// holder sets the arguments for the node that a volume is at.
func (a Args) holder(node string) {
	a["holderNode"], a["at"], a["atZh"] = node, "node "+node, "节点 "+node
}

// drivers finds CSI drivers that are not there on the pod's node.
func (c *Case) drivers() (out []Finding) {
	node := c.Cluster.CSINode
	if node == nil || c.Spec == nil || c.Age() < operationTakes {
		return nil
	}
	find := func(volume, driver string) {
		if !slices.ContainsFunc(node.Spec.Drivers, func(d storagev1.CSINodeDriver) bool { return d.Name == driver }) {
			out = append(out, c.found("volumes.driverMissing", volume, Args{"subject": volume, "driver": driver}, Certain, c.Since,
				c.object(words.Same("csinodes/"+node.Name), words.With(words.Text("spec.drivers does not name %s", "spec.drivers 里没有 %s"), driver), time.Time{})))
		}
	}
	for _, v := range c.volumes() {
		if v.CSI != nil {
			find(v.Name, v.CSI.Driver)
		}
	}
	for _, k := range c.claimed() {
		if k.pv != nil && k.pv.Spec.CSI != nil {
			find(k.pv.Name, k.pv.Spec.CSI.Driver)
		}
	}
	return out
}
