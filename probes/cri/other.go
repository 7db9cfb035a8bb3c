package cri

import (
	"slices"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/reasons"
)

// Other is the step of all calls whose methods are no steps of their own.
const Other = stepPrefix + "other"

// others are these methods. Streams are not among them: a relay shows unary calls only.
var others = findOthers()

// Others returns the methods of the CRI whose calls are all one step, Other. Of their
// requests and answers nothing is shown; a request may name a sandbox or container.
func Others() []Method { return slices.Clone(others) }

// Any returns the method of that :path, be it a step of its own or one of Others; nil for one
// that the CRI does not have, and for streams.
func Any(path string) *Method {
	if m := Lookup(path); m != nil {
		return m
	}
	if i := slices.IndexFunc(others, func(m Method) bool { return m.Name == path }); i >= 0 {
		return &others[i]
	}
	return nil
}

func findOthers() (out []Method) {
	services := runtimeapi.File_staging_src_k8s_io_cri_api_pkg_apis_runtime_v1_api_proto.Services()
	for i := range services.Len() {
		all := services.Get(i).Methods()
		for j := range all.Len() {
			d := all.Get(j)
			path := "/" + string(services.Get(i).FullName()) + "/" + string(d.Name())
			if Lookup(path) == nil && !d.IsStreamingServer() && !d.IsStreamingClient() {
				out = append(out, otherMethod(path, d))
			}
		}
	}
	return out
}

func otherMethod(path string, d protoreflect.MethodDescriptor) Method {
	rpc := string(d.Name())
	m := Method{Name: path, Step: Other, rpc: rpc, at: places{id: idIn(d.Input())}, call: call{
		request: maker(d.Input()), answer: maker(d.Output()),
		fields:  func(proto.Message) []any { return []any{rpc} },
		results: func(proto.Message, error) []any { return nil },
		check:   func(q, a proto.Message) error { return nil },
		made:    func(proto.Message) string { return "" },
	}}
	m.at.find(m.call.request())
	return m
}

// maker makes messages of a type.
func maker(d protoreflect.MessageDescriptor) func() proto.Message {
	t, err := protoregistry.GlobalTypes.FindMessageByName(d.FullName())
	if err != nil {
		panic("CRI message " + string(d.FullName()) + " is not registered") // it is generated with its service
	}
	return func() proto.Message { return t.New().Interface() }
}

// idIn is the member of a request that names a sandbox or container; "": none does.
func idIn(d protoreflect.MessageDescriptor) string {
	for _, name := range []string{"container_id", "pod_sandbox_id"} {
		if f := d.Fields().ByName(protoreflect.Name(name)); f != nil && f.Kind() == protoreflect.StringKind && !f.IsList() {
			return name
		}
	}
	return ""
}

// otherAbility is what the probe can do at Other, if it is to show all calls.
func otherAbility(shows bool) probes.Ability {
	if !shows {
		return probes.Ability{Unseen: reasons.NotAsked.Reason()}
	}
	no := reasons.Bare.Reason()
	return probes.Ability{Entry: true, Exit: true, Arguments: true, Results: true, NoHold: no, NoFail: no}
}
