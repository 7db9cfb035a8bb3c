// Package explain reads, from the story of a pod, what package causes explains the
// pod by: its state and its whereabouts, the calls that go on, failed and went well, and
// the pod's object as far as reports and the kubelet's errors show it. Package
// evidence has the types.
//
// The package works at any position of a story, and changes nothing.
package explain
