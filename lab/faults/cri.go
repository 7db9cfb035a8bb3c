package faults

import (
	"strings"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podstep/podstep/lab/credentials"
)

// uidLabel is the label by which the kubelet selects the sandboxes and the containers of a pod.
const uidLabel = "io.kubernetes.pod.uid"

// aboutRuntime returns whose call to the runtime it is.
func (c *call) aboutRuntime() about {
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

// PrivateImage returns the name that an image of ImageOf has in the registry that wants credentials.
func PrivateImage(image string) string {
	return credentials.Registry + strings.TrimPrefix(image, imageHost)
}

func ofImage(spec *runtimeapi.ImageSpec) about {
	for _, name := range []string{spec.GetUserSpecifiedImage(), spec.GetImage()} {
		if of := ofImageNamed(name); of.namespace != "" {
			return of
		}
	}
	return about{}
}

func ofImageNamed(name string) about {
	parts := strings.Split(strings.TrimSuffix(name, ":1"), "/")
	if len(parts) == 3 && (parts[0] == imageHost || parts[0] == credentials.Registry) {
		return about{namespace: parts[1], container: parts[2]}
	}
	return about{}
}

// learnRuntime keeps the id that an answer of the runtime gives.
func (c *call) learnRuntime() {
	switch a := c.answer.(type) {
	case *runtimeapi.RunPodSandboxResponse:
		c.table.learn(a.GetPodSandboxId(), about{namespace: c.of.namespace})
	case *runtimeapi.CreateContainerResponse:
		c.table.learn(a.GetContainerId(), c.of)
	}
}

// contradictRuntime makes an answer of the runtime wrong.
func (c *call) contradictRuntime() {
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
}

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
