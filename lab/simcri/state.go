package simcri

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"net/netip"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// sandbox is the sandbox of a pod. Only its field state ever changes.
type sandbox struct {
	id        string
	config    *runtimeapi.PodSandboxConfig
	handler   string
	createdAt time.Time
	address   netip.Addr // invalid on the host's network
	state     runtimeapi.PodSandboxState
}

// container is one run of a container of a pod.
type container struct {
	id        string
	sandbox   *sandbox
	meta      *runtimeapi.ContainerMetadata
	image     *image
	behaviour behaviour
	files     *files
	log       *logFile
	deviceEnv []string // KEY=VALUE
	createdAt time.Time

	// These fields change, guarded by Server.mu.
	config     *runtimeapi.ContainerConfig // replaced as a whole
	state      runtimeapi.ContainerState
	startedAt  time.Time
	finishedAt time.Time
	ended      ending
	starting   bool
	task       *task // while it runs
}

// ending is how a container ended.
type ending struct {
	code    int32
	reason  string
	message string
}

func newID() string {
	var b [32]byte
	rand.Read(b[:])
	return hex.EncodeToString(b[:])
}

func (b *sandbox) hostNetwork() bool { return onHost(b.config) }

func onHost(c *runtimeapi.PodSandboxConfig) bool {
	return c.GetLinux().GetSecurityContext().GetNamespaceOptions().GetNetwork() == runtimeapi.NamespaceMode_NODE
}

// sandboxName returns a name that no two sandboxes may have.
func sandboxName(m *runtimeapi.PodSandboxMetadata) string {
	return fmt.Sprintf("%s_%s_%s_%d", m.GetName(), m.GetNamespace(), m.GetUid(), m.GetAttempt())
}

func containerName(m *runtimeapi.ContainerMetadata, pod *runtimeapi.PodSandboxMetadata) string {
	return fmt.Sprintf("%s_%s_%s_%s_%d", m.GetName(), pod.GetName(), pod.GetNamespace(), pod.GetUid(), m.GetAttempt())
}

// reserve reserves a name for an id.
func (s *Server) reserve(kind, name, id string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if other, taken := s.names[kind+name]; taken {
		return status.Errorf(codes.Unknown, "failed to reserve %s name %q: name %q is reserved for %q", kind, name, name, other)
	}
	s.names[kind+name] = id
	return nil
}

func (s *Server) release(kind, name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.names, kind+name)
}

// sandboxByID finds a sandbox. s.mu is held.
func (s *Server) sandboxByID(id string) (*sandbox, error) {
	if b := s.sandboxes[id]; b != nil {
		return b, nil
	}
	return nil, status.Errorf(codes.NotFound, "an error occurred when try to find sandbox %q: not found", id)
}

// containerByID finds a container. s.mu is held.
func (s *Server) containerByID(id string) (*container, error) {
	if c := s.containers[id]; c != nil {
		return c, nil
	}
	return nil, status.Errorf(codes.NotFound, "an error occurred when try to find container %q: not found", id)
}

// containersOf returns the containers of a sandbox, oldest first. s.mu is held.
func (s *Server) containersOf(b *sandbox) []*container {
	var all []*container
	for _, c := range s.containers {
		if c.sandbox == b {
			all = append(all, c)
		}
	}
	sortByAge(all, func(c *container) (time.Time, string) { return c.createdAt, c.id })
	return all
}

// counts are how often a fault has struck, by pod, container and fault.
type counts map[string]int

// maxCounts bounds the counts: beyond it all begin anew.
const maxCounts = 10_000

// strikes reports whether a fault that strikes so many times (0: always) strikes
// now, and counts it.
func (s *Server) strikes(uid, container, fault string, times int) bool {
	if times == 0 {
		return true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	key := uid + "/" + container + "/" + fault
	if s.counts[key] >= times {
		return false
	}
	if len(s.counts) >= maxCounts {
		clear(s.counts)
	}
	s.counts[key]++
	return true
}
