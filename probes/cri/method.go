package cri

import (
	"errors"
	"fmt"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

const (
	runtimeService = "/runtime.v1.RuntimeService/"
	imageService   = "/runtime.v1.ImageService/"
	stepPrefix     = "cri."
)

// Method is a CRI method that is a step of the catalogue.
type Method struct {
	// Name is the method as HTTP/2 has it in :path.
	Name string
	// Step is the name of its step.
	Step string

	rpc  string
	at   places
	call call
}

// Request is what a call asks for.
type Request struct {
	Ref Ref
	// Sandbox is the pod's sandbox config, for calls that carry one.
	Sandbox *runtimeapi.PodSandboxConfig
	// Values are those of the step's fields, in their order.
	Values []any

	message proto.Message
}

// Answer is how a call ended.
type Answer struct {
	// Values are those of the step's results, in their order. There are as many
	// if the call failed: a woven function has its zero results then.
	Values []any
	// Err is the error that the kubelet makes of it, or nil.
	Err error
	// Made is the id of the sandbox or container that the call made.
	Made string
	// Gone is the id of the sandbox or container that is no more.
	Gone string

	message proto.Message
}

// Methods returns the methods that are steps, in the catalogue's order.
func Methods() []Method { return append([]Method(nil), methods...) }

// Names returns all methods that the CRI has, steps or not, as HTTP/2 has them in :path.
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

// Lookup returns the method of that :path, or nil for one that is no step.
func Lookup(path string) *Method { return byPath[path] }

// OfStep returns the method that is that step, or nil.
func OfStep(step string) *Method { return byStep[step] }

var byPath, byStep = index()

func index() (paths, steps map[string]*Method) {
	paths, steps = map[string]*Method{}, map[string]*Method{}
	for i := range methods {
		m := &methods[i]
		paths[m.Name], steps[m.Step] = m, m
	}
	return paths, steps
}

// Request decodes a request.
func (m *Method) Request(message []byte) (Request, error) {
	q := m.call.request()
	if err := proto.Unmarshal(message, q); err != nil {
		return Request{}, fmt.Errorf("decode request of %s: %w", m.rpc, err)
	}
	return Request{Ref: m.at.of(q), Sandbox: sandboxConfig(q), Values: m.call.fields(q), message: q}, nil
}

// Enter gives a request's values as a woven function gives them to the hook
// when it is entered: before the fields, what names the pod.
func (m *Method) Enter(r Request) []any {
	out := make([]any, 0, 1+len(r.Values))
	if m.call.pod != nil && r.message != nil {
		out = append(out, m.call.pod(r.message))
	}
	return append(out, r.Values...)
}

// errNoRequest: an answer is to a request, and is read with it.
var errNoRequest = errors.New("its request was not decoded")

// Answer decodes the answer to a request, and sees in it what the kubelet does.
func (m *Method) Answer(r Request, message []byte) (Answer, error) {
	if r.message == nil {
		return Answer{}, fmt.Errorf("decode answer of %s: %w", m.rpc, errNoRequest)
	}
	a := m.call.answer()
	if err := proto.Unmarshal(message, a); err != nil {
		return Answer{}, fmt.Errorf("decode answer of %s: %w", m.rpc, err)
	}
	if err := m.call.check(r.message, a); err != nil {
		return Answer{Values: m.call.results(a, err), Err: err, message: a}, nil
	}
	out := Answer{Values: m.call.results(a, nil), Made: m.call.made(a), message: a}
	if m.call.removes {
		out.Gone = r.Ref.ID
	}
	return out, nil
}

// Failed is the answer of a call that ended with a status instead of a message.
// A caller whose deadline has come sees codes.DeadlineExceeded and "context
// deadline exceeded", one who gave up codes.Canceled and "context canceled".
func (m *Method) Failed(r Request, code codes.Code, message string) Answer {
	err := status.Error(code, message)
	if err == nil {
		// Neither a message nor an error: gRPC's client says so.
		code, err = codes.Internal, status.Error(codes.Internal, "cardinality violation: received no response message from non-server-streaming RPC")
	}
	if m.call.failed != nil && r.message != nil {
		err = m.call.failed(r.message, code, err)
	}
	out := Answer{Values: m.call.results(nil, err), Err: err}
	if m.call.removes && code == codes.NotFound {
		out.Gone = r.Ref.ID
	}
	return out
}

// Exit gives an answer's values as a woven function gives them to the hook when
// it is left: before the results, whether the call is not worth an event. The
// error goes to the hook by itself.
func (m *Method) Exit(a Answer) []any {
	return append(append(make([]any, 0, 1+len(a.Values)), false), a.Values...)
}
