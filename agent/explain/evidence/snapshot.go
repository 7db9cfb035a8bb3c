package evidence

import (
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Snapshot is what is known of a pod at one moment. A nil pointer and an empty list mean that
// nothing is known. Unseen says why, if it was looked for. Origins says where the rest is from,
// and when it came.
type Snapshot struct {
	// Taken is when the last item came.
	Taken time.Time `json:"taken"`
	// Name is how the pod was asked for.
	Name Name `json:"name"`

	// Pod is the API server's object, KubeletPod the kubelet's own.
	Pod        *corev1.Pod `json:"pod,omitempty"`
	KubeletPod *corev1.Pod `json:"kubeletPod,omitempty"`

	Cluster Cluster  `json:"cluster"`
	Kubelet *Kubelet `json:"kubelet,omitempty"`
	Runtime *Runtime `json:"runtime,omitempty"`
	Machine *Machine `json:"machine,omitempty"`
	Story   *Story   `json:"story,omitempty"`

	Origins []Origin `json:"origins,omitempty"`
	Unseen  []Unseen `json:"unseen,omitempty"`
}

// Name names a pod, or what else is asked about. UID is empty if only the name is known.
type Name struct {
	// Kind is one of the kinds below; empty: it is a pod, or an owner of pods.
	Kind      string `json:"kind,omitempty"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	UID       string `json:"uid,omitempty"`
}

// The kinds of what is no pod and owns none.
const (
	KindNode      = "Node"
	KindNamespace = "Namespace"
	KindClaim     = "PersistentVolumeClaim"
	KindService   = "Service"
)

// written are the kinds as String has them.
var written = map[string]string{KindNode: "node", KindNamespace: "namespace", KindClaim: "pvc", KindService: "service"}

// String returns NAMESPACE/NAME of a pod, and KIND/NAME [-n NAMESPACE] of another object, as the command line takes it.
func (n Name) String() string {
	switch kind := written[n.Kind]; {
	case kind == "":
		return n.Namespace + "/" + n.Name
	case n.Namespace == "":
		return kind + "/" + n.Name
	default:
		return kind + "/" + n.Name + " -n " + n.Namespace
	}
}

// Source names the place that a part of a snapshot is from.
type Source string

// The sources.
const (
	API   Source = "api"     // the API server
	Port  Source = "kubelet" // the kubelet's own port
	CRI   Source = "cri"     // the container runtime
	Node  Source = "node"    // the machine: mounts, cgroups, disks
	Log   Source = "log"     // the kubelet's log
	Agent Source = "agent"   // podstep's agent: events of the pod
	Trace Source = "trace"   // a trace file: events of the pod, at that time
)

// Origin says where a part of a snapshot is from, and when it came.
type Origin struct {
	Source Source    `json:"source"`
	What   string    `json:"what"` // such as pods/web, /healthz/syncloop, ListPodSandbox
	At     time.Time `json:"at"`
}

// Unseen is a part that could not be had.
type Unseen struct {
	Source Source `json:"source"`
	What   string `json:"what"`
	// Why is a code: forbidden, rejected, absent, unreachable, late, unsupported, failed.
	Why string `json:"why"`
	// Message is the text of the refusal, made safe for a terminal.
	Message string `json:"message,omitempty"`
}

// String returns the part in one line, with why it could not be had.
func (u Unseen) String() string { return string(u.Source) + " " + u.What + ": " + u.Reason() }

// Reason returns why the part could not be had.
func (u Unseen) Reason() string { return strings.TrimSuffix(u.Why+": "+u.Message, ": ") }

// The codes of Unseen.Why.
const (
	Forbidden   = "forbidden"   // these credentials may not
	Rejected    = "rejected"    // these credentials are not accepted
	Absent      = "absent"      // there is none, such as no kubeconfig, no agent
	Unreachable = "unreachable" // nobody answers
	Late        = "late"        // no answer came within the deadline
	Unsupported = "unsupported" // this machine, or this cluster, does not have it
	Failed      = "failed"      // the answer was an error
)

// FirstUnseen returns the first part of a source that could not be had; nil: all that was asked for was.
func (s *Snapshot) FirstUnseen(source Source) *Unseen {
	for i := range s.Unseen {
		if s.Unseen[i].Source == source {
			return &s.Unseen[i]
		}
	}
	return nil
}

// Saw notes where a part is from.
func (s *Snapshot) Saw(source Source, what string, at time.Time) {
	s.Origins = append(s.Origins, Origin{source, what, at})
	if at.After(s.Taken) {
		s.Taken = at
	}
}

// Missed notes a part that could not be had.
func (s *Snapshot) Missed(source Source, what, why, message string) {
	s.Unseen = append(s.Unseen, Unseen{source, what, why, message})
}

// Origin returns the origin of a part; ok is false if the part is not in the snapshot.
func (s *Snapshot) Origin(source Source, what string) (o Origin, ok bool) {
	for _, o := range s.Origins {
		if o.Source == source && o.What == what {
			return o, true
		}
	}
	return Origin{}, false
}

// AddStory adds what a story says of the pod, the pod's object as far as the story shows it, and the events that the story
// has reports of. What the API server or the kubelet says itself counts for more than reports of it.
func (s *Snapshot) AddStory(story *Story, object *corev1.Pod, events []Event) {
	if s.Best() == nil {
		story.Object, s.Cluster.Events = object, slices.Concat(s.Cluster.Events, events)
	}
	s.Story = story
}

// Best returns the object to read the pod's spec from: the API server's, or else the kubelet's, or else as much of it as
// the pod's story shows; nil if there is none.
func (s *Snapshot) Best() *corev1.Pod {
	switch {
	case s.Pod != nil:
		return s.Pod
	case s.KubeletPod != nil:
		return s.KubeletPod
	case s.Story != nil:
		return s.Story.Object
	}
	return nil
}
