package cri

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// What follows finds the same faults in an answer as the kubelet's CRI client, and makes the same errors, in the
// same words: see remote_runtime.go, remote_image.go and utils.go of k8s.io/cri-client. A test compares with that
// client.

// check returns what the client finds wrong with an answer.
func check(q, a proto.Message) error {
	switch a := a.(type) {
	case *runtimeapi.RunPodSandboxResponse:
		return checkRunPodSandbox(q.(*runtimeapi.RunPodSandboxRequest), a)
	case *runtimeapi.CreateContainerResponse:
		return checkCreateContainer(q.(*runtimeapi.CreateContainerRequest), a)
	case *runtimeapi.PodSandboxStatusResponse:
		return checkPodSandboxStatus(a)
	case *runtimeapi.ContainerStatusResponse:
		return checkContainerStatus(a)
	case *runtimeapi.ExecSyncResponse:
		return checkExecSync(q.(*runtimeapi.ExecSyncRequest), a)
	case *runtimeapi.ImageStatusResponse:
		return checkImageStatus(q.(*runtimeapi.ImageStatusRequest), a)
	case *runtimeapi.PullImageResponse:
		return checkPullImage(q.(*runtimeapi.PullImageRequest), a)
	}
	return nil
}

// failed returns what the client makes of an error. The request is nil if it was not decoded.
func failed(q proto.Message, code codes.Code, err error) error {
	switch q := q.(type) {
	case *runtimeapi.ExecSyncRequest:
		return failedExecSync(q, code, err)
	case *runtimeapi.PullImageRequest:
		return failedPullImage(code, err)
	}
	return err
}

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

func checkPodSandboxStatus(a *runtimeapi.PodSandboxStatusResponse) error {
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

func checkContainerStatus(a *runtimeapi.ContainerStatusResponse) error {
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

// checkExecSync: the call went well, but the command failed.
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
	return fmt.Errorf("command timed out: %q timed out after %s", strings.Join(q.Cmd, " "), time.Duration(q.Timeout)*time.Second)
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

// failedPullImage leaves out the code of an unknown error, as the client does: it says nothing.
func failedPullImage(code codes.Code, err error) error {
	if code != codes.Unknown {
		return err
	}
	return errors.New(status.Convert(err).Message())
}
