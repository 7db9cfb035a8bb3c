package delve

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// stopsThreads matches what stops threads of another process.
var stopsThreads = regexp.MustCompile(`debugger\.New\(|api\.Halt\b|unix\.SIGSTOP\)|PtraceInterrupt\(|unix\.PTRACE_(SEIZE|ATTACH|INTERRUPT),|PtraceAttach\(|cgroup\.freeze|freezer\.state`)

// bounded are the files that stop threads of the kubelet, and what bounds how long these stand still.
var bounded = map[string]string{
	"probes/delve/native.go":         "Delve begins: Bounds.LongestStop before it, then the rescuer (rescue.Options.Still)",
	"probes/delve/target.go":         "a request, a breakpoint or a hold: Bounds.LongestStop for a hold, the rescuer for each of them",
	"probes/delve/rescue/net.go":     "the tracer has died: until the rescuer has written the instructions back, at most removeWithin",
	"probes/delve/rescue/tracee.go":  "all threads, while the rescuer writes instructions back: stillTries times a few milliseconds",
	"probes/uprobe/holdproc/look.go": "one thread, whose goroutine waits anyway",
	"probes/inside/ptrace/ptrace.go": "no thread stops: PTRACE_SEIZE leaves it running",
}

// TestStopsAreBounded: each place of podstep's code that stops threads of another process is known, with what bounds the
// stop. A kubelet that stands still for too long is restarted by systemd, or its node loses its lease.
func TestStopsAreBounded(t *testing.T) {
	root, found := "../..", map[string]bool{}
	for _, top := range []string{"agent", "cmd", "probes", "tui"} {
		err := filepath.WalkDir(filepath.Join(root, top), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			text, err := os.ReadFile(path)
			if err == nil && stopsThreads.Match(text) {
				name, _ := filepath.Rel(root, path)
				found[filepath.ToSlash(name)] = true
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if got, want := slices.Sorted(maps.Keys(found)), slices.Sorted(maps.Keys(bounded)); !slices.Equal(got, want) {
		t.Errorf("these files stop threads:\n%s\nand these are known:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
