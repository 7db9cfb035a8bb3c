package lab

import (
	"fmt"
	"strings"

	"github.com/podstep/podstep/agent/labstate"
	"github.com/podstep/podstep/lab/pressure"
)

// SetPressure makes the node of the sim lab in dir run short of the resources that signals name, such as
// memory.available=50Mi, and of no others. The kubelet looks every 10 seconds.
func SetPressure(dir string, signals []string) error {
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
	if err := pressure.Write(paths{real}.pressure(), text); err != nil {
		return fmt.Errorf("set pressure: %w", err)
	}
	return nil
}
