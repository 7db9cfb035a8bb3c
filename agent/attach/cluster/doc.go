// Package cluster reports what the API server and the kubelet say of one node's pods, for a podstep that is attached
// to the kubelet: that a pod was bound to the node, changed, deleted; its conditions, containers and events; and
// whether the kubelet has it. It asks each of the two as far as it may, and goes on without either.
//
// It may do so on each of thousands of nodes. So it asks the API server only for the pods of its node, which the
// server has in its watch cache. It asks for the events of a pod only while something happens to that pod: events
// cannot be selected by node, and the server reads them from its storage for each client (docs/adr/0018). After each
// failure it waits longer, by a time that is partly random.
package cluster
