// Package vm has tests of podstep attach on a machine like users': Debian 12
// in a virtual machine, with its own kernel, systemd, cgroup v2 and SELinux
// policy, where containerd, the kubelet and podstep are systemd units. The
// control plane is a simulated lab's, on the machine that runs the tests.
//
// scripts/vm.sh makes the machine's disk, and PODSTEP_VM names its directory.
// The files that make a node of the machine are in node.
package vm
