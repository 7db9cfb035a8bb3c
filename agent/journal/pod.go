package journal

import "github.com/podstep/podstep/agent/pods"

// Pod is a pod as the journal knows it: what the table of pods knows of it, and what the journal keeps. The owner of the
// table makes one for each of its pods. Its pointer identifies the pod.
type Pod struct {
	*pods.Pod

	seq uint64 // of the last event about it; guarded by Journal.mu
	// place is the pod's place in the history of the verdicts. learned: that history knows the pod's name. forgotten:
	// the table of pods has dropped the pod. Verdicts.mu guards all three.
	place              int
	learned, forgotten bool
}
