package main

import (
	"os"
	"runtime"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/podstep/podstep/probes/weave"
)

// memoryVariable is how much memory, in bytes, each compiler may fill before
// it collects garbage. A compiler lives for less than a second and then gives
// everything back; collecting earlier is a quarter of its work.
const memoryVariable = "PODSTEP_WEAVE_MEMORY"

const (
	mostMemory  = 1 << 30   // few packages need more
	leastMemory = 512 << 20 // with less the compiler knows best itself
)

// compilerMemory is the value for a machine with that much memory, in bytes, on
// which as many compilers run as it has cores. 0 leaves it to the compiler.
func compilerMemory(machine uint64, cores int) uint64 {
	// Half of the machine is left for others.
	memory := min(mostMemory, machine/2/uint64(cores))
	if memory < leastMemory {
		return 0
	}
	return memory
}

// machineMemory is what this process may use, in bytes: the machine's memory, or
// the limit of the cgroup that a container runs in. 0 if nobody knows.
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

// grantMemory is for the process that starts the go command. Who has set the
// collector's own variables knows better.
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

// useMemory is for the process that starts a compiler.
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
