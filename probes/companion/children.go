package companion

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/podstep/podstep/probes/kubelets"
)

// Children returns the children of a process, those that have ended included. They are its own, so no other process can
// have their numbers as long as it does not wait for them.
func Children(pid int) (out []int) {
	threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, thread := range threads {
		text, _ := os.ReadFile(thread)
		for word := range strings.FieldsSeq(string(text)) {
			if child, err := strconv.Atoi(word); err == nil {
				out = append(out, child)
			}
		}
	}
	return out
}

// KillStopped kills the children of a process that a signal has stopped, and that may keep it from working or from
// being followed.
func KillStopped(pid int) {
	for _, child := range Children(pid) {
		if kubelets.State(child) == 'T' {
			_ = unix.Kill(child, unix.SIGKILL)
		}
	}
}
