package evidence

import (
	"encoding/json"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	policyv1 "k8s.io/api/policy/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// Cluster is what the API server has of the objects around a pod. Lists have only
// what the pod refers to, directly or through another object.
type Cluster struct {
	// Events are those about the pod and the objects around it, oldest first.
	Events []Event `json:"events,omitempty"`
	// Owners go from the pod's controller upward, such as ReplicaSet, Deployment.
	Owners []Owner `json:"owners,omitempty"`

	Node  *corev1.Node          `json:"node,omitempty"`
	Lease *coordinationv1.Lease `json:"lease,omitempty"`
	// Schedulers are the names of the schedulers whose lease is held by somebody who
	// renews it; nil: not known.
	Schedulers []string `json:"schedulers,omitempty"`
	// Candidates are the cluster's nodes, if the pod has none: all, or the first of very many.
	Candidates []Candidate `json:"candidates,omitempty"`
	// Placed are the pods that have a node, if the pod has none and a scheduler refuses nodes; nil: not known.
	Placed *Placed `json:"placed,omitempty"`
	// NamespaceLabels are those of all namespaces, if an affinity asks for them; nil: not known.
	NamespaceLabels map[string]labels.Set `json:"namespaceLabels,omitempty"`

	Claims      []corev1.PersistentVolumeClaim `json:"claims,omitempty"`
	Volumes     []corev1.PersistentVolume      `json:"volumes,omitempty"`
	Attachments []storagev1.VolumeAttachment   `json:"attachments,omitempty"` // of these volumes
	Classes     []storagev1.StorageClass       `json:"classes,omitempty"`
	CSINode     *storagev1.CSINode             `json:"csiNode,omitempty"`
	Drivers     []storagev1.CSIDriver          `json:"drivers,omitempty"`

	Secrets        []Keys                         `json:"secrets,omitempty"`
	ConfigMaps     []Keys                         `json:"configMaps,omitempty"`
	ServiceAccount *corev1.ServiceAccount         `json:"serviceAccount,omitempty"`
	RuntimeClass   *nodev1.RuntimeClass           `json:"runtimeClass,omitempty"`
	PriorityClass  *schedulingv1.PriorityClass    `json:"priorityClass,omitempty"`
	ResourceClaims []ResourceClaim                `json:"resourceClaims,omitempty"`
	DeviceClasses  []string                       `json:"deviceClasses,omitempty"`
	Quotas         []corev1.ResourceQuota         `json:"quotas,omitempty"`
	Budgets        []policyv1.PodDisruptionBudget `json:"budgets,omitempty"` // that select the pod
	Webhooks       []Webhook                      `json:"webhooks,omitempty"`
	// Missing are the objects that the pod refers to and that the API server says it
	// does not have, as resource/name, such as secrets/db or runtimeclasses/gvisor.
	Missing []string `json:"missing,omitempty"`

	// Namespace and Service are the ones that were asked about. Endpoints counts those of the service; nil: not known.
	Namespace *corev1.Namespace `json:"namespaceObject,omitempty"`
	Service   *corev1.Service   `json:"service,omitempty"`
	Endpoints *Endpoints        `json:"endpoints,omitempty"`
	// Pods are those that have to do with the object that was asked about: on the node, in the namespace, of the service, or
	// with the claim.
	Pods []Brief `json:"pods,omitempty"`

	// Neighbours are the other pods of the same node that concern this one: they use the same
	// claims or ports. Each has its name, its phase and what it shares.
	Neighbours []Neighbour `json:"neighbours,omitempty"`
	// DeviceHolders are the pods that have devices of the classes that this pod's claims ask for, if it has no node.
	DeviceHolders []DeviceHolder `json:"deviceHolders,omitempty"`
}

// ResourceClaim is a claim on devices. No cause looks into it, and the type of k8s.io/api
// would add a megabyte to podstep.
type ResourceClaim struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              json.RawMessage `json:"spec,omitempty"`
	Status            json.RawMessage `json:"status,omitempty"`
}

// Candidate is a node that a scheduler may choose.
type Candidate struct {
	Name          string         `json:"name"`
	Unschedulable bool           `json:"unschedulable,omitempty"`
	Taints        []corev1.Taint `json:"taints,omitempty"`
	// Labels are nil if they were not read.
	Labels map[string]string `json:"labels,omitempty"`
	// Allocatable is what pods may use of it.
	Allocatable corev1.ResourceList `json:"allocatable,omitempty"`
}

// Placed are the pods that have a node and have not ended. Snapshots that were taken together share them.
type Placed struct {
	// Pods have only what a scheduler asks for.
	Pods []corev1.Pod `json:"pods,omitempty"`
	// Partial reports that there are more pods than these.
	Partial bool `json:"partial,omitempty"`
}

// Event is one of the API server's events, which may stand for many of its kind.
type Event struct {
	Kind      string    `json:"kind"` // of the object that it is about
	Name      string    `json:"name"`
	Namespace string    `json:"-"` // where it matters: of the object
	UID       string    `json:"uid,omitempty"`
	Type      string    `json:"type"` // Normal or Warning
	Reason    string    `json:"reason"`
	Message   string    `json:"message"` // redacted
	FieldPath string    `json:"fieldPath,omitempty"`
	Component string    `json:"component,omitempty"`
	First     time.Time `json:"first"`
	Last      time.Time `json:"last"`
	Count     int       `json:"count"`
}

// Keys are those of a Secret or a ConfigMap, without the values.
type Keys struct {
	Name string `json:"name"`
	// Known reports whether Keys could be read. Credentials that only show that the object is
	// there do not show its keys.
	Known bool     `json:"known"`
	Keys  []string `json:"keys,omitempty"`
	Type  string   `json:"type,omitempty"`
}

// Owner is an object that a pod belongs to.
type Owner struct {
	APIVersion string      `json:"apiVersion"`
	Kind       string      `json:"kind"`
	Name       string      `json:"name"`
	UID        string      `json:"uid,omitempty"`
	Missing    bool        `json:"missing,omitempty"` // the API server has it no more
	Conditions []Condition `json:"conditions,omitempty"`
	// Wanted, Made and Ready count the pods that the owner wants, has, and has ready; -1: not known.
	Wanted, Made, Ready int32
	// Ended and Failed count the pods of a Job that have succeeded and failed.
	Ended  int32 `json:"ended,omitempty"`
	Failed int32 `json:"failed,omitempty"`
	// Generation counts the changes of its spec, and Observed those that its controller has seen; 0: not known.
	Generation int64     `json:"generation,omitempty"`
	Observed   int64     `json:"observed,omitempty"`
	Created    time.Time `json:"created,omitzero"`
	// Changed is when somebody changed it last, apart from its status; zero: not known. ChangedBy is the field manager, by which that
	// program named itself.
	Changed   time.Time `json:"changed,omitzero"`
	ChangedBy string    `json:"changedBy,omitempty"`
	Paused    bool      `json:"paused,omitempty"`
	Suspended bool      `json:"suspended,omitempty"`
	Deleting  bool      `json:"deleting,omitempty"`
	// Strategy is how it replaces its pods: RollingUpdate, Recreate, OnDelete; empty: not known. MaxUnavailable is how many of
	// its pods may be missing meanwhile, as the object has it; empty: the default.
	Strategy       string `json:"strategy,omitempty"`
	MaxUnavailable string `json:"maxUnavailable,omitempty"`
	// Ordered reports that a StatefulSet makes its pods one after the other. Revision is the one that its pods are to have,
	// and Updated counts those that have it; -1: not known.
	Ordered  bool   `json:"ordered,omitempty"`
	Revision string `json:"revision,omitempty"`
	Updated  int32  `json:"updated,omitempty"`
	// Concurrency is a CronJob's policy, Running are its Jobs that run, and LastScheduled is when it made one last.
	Concurrency   string    `json:"concurrency,omitempty"`
	Running       []string  `json:"running,omitempty"`
	LastScheduled time.Time `json:"lastScheduled,omitzero"`
	// Schedule is when a CronJob makes its Jobs, as cron writes it, in TimeZone; empty: that of the controllers, which is not
	// known. Within is for how many seconds after such a time the Job may still be made; nil: until the next one.
	Schedule string `json:"schedule,omitempty"`
	TimeZone string `json:"timeZone,omitempty"`
	Within   *int64 `json:"startingDeadlineSeconds,omitempty"`
	// Containers are the names of the containers of its pods' template.
	Containers []string `json:"containers,omitempty"`
}

// Lacks reports whether an owner has fewer pods than it wants, though nobody stops it.
func (o *Owner) Lacks() bool {
	if o.Kind == "Job" { // it may make its pods one after the other
		return o.Made <= 0 && o.Ended < o.Wanted && !o.idle()
	}
	return o.Wanted > 0 && o.Made >= 0 && o.Made < o.Wanted && !o.idle()
}

// Behind reports whether the owner's controller has not seen what is wanted now.
func (o *Owner) Behind() bool {
	return o.Generation > 0 && o.Observed < o.Generation && !o.idle() && o.Kind != "Job" && o.Kind != "CronJob"
}

func (o *Owner) idle() bool { return o.Deleting || o.Suspended || o.Paused }

// Condition is one of the conditions of an object's status.
type Condition struct {
	Type    string    `json:"type"`
	Status  string    `json:"status"`
	Reason  string    `json:"reason,omitempty"`
	Message string    `json:"message,omitempty"`
	Since   time.Time `json:"since"`
}

// Webhook is an admission webhook that is asked about deletions of the pod.
type Webhook struct {
	Configuration string `json:"configuration"`
	Name          string `json:"name"`
	Fails         bool   `json:"fails"` // a deletion that it does not answer is refused
	// Service answers for the webhook, as namespace/name; empty: the webhook has a URL. Ready
	// counts the service's ready endpoints; -1: not known.
	Service string `json:"service,omitempty"`
	Ready   int    `json:"ready"`
}

// Endpoints counts the endpoints of a service.
type Endpoints struct {
	Ready    int `json:"ready"`
	NotReady int `json:"notReady"`
}

// Brief is the part of a pod that matters for an object to which the pod belongs.
type Brief struct {
	Name  string `json:"name"`
	Ready bool   `json:"ready,omitempty"`
	Gone  bool   `json:"deleting,omitempty"`
	// Ports are the names of its containers' ports.
	Ports []string `json:"ports,omitempty"`
}

// Neighbour is another pod that shares something with this one.
type Neighbour struct {
	Name
	Node   string   `json:"node,omitempty"`
	Phase  string   `json:"phase,omitempty"`
	Gone   bool     `json:"deleting,omitempty"`
	Claims []string `json:"claims,omitempty"`
	Ports  []int32  `json:"ports,omitempty"`
	// ReplicaSet is the name of its controller, if that is one.
	ReplicaSet string `json:"replicaSet,omitempty"`
}

// DeviceHolder is another pod that has devices of a class.
type DeviceHolder struct {
	Name
	Class string `json:"class"`
}
