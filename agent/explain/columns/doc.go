// Package columns lays out what four places have of one pod: the API server, which kubectl shows, the kubelet, the
// runtime, and the files of the kubelet and the kernel on the node. A row in which two of them differ is where a pod is stuck
// that looks well from each place alone.
package columns
