package probes

// Annotations by which the kubelet marks the pods that it gets, of k8s.io/kubernetes/pkg/kubelet/types. Mirror pods and pods of a
// file have the hash, and have it before they have the source. k8s.io/api has the name of the annotation of mirror pods.
const (
	AnnotationSource = "kubernetes.io/config.source" // api, file or http
	AnnotationSeen   = "kubernetes.io/config.seen"   // a time, RFC 3339
	AnnotationHash   = "kubernetes.io/config.hash"
)
