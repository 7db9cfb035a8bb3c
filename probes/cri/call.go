package cri

import (
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// call is what is known of a method's messages. An answer is nil if there is
// none.
type call struct {
	request func() proto.Message
	answer  func() proto.Message
	// pod reads the pod out of the request, or is nil if the request names none.
	pod     func(q proto.Message) any
	fields  func(q proto.Message) []any
	results func(a proto.Message, err error) []any
	check   func(q, a proto.Message) error
	failed  func(q proto.Message, code codes.Code, err error) error
	made    func(a proto.Message) string
	removes bool
}

// message is a pointer to a CRI message.
type message[T any] interface {
	*T
	proto.Message
}

// shape is call for the messages of one method. What is not set is nothing.
type shape[Q, A any] struct {
	pod    func(q *Q) any
	fields func(q *Q) []any
	// results are the catalogue's expressions over the client's results: on an
	// error, a is nil.
	results func(a *A, err error) []any
	// check is what the kubelet's client finds wrong with an answer.
	check func(q *Q, a *A) error
	// failed is what the kubelet's client makes of an error.
	failed  func(q *Q, code codes.Code, err error) error
	made    func(a *A) string
	removes bool
}

// callOf makes a call of a shape.
func callOf[Q, A any, PQ message[Q], PA message[A]](s shape[Q, A]) call {
	c := call{
		request: func() proto.Message { return PQ(new(Q)) },
		answer:  func() proto.Message { return PA(new(A)) },
		fields:  func(proto.Message) []any { return nil },
		results: func(proto.Message, error) []any { return nil },
		check:   func(q, a proto.Message) error { return nil },
		made:    func(proto.Message) string { return "" },
		removes: s.removes,
	}
	q := func(m proto.Message) *Q { return (*Q)(m.(PQ)) }
	a := func(m proto.Message) *A { return (*A)(m.(PA)) }
	if s.pod != nil {
		c.pod = func(m proto.Message) any { return s.pod(q(m)) }
	}
	if s.fields != nil {
		c.fields = func(m proto.Message) []any { return s.fields(q(m)) }
	}
	if s.results != nil {
		c.results = func(m proto.Message, err error) []any {
			if m == nil || err != nil {
				return s.results(nil, err)
			}
			return s.results(a(m), nil)
		}
	}
	if s.check != nil {
		c.check = func(m, n proto.Message) error { return s.check(q(m), a(n)) }
	}
	if s.failed != nil {
		c.failed = func(m proto.Message, code codes.Code, err error) error { return s.failed(q(m), code, err) }
	}
	if s.made != nil {
		c.made = func(m proto.Message) string { return s.made(a(m)) }
	}
	return c
}

// sandboxConfig is a request's sandbox config, or nil.
func sandboxConfig(q proto.Message) *runtimeapi.PodSandboxConfig {
	switch q := q.(type) {
	case *runtimeapi.RunPodSandboxRequest:
		return q.GetConfig()
	case *runtimeapi.CreateContainerRequest:
		return q.GetSandboxConfig()
	case *runtimeapi.PullImageRequest:
		return q.GetSandboxConfig()
	}
	return nil
}
