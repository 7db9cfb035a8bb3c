package simcri

import (
	"context"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// bubble runs a test on a server without a socket, in which time passes at once.
func bubble(t *testing.T, test func(n *inner)) {
	t.Helper()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		s := newServer(Options{Root: dir}.withDefaults())
		s.addresses = newAddresses(netip.MustParsePrefix("127.9.0.0/24"))
		n := &inner{t: t, Server: s, ctx: t.Context()}
		test(n)
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
}

// inner calls the server's methods themselves.
type inner struct {
	t   *testing.T
	ctx context.Context
	*Server
}

func (n *inner) pod(name string, annotations map[string]string) *runtimeapi.PodSandboxConfig {
	config := &runtimeapi.PodSandboxConfig{
		Metadata: &runtimeapi.PodSandboxMetadata{Name: name, Namespace: "default", Uid: name + "-uid"}, Annotations: map[string]string{},
		Linux: &runtimeapi.LinuxPodSandboxConfig{SecurityContext: &runtimeapi.LinuxSandboxSecurityContext{
			NamespaceOptions: &runtimeapi.NamespaceOption{Pid: runtimeapi.NamespaceMode_CONTAINER}}},
	}
	for k, v := range annotations {
		config.Annotations[Prefix+k] = v
	}
	return config
}

// create makes a pod with one container. It returns the runtime's error.
func (n *inner) create(config *runtimeapi.PodSandboxConfig, attempt uint32, command ...string) (box, id string, err error) {
	ctx, cancel := context.WithTimeout(n.ctx, 4*time.Minute)
	defer cancel()
	b, err := n.RunPodSandbox(ctx, &runtimeapi.RunPodSandboxRequest{Config: config})
	if err != nil {
		return "", "", err
	}
	spec := &runtimeapi.ImageSpec{Image: busybox, Annotations: config.Annotations}
	if _, err := n.PullImage(ctx, &runtimeapi.PullImageRequest{Image: spec, SandboxConfig: config}); err != nil {
		return b.PodSandboxId, "", err
	}
	c, err := n.CreateContainer(ctx, &runtimeapi.CreateContainerRequest{PodSandboxId: b.PodSandboxId, SandboxConfig: config, Config: &runtimeapi.ContainerConfig{
		Metadata: &runtimeapi.ContainerMetadata{Name: "app", Attempt: attempt}, Image: spec, Command: command}})
	return b.PodSandboxId, c.GetContainerId(), err
}

func (n *inner) launch(name string, annotations map[string]string, command ...string) (id string) {
	n.t.Helper()
	_, id, err := n.create(n.pod(name, annotations), 0, command...)
	if err == nil {
		_, err = n.StartContainer(n.ctx, &runtimeapi.StartContainerRequest{ContainerId: id})
	}
	if err != nil {
		n.t.Fatal(err)
	}
	return id
}

func (n *inner) status(id string) *runtimeapi.ContainerStatus {
	n.t.Helper()
	r, err := n.ContainerStatus(n.ctx, &runtimeapi.ContainerStatusRequest{ContainerId: id})
	if err != nil {
		n.t.Fatal(err)
	}
	return r.Status
}

func (n *inner) wantExit(id string, code int32, reason string, after time.Duration) {
	n.t.Helper()
	s := n.status(id)
	took := time.Duration(s.FinishedAt - s.StartedAt)
	if s.State != runtimeapi.ContainerState_CONTAINER_EXITED || s.ExitCode != code || s.Reason != reason || took != after {
		n.t.Errorf("got %s %d %q after %v, want %d %q after %v", s.State, s.ExitCode, s.Reason, took, code, reason, after)
	}
}
