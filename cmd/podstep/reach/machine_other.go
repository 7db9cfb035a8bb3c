//go:build !linux

package reach

import (
	"context"
	"runtime"

	"github.com/podstep/podstep/probes/words"
)

// Look has nothing to look at.
func Look(context.Context) Machine {
	todo := words.Text("run podstep doctor on the node", "在节点上运行 podstep doctor")
	return Machine{
		Checks:   []Check{fail("machine", words.With(words.Text("kubelets run on Linux, and this is %s, so nothing else is checked", "kubelet 运行在 Linux 上，而这里是 %s，所以不再检查其他"), runtime.GOOS), todo)},
		ForAgent: todo,
	}
}
