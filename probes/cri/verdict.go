package cri

import (
	"errors"
	"fmt"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// What follows says, in the same words, what the kubelet's CRI client finds
// wrong with an answer, and what it makes of an error: k8s.io/cri-client,
// remote_runtime.go, remote_image.go and utils.go. A test asks that client.

func checkRunPodSandbox(q *runtimeapi.RunPodSandboxRequest, a *runtimeapi.RunPodSandboxResponse) error {
	if a.GetPodSandboxId() == "" {
		return fmt.Errorf("PodSandboxId is not set for sandbox %q", q.GetConfig().GetMetadata())
	}
	return nil
}

func checkCreateContainer(q *runtimeapi.CreateContainerRequest, a *runtimeapi.CreateContainerResponse) error {
	if a.GetContainerId() == "" {
		return fmt.Errorf("ContainerId is not set for container %q", q.GetConfig().GetMetadata())
	}
	return nil
}

func checkPodSandboxStatus(_ *runtimeapi.PodSandboxStatusRequest, a *runtimeapi.PodSandboxStatusResponse) error {
	s := a.GetStatus()
	md := s.GetMetadata()
	switch {
	case s == nil:
		return nil
	case s.Id == "":
		return errors.New("status.Id is not set")
	case md == nil:
		return errors.New("status.Metadata is not set")
	case md.Name == "" || md.Namespace == "" || md.Uid == "":
		return fmt.Errorf("metadata.Name, metadata.Namespace or metadata.Uid is not in metadata %q", md)
	case s.CreatedAt == 0:
		return errors.New("status.CreatedAt is not set")
	}
	return nil
}

func checkContainerStatus(_ *runtimeapi.ContainerStatusRequest, a *runtimeapi.ContainerStatusResponse) error {
	s := a.GetStatus()
	switch {
	case s == nil:
		return nil
	case s.Id == "":
		return errors.New("status.Id is not set")
	case s.Metadata == nil:
		return errors.New("status.Metadata is not set")
	case s.Metadata.Name == "":
		return fmt.Errorf("metadata.Name is not in metadata %q", s.Metadata)
	case s.CreatedAt == 0:
		return errors.New("status.CreatedAt is not set")
	case s.GetImage().GetImage() == "":
		return errors.New("status.Image is not set")
	case s.ImageRef == "":
		return errors.New("status.ImageRef is not set")
	}
	return nil
}

// checkExecSync: the call went well, and the command did not.
func checkExecSync(q *runtimeapi.ExecSyncRequest, a *runtimeapi.ExecSyncResponse) error {
	if a.GetExitCode() == 0 {
		return nil
	}
	return fmt.Errorf("command '%s' exited with %d: %s", strings.Join(q.Cmd, " "), a.ExitCode, a.Stderr)
}

func failedExecSync(q *runtimeapi.ExecSyncRequest, code codes.Code, err error) error {
	if code != codes.DeadlineExceeded {
		return err
	}
	return fmt.Errorf("command timed out: %q timed out after %s", strings.Join(q.Cmd, " "), execTimeout(q))
}

func checkImageStatus(q *runtimeapi.ImageStatusRequest, a *runtimeapi.ImageStatusResponse) error {
	if i := a.GetImage(); i != nil && (i.Id == "" || i.Size == 0) {
		//lint:ignore ST1005 the kubelet's client gives this very error
		return fmt.Errorf("Id or size of image %q is not set", q.GetImage().GetImage())
	}
	return nil
}

func checkPullImage(q *runtimeapi.PullImageRequest, a *runtimeapi.PullImageResponse) error {
	if a.GetImageRef() == "" {
		return fmt.Errorf("imageRef of image %q is not set", q.GetImage().GetImage())
	}
	return nil
}

// failedPullImage: the code of an unknown error says nothing, and the client
// leaves it out.
func failedPullImage(_ *runtimeapi.PullImageRequest, code codes.Code, err error) error {
	if code != codes.Unknown {
		return err
	}
	return errors.New(status.Convert(err).Message())
}
