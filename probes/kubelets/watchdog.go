package kubelets

import (
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// maxEnviron bounds what is read of a process's environment and status, in bytes.
const maxEnviron = 1 << 20

// Watchdog returns the time after which systemd restarts a process that it has not heard from: what WatchdogSec= of a
// unit puts into the environment (sd_watchdog_enabled). It is 0 if systemd waits for nothing, or the environment cannot
// be read.
func Watchdog(pid int) time.Duration { return watchdog("/proc", pid) }

func watchdog(proc string, pid int) time.Duration {
	dir := filepath.Join(proc, strconv.Itoa(pid))
	environ, err := readBounded(filepath.Join(dir, "environ"), maxEnviron)
	if err != nil {
		return 0
	}
	values := map[string]string{}
	for _, variable := range strings.Split(string(environ), "\x00") {
		name, value, _ := strings.Cut(variable, "=")
		values[name] = value
	}
	micros, err := strconv.ParseInt(values["WATCHDOG_USEC"], 10, 64)
	if err != nil || micros <= 0 || micros > int64(24*time.Hour/time.Microsecond) {
		return 0
	}
	// A child inherits the variables, and systemd does not wait for it. A process in a namespace has several numbers.
	if of := values["WATCHDOG_PID"]; of != "" && !slices.Contains(numbers(dir, pid), of) {
		return 0
	}
	return time.Duration(micros) * time.Microsecond
}

// numbers returns the numbers that a process has in the PID namespaces that it is in.
func numbers(dir string, pid int) []string {
	all := []string{strconv.Itoa(pid)}
	status, _ := readBounded(filepath.Join(dir, "status"), maxEnviron)
	for line := range strings.Lines(string(status)) {
		if list, ok := strings.CutPrefix(line, "NSpid:"); ok {
			all = append(all, strings.Fields(list)...)
		}
	}
	return all
}
