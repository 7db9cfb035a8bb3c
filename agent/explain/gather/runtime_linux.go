package gather

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	corev1 "k8s.io/api/core/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podstep/podstep/agent/explain/evidence"
	"github.com/podstep/podstep/probes/kubelets"
)

// Runtime is the container runtime of a kubelet on this machine, as a source. Its calls only read.
type Runtime struct{ Near *Nearby }

// Names names the source.
func (*Runtime) Names() (evidence.Source, string) { return evidence.CRI, "runtime" }

// Look asks the runtime for what it has of the pod.
func (r *Runtime) Look(ctx context.Context, of *Subject) func(*evidence.Snapshot) {
	ctx, cancel := early(ctx)
	defer cancel()
	source, what := r.Names()
	k, err := r.Near.kubelet(ctx, of)
	if err != nil {
		return missedNear(source, what, err)
	}
	conn, err := dialRuntime(ctx, k)
	if err != nil {
		return missedNear(source, what, err)
	}
	defer conn.Close()
	c := &cri{of: of, runtime: runtimeapi.NewRuntimeServiceClient(conn), image: runtimeapi.NewImageServiceClient(conn)}
	if k.ImageEndpoint != k.RuntimeEndpoint {
		if other, err := dialSocket(ctx, k, k.ImageEndpoint); err == nil {
			defer other.Close()
			c.image = runtimeapi.NewImageServiceClient(other)
		}
	}
	return c.look(ctx)
}

// usualRuntimes are the sockets at which runtimes listen by default.
var usualRuntimes = []string{"/run/containerd/containerd.sock", "/run/crio/crio.sock", "/run/cri-dockerd.sock"}

// dialRuntime connects to the runtime of a kubelet, past a podstep that is between the two. If
// the kubelet's settings cannot be read, it tries the usual sockets of runtimes.
func dialRuntime(ctx context.Context, k *kubelets.Kubelet) (*grpc.ClientConn, error) {
	sockets := []string{k.Aside(), k.RuntimeEndpoint}
	if k.RuntimeEndpoint == "" {
		sockets = append(sockets, usualRuntimes...)
	}
	var first error
	for _, socket := range sockets {
		if socket == "" {
			continue
		}
		conn, err := dialSocket(ctx, k, socket)
		if err == nil {
			return conn, nil
		}
		if first == nil || quiet(first) {
			first = err
		}
	}
	if first == nil {
		first = errors.New("the kubelet names no socket of its runtime")
	}
	return nil, first
}

// maxReply is how many bytes of an answer the kubelet takes from its runtime.
const maxReply = 16 << 20

// dialSocket first connects once, so that the reason for a failure is known, and then for gRPC.
func dialSocket(ctx context.Context, k *kubelets.Kubelet, socket string) (*grpc.ClientConn, error) {
	once, err := k.DialSocket(ctx, socket)
	if err != nil {
		return nil, err
	}
	_ = once.Close()
	return grpc.NewClient("passthrough:///runtime", append(onlyLooks(), grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxReply)),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return k.DialSocket(ctx, socket) }))...)
}

// cri is one look at a runtime.
type cri struct {
	of      *Subject
	runtime runtimeapi.RuntimeServiceClient
	image   runtimeapi.ImageServiceClient
	part    part
}

func (c *cri) look(ctx context.Context) func(*evidence.Snapshot) {
	c.part.s.Runtime = &evidence.Runtime{}
	asked := map[string]func(){
		"Version":        func() { c.version(ctx) },
		"Status":         func() { c.status(ctx) },
		"ListPodSandbox": func() { c.sandboxes(ctx) },
		"ListContainers": func() { c.containers(ctx) },
		"ImageStatus":    func() { c.images(ctx) },
	}
	for _, name := range within(ctx, asked) {
		c.part.missed(evidence.CRI, name, context.DeadlineExceeded)
	}
	if len(c.part.s.Origins) == 0 {
		c.part.put(func(s *evidence.Snapshot) { s.Runtime, s.Unseen = nil, oneOf(s.Unseen, "runtime") })
	}
	return c.part.give()
}

func (c *cri) missed(what string, err error) {
	c.part.missed(evidence.CRI, what, plainError(err))
}

// plainError turns an error of gRPC into the error that other sources have for the same reason.
func plainError(err error) error {
	switch status.Code(err) {
	case codes.DeadlineExceeded:
		return context.DeadlineExceeded
	case codes.Unavailable:
		return &net.OpError{Op: "call", Net: "unix", Err: errors.New(status.Convert(err).Message())}
	case codes.Unknown, codes.OK:
		return err
	}
	return errors.New(status.Convert(err).Message())
}

func (c *cri) version(ctx context.Context) {
	v, err := c.runtime.Version(ctx, &runtimeapi.VersionRequest{})
	if err != nil {
		c.missed("Version", err)
		return
	}
	c.part.saw(evidence.CRI, "Version", func(s *evidence.Snapshot) {
		s.Runtime.Name, s.Runtime.Version = message(v.RuntimeName), message(v.RuntimeVersion)
	})
}

func (c *cri) status(ctx context.Context) {
	st, err := c.runtime.Status(ctx, &runtimeapi.StatusRequest{})
	if err != nil {
		c.missed("Status", err)
		return
	}
	var conditions []evidence.Condition
	for _, k := range st.GetStatus().GetConditions() {
		is := "False"
		if k.GetStatus() {
			is = "True"
		}
		conditions = append(conditions, evidence.Condition{Type: message(k.GetType()), Status: is, Reason: message(k.GetReason()), Message: message(k.GetMessage())})
	}
	var handlers []string
	for _, h := range st.GetRuntimeHandlers() {
		handlers = append(handlers, message(h.GetName()))
	}
	c.part.saw(evidence.CRI, "Status", func(s *evidence.Snapshot) { s.Runtime.Conditions, s.Runtime.Handlers = conditions, handlers })
}

// The kubelet's labels of sandboxes and containers.
const (
	labelUID       = "io.kubernetes.pod.uid"
	labelName      = "io.kubernetes.pod.name"
	labelNamespace = "io.kubernetes.pod.namespace"
)

// labels returns the labels that select what is the pod's.
func (c *cri) labels() map[string]string {
	if uid := c.of.Kubelet.UID; uid != "" {
		return map[string]string{labelUID: uid}
	}
	return map[string]string{labelNamespace: c.of.Name.Namespace, labelName: c.of.Name.Name}
}

// maxItems bounds how many sandboxes, and how many containers, are kept.
const maxItems = 50

func (c *cri) sandboxes(ctx context.Context) {
	l, err := c.runtime.ListPodSandbox(ctx, &runtimeapi.ListPodSandboxRequest{Filter: &runtimeapi.PodSandboxFilter{LabelSelector: c.labels()}})
	if err != nil {
		c.missed("ListPodSandbox", err)
		return
	}
	items := l.GetItems()
	slices.SortFunc(items, func(a, b *runtimeapi.PodSandbox) int { return cmp.Compare(b.GetCreatedAt(), a.GetCreatedAt()) })
	var out []evidence.Sandbox
	for _, b := range items[:min(len(items), maxItems)] {
		out = append(out, evidence.Sandbox{
			ID: message(b.GetId()), Ready: b.GetState() == runtimeapi.PodSandboxState_SANDBOX_READY, Attempt: b.GetMetadata().GetAttempt(),
			Created: nano(b.GetCreatedAt()), Handler: message(b.GetRuntimeHandler()),
		})
	}
	if len(out) > 0 {
		st, err := c.runtime.PodSandboxStatus(ctx, &runtimeapi.PodSandboxStatusRequest{PodSandboxId: items[0].GetId()})
		if err != nil {
			c.missed("PodSandboxStatus", err)
		} else {
			out[0].IP = message(st.GetStatus().GetNetwork().GetIp())
		}
	}
	c.part.saw(evidence.CRI, "ListPodSandbox", func(s *evidence.Snapshot) { s.Runtime.Sandboxes = out })
}

func (c *cri) containers(ctx context.Context) {
	l, err := c.runtime.ListContainers(ctx, &runtimeapi.ListContainersRequest{Filter: &runtimeapi.ContainerFilter{LabelSelector: c.labels()}})
	if err != nil {
		c.missed("ListContainers", err)
		return
	}
	items := l.GetContainers()
	slices.SortFunc(items, func(a, b *runtimeapi.Container) int { return cmp.Compare(b.GetCreatedAt(), a.GetCreatedAt()) })
	var out []evidence.Container
	asked := map[string]bool{}
	for _, b := range items[:min(len(items), maxItems)] {
		name := b.GetMetadata().GetName()
		k := evidence.Container{
			ID: message(b.GetId()), Name: message(name), Sandbox: message(b.GetPodSandboxId()), State: states[b.GetState()],
			Attempt: b.GetMetadata().GetAttempt(), Created: nano(b.GetCreatedAt()),
		}
		if !asked[name] { // the newest of its name
			asked[name] = true
			c.statusOf(ctx, b.GetId(), &k)
		}
		out = append(out, k)
	}
	c.part.saw(evidence.CRI, "ListContainers", func(s *evidence.Snapshot) { s.Runtime.Containers = out })
}

var states = map[runtimeapi.ContainerState]string{
	runtimeapi.ContainerState_CONTAINER_CREATED: "created", runtimeapi.ContainerState_CONTAINER_RUNNING: "running",
	runtimeapi.ContainerState_CONTAINER_EXITED: "exited", runtimeapi.ContainerState_CONTAINER_UNKNOWN: "unknown",
}

// statusOf adds a container's status. The status's message may be the container's own, and is not kept.
func (c *cri) statusOf(ctx context.Context, id string, k *evidence.Container) {
	answer, err := c.runtime.ContainerStatus(ctx, &runtimeapi.ContainerStatusRequest{ContainerId: id})
	if err != nil {
		c.missed("ContainerStatus", err)
		return
	}
	st := answer.GetStatus()
	k.State, k.ExitCode, k.Reason = states[st.GetState()], st.GetExitCode(), message(st.GetReason())
	k.Started, k.Finished = nano(st.GetStartedAt()), nano(st.GetFinishedAt())
	k.Image = message(cmp.Or(st.GetImage().GetUserSpecifiedImage(), st.GetImage().GetImage()))
	if strings.HasPrefix(k.Image, "sha256:") {
		k.Image = "" // its name belongs to another image by now
	}
	k.Limits = limitsOf(st.GetResources().GetLinux())
}

// limitsOf returns nil if the runtime does not say what it has set.
func limitsOf(r *runtimeapi.LinuxContainerResources) *evidence.Limits {
	if r == nil {
		return nil
	}
	return &evidence.Limits{CPUShares: r.CpuShares, CPUQuota: r.CpuQuota, CPUPeriod: r.CpuPeriod, CPUs: message(r.CpusetCpus), MemoryBytes: r.MemoryLimitInBytes}
}

// nano converts a time of the runtime's; zero or less means no time.
func nano(ns int64) time.Time {
	if ns <= 0 {
		return time.Time{}
	}
	return time.Unix(0, ns).UTC()
}

// maxImages bounds how many of a pod's images the runtime is asked for.
const maxImages = 32

// images asks which of the pod's images the runtime has.
func (c *cri) images(ctx context.Context) {
	names := imagesOf(c.of.Snapshot.Pod)
	if len(names) == 0 {
		return
	}
	has := map[string]bool{}
	for _, name := range names[:min(len(names), maxImages)] {
		st, err := c.image.ImageStatus(ctx, &runtimeapi.ImageStatusRequest{Image: &runtimeapi.ImageSpec{Image: name}})
		if err != nil {
			c.missed("ImageStatus", err)
			return
		}
		has[name] = st.GetImage() != nil
	}
	c.part.saw(evidence.CRI, "ImageStatus", func(s *evidence.Snapshot) { s.Runtime.Images = has })
}

// imagesOf returns the images of a pod's containers. An image whose name had credentials was
// changed, and is left out.
func imagesOf(p *corev1.Pod) (out []string) {
	if p == nil {
		return nil
	}
	for _, all := range [][]corev1.Container{p.Spec.InitContainers, p.Spec.Containers} {
		for i := range all {
			if name := all[i].Image; name != "" && !isRedacted(name) {
				out = append(out, name)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// runtimeDirs are directories of a runtime.
type runtimeDirs struct {
	CNI  string // of its network configurations
	Root string // of its images and containers
}

// dirsOf asks a runtime for its directories. containerd returns its whole configuration;
// nothing else of it is read.
func dirsOf(ctx context.Context, k *kubelets.Kubelet) (out runtimeDirs) {
	conn, err := dialRuntime(ctx, k)
	if err != nil {
		return out
	}
	defer conn.Close()
	st, err := runtimeapi.NewRuntimeServiceClient(conn).Status(ctx, &runtimeapi.StatusRequest{Verbose: true})
	if err != nil {
		return out
	}
	var config struct {
		CNI               struct{ ConfDir string }
		ContainerdRootDir string
	}
	if json.Unmarshal([]byte(st.GetInfo()["config"]), &config) == nil {
		out.CNI, out.Root = config.CNI.ConfDir, config.ContainerdRootDir
	}
	return out
}
