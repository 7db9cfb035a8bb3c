package cri

import (
	"time"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// methods are in the catalogue's order. Fields and results are the catalogue's
// expressions, with the request's members in the place of arguments.
var methods = []Method{
	runtimeMethod("RunPodSandbox", places{},
		callOf(shape[runtimeapi.RunPodSandboxRequest, runtimeapi.RunPodSandboxResponse]{
			pod:     func(q *runtimeapi.RunPodSandboxRequest) any { return q.Config },
			fields:  func(q *runtimeapi.RunPodSandboxRequest) []any { return []any{q.Config, q.RuntimeHandler} },
			results: func(a *runtimeapi.RunPodSandboxResponse, _ error) []any { return []any{a.GetPodSandboxId()} },
			check:   checkRunPodSandbox,
			made:    (*runtimeapi.RunPodSandboxResponse).GetPodSandboxId,
		})),
	runtimeMethod("PodSandboxStatus", places{id: "pod_sandbox_id"},
		callOf(shape[runtimeapi.PodSandboxStatusRequest, runtimeapi.PodSandboxStatusResponse]{
			pod:     func(q *runtimeapi.PodSandboxStatusRequest) any { return q.PodSandboxId },
			fields:  func(q *runtimeapi.PodSandboxStatusRequest) []any { return []any{q.PodSandboxId} },
			results: sandboxStatusResults,
			check:   checkPodSandboxStatus,
		})),
	runtimeMethod("CreateContainer", places{id: "pod_sandbox_id"},
		callOf(shape[runtimeapi.CreateContainerRequest, runtimeapi.CreateContainerResponse]{
			pod:     func(q *runtimeapi.CreateContainerRequest) any { return q.SandboxConfig },
			fields:  createContainerFields,
			results: func(a *runtimeapi.CreateContainerResponse, _ error) []any { return []any{a.GetContainerId()} },
			check:   checkCreateContainer,
			made:    (*runtimeapi.CreateContainerResponse).GetContainerId,
		})),
	runtimeMethod("StartContainer", places{id: "container_id"},
		callOf(shape[runtimeapi.StartContainerRequest, runtimeapi.StartContainerResponse]{
			pod:    func(q *runtimeapi.StartContainerRequest) any { return q.ContainerId },
			fields: func(q *runtimeapi.StartContainerRequest) []any { return []any{q.ContainerId} },
		})),
	runtimeMethod("ExecSync", places{id: "container_id"},
		callOf(shape[runtimeapi.ExecSyncRequest, runtimeapi.ExecSyncResponse]{
			pod:    func(q *runtimeapi.ExecSyncRequest) any { return q.ContainerId },
			fields: func(q *runtimeapi.ExecSyncRequest) []any { return []any{q.ContainerId, q.Cmd, execTimeout(q)} },
			check:  checkExecSync,
			failed: failedExecSync,
		})),
	runtimeMethod("ContainerStatus", places{id: "container_id"},
		callOf(shape[runtimeapi.ContainerStatusRequest, runtimeapi.ContainerStatusResponse]{
			pod:     func(q *runtimeapi.ContainerStatusRequest) any { return q.ContainerId },
			fields:  func(q *runtimeapi.ContainerStatusRequest) []any { return []any{q.ContainerId} },
			results: containerStatusResults,
			check:   checkContainerStatus,
		})),
	runtimeMethod("UpdateContainerResources", places{id: "container_id"},
		callOf(shape[runtimeapi.UpdateContainerResourcesRequest, runtimeapi.UpdateContainerResourcesResponse]{
			pod:    func(q *runtimeapi.UpdateContainerResourcesRequest) any { return q.ContainerId },
			fields: updateContainerFields,
		})),
	runtimeMethod("UpdatePodSandboxResources", places{id: "pod_sandbox_id"},
		callOf(shape[runtimeapi.UpdatePodSandboxResourcesRequest, runtimeapi.UpdatePodSandboxResourcesResponse]{
			pod:    func(q *runtimeapi.UpdatePodSandboxResourcesRequest) any { return q.PodSandboxId },
			fields: func(q *runtimeapi.UpdatePodSandboxResourcesRequest) []any { return []any{q.PodSandboxId, q} },
		})),
	imageMethod("ImageStatus", places{image: "image"},
		callOf(shape[runtimeapi.ImageStatusRequest, runtimeapi.ImageStatusResponse]{
			fields:  func(q *runtimeapi.ImageStatusRequest) []any { return []any{q.GetImage().GetImage()} },
			results: imageStatusResults,
			check:   checkImageStatus,
		})),
	imageMethod("PullImage", places{image: "image"},
		callOf(shape[runtimeapi.PullImageRequest, runtimeapi.PullImageResponse]{
			pod:     func(q *runtimeapi.PullImageRequest) any { return q.SandboxConfig },
			fields:  func(q *runtimeapi.PullImageRequest) []any { return []any{q.GetImage().GetImage()} },
			results: func(a *runtimeapi.PullImageResponse, _ error) []any { return []any{a.GetImageRef()} },
			check:   checkPullImage,
			failed:  failedPullImage,
		})),
	runtimeMethod("StopContainer", places{id: "container_id"},
		callOf(shape[runtimeapi.StopContainerRequest, runtimeapi.StopContainerResponse]{
			pod:    func(q *runtimeapi.StopContainerRequest) any { return q.ContainerId },
			fields: func(q *runtimeapi.StopContainerRequest) []any { return []any{q.ContainerId, q.Timeout} },
		})),
	runtimeMethod("StopPodSandbox", places{id: "pod_sandbox_id"},
		callOf(shape[runtimeapi.StopPodSandboxRequest, runtimeapi.StopPodSandboxResponse]{
			pod:    func(q *runtimeapi.StopPodSandboxRequest) any { return q.PodSandboxId },
			fields: func(q *runtimeapi.StopPodSandboxRequest) []any { return []any{q.PodSandboxId} },
		})),
	runtimeMethod("RemoveContainer", places{id: "container_id"},
		callOf(shape[runtimeapi.RemoveContainerRequest, runtimeapi.RemoveContainerResponse]{
			pod:     func(q *runtimeapi.RemoveContainerRequest) any { return q.ContainerId },
			fields:  func(q *runtimeapi.RemoveContainerRequest) []any { return []any{q.ContainerId} },
			removes: true,
		})),
	runtimeMethod("RemovePodSandbox", places{id: "pod_sandbox_id"},
		callOf(shape[runtimeapi.RemovePodSandboxRequest, runtimeapi.RemovePodSandboxResponse]{
			pod:     func(q *runtimeapi.RemovePodSandboxRequest) any { return q.PodSandboxId },
			fields:  func(q *runtimeapi.RemovePodSandboxRequest) []any { return []any{q.PodSandboxId} },
			removes: true,
		})),
	imageMethod("RemoveImage", places{image: "image"},
		callOf(shape[runtimeapi.RemoveImageRequest, runtimeapi.RemoveImageResponse]{
			fields: func(q *runtimeapi.RemoveImageRequest) []any { return []any{q.GetImage().GetImage()} },
		})),
	runtimeMethod("RuntimeConfig", places{},
		callOf(shape[runtimeapi.RuntimeConfigRequest, runtimeapi.RuntimeConfigResponse]{
			results: runtimeConfigResults,
		})),
}

func runtimeMethod(rpc string, at places, c call) Method {
	return newMethod(runtimeService, rpc, at, c)
}
func imageMethod(rpc string, at places, c call) Method { return newMethod(imageService, rpc, at, c) }

func newMethod(service, rpc string, at places, c call) Method {
	at.find(c.request())
	return Method{Name: service + rpc, Step: stepPrefix + rpc, rpc: rpc, at: at, call: c}
}

func createContainerFields(q *runtimeapi.CreateContainerRequest) []any {
	md := q.GetConfig().GetMetadata()
	return []any{q.PodSandboxId, md.GetName(), int(md.GetAttempt()), q.Config}
}

// updateContainerFields puts together again what the client takes apart for the
// request.
func updateContainerFields(q *runtimeapi.UpdateContainerResourcesRequest) []any {
	return []any{q.ContainerId, &runtimeapi.ContainerResources{Linux: q.Linux, Windows: q.Windows}}
}

// execTimeout is the kubelet's timeout: it goes over the wire in whole seconds,
// which is what health probes have.
func execTimeout(q *runtimeapi.ExecSyncRequest) time.Duration {
	return time.Duration(q.Timeout) * time.Second
}

func sandboxStatusResults(a *runtimeapi.PodSandboxStatusResponse, err error) []any {
	state := ""
	if err == nil {
		state = a.GetStatus().GetState().String()
	}
	return []any{state, a.GetStatus().GetNetwork().GetIp()}
}

func containerStatusResults(a *runtimeapi.ContainerStatusResponse, err error) []any {
	state := ""
	if err == nil {
		state = a.GetStatus().GetState().String()
	}
	return []any{state, int(a.GetStatus().GetExitCode()), a.GetStatus().GetReason()}
}

func imageStatusResults(a *runtimeapi.ImageStatusResponse, _ error) []any {
	return []any{a.GetImage() != nil, a.GetImage().GetId()}
}

func runtimeConfigResults(a *runtimeapi.RuntimeConfigResponse, _ error) []any {
	driver := ""
	if a.GetLinux() != nil {
		driver = a.GetLinux().GetCgroupDriver().String()
	}
	return []any{driver}
}
