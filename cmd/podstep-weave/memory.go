package main

import (
	"os"
	"runtime"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/podstep/podstep/probes/weave"
)

// memoryVariable names the variable that says how much memory, in bytes, a compiler may fill
// before it collects garbage. A compiler lives for less than a second and then gives everything
// back. Collecting earlier would be a quarter of its work.
const memoryVariable = "PODSTEP_WEAVE_MEMORY"

const (
	mostMemory  = 1 << 30   // few packages need more
	leastMemory = 512 << 20 // with less the compiler knows best itself
)

// compilerMemory returns the variable's value for a machine with this much memory, in bytes. As
// many compilers run as the machine has cores. 0 leaves the choice to the compiler.
func compilerMemory(machine uint64, cores int) uint64 {
	// Half of the machine is left for others.
	memory := min(mostMemory, machine/2/uint64(cores))
	if memory < leastMemory {
		return 0
	}
	return memory
}

// machineMemory returns the memory that this process may use, in bytes: the machine's, or the
// limit of the cgroup that a container runs in. It is 0 if nobody knows.
func machineMemory() uint64 {
	var info unix.Sysinfo_t
	if err := unix.Sysinfo(&info); err != nil {
		return 0
	}
	memory := uint64(info.Totalram) * uint64(info.Unit)
	text, err := os.ReadFile("/sys/fs/cgroup/memory.max")
	if err != nil {
		return memory // the cgroup of the machine has no limit
	}
	if limit, err := strconv.ParseUint(strings.TrimSpace(string(text)), 10, 64); err == nil {
		return min(memory, limit)
	}
	return memory
}

// grantMemory is called in the process that starts the go command. It changes nothing if the
// person has set the collector's own variables.
func grantMemory() error {
	if os.Getenv("GOGC") != "" || os.Getenv("GOMEMLIMIT") != "" {
		return nil
	}
	memory := compilerMemory(machineMemory(), runtime.GOMAXPROCS(0))
	if memory == 0 {
		return nil
	}
	return os.Setenv(memoryVariable, strconv.FormatUint(memory, 10))
}

// useMemory is called in the process that starts a compiler.
func useMemory(tool string) error {
	memory := os.Getenv(memoryVariable)
	if memory == "" || !weave.IsCompiler(tool) {
		return nil
	}
	if err := os.Setenv("GOGC", "off"); err != nil {
		return err
	}
	return os.Setenv("GOMEMLIMIT", memory)
}
