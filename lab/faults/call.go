package faults

import (
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"github.com/podstep/podstep/lab/filefaults"
)

// call is a call to a runtime or a plugin, as far as the interfaces of this version know it.
type call struct {
	table           *Table
	side            Side
	method          string
	request, answer proto.Message // nil: the method is not known
	of              about
}

// messages returns empty messages for the request and the answer of a method such as
// /runtime.v1.RuntimeService/StartContainer.
func messages(name string) (request, answer proto.Message) {
	full := protoreflect.FullName(strings.ReplaceAll(strings.TrimPrefix(name, "/"), "/", "."))
	found, err := protoregistry.GlobalFiles.FindDescriptorByName(full)
	method, ok := found.(protoreflect.MethodDescriptor)
	if err != nil || !ok {
		return nil, nil
	}
	return message(method.Input()), message(method.Output())
}

func message(d protoreflect.MessageDescriptor) proto.Message {
	t, err := protoregistry.GlobalTypes.FindMessageByName(d.FullName())
	if err != nil {
		return nil
	}
	return t.New().Interface()
}

// about returns whose call it is. Nothing: it is about the node, or about a pod that is not known.
func (c *call) about() about {
	if c.side == Plugin {
		return c.aboutPlugin()
	}
	return c.aboutRuntime()
}

func (c *call) strike() (*Rule, <-chan struct{}) {
	if c.of.namespace == "" {
		return nil, nil
	}
	return c.table.strike(c.of.namespace, Call{Side: c.side, Method: c.method, Object: c.of.container})
}

// learn keeps the id that an answer gives to a sandbox or a container.
func (c *call) learn(answer []byte) {
	if c.side == CRI && c.of.namespace != "" && c.answer != nil && proto.Unmarshal(answer, c.answer) == nil {
		c.learnRuntime()
	}
}

// contradict returns another answer than the one that came: one that is well-formed and not so.
func (c *call) contradict(answer []byte) ([]byte, error) {
	if c.answer == nil {
		return answer, nil
	}
	if err := proto.Unmarshal(answer, c.answer); err != nil {
		return nil, err
	}
	if c.side == Plugin {
		c.contradictPlugin()
	} else {
		c.contradictRuntime()
	}
	return proto.Marshal(c.answer)
}

// nobodys is an id that nobody ever gave.
const nobodys = "0badc0de0badc0de0badc0de0badc0de0badc0de0badc0de0badc0de0badc0de"

// Invented are texts of wrong answers that nothing else brings about: an id, and an exit code.
var Invented = []string{nobodys[:12], "exit code 255"}

// canContradict has the methods whose answers say something that may be wrong.
var canContradict = map[string]bool{
	"RunPodSandbox": true, "CreateContainer": true, "PullImage": true, "ImageStatus": true, "PodSandboxStatus": true,
	"ContainerStatus": true, "ListPodSandbox": true, "ListContainers": true, "ExecSync": true,
	"NodePrepareResources": true, "NodeGetCapabilities": true,
	"Allocate": true, "GetPreferredAllocation": true, "ListAndWatch": true, "GetDevicePluginOptions": true, GetCredentials: true,
}

// Fits reports whether an action can happen to a call. The answers of many calls have no content that could be wrong, to
// read a file takes no space, and to remove one neither.
func Fits(c Call, a Action) bool {
	switch a {
	case Wrong:
		return canContradict[c.Method]
	case NoSpace:
		return c.Method != filefaults.Open && c.Method != filefaults.Remove && c.Method != filefaults.Rmdir
	case ReadOnly:
		return c.Method != filefaults.Open
	}
	return true
}
