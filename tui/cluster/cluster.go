// Package cluster does what a guided walk needs: it creates, changes and deletes objects at the API server, writes
// static pods, and makes the simulated node short of memory. A run of a walk changes and deletes only what it made
// itself: every request names the UID of the object that the run created. The package speaks to the API server
// directly and asks it which kinds there are, so that podstep does not link the scheme of all of Kubernetes.
package cluster

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"k8s.io/client-go/tools/clientcmd"

	"github.com/podstep/podstep/agent/labstate"
)

// Cluster is a cluster. It has a directory if it is a lab.
type Cluster struct {
	// Dir is the lab's directory; empty for other nodes.
	Dir string
	// Kubeconfig is the file by which the API server is reached.
	Kubeconfig string
	// Devices is how many devices of the lab's DRA driver each node has.
	Devices int

	mu  sync.Mutex
	api *api // nil until it is needed
}

// Find finds the cluster of an agent. It takes the kubeconfig that was named, or the one next to the agent's socket,
// or the one that the environment names. socket is empty for an agent of another machine.
func Find(socket, named, env string) *Cluster {
	if socket == "" {
		return &Cluster{Kubeconfig: cmp.Or(named, env)}
	}
	c := &Cluster{}
	dir := filepath.Dir(socket)
	if _, err := os.Stat(labstate.File(dir)); err == nil {
		state, _ := labstate.Read(dir) // of one that cannot be read no devices are known
		c.Dir, c.Devices = dir, state.Devices
	}
	found := filepath.Join(dir, "kubeconfig")
	switch _, err := os.Stat(found); {
	case named != "":
		c.Kubeconfig = named
	case err == nil:
		c.Kubeconfig = found
	default:
		c.Kubeconfig = env
	}
	return c
}

// HasDevices reports whether the nodes have devices of the lab's DRA driver.
func (c *Cluster) HasDevices() bool { return c.Devices > 0 }

func (c *Cluster) connect() (*api, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.api != nil {
		return c.api, nil
	}
	if c.Kubeconfig == "" {
		return nil, errors.New("no kubeconfig is known: name one with --kubeconfig or KUBECONFIG")
	}
	config, err := clientcmd.BuildConfigFromFlags("", c.Kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("read kubeconfig %s: %w", c.Kubeconfig, err)
	}
	c.api, err = newAPI(config)
	return c.api, err
}

// errNoLab is returned where the lab's directory is needed and there is none.
var errNoLab = errors.New("this needs a lab of podstep: podstep lab")

// static returns the path of a static pod's file.
func (c *Cluster) static(name string) (string, error) {
	if c.Dir == "" {
		return "", errNoLab
	}
	return filepath.Join(c.Dir, "manifests", filepath.Base(name)), nil
}

// writeNew writes a file in one go, so that the kubelet never sees half of it. It fails if there is a file of that
// name. The kubelet, which may run as another user, takes no file for a manifest whose name begins with a dot.
func writeNew(path, text string) error {
	part := filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+".new")
	if err := os.WriteFile(part, []byte(text), 0o644); err != nil {
		return fmt.Errorf("write file: %w", err)
	}
	defer os.Remove(part)
	switch err := os.Link(part, path); {
	case errors.Is(err, fs.ErrExist):
		return &TakenError{path}
	case err != nil:
		return fmt.Errorf("write file: %w", err)
	}
	return nil
}

// removeOwn removes a file if it still has the text that the run wrote.
func removeOwn(path, text string) error {
	now, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("remove file: %w", err)
	}
	if string(now) != text {
		return fmt.Errorf("remove file: somebody has changed %s since the walk wrote it; remove it yourself if you do not need it", path)
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove file: %w", err)
	}
	return nil
}

// pressure returns the path of the lab's file that says what the node is short of.
func (c *Cluster) pressure() (string, error) {
	if c.Dir == "" {
		return "", errNoLab
	}
	return filepath.Join(c.Dir, "pressure"), nil
}
