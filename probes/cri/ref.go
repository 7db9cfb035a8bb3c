package cri

import (
	"google.golang.org/protobuf/reflect/protoreflect"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podstep/podstep/probes"
)

// Ref states which pod, container or image a call is about, as far as its request shows.
type Ref struct {
	// Pod is the pod of the sandbox config that the request carries. Its UID is empty if the request carries none.
	Pod probes.Pod
	// ID is the sandbox or container that the request names. For CreateContainer it is the sandbox.
	ID string
	// Image is the image that it names.
	Image string
}

// places are the members of a request that state what a call is about: the id of a container or else of a sandbox,
// an image, and a sandbox config. nil is none.
type places struct {
	id, image, sandbox protoreflect.FieldDescriptor
}

func findPlaces(d protoreflect.MessageDescriptor) (p places) {
	fields := d.Fields()
	if p.id = fields.ByName("container_id"); p.id == nil {
		p.id = fields.ByName("pod_sandbox_id")
	}
	for i := range fields.Len() {
		switch f := fields.Get(i); {
		case f.Message() == nil || f.Cardinality() == protoreflect.Repeated:
		case f.Message().Name() == "ImageSpec":
			p.image = f
		case f.Message().Name() == "PodSandboxConfig":
			p.sandbox = f
		}
	}
	return p
}

// in reads the members in a request. The sandbox config is nil if the request carries none.
func (p *places) in(q protoreflect.Message) (r Ref, sandbox *runtimeapi.PodSandboxConfig) {
	if p.id != nil {
		r.ID = q.Get(p.id).String()
	}
	if p.image != nil {
		spec, _ := q.Get(p.image).Message().Interface().(*runtimeapi.ImageSpec)
		r.Image = spec.GetImage()
	}
	if p.sandbox == nil {
		return r, nil
	}
	sandbox, _ = q.Get(p.sandbox).Message().Interface().(*runtimeapi.PodSandboxConfig)
	if md := sandbox.GetMetadata(); md != nil {
		r.Pod = probes.Pod{Namespace: md.Namespace, Name: md.Name, UID: md.Uid}
	}
	return r, sandbox
}
