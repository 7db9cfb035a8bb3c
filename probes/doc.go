// Package probes is the vocabulary of podstep: the catalogue of steps of the
// kubelet's pod pipeline, and the events that are seen at them.
//
// The catalogue is data, one YAML file a stage under catalogue/, and drives
// everything else: what is woven into a kubelet, where a pod may be held, what
// a field is called, what a learner reads about a step. The package is a leaf:
// it imports nothing else of podstep.
package probes

//go:generate go -C .. run ./cmd/gen steps
