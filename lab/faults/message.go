package faults

import (
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// runtimeCall is a call to the runtime, as far as the CRI of this version knows it.
type runtimeCall struct {
	table           *Table
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

// uidLabel is the label by which the kubelet selects the sandboxes and the containers of a pod.
const uidLabel = "io.kubernetes.pod.uid"

// about returns whose call it is. Nothing: it is about the node, or about a pod that is not known.
func (c *runtimeCall) about() about {
	switch r := c.request.(type) {
	case *runtimeapi.RunPodSandboxRequest:
		return ofSandbox(r.GetConfig())
	case *runtimeapi.PullImageRequest:
		a := ofSandbox(r.GetSandboxConfig())
		a.container = ofImage(r.GetImage()).container
		return a
	case *runtimeapi.ImageStatusRequest:
		return ofImage(r.GetImage())
	case *runtimeapi.CreateContainerRequest:
		a := c.table.whose(r.GetPodSandboxId())
		a.container = r.GetConfig().GetMetadata().GetName()
		return a
	case *runtimeapi.ListPodSandboxRequest:
		return c.table.whose(r.GetFilter().GetLabelSelector()[uidLabel])
	case *runtimeapi.ListContainersRequest:
		return c.table.whose(r.GetFilter().GetLabelSelector()[uidLabel])
	case interface{ GetContainerId() string }:
		return c.table.whose(r.GetContainerId())
	case interface{ GetPodSandboxId() string }:
		return c.table.whose(r.GetPodSandboxId())
	}
	return about{}
}

func ofSandbox(config *runtimeapi.PodSandboxConfig) about {
	return about{namespace: config.GetMetadata().GetNamespace()}
}

// ImageOf returns the name of an image that only one container of the pod of a namespace uses. The call that asks for
// an image's status names neither.
func ImageOf(namespace, container string) string {
	return imageHost + "/" + namespace + "/" + container + ":1"
}

const imageHost = "explore.example"

func ofImage(spec *runtimeapi.ImageSpec) about {
	for _, name := range []string{spec.GetUserSpecifiedImage(), spec.GetImage()} {
		parts := strings.Split(strings.TrimSuffix(name, ":1"), "/")
		if len(parts) == 3 && parts[0] == imageHost {
			return about{namespace: parts[1], container: parts[2]}
		}
	}
	return about{}
}

func (c *runtimeCall) strike() (*Rule, <-chan struct{}) {
	if c.of.namespace == "" {
		return nil, nil
	}
	return c.table.strike(c.of.namespace, Call{Side: CRI, Method: c.method, Object: c.of.container})
}

// learn keeps the id that an answer gives to a sandbox or a container.
func (c *runtimeCall) learn(answer []byte) {
	if c.of.namespace == "" || c.answer == nil || proto.Unmarshal(answer, c.answer) != nil {
		return
	}
	switch a := c.answer.(type) {
	case *runtimeapi.RunPodSandboxResponse:
		c.table.learn(a.GetPodSandboxId(), about{namespace: c.of.namespace})
	case *runtimeapi.CreateContainerResponse:
		c.table.learn(a.GetContainerId(), c.of)
	}
}

// nobodys is an id that the runtime never gave.
const nobodys = "0badc0de0badc0de0badc0de0badc0de0badc0de0badc0de0badc0de0badc0de"

// Invented are texts of wrong answers that nothing else brings about: an id, and an exit code.
var Invented = []string{nobodys[:12], "exit code 255"}

// contradict returns another answer than the runtime's: one that is well-formed and not so.
func (c *runtimeCall) contradict(answer []byte) ([]byte, error) {
	if c.answer == nil {
		return answer, nil
	}
	if err := proto.Unmarshal(answer, c.answer); err != nil {
		return nil, err
	}
	switch a := c.answer.(type) {
	case *runtimeapi.RunPodSandboxResponse:
		a.PodSandboxId = nobodys
	case *runtimeapi.CreateContainerResponse:
		a.ContainerId = nobodys
	case *runtimeapi.PullImageResponse:
		a.ImageRef = "sha256:" + nobodys
	case *runtimeapi.ImageStatusResponse:
		a.Image = &runtimeapi.Image{Id: "sha256:" + nobodys, Size: 1}
	case *runtimeapi.PodSandboxStatusResponse:
		contradictSandbox(a.GetStatus())
	case *runtimeapi.ContainerStatusResponse:
		contradictContainer(a.GetStatus())
	case *runtimeapi.ListPodSandboxResponse:
		a.Items = nil
	case *runtimeapi.ListContainersResponse:
		a.Containers = nil
	case *runtimeapi.ExecSyncResponse:
		a.ExitCode = 1 - min(1, a.ExitCode)
	}
	return proto.Marshal(c.answer)
}

// canContradict has the methods whose answers say something that may be wrong.
var canContradict = map[string]bool{
	"RunPodSandbox": true, "CreateContainer": true, "PullImage": true, "ImageStatus": true, "PodSandboxStatus": true,
	"ContainerStatus": true, "ListPodSandbox": true, "ListContainers": true, "ExecSync": true,
}

// Fits reports whether an action can happen to a call. The answers of many calls have no content that could be wrong.
func Fits(c Call, a Action) bool { return a != Wrong || canContradict[c.Method] }

func contradictSandbox(s *runtimeapi.PodSandboxStatus) {
	if s == nil {
		return
	}
	if s.State == runtimeapi.PodSandboxState_SANDBOX_READY {
		s.State = runtimeapi.PodSandboxState_SANDBOX_NOTREADY
	} else {
		s.State = runtimeapi.PodSandboxState_SANDBOX_READY
	}
}

func contradictContainer(s *runtimeapi.ContainerStatus) {
	if s == nil {
		return
	}
	if s.State == runtimeapi.ContainerState_CONTAINER_RUNNING {
		s.State, s.FinishedAt, s.ExitCode = runtimeapi.ContainerState_CONTAINER_EXITED, s.StartedAt+1, 255
	} else {
		s.State, s.FinishedAt, s.ExitCode = runtimeapi.ContainerState_CONTAINER_RUNNING, 0, 0
	}
}
