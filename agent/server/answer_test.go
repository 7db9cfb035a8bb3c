package server

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/canary"
	"github.com/podstep/podstep/agent/reason"
)

// TestPanicsAreCleaned: a panic in a request becomes the request's error, and shows no secret.
func TestPanicsAreCleaned(t *testing.T) {
	set := canary.NewSet()
	c := set.Value("secret")
	_, unary := catchUnary(t.Context(), nil, nil, func(context.Context, any) (any, error) { panic(c) })
	stream := catchStream(nil, nil, nil, func(any, grpc.ServerStream) error { panic(errors.New(c)) })
	for what, err := range map[string]error{"a request": unary, "a stream": stream} {
		if found := set.FindString(fmt.Sprint(err, reason.ProblemOf(err))); found != nil {
			t.Errorf("a panic of %s shows %v", what, found)
		}
		if status.Code(err) != codes.Internal || reason.CodeOf(err) != agentpb.Problem_INTERNAL {
			t.Errorf("a panic of %s is %v", what, err)
		}
	}
}

// fill gives each text of a message a text that has a secret in it.
func fill(m protoreflect.Message, secret string, depth int) {
	text := protoreflect.ValueOfString("token=" + secret)
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		f := fields.Get(i)
		switch isText, message := f.Kind() == protoreflect.StringKind, f.Message() != nil && !f.IsMap(); {
		case f.ContainingOneof() != nil && m.WhichOneof(f.ContainingOneof()) != nil:
		case f.IsMap() && f.MapValue().Kind() == protoreflect.StringKind:
			m.Mutable(f).Map().Set(protoreflect.ValueOfString("name").MapKey(), text)
		case f.IsList() && isText:
			m.Mutable(f).List().Append(text)
		case f.IsList() && message && depth > 0:
			fill(m.Mutable(f).List().AppendMutable().Message(), secret, depth-1)
		case isText && !f.IsList() && !f.IsMap():
			m.Set(f, text)
		case message && !f.IsList() && depth > 0:
			fill(m.Mutable(f).Message(), secret, depth-1)
		}
	}
}

// TestEveryAnswer: each text of each answer of the protocol is cleaned, except fields of steps and the events of a stream,
// which were cleaned when they were made.
func TestEveryAnswer(t *testing.T) {
	set := canary.NewSet()
	secret := set.Value("secret")
	methods := agentpb.File_agent_proto.Services().ByName("Agent").Methods()
	for i := range methods.Len() {
		answer := dynamicpb.NewMessage(methods.Get(i).Output())
		fill(answer, secret, 4)
		if methods.Get(i).Name() == "Watch" {
			continue
		}
		clean := cleanAnswer(answer).(proto.Message).ProtoReflect()
		emptyFields(clean)
		b, err := proto.Marshal(clean.Interface())
		if err != nil {
			t.Fatal(err)
		}
		if found := set.Find(b); found != nil {
			t.Errorf("the answer to %s shows %v", methods.Get(i).Name(), found)
		}
	}
}

// emptyFields takes the fields of steps out of a message.
func emptyFields(m protoreflect.Message) {
	m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case f.Message() == nil || f.IsMap():
		case f.Message().FullName() == fieldMessage:
			m.Clear(f)
		case f.IsList():
			for i := range v.List().Len() {
				emptyFields(v.List().Get(i).Message())
			}
		default:
			emptyFields(v.Message())
		}
		return true
	})
}
