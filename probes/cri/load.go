package cri

import (
	"context"
	"fmt"
	"time"

	"google.golang.org/grpc"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podstep/podstep/probes"
)

const (
	// maxList bounds a list that the runtime answers with. gRPC's default of 4 MiB is too little for a large node.
	// The kubelet's bound is 16 MiB.
	maxList = 64 << 20
	// reloadAfter is how long an unknown id waits for the next load.
	reloadAfter = 5 * time.Second
)

// Labels by which the kubelet marks the pod of a container.
const (
	labelName      = "io.kubernetes.pod.name"
	labelNamespace = "io.kubernetes.pod.namespace"
	labelUID       = "io.kubernetes.pod.uid"
)

// Load asks the runtime for all sandboxes and containers, and returns how many pods they belong to. It forgets ids
// that are not in the lists, but keeps those that calls show meanwhile.
func (x *Identities) Load(ctx context.Context, conn grpc.ClientConnInterface) (n int, err error) {
	mark, ok := x.beginLoad()
	if !ok {
		return 0, nil
	}
	sandboxes, containers, err := list(ctx, conn)
	x.mu.Lock()
	defer x.mu.Unlock()
	x.loading, x.loaded = false, x.now()
	if err == nil {
		n = x.replace(sandboxes, containers, mark)
	}
	x.gone = nil
	return n, err
}

// Reload loads again, for an id that is not known. Ids of clients other than the kubelet would cause loads again
// and again, so it loads only if the last load is some seconds ago. done reports whether it did.
func (x *Identities) Reload(ctx context.Context, conn grpc.ClientConnInterface) (done bool, err error) {
	x.mu.RLock()
	wait := x.loading || x.now().Sub(x.loaded) < reloadAfter
	x.mu.RUnlock()
	if wait {
		return false, nil
	}
	_, err = x.Load(ctx, conn)
	return err == nil, err
}

// beginLoad marks what is known now. Only one load is under way at a time.
func (x *Identities) beginLoad() (mark uint64, ok bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.loading {
		return 0, false
	}
	x.loading, x.gone = true, map[string]bool{}
	return x.seq, true
}

func list(ctx context.Context, conn grpc.ClientConnInterface) ([]*runtimeapi.PodSandbox, []*runtimeapi.Container, error) {
	client := runtimeapi.NewRuntimeServiceClient(conn)
	large := grpc.MaxCallRecvMsgSize(maxList)
	// Sandboxes come first, so that the list has a container's sandbox. If one was made in between, its container
	// has the pod in its labels.
	s, err := client.ListPodSandbox(ctx, &runtimeapi.ListPodSandboxRequest{}, large)
	if err != nil {
		return nil, nil, fmt.Errorf("ask the runtime for its sandboxes: %w", err)
	}
	c, err := client.ListContainers(ctx, &runtimeapi.ListContainersRequest{}, large)
	if err != nil {
		return nil, nil, fmt.Errorf("ask the runtime for its containers: %w", err)
	}
	return s.Items, c.Containers, nil
}

// replace puts what the lists have in the place of what was known at the mark. The caller holds mu.
func (x *Identities) replace(sandboxes []*runtimeapi.PodSandbox, containers []*runtimeapi.Container, mark uint64) int {
	was, had := x.sandboxes, x.containers
	x.sandboxes, x.containers = make(map[string]*sandbox, len(sandboxes)), make(map[string]*container, len(containers))
	for _, l := range sandboxes {
		x.listed(l, was[l.Id])
	}
	for id, s := range was {
		if s.seq > mark {
			x.sandboxes[id] = s
		}
	}
	for _, l := range containers {
		x.listedContainer(l)
	}
	for id, c := range had {
		if c.seq <= mark {
			continue
		}
		if s := x.sandboxes[c.sandbox.pod.Sandbox]; s != nil {
			c.sandbox = s
		}
		x.put(id, c)
	}
	uids := map[string]bool{}
	for _, s := range x.sandboxes {
		uids[s.pod.UID] = true
	}
	return len(uids)
}

// listed remembers a sandbox of the runtime's list; was is what was known of it.
func (x *Identities) listed(l *runtimeapi.PodSandbox, was *sandbox) {
	if l.GetMetadata().GetUid() == "" || x.gone[l.Id] || len(x.sandboxes) >= x.max/2 {
		return
	}
	s := &sandbox{pod: podOf(l.Metadata, l.Labels, l.Annotations)}
	s.pod.Sandbox, s.pod.Created = l.Id, time.Unix(0, l.CreatedAt)
	s.pod.Ready = l.State == runtimeapi.PodSandboxState_SANDBOX_READY && (was == nil || !was.over)
	s.over = !s.pod.Ready && (was == nil || was.over)
	x.sandboxes[l.Id] = s
}

func (x *Identities) listedContainer(l *runtimeapi.Container) {
	if x.gone[l.Id] || x.gone[l.PodSandboxId] || len(x.sandboxes)+len(x.containers) >= x.max {
		return
	}
	s := x.sandboxes[l.PodSandboxId]
	if s == nil {
		p := probes.Pod{Namespace: l.Labels[labelNamespace], Name: l.Labels[labelName], UID: l.Labels[labelUID]}
		if p.UID == "" {
			return
		}
		s = &sandbox{pod: Pod{Pod: p, Sandbox: l.PodSandboxId, Ready: true, Created: time.Unix(0, l.CreatedAt)}}
		x.sandboxes[l.PodSandboxId] = s
	}
	x.put(l.Id, &container{
		sandbox: s, name: l.GetMetadata().GetName(),
		exited: l.State == runtimeapi.ContainerState_CONTAINER_EXITED,
	})
}
