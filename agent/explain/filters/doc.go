// Package filters holds a pod without a node against each node of a cluster, by the rules of the scheduler's own filters.
// It says of every node each filter that refuses the pod there. The scheduler's message only counts nodes, by the first
// filter that refuses each of them.
//
// The rules that Kubernetes has in modules for everybody come from there: requests of pods, tolerations, node selectors.
// The others are written here after the plugins of kube-scheduler, which podstep cannot link. A test in lab/stuck holds them
// against these plugins over a thousand clusters.
package filters
