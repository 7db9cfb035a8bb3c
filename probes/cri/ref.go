package cri

import (
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podstep/podstep/probes"
)

// Ref says whom a call is about, as far as its request tells.
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

// places are the members of a request in which the parts of its Ref are: the
// sandbox config, an id, an image. "" is none.
type places struct {
	config, id, image string

	configAt, idAt, imageAt protowire.Number
}

// find looks the members' numbers up. A name that is not there is a fault of
// the table in this package.
func (p *places) find(q proto.Message) {
	p.configAt, p.idAt, p.imageAt = numberOf(q, p.config), numberOf(q, p.id), numberOf(q, p.image)
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

// Numbers of the members on the way from a request to its Ref.
var (
	metadataAt  = numberOf(&runtimeapi.PodSandboxConfig{}, "metadata")
	nameAt      = numberOf(&runtimeapi.PodSandboxMetadata{}, "name")
	uidAt       = numberOf(&runtimeapi.PodSandboxMetadata{}, "uid")
	namespaceAt = numberOf(&runtimeapi.PodSandboxMetadata{}, "namespace")
	specImageAt = numberOf(&runtimeapi.ImageSpec{}, "image")
)

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

// Ref finds whom a request is about without decoding the rest of it, which may
// be much: the call waits meanwhile. Of members that are there twice the last
// counts, as in a full decoding.
func (m *Method) Ref(message []byte) (r Ref, err error) {
	err = members(message, func(n protowire.Number, v []byte) error {
		switch n {
		case m.at.configAt:
			return refOfConfig(v, &r)
		case m.at.idAt:
			r.ID = string(v)
		case m.at.imageAt:
			return refOfImage(v, &r)
		}
		return nil
	})
	if err != nil {
		return Ref{}, fmt.Errorf("read request of %s: %w", m.rpc, err)
	}
	return r, nil
}

func refOfConfig(config []byte, r *Ref) error {
	return members(config, func(n protowire.Number, v []byte) error {
		if n != metadataAt {
			return nil
		}
		return members(v, func(n protowire.Number, v []byte) error {
			switch n {
			case nameAt:
				r.Pod.Name = string(v)
			case uidAt:
				r.Pod.UID = string(v)
			case namespaceAt:
				r.Pod.Namespace = string(v)
			}
			return nil
		})
	})
}

func refOfImage(spec []byte, r *Ref) error {
	return members(spec, func(n protowire.Number, v []byte) error {
		if n == specImageAt {
			r.Image = string(v)
		}
		return nil
	})
}

// members calls f for each member of a message that has a length: strings and
// messages. Others are passed over.
func members(b []byte, f func(n protowire.Number, v []byte) error) error {
	for len(b) > 0 {
		num, typ, n := protowire.ConsumeTag(b)
		if n < 0 {
			return protowire.ParseError(n)
		}
		b = b[n:]
		if typ != protowire.BytesType {
			if n = protowire.ConsumeFieldValue(num, typ, b); n < 0 {
				return protowire.ParseError(n)
			}
			b = b[n:]
			continue
		}
		v, n := protowire.ConsumeBytes(b)
		if n < 0 {
			return protowire.ParseError(n)
		}
		if err := f(num, v); err != nil {
			return err
		}
		b = b[n:]
	}
	return nil
}
