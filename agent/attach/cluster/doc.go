// Package cluster reports what the cluster says of one node's pods, for a podstep
// that runs beside the kubelet and sees of its work only the calls to the
// container runtime: that a pod was bound to the node, changed, deleted; what its
// conditions, containers and events report; and whether the kubelet itself has
// it. It asks the API server and the kubelet, each as far as it may, and goes on
// without either.
package cluster
