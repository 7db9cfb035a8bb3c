package attach

import (
	"sync"

	v1 "k8s.io/api/core/v1"

	"github.com/podstep/podstep/probes/cri"
)

// specs has the names of pods, and the images that their specs name. The probes that receive objects fill it in. By
// it podstep finds the pod of a call that names only an image, and checks what it reads from memory.
type specs struct {
	mu    sync.Mutex
	byUID map[string]spec
}

type spec struct {
	namespace, name string
	images          []cri.Wanted
}

// named returns the namespace and name of the pod with a uid; ok is false if no object of it was received.
func (x *specs) named(uid string) (namespace, name string, ok bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	s, ok := x.byUID[uid]
	return s.namespace, s.name, ok
}

// uidOf returns the uid of the pod that has a name, NAMESPACE/NAME; empty: none is known, or several are.
func (x *specs) uidOf(name string) (uid string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for known, s := range x.byUID {
		if s.namespace+"/"+s.name == name {
			if uid != "" {
				return ""
			}
			uid = known
		}
	}
	return uid
}

// wanted returns the images that a pod's spec names; nil if the spec is not known.
func (x *specs) wanted(uid string) []cri.Wanted {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.byUID[uid].images
}

// setSpec takes the name and the images of a pod from its object.
func (x *specs) setSpec(uid string, p *v1.Pod) {
	var out []cri.Wanted
	for _, c := range p.Spec.InitContainers {
		sidecar := c.RestartPolicy != nil && *c.RestartPolicy == v1.ContainerRestartPolicyAlways
		out = append(out, cri.Wanted{Container: c.Name, Image: c.Image, Init: true, Sidecar: sidecar})
	}
	for _, c := range p.Spec.Containers {
		out = append(out, cri.Wanted{Container: c.Name, Image: c.Image})
	}
	for _, v := range p.Spec.Volumes {
		if v.Image != nil {
			out = append(out, cri.Wanted{Image: v.Image.Reference})
		}
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.byUID == nil {
		x.byUID = map[string]spec{}
	}
	x.byUID[uid] = spec{p.Namespace, p.Name, out}
}

// forget drops a pod's spec.
func (x *specs) forget(uid string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	delete(x.byUID, uid)
}
