// Package kubeport finds the way to the port of a kubelet on this machine: where it
// listens, which credentials it may take, and whether it is the kubelet who answers.
package kubeport
