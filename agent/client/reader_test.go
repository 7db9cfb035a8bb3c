package client

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"sync"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/podstep/podstep/agent/agentpb"
)

// changing are the requests of the protocol that change something, or make the kubelet stand still.
var changing = []string{"AddBreakpoint", "RemoveBreakpoint", "Hold", "HoldWhile", "Step", "Continue", "Retry", "Look"}

// methodsOf returns the names of the methods of a type, and of pointers to it.
func methodsOf(t reflect.Type) (out []string) {
	for i := range t.NumMethod() {
		out = append(out, t.Method(i).Name)
	}
	return out
}

// TestReaderHasNoOtherMethod: the type Reader has the requests that change nothing, and no way to the client behind it.
func TestReaderHasNoOtherMethod(t *testing.T) {
	own := []string{"About", "Place", "Close"}
	for _, name := range methodsOf(reflect.TypeFor[*Reader]()) {
		if !agentpb.OnlyLooks(name) && !slices.Contains(own, name) {
			t.Errorf("Reader has a method %s: is it sure that it changes nothing?", name)
		}
	}
	for _, name := range methodsOf(reflect.TypeFor[agentpb.AgentClient]()) {
		if !agentpb.OnlyLooks(name) {
			continue
		}
		if _, ok := reflect.TypeFor[*Reader]().MethodByName(name); !ok {
			t.Errorf("Reader has no method %s, although that changes nothing", name)
		}
	}
	of := reflect.TypeFor[Reader]()
	for i := range of.NumField() {
		if of.Field(i).IsExported() || of.Field(i).Anonymous {
			t.Errorf("the field %s of Reader can be reached from outside", of.Field(i).Name)
		}
	}
}

// counting serves an agent that counts the requests that reach it.
func counting(t *testing.T) (path string, came func() []string) {
	t.Helper()
	var mu sync.Mutex
	var names []string
	count := func(method string) {
		mu.Lock()
		defer mu.Unlock()
		names = append(names, filepath.Base(method))
	}
	path = filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	s := grpc.NewServer(
		grpc.UnaryInterceptor(func(ctx context.Context, req any, info *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
			count(info.FullMethod)
			return handle(ctx, req)
		}),
		grpc.StreamInterceptor(func(server any, stream grpc.ServerStream, info *grpc.StreamServerInfo, handle grpc.StreamHandler) error {
			count(info.FullMethod)
			return handle(server, stream)
		}))
	agentpb.RegisterAgentServer(s, &fake{})
	go func() { _ = s.Serve(l) }()
	t.Cleanup(s.Stop)
	return path, func() []string {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(names)
	}
}

// TestReaderRefuses sends every request of the protocol over the connection of a Reader. Those that change something do
// not reach the agent. A request that is new fails the test until somebody has decided what it is.
func TestReaderRefuses(t *testing.T) {
	path, came := counting(t)
	r, err := dialReader(t.Context(), &dialer{place: &socket{path, user{os.Getuid(), -1}}, lookAfter: lookAfter, patience: patience})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	methods := agentpb.File_agent_proto.Services().ByName("Agent").Methods()
	for i := range methods.Len() {
		name := string(methods.Get(i).Name())
		if agentpb.OnlyLooks(name) == slices.Contains(changing, name) {
			t.Errorf("the request %s is new: does it change anything?", name)
		}
		before := len(came())
		err := send(t.Context(), r, methods.Get(i))
		reached := len(came()) > before
		if reached != agentpb.OnlyLooks(name) {
			t.Errorf("%s: reached the agent: %t, %v", name, reached, err)
		}
		if !agentpb.OnlyLooks(name) && (KindOf(err) != Denied || err.Error() != "this podstep only looks, and "+name+" is not sent: it could change something") {
			t.Errorf("%s is refused with %v", name, err)
		}
	}
}

// send sends an empty request over the connection of a Reader, and waits for the first answer.
func send(ctx context.Context, r *Reader, m protoreflect.MethodDescriptor) error {
	full := "/" + string(m.Parent().FullName()) + "/" + string(m.Name())
	if !m.IsStreamingServer() {
		return r.client.conn.Invoke(ctx, full, &agentpb.InfoRequest{}, &agentpb.InfoResponse{})
	}
	s, err := r.client.conn.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true}, full)
	if err != nil {
		return err
	}
	if err := s.SendMsg(&agentpb.InfoRequest{}); err != nil {
		return err
	}
	if err := s.CloseSend(); err != nil {
		return err
	}
	return s.RecvMsg(&agentpb.InfoResponse{})
}
