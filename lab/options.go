package lab

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/podstep/podstep/agent/labstate"
)

// Options state which lab to start.
type Options struct {
	Dir            string // the lab's directory; need not exist
	Runtime        string // labstate.Sim or labstate.Containerd
	Kubelet        string // path of the kubelet of a containerd lab; default: podstep-kubelet beside this program
	Containerd     string // path of the containerd of a containerd lab; default: the machine's
	Scenario       string // path of the scenario file of a sim lab; may be empty
	KubeletV       int    // the kubelet's log level
	Nodes          int    // how many nodes; 0: one. Those of a containerd lab are one
	MaxPods        int    // how many pods the node takes; 0: the kubelet's default, 110
	Devices        int    // how many devices of the lab's DRA driver each node of a sim lab has; 0: no driver
	DevicePlugin   int    // how many devices of the lab's device plugin each node of a sim lab has; 0: no plugin
	Storage        bool   // each node of a sim lab has the lab's CSI driver
	RestartKubelet bool   // start the kubelet again when it ends
	RestartRuntime bool   // start the container runtime again when it ends
	Port           int    // of the kube-apiserver; 0: a free one

	// Between is called once, before the kubelet of a sim lab starts, with what the kubelet calls. The kubelet calls what
	// Between returns instead. It may be nil.
	Between func(Called) (Called, error)
	// KubeletConfig has settings of the kubelet's configuration that replace those of a sim lab. It may be nil.
	KubeletConfig map[string]any

	// Progress is called when a part is ready, with the time that its start took. It may be nil.
	Progress func(part string, took time.Duration)
	// Lost is called when a driver, or a part of one node of several, has died by itself and the lab goes on. It may be nil, and must
	// not call the lab.
	Lost func(error)
}

// Called is what the kubelet of a lab calls.
type Called struct {
	Runtime string // socket of the container runtime
	APIPort int    // port of the kube-apiserver on 127.0.0.1
	PKI     string // directory of the lab's certificates and keys
	Devices string // socket of the DRA driver; empty: there is none
	Storage string // socket of the CSI driver; empty: there is none
	Plugin  string // socket of the device plugin; empty: there is none
	// Credentials is the socket at which the kubelet's credential plugin asks; empty: the kubelet has no such plugin.
	Credentials string
	Files       string // socket at which the kubelet offers its file operations; empty: they go their way
}

// UsageError is an option that cannot be used as it is.
type UsageError struct{ text string }

func (e *UsageError) Error() string { return e.text }

func usagef(format string, args ...any) error { return &UsageError{fmt.Sprintf(format, args...)} }

func (o *Options) check() error {
	if o.Dir == "" {
		return usagef("say where the lab goes: --dir DIR")
	}
	switch o.Runtime {
	case labstate.Containerd:
		if o.Between != nil || o.KubeletConfig != nil {
			return usagef("nothing can stand between the parts of a lab with real containers: use --runtime sim")
		}
		if o.Scenario != "" {
			return usagef("a scenario is for simulated containers: leave out --scenario, or use --runtime sim")
		}
	case labstate.Sim:
		if o.Kubelet != "" {
			return usagef("a sim lab has its kubelet in itself: leave out --kubelet, or use --runtime containerd")
		}
		if o.Containerd != "" {
			return usagef("a sim lab has no containerd: leave out --containerd, or use --runtime containerd")
		}
	default:
		return usagef("no runtime %q: there are sim and containerd", o.Runtime)
	}
	if o.Nodes < 0 || o.Nodes > maxNodes {
		return usagef("a lab does not have %d nodes: choose a number from 1 to %d", o.Nodes, maxNodes)
	}
	if o.Nodes > 1 && o.Between != nil {
		return usagef("something stands between the parts of one node: leave out the other nodes")
	}
	if o.Nodes > 1 && o.Runtime != labstate.Sim {
		return usagef("several nodes are simulated ones: leave out --nodes, or use --runtime sim")
	}
	if err := o.checkPlugins(); err != nil {
		return err
	}
	if o.MaxPods < 0 {
		return usagef("a node does not take %d pods: choose a number from 1, or 0 for the kubelet's own", o.MaxPods)
	}
	if o.Port < 0 || o.Port > 65535 {
		return usagef("port %d is not a TCP port: choose one from 1 to 65535, or 0 for a free one", o.Port)
	}
	return nil
}

// maxDevices is how many devices fit into one ResourceSlice.
const maxDevices = 128

func (o *Options) checkPlugins() error {
	if o.Devices < 0 || o.Devices > maxDevices {
		return usagef("a node does not have %d devices: choose a number from 1 to %d, or 0 for none", o.Devices, maxDevices)
	}
	if o.Devices > 0 && o.Runtime != labstate.Sim {
		return usagef("the lab's devices are for simulated containers: leave out --devices, or use --runtime sim")
	}
	if o.DevicePlugin < 0 || o.DevicePlugin > maxDevices {
		return usagef("a node does not have %d devices of a plugin: choose a number from 1 to %d, or 0 for none", o.DevicePlugin, maxDevices)
	}
	if o.DevicePlugin > 0 && o.Runtime != labstate.Sim {
		return usagef("the lab's device plugin is for simulated containers: leave out --device-plugin, or use --runtime sim")
	}
	if o.Storage && o.Runtime != labstate.Sim {
		return usagef("the lab's storage is for simulated containers: leave out --storage, or use --runtime sim")
	}
	return nil
}

// kubelet returns the absolute path of the kubelet to run.
func (o *Options) kubelet() (string, error) {
	path := o.Kubelet
	if path == "" {
		self, err := os.Executable()
		if err != nil {
			return "", fmt.Errorf("find kubelet: %w", err)
		}
		path = filepath.Join(filepath.Dir(self), "podstep-kubelet")
	}
	return program(path, "kubelet", "build podstep-kubelet beside podstep-lab, or give --kubelet PATH")
}

// containerd returns the absolute path of the containerd to run, or an empty text for the machine's.
func (o *Options) containerd() (string, error) {
	if o.Containerd == "" {
		return "", nil
	}
	return program(o.Containerd, "containerd", "give --containerd PATH, or leave it out for the machine's")
}

// program returns the absolute path of a program that an option names. The program must exist.
func program(path, what, instead string) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", fmt.Errorf("find %s: %w", what, err)
	}
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return "", fmt.Errorf("no %s at %s: %s", what, path, instead)
	case err != nil:
		return "", fmt.Errorf("find %s: %w", what, err)
	case info.IsDir() || info.Mode()&0o111 == 0:
		return "", fmt.Errorf("%s is not a program: give --%s PATH", path, what)
	}
	return path, nil
}
