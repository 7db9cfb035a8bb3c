//go:build linux

package uprobe

// Bounds of the program in bpf/steps.bpf.c, besides those that it shares with every reader of a plan.
const (
	maxPlaces = 4096
	maxReads  = 8192
	maxLists  = 5
)

// The counters of the program.
const (
	countHits, countLost, countSignals = 0, 1, 2
)
