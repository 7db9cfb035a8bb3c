package lab

import (
	"fmt"
	"slices"
	"strings"

	"github.com/podstep/podstep/agent/labstate"
	"github.com/podstep/podstep/lab/pressure"
)

// SetPressure makes a node of the sim lab in dir, or its first one, run short of the resources that signals name, such as
// memory.available=50Mi, and of no others. The kubelet looks every 10 seconds.
func SetPressure(dir, node string, signals []string) error {
	real, err := resolve(dir)
	if err != nil {
		return err
	}
	state, err := labstate.Read(real)
	if err != nil {
		return err
	}
	if state.Runtime != labstate.Sim {
		return fmt.Errorf("the lab in %s is a real machine, which runs short of things by itself: pressure is for a sim lab", dir)
	}
	text := ""
	if len(signals) > 0 {
		text = strings.Join(signals, "\n") + "\n"
	}
	nodes := nodesIn(paths{dir: real}, len(state.Nodes))
	i := slices.IndexFunc(nodes, func(n labNode) bool { return node == "" || n.name == node })
	if i < 0 {
		return usagef("the lab in %s has no node %q: it has %s to %s", dir, node, nodes[0].name, nodes[len(nodes)-1].name)
	}
	if err := pressure.Write(nodes[i].paths.pressure(), text); err != nil {
		return fmt.Errorf("set pressure: %w", err)
	}
	return nil
}
