package server

import (
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/reason"
	"github.com/podstep/podstep/agent/redact"
	"github.com/podstep/podstep/probes/hook"
)

// The answers of the agent are cleaned here, once for all requests: many of them have texts of the kubelet and of
// people.

// panicked returns the error of a request at which the agent panicked.
func panicked(value any) error {
	hook.CountFault()
	return reason.Failed(codes.Internal, &agentpb.Problem{Code: agentpb.Problem_INTERNAL, Args: map[string]string{"error": redact.Panic(value)}})
}

// cleanStatus returns an error of a request without its secrets.
func cleanStatus(err error) error {
	if err == nil {
		return nil
	}
	st := status.Convert(err)
	clean := st.Proto() // a copy
	clean.Message = redact.Text(clean.Message)
	clean.Details = nil
	if p := reason.ProblemOf(err); p != nil {
		detail, failed := anypb.New(cleanAnswer(p).(*agentpb.Problem))
		if failed == nil {
			clean.Details = append(clean.Details, detail)
		}
	}
	return status.FromProto(clean).Err()
}

// cleanAnswer returns an answer without its secrets. It copies the answer only if there are any: parts of it may be the
// agent's own.
func cleanAnswer(answer any) any {
	m, ok := answer.(proto.Message)
	if !ok || isClean(m.ProtoReflect()) {
		return answer
	}
	m = proto.Clone(m)
	cleanTexts(m.ProtoReflect())
	return m
}

// Clean returns a message without what must not be shown, as clients get it. It is for what leaves the agent in another
// way.
func Clean[M proto.Message](m M) M { return cleanAnswer(m).(M) }

func isClean(m protoreflect.Message) (clean bool) {
	clean = true
	eachText(m, func(s string, _ func(string)) { clean = clean && redact.Text(s) == s })
	return clean
}

func cleanTexts(m protoreflect.Message) {
	eachText(m, func(s string, set func(string)) {
		if c := redact.Text(s); c != s {
			set(c)
		}
	})
}

// eachText calls each with the texts of a message. It leaves out fields of steps: they were cleaned when they were
// made, and some are JSON.
func eachText(m protoreflect.Message, each func(s string, set func(string))) {
	if m.Descriptor().FullName() == fieldMessage {
		return
	}
	m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		text, message := f.Kind() == protoreflect.StringKind, f.Message() != nil && !f.IsMap()
		switch {
		case f.IsMap():
			if f.MapValue().Kind() != protoreflect.StringKind {
				return true // of counters
			}
			v.Map().Range(func(k protoreflect.MapKey, e protoreflect.Value) bool {
				each(e.String(), func(s string) { v.Map().Set(k, protoreflect.ValueOfString(s)) })
				return true
			})
		case f.IsList() && text:
			for i := range v.List().Len() {
				each(v.List().Get(i).String(), func(s string) { v.List().Set(i, protoreflect.ValueOfString(s)) })
			}
		case f.IsList() && message:
			for i := range v.List().Len() {
				eachText(v.List().Get(i).Message(), each)
			}
		case text:
			each(v.String(), func(s string) { m.Set(f, protoreflect.ValueOfString(s)) })
		case message && !f.IsList():
			eachText(v.Message(), each)
		}
		return true
	})
}

var fieldMessage = (&agentpb.Field{}).ProtoReflect().Descriptor().FullName()

// cleanStream cleans the answers of a stream. Events were cleaned when they were made.
type cleanStream struct{ grpc.ServerStream }

func (s cleanStream) SendMsg(m any) error {
	if _, events := m.(*agentpb.Batch); events {
		return s.ServerStream.SendMsg(m)
	}
	return s.ServerStream.SendMsg(cleanAnswer(m))
}
