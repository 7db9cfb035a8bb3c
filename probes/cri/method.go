package cri

import (
	"errors"
	"fmt"
	"slices"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podstep/podstep/probes"
)

const stepPrefix = "cri."

// Other is the step of all calls whose methods are no steps of their own.
const Other = stepPrefix + "other"

// removing are the methods after which a sandbox or container is gone.
var removing = []string{"RemoveContainer", "RemovePodSandbox"}

// Method is a CRI method: a step of the catalogue, or one of Others.
type Method struct {
	// Name is the method as HTTP/2 has it in :path.
	Name string
	// Step is the name of its step.
	Step string

	rpc             string
	request, answer protoreflect.MessageType
	asks            places                       // in the request
	made            protoreflect.FieldDescriptor // the id in the answer, or nil
	pod             probes.PodKind
	fields, results []value
}

// Request is what a call asks for.
type Request struct {
	Ref Ref
	// Sandbox is the pod's sandbox config, for calls that carry one.
	Sandbox *runtimeapi.PodSandboxConfig
	// Values are the values of the step's fields, in their order.
	Values []any

	message proto.Message
}

// Answer is how a call ended.
type Answer struct {
	// Values are the values of the step's results, in their order. A call that failed has them all too, as zero: a
	// woven function returns zero results then.
	Values []any
	// Err is the error that the kubelet's client makes of the answer, or nil.
	Err error
	// Made is the id of the sandbox or container that the call made.
	Made string
	// Gone is the id of the sandbox or container that the call removed.
	Gone string

	message proto.Message
}

// Methods returns the methods that are steps, in the catalogue's order.
func Methods() []Method { return slices.Clone(methods().steps) }

// Others returns the methods of the CRI whose calls are all one step, Other. Nothing of their requests and answers
// is shown; a request may name a sandbox or container.
func Others() []Method { return slices.Clone(methods().others) }

// Names returns all methods of the CRI, steps or not, as HTTP/2 has them in :path.
func Names() (out []string) {
	for _, s := range []grpc.ServiceDesc{runtimeapi.RuntimeService_ServiceDesc, runtimeapi.ImageService_ServiceDesc} {
		for i := range s.Methods {
			out = append(out, "/"+s.ServiceName+"/"+s.Methods[i].MethodName)
		}
		for i := range s.Streams {
			out = append(out, "/"+s.ServiceName+"/"+s.Streams[i].StreamName)
		}
	}
	return out
}

// Lookup returns the method of that :path, or nil if it is no step.
func Lookup(path string) *Method {
	if m := Any(path); m != nil && m.Step != Other {
		return m
	}
	return nil
}

// Any returns the method of that :path, whether it is a step or one of Others. It returns nil for a path that the
// CRI does not have, and for streams.
func Any(path string) *Method { return methods().byPath[path] }

// OfStep returns the method whose calls are that step, or nil.
func OfStep(step string) *Method { return methods().byStep[step] }

// Request decodes a request.
func (m *Method) Request(message []byte) (Request, error) {
	q := m.request.New()
	if err := proto.Unmarshal(message, q.Interface()); err != nil {
		return Request{}, fmt.Errorf("decode request of %s: %w", m.rpc, err)
	}
	r := Request{Values: read(m.fields, q), message: q.Interface()}
	r.Ref, r.Sandbox = m.asks.in(q)
	return r, nil
}

// read reads values in a message. If there is no message they are zero.
func read(values []value, m protoreflect.Message) []any {
	out := make([]any, len(values))
	for i, v := range values {
		if out[i] = v.zero; m != nil {
			out[i] = v.of(m)
		}
	}
	return out
}

// Enter returns a request's values as a woven function passes them to the hook when it is entered: before the
// fields, the value that names the pod.
func (m *Method) Enter(r Request) []any {
	out := make([]any, 0, 1+len(r.Values))
	switch {
	case r.message == nil:
	case m.pod == probes.PodSandboxConfig:
		out = append(out, r.Sandbox)
	case m.pod == probes.PodCRIID:
		out = append(out, r.Ref.ID)
	}
	return append(out, r.Values...)
}

// errNoRequest is returned for an answer whose request was not decoded: an answer is read together with its
// request.
var errNoRequest = errors.New("its request was not decoded")

// Answer decodes the answer to a request, and judges it as the kubelet's client does.
func (m *Method) Answer(r Request, message []byte) (Answer, error) {
	if r.message == nil {
		return Answer{}, fmt.Errorf("decode answer of %s: %w", m.rpc, errNoRequest)
	}
	a := m.answer.New()
	if err := proto.Unmarshal(message, a.Interface()); err != nil {
		return Answer{}, fmt.Errorf("decode answer of %s: %w", m.rpc, err)
	}
	if err := check(r.message, a.Interface()); err != nil {
		return Answer{Values: read(m.results, nil), Err: err, message: a.Interface()}, nil
	}
	out := Answer{Values: read(m.results, a), message: a.Interface()}
	if m.made != nil {
		out.Made = a.Get(m.made).String()
	}
	if m.removes() {
		out.Gone = r.Ref.ID
	}
	return out, nil
}

func (m *Method) removes() bool { return slices.Contains(removing, m.rpc) }

// Failed returns the answer of a call that ended with a status instead of a message. A caller whose deadline has
// come sees codes.DeadlineExceeded and "context deadline exceeded". A caller that gave up sees codes.Canceled and
// "context canceled".
func (m *Method) Failed(r Request, code codes.Code, message string) Answer {
	err := status.Error(code, message)
	if err == nil {
		// gRPC's client returns this error if there is neither a message nor an error.
		code, err = codes.Internal, status.Error(codes.Internal, "cardinality violation: received no response message from non-server-streaming RPC")
	}
	out := Answer{Values: read(m.results, nil), Err: failed(r.message, code, err)}
	if m.removes() && code == codes.NotFound {
		out.Gone = r.Ref.ID
	}
	return out
}

// Exit returns an answer's values as a woven function passes them to the hook when it is left: before the results,
// whether the call is worth no event. The error goes to the hook by itself.
func (m *Method) Exit(a Answer) []any {
	return append(append(make([]any, 0, 1+len(a.Values)), false), a.Values...)
}
