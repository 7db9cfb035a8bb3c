// Package cluster reports what the cluster says of one node's pods, for a podstep
// that runs beside the kubelet and sees of its work only the calls to the
// container runtime: that a pod was bound to the node, changed, deleted; what its
// conditions, containers and events report; and whether the kubelet itself has
// it. It asks the API server and the kubelet, each as far as it may, and goes on
// without either.
//
// It may do so on each of thousands of nodes. So it asks the API server for the
// pods of its node alone, which the server has in its watch cache, and for the
// events of a pod only while something happens to that pod: events cannot be
// selected by node, and the server reads them from its storage for each who asks
// (docs/adr/0017). After each failure it waits longer, and never as long as others.
package cluster
