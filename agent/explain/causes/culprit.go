package causes

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/podstep/podstep/agent/explain/evidence"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/words"
)

// Culprit is what keeps a pod that is only its victim: whoever wants to help the pod has to look there. What the pod itself
// names and has wrong, such as an image, is none.
type Culprit struct {
	Kind CulpritKind `json:"kind"`
	// Namespace is empty for kinds that are in none.
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
}

// CulpritKind is what a culprit is.
type CulpritKind string

// The kinds of culprits.
const (
	CulpritPod     CulpritKind = "pod"
	CulpritNode    CulpritKind = "node"
	CulpritProcess CulpritKind = "process" // its name is a process ID on the pod's node
	CulpritDriver  CulpritKind = "driver"  // of storage or devices
	CulpritWebhook CulpritKind = "webhook"
	CulpritJob     CulpritKind = "job"
)

// culpritKinds are the kinds, with their names for people.
var culpritKinds = map[CulpritKind]probes.Text{
	CulpritPod: words.Text("pod", "Pod"), CulpritNode: words.Text("node", "节点"), CulpritProcess: words.Text("process", "进程"),
	CulpritDriver: words.Text("driver", "驱动"), CulpritWebhook: words.Text("webhook", "webhook"), CulpritJob: words.Text("job", "Job"),
}

// In returns the culprit for people, such as pod shop/web.
func (c Culprit) In(l words.Lang) string {
	name := c.Name
	if c.Namespace != "" {
		name = c.Namespace + "/" + c.Name
	}
	return l.In(culpritKinds[c.Kind]) + " " + words.Clean(name)
}

// Is reports whether the culprit is what a report is about.
func (c Culprit) Is(of evidence.Name) bool {
	kind := CulpritPod
	if of.Kind != "" {
		kind = CulpritKind(strings.ToLower(of.Kind))
	}
	return c.Kind == kind && c.Namespace == of.Namespace && c.Name == of.Name
}

// CulpritName says what the culprit of a cause is: Name is a text with arguments, NAMESPACE/NAME for a pod and a job. If an
// argument is not known, there is no such culprit.
type CulpritName struct {
	Kind CulpritKind `yaml:"kind"`
	Name string      `yaml:"name"`
}

// check returns an error if no culprit can be made of the name.
func (n *CulpritName) check() error {
	switch _, known := culpritKinds[n.Kind]; {
	case !known:
		return fmt.Errorf("%q is no kind of culprit", n.Kind)
	case !strings.Contains(n.Name, "{"):
		return fmt.Errorf("the name %q of the culprit has no argument", n.Name)
	}
	return nil
}

// culprit returns the culprit of a finding: the first whose arguments are all known; nil: there is none.
func (f *Finding) culprit() *Culprit {
	for _, n := range f.Cause.Culprit {
		known := true
		name := probes.Fill(n.Name, func(arg string) string {
			known = known && f.Args[arg] != ""
			return f.Args[arg]
		})
		if !known {
			continue
		}
		out := Culprit{Kind: n.Kind, Name: name}
		if n.Kind == CulpritPod || n.Kind == CulpritJob {
			out.Namespace, out.Name, known = strings.Cut(name, "/")
		}
		if known {
			return &out
		}
	}
	return nil
}

// nameCulprits gives the findings of a report their culprits.
func (r *Report) nameCulprits() {
	for i := range r.Findings {
		if c := r.Findings[i].culprit(); c != nil && !c.Is(r.Pod) {
			r.Findings[i].Culprit = c
		}
	}
}

// Culprit returns the culprit of the first finding; nil: there is none.
func (r *Report) Culprit() *Culprit {
	if len(r.Findings) == 0 {
		return nil
	}
	return r.Findings[0].Culprit
}

// AddVictim adds another pod, of which the culprit is known, to the victims if it has the same one.
func (r *Report) AddVictim(pod evidence.Name, its *Culprit) {
	mine := r.Culprit()
	if mine != nil && its != nil && *mine == *its && pod.String() != r.Pod.String() {
		r.Victims = append(r.Victims, pod)
	}
}

// maxVictims bounds how many victims a sentence names.
const maxVictims = 5

// victims says which other pods wait for the culprit.
func (r *Report) victims(l words.Lang) string {
	var names []string
	for _, n := range r.Victims[:min(len(r.Victims), maxVictims)] {
		names = append(names, words.Clean(n.String()))
	}
	all := strings.Join(names, l.In(words.Text(", ", "、")))
	switch more := len(r.Victims) - len(names); {
	case more > 0:
		return l.Inf(words.Text("%s and %d more wait for it too", "%s 等另外 %d 个 Pod 也在等它"), all, more)
	case len(names) == 1:
		return l.Inf(words.Text("%s waits for it too", "%s 也在等它"), all)
	}
	return l.Inf(words.Text("%s wait for it too", "%s 也在等它"), all)
}

// claimUser returns the one other pod that uses one of the pod's claims, as NAMESPACE/NAME; empty: there is none, or more.
func (c *Case) claimUser() string {
	return c.onlyNeighbour(func(n *evidence.Neighbour) bool { return len(n.Claims) > 0 })
}

// portHolder returns the one other pod of the node that has one of the pod's host ports, as NAMESPACE/NAME; empty: there is none,
// or more.
func (c *Case) portHolder() string {
	return c.onlyNeighbour(func(n *evidence.Neighbour) bool { return len(n.Ports) > 0 })
}

// deviceHolders returns the other pods that have devices of the classes that the pod asks for, as NAMESPACE/NAME.
func (c *Case) deviceHolders() (names []string) {
	for _, h := range c.Cluster.DeviceHolders {
		if name := h.Name.String(); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// mostHolders bounds how many pods a sentence names.
const mostHolders = 3

// setHolders sets the arguments for the pods that have the devices: the one pod, if it is one, and a sentence, which is empty if
// there are none.
func (a Args) setHolders(names []string) {
	a["deviceHolder"], a["deviceHolders"], a["deviceHoldersZh"] = "", "", ""
	if len(names) == 0 {
		return
	}
	if len(names) == 1 {
		a["deviceHolder"] = names[0]
	}
	more := probes.Text{}
	if n := len(names) - mostHolders; n > 0 {
		names, more = names[:mostHolders], words.With(words.Text(" and %d others", "等另外 %d 个 Pod"), n)
	}
	text := words.With(words.Text(" Such devices are with %s%s.", "这类设备在 %s%s 手里。"), strings.Join(names, ", "), more)
	a["deviceHolders"], a["deviceHoldersZh"] = text.En, text.Zh
}

// onlyNeighbour returns the one other pod, on a node and not over, that is as wanted; empty: there is none, or more.
func (c *Case) onlyNeighbour(wanted func(*evidence.Neighbour) bool) (name string) {
	for i := range c.Cluster.Neighbours {
		n := &c.Cluster.Neighbours[i]
		if n.Node == "" || n.Phase == "Succeeded" || n.Phase == "Failed" || !wanted(n) {
			continue
		}
		if name != "" {
			return ""
		}
		name = n.Name.String()
	}
	return name
}

// deviceDriver returns the driver of the devices that the pod's ResourceClaims have; empty: it is not known, or not one.
func (c *Case) deviceDriver() string {
	var drivers []string
	for i := range c.Cluster.ResourceClaims {
		var status struct {
			Allocation struct {
				Devices struct {
					Results []struct {
						Driver string `json:"driver"`
					} `json:"results"`
				} `json:"devices"`
			} `json:"allocation"`
		}
		if json.Unmarshal(c.Cluster.ResourceClaims[i].Status, &status) != nil {
			continue
		}
		for _, d := range status.Allocation.Devices.Results {
			if !slices.Contains(drivers, d.Driver) {
				drivers = append(drivers, d.Driver)
			}
		}
	}
	if len(drivers) != 1 {
		return ""
	}
	return drivers[0]
}

// csiPlugin is the kubelet's plugin for all CSI drivers.
const csiPlugin = "kubernetes.io/csi"

// csiDriver returns the driver of a volume: the one that is in the name that the kubelet gives the volume, or that the pod's
// specification or its PersistentVolume names for it; empty: none does.
func (c *Case) csiDriver(volume, uniqueName string) string {
	if driver, _, has := strings.Cut(strings.TrimPrefix(uniqueName, csiPlugin+"/"), "^"); has {
		return driver
	}
	if c.Spec == nil {
		return ""
	}
	for i := range c.Spec.Spec.Volumes {
		if v := &c.Spec.Spec.Volumes[i]; v.Name == volume && v.CSI != nil {
			return v.CSI.Driver
		}
	}
	for _, k := range c.claimed() {
		if k.pv != nil && k.pv.Spec.CSI != nil && (k.pv.Name == volume || k.volume == volume) {
			return k.pv.Spec.CSI.Driver
		}
	}
	return ""
}
