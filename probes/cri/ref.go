package cri

import (
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podstep/podstep/probes"
)

// Ref states whom a call is about, as far as its request shows.
type Ref struct {
	// Pod is whose sandbox config the request carries. Its UID is empty if it
	// carries none.
	Pod probes.Pod
	// ID is the sandbox or container that the request names. That of a
	// CreateContainer is the sandbox.
	ID string
	// Image is the image that it names.
	Image string
}

// places are the members of a request in which an id and an image are. "" is
// none. A sandbox config is found by its type.
type places struct {
	id, image string

	idAt, imageAt protowire.Number
}

// find looks the members' numbers up. A name that is not there is a fault of
// the table in this package.
func (p *places) find(q proto.Message) {
	p.idAt, p.imageAt = numberOf(q, p.id), numberOf(q, p.image)
}

func numberOf(m proto.Message, name string) protowire.Number {
	if name == "" {
		return 0
	}
	d := m.ProtoReflect().Descriptor()
	f := d.Fields().ByName(protoreflect.Name(name))
	if f == nil {
		panic(fmt.Sprintf("CRI message %s has no member %s", d.Name(), name))
	}
	return f.Number()
}

// of takes the Ref from a request that is decoded.
func (p *places) of(q proto.Message) (r Ref) {
	if md := sandboxConfig(q).GetMetadata(); md != nil {
		r.Pod = probes.Pod{Namespace: md.Namespace, Name: md.Name, UID: md.Uid}
	}
	m := q.ProtoReflect()
	fields := m.Descriptor().Fields()
	if p.idAt != 0 {
		r.ID = m.Get(fields.ByNumber(p.idAt)).String()
	}
	if p.imageAt != 0 {
		spec, _ := m.Get(fields.ByNumber(p.imageAt)).Message().Interface().(*runtimeapi.ImageSpec)
		r.Image = spec.GetImage()
	}
	return r
}
