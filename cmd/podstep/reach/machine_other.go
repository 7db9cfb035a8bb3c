//go:build !linux

package reach

import (
	"context"
	"runtime"
)

// Look has nothing to look at.
func Look(context.Context) Machine {
	const todo = "run podstep doctor on the node"
	return Machine{
		Checks:   []Check{{Name: "machine", Status: "fail", Text: "kubelets run on Linux, and this is " + runtime.GOOS + ", so nothing else is checked", Todo: todo}},
		ForAgent: todo,
	}
}
