//go:build !(linux && amd64)

package rescue

import (
	"fmt"
	"os"
)

// Main is the main function of the rescuer process. It returns the exit code.
func Main() int {
	fmt.Fprintln(os.Stderr, "podstep rescuer process: it works on Linux on amd64 alone")
	return 2
}

// TakeAway takes the net away that processes which have died left below a process. There is none on this machine.
func TakeAway(int, uint64) (found bool, err error) { return false, nil }
