// Package kubeport finds the way to the port of a kubelet on this machine: where it listens, which credentials it may
// accept, and whether it is the kubelet that answers.
package kubeport
