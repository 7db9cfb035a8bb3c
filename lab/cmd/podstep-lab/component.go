package main

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/podstep/podstep/lab/cgroups"
)

// mains are the main functions of the parts of a node that podstep-lab runs as child processes. Each main keeps
// global state and calls os.Exit when it fails, so each has a process of its own. A main gets its flags and returns
// its exit code.
var mains = map[string]func(args []string) int{
	"etcd":                    etcd,
	"kube-apiserver":          apiserver,
	"kube-scheduler":          scheduler,
	"kube-controller-manager": controllerManager,
	"kubelet":                 kubelet,
	"simcri":                  containerRuntime,
	"dra-driver":              deviceDriver,
	"csi-driver":              storageDriver,
	"device-plugin":           devicePlugin,
	"credential-plugin":       credentialPlugin,
}

// runComponent joins the cgroup and becomes the part called name. The name "exec" becomes the program args[0].
func runComponent(cgroup, name string, args []string) (int, error) {
	// A child joins the cgroup itself, before it can have children of its own: none escapes.
	if cgroup != "" {
		if err := cgroups.Join(cgroup); err != nil {
			return 1, err
		}
	}
	if name == "exec" {
		if len(args) == 0 {
			return 2, fmt.Errorf("exec what?")
		}
		return 1, become(args)
	}
	main, ok := mains[name]
	if !ok {
		names := []string{"exec"}
		for n := range mains {
			names = append(names, n)
		}
		slices.Sort(names)
		return 2, fmt.Errorf("no component %q: there are %s", name, strings.Join(names, ", "))
	}
	// The Kubernetes commands look at os.Args for their own name.
	os.Args = append([]string{name}, args...)
	return main(args), nil
}

// become replaces this process by a program. It returns only when that fails.
func become(args []string) error {
	// The main thread asked for the signal at our parent's death. It must be requested again on the thread that calls
	// exec.
	runtime.LockOSThread()
	if err := unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0, 0, 0); err != nil {
		return fmt.Errorf("start %s: %w", args[0], err)
	}
	err := unix.Exec(args[0], args, os.Environ())
	return fmt.Errorf("start %s: %w", args[0], err)
}
