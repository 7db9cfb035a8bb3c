package verbosity

import (
	"fmt"
	"os"
	"runtime"
	"strings"

	"github.com/podstep/podstep/probes/kubelets"
)

const (
	// maxPressure is the share of the last ten seconds in which tasks waited for a CPU, in per cent, and maxLoad the
	// load by CPU, above which a node is short of CPU.
	maxPressure = 50.0
	maxLoad     = 2.0
	// minFree and minShare are what must be free where logs are written.
	minFree  = 1 << 30
	minShare = 0.1
)

// shortage returns of what a node has too little for a log with more lines; empty: of nothing.
func shortage(k *kubelets.Kubelet) string {
	if why := shortOfCPU(readFile("/proc/pressure/cpu"), readFile("/proc/loadavg"), runtime.NumCPU()); why != "" {
		return why
	}
	for _, dir := range []string{"/var/log", k.RootDir} {
		st, err := k.Disk(dir)
		if err != nil || st.Blocks == 0 {
			continue
		}
		if why := shortOfDisk(dir, st.Bavail*uint64(st.Bsize), st.Blocks*uint64(st.Bsize)); why != "" {
			return why
		}
	}
	return ""
}

func readFile(name string) string {
	text, _ := os.ReadFile(name)
	return string(text)
}

// shortOfCPU judges by /proc/pressure/cpu, or by the load where a kernel does not measure the pressure.
func shortOfCPU(pressure, load string, cpus int) string {
	var avg10 float64
	if _, rest, ok := strings.Cut(pressure, "some avg10="); ok {
		if _, err := fmt.Sscanf(rest, "%f", &avg10); err == nil {
			if avg10 > maxPressure {
				return fmt.Sprintf("tasks of this machine waited for a CPU in %.0f %% of the last ten seconds", avg10)
			}
			return ""
		}
	}
	var one float64
	if _, err := fmt.Sscanf(load, "%f", &one); err == nil && one > maxLoad*float64(cpus) {
		return fmt.Sprintf("the load of this machine is %.1f with %d CPUs", one, cpus)
	}
	return ""
}

func shortOfDisk(dir string, free, size uint64) string {
	if free < minFree || float64(free) < minShare*float64(size) {
		return fmt.Sprintf("%s has %d MiB free of %d", dir, free>>20, size>>20)
	}
	return ""
}
