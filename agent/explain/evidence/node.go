package evidence

import (
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Kubelet is what the kubelet's port says.
type Kubelet struct {
	// Healthz is its answer to /healthz: "ok", or what is wrong; empty: not asked.
	Healthz string `json:"healthz,omitempty"`
	// SyncLoop is its answer to /healthz/syncloop.
	SyncLoop string `json:"syncLoop,omitempty"`
	// HasPod is whether /pods lists the pod; nil: not known.
	HasPod *bool `json:"hasPod,omitempty"`
	// Status is the pod's as the kubelet itself has it, from its pods API; nil: not known. The Status of Snapshot.KubeletPod is
	// the API server's, unless the pod is static.
	Status *corev1.PodStatus `json:"status,omitempty"`
	// Config are the settings of /configz that rules ask for.
	Config *KubeletConfig `json:"config,omitempty"`
	// Metrics are the samples of /metrics that rules ask for, by name and labels as
	// they are written there. One that is missing is zero, or not asked for.
	Metrics map[string]float64 `json:"metrics,omitempty"`
	// Goroutines are those of the goroutine dump in which a rule may find something:
	// pod workers, the sync loop, PLEG, volume operations, pulls, the status manager.
	Goroutines []Goroutine `json:"goroutines,omitempty"`
}

// KubeletConfig are settings of a kubelet.
type KubeletConfig struct {
	SerializeImagePulls   *bool             `json:"serializeImagePulls,omitempty"`
	MaxParallelImagePulls *int32            `json:"maxParallelImagePulls,omitempty"`
	RegistryPullQPS       *int32            `json:"registryPullQPS,omitempty"`
	RuntimeRequestTimeout time.Duration     `json:"runtimeRequestTimeout,omitempty"`
	SyncFrequency         time.Duration     `json:"syncFrequency,omitempty"`
	StaticPodPath         string            `json:"staticPodPath,omitempty"`
	MaxPods               int32             `json:"maxPods,omitempty"`
	MaxContainerRestart   time.Duration     `json:"maxContainerRestartPeriod,omitempty"`
	NodeStatusUpdate      time.Duration     `json:"nodeStatusUpdateFrequency,omitempty"`
	ShutdownGracePeriod   time.Duration     `json:"shutdownGracePeriod,omitempty"`
	EvictionHard          map[string]string `json:"evictionHard,omitempty"`
	TopologyManagerPolicy string            `json:"topologyManagerPolicy,omitempty"`
	CPUManagerPolicy      string            `json:"cpuManagerPolicy,omitempty"`
}

// Goroutine is one of the kubelet's goroutines.
type Goroutine struct {
	ID int64 `json:"id"`
	// State is what it waits for, in the runtime's words, such as "chan receive",
	// "IO wait", "select".
	State string `json:"state"`
	// Waits is how long it has waited, in whole minutes; 0: less than one.
	Waits time.Duration `json:"waits,omitempty"`
	// Pod is the UID of the pod whose worker it is; empty: none, or not known.
	Pod string `json:"pod,omitempty"`
	// Frames are the functions on its stack, innermost first, as the runtime prints them, such
	// as k8s.io/kubernetes/pkg/kubelet.(*Kubelet).SyncPod. The last one may be "created by" and
	// the name of the function that began the goroutine.
	Frames []string `json:"frames"`
}

// Runtime is what the container runtime says.
type Runtime struct {
	Name    string `json:"name,omitempty"`
	Version string `json:"version,omitempty"`
	// Conditions are those of Status: RuntimeReady, NetworkReady.
	Conditions []Condition `json:"conditions,omitempty"`
	Handlers   []string    `json:"handlers,omitempty"`
	Sandboxes  []Sandbox   `json:"sandboxes,omitempty"`  // of the pod, newest first
	Containers []Container `json:"containers,omitempty"` // of the pod, newest first
	// Images says of each of the pod's images whether the runtime has it; nil: not known.
	Images map[string]bool `json:"images,omitempty"`
}

// Sandbox is one of a pod's sandboxes.
type Sandbox struct {
	ID      string    `json:"id"`
	Ready   bool      `json:"ready"`
	Attempt uint32    `json:"attempt"`
	Created time.Time `json:"created"`
	Handler string    `json:"handler,omitempty"`
	IP      string    `json:"ip,omitempty"`
}

// Container is one of a pod's containers as the runtime has it.
type Container struct {
	ID       string    `json:"id"`
	Name     string    `json:"name"`
	Sandbox  string    `json:"sandbox"`
	State    string    `json:"state"` // created, running, exited, unknown
	Attempt  uint32    `json:"attempt"`
	ExitCode int32     `json:"exitCode"`
	Reason   string    `json:"reason,omitempty"`
	Created  time.Time `json:"created"`
	Started  time.Time `json:"started"`
	Finished time.Time `json:"finished"`
	// Image is the name of the image of which the container was made; empty: not known.
	Image string `json:"image,omitempty"`
	// Limits are those that the runtime says it has set; nil: it does not say.
	Limits *Limits `json:"limits,omitempty"`
}

// Limits are a container's limits as the runtime and the kernel count them. A number of 0 sets none.
type Limits struct {
	CPUShares   int64  `json:"cpuShares,omitempty"`
	CPUQuota    int64  `json:"cpuQuota,omitempty"`  // microseconds in each period; -1: none
	CPUPeriod   int64  `json:"cpuPeriod,omitempty"` // microseconds
	CPUs        string `json:"cpus,omitempty"`      // such as 2-3
	MemoryBytes int64  `json:"memoryBytes,omitempty"`
}

// Machine is what the node itself shows of the pod.
type Machine struct {
	// Mounts are the mount points below the pod's directory.
	Mounts []Mount `json:"mounts,omitempty"`
	// VolumeDirs are the directories of volumes that are left in the pod's directory,
	// as plugin/name.
	VolumeDirs []string `json:"volumeDirs,omitempty"`
	// Cgroup is the pod's, as far as there is one.
	Cgroup *Cgroup `json:"cgroup,omitempty"`
	// Checkpoints are what the kubelet's files of decisions have of the pod; nil: they were not read.
	Checkpoints *Checkpoints `json:"checkpoints,omitempty"`
	// Programs are the pod's containers that run, as far as their cgroups were found.
	Programs []Program `json:"programs,omitempty"`
	// Listens are the ports at which the pod listens; nil: they were not read, or are the node's.
	Listens []Listen `json:"listens,omitempty"`
	// Runtime is the process that serves the kubelet's runtime; nil: not known.
	Runtime *Process `json:"runtime,omitempty"`
	// Stuck are the processes of the pod that wait in the kernel and cannot be
	// killed (state D).
	Stuck []Process `json:"stuck,omitempty"`
	Disks []Disk    `json:"disks,omitempty"`
	// CNI are the network configurations of the runtime; nil: not looked for.
	CNI []string `json:"cni"`
	// Manifests are the static pods' files that name the pod.
	Manifests []string `json:"manifests,omitempty"`
	// Lines are those of the kubelet's log that name the pod, or that are about the
	// whole node, redacted, oldest first.
	Lines []Line `json:"lines,omitempty"`
}

// Mount is a mount point.
type Mount struct {
	Path   string `json:"path"`
	Type   string `json:"type"`
	Source string `json:"source,omitempty"`
}

// Cgroup is a pod's cgroup.
type Cgroup struct {
	Path      string `json:"path"`
	Processes int    `json:"processes"`
	OOMKills  int    `json:"oomKills"`
}

// Process is one of the machine's processes.
type Process struct {
	PID    int    `json:"pid"`
	Name   string `json:"name"`
	State  string `json:"state"`
	Wchan  string `json:"wchan,omitempty"` // where in the kernel it waits
	Parent int    `json:"parent,omitempty"`
}

// Disk is a file system with the space and the inodes that are free.
type Disk struct {
	Path       string `json:"path"`
	Bytes      uint64 `json:"bytes"`
	Free       uint64 `json:"free"`
	Inodes     uint64 `json:"inodes"`
	FreeInodes uint64 `json:"freeInodes"`
}

// Line is a line of the kubelet's log, in its structured form.
type Line struct {
	At      time.Time `json:"at"`
	Level   string    `json:"level"` // I, W, E, F
	Where   string    `json:"where"` // file:line
	Message string    `json:"message"`
	Error   string    `json:"error,omitempty"`
	Pod     string    `json:"pod,omitempty"` // namespace/name
	UID     string    `json:"uid,omitempty"`
}
