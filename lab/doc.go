// Package lab runs a whole Kubernetes node for one person: etcd, kube-apiserver, kube-scheduler, kube-controller-manager, a container runtime and a kubelet, with everything they make below one directory.
//
// There are two kinds. A sim lab needs no root: its kubelet is in this program, on a simulated machine and container runtime, and its parts are all that it has outside of its directory.
//
// A containerd lab is the machine itself. What cannot live in a directory (one bridge, one cgroup tree, processes) has a name derived from the directory, so that it is found again and removed even if the lab was killed with kill -9. What the kubelet and containerd mount, and the few fixed paths that they insist on, exist only in a mount namespace of the lab's own, which ends with its last process.
package lab
