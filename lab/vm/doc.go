// Package vm tests podstep attach on a machine like users': Debian 12 in a virtual machine, with its own kernel,
// systemd, cgroup v2 and SELinux policy. containerd, the kubelet and podstep are systemd units there. The control
// plane is a simulated lab's, on the machine that runs the tests.
//
// scripts/vm.sh makes the machine's disk. PODSTEP_VM names the disk's directory, and PODSTEP_VM_ARCH its architecture:
// amd64, or arm64, whose programs are in the directory arm64 of PODSTEP_BIN. The directory node has the files that make a
// node of the machine.
package vm
