// Package cluster does what a guided walk needs done: it applies and deletes
// objects at the API server, writes static pods, and makes the simulated node
// short of memory. It speaks to the API server directly and asks it what kinds
// there are, so that it brings no scheme of all of Kubernetes along.
package cluster

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"k8s.io/client-go/tools/clientcmd"

	"github.com/podstep/podstep/docs/tours"
)

// Cluster is a cluster, and the directory of its lab if it is one.
type Cluster struct {
	// Dir is the lab's directory; empty for other nodes.
	Dir string
	// Kubeconfig is the file that says how to reach the API server.
	Kubeconfig string

	mu  sync.Mutex
	api *api // once it was needed
}

// Find looks for the cluster that goes with an agent: the kubeconfig that was
// named, or the one beside the agent's socket, or that of the environment.
func Find(socket, named, env string) *Cluster {
	c := &Cluster{}
	dir := filepath.Dir(socket)
	if _, err := os.Stat(filepath.Join(dir, "state.json")); err == nil {
		c.Dir = dir
	}
	beside := filepath.Join(dir, "kubeconfig")
	switch _, err := os.Stat(beside); {
	case named != "":
		c.Kubeconfig = named
	case err == nil:
		c.Kubeconfig = beside
	default:
		c.Kubeconfig = env
	}
	return c
}

// Do does an action.
func (c *Cluster) Do(ctx context.Context, a *tours.Action) error {
	switch a.Do {
	case tours.WriteStatic:
		return c.writeStatic(a.Object, a.Manifest)
	case tours.RemoveStatic:
		return c.removeStatic(a.Object)
	case tours.Pressure:
		return c.pressure(shortage)
	case tours.Relieve:
		return c.pressure("")
	}
	api, err := c.connect()
	if err != nil {
		return err
	}
	switch a.Do {
	case tours.Apply:
		return api.apply(ctx, a.Manifest)
	case tours.Delete:
		kind, namespace, name := a.Parts()
		return api.delete(ctx, object{Kind: kind, Namespace: namespace, Name: name}, a.Grace)
	case tours.Resize:
		_, namespace, name := a.Parts()
		return api.resize(ctx, namespace, name, a.Manifest)
	}
	return fmt.Errorf("do %q: this podstep does not know how", a.Do)
}

// Clear deletes what an action would make, if it is there from before, and waits
// until it is gone.
func (c *Cluster) Clear(ctx context.Context, a *tours.Action) error {
	switch a.Do {
	case tours.WriteStatic:
		if err := c.removeStatic(a.Object); err != nil {
			return err
		}
		api, err := c.connect()
		if err != nil {
			return err
		}
		return api.mirrorsGone(ctx, a.Manifest)
	case tours.Apply:
		api, err := c.connect()
		if err != nil {
			return err
		}
		if err := api.deleteAll(ctx, a.Manifest); err != nil {
			return err
		}
		return api.gone(ctx, a.Manifest)
	}
	return nil
}

// Undo deletes what the actions made, the last first. What is gone already is
// well.
func (c *Cluster) Undo(ctx context.Context, done []*tours.Action) error {
	var errs []error
	for i := len(done) - 1; i >= 0; i-- {
		switch a := done[i]; a.Do {
		case tours.WriteStatic:
			errs = append(errs, c.removeStatic(a.Object))
		case tours.Pressure:
			errs = append(errs, c.pressure(""))
		case tours.Apply:
			api, err := c.connect()
			if err == nil {
				err = api.deleteAll(ctx, a.Manifest)
			}
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

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

// errNoLab is what needs the lab's directory fails with elsewhere.
var errNoLab = errors.New("this needs a lab of podstep: podstep lab")

// static is the path of a static pod's file.
func (c *Cluster) static(name string) (string, error) {
	if c.Dir == "" {
		return "", errNoLab
	}
	return filepath.Join(c.Dir, "manifests", filepath.Base(name)), nil
}

func (c *Cluster) writeStatic(name, manifest string) error {
	path, err := c.static(name)
	if err != nil {
		return err
	}
	return writeWhole(path, manifest)
}

// writeWhole writes a file in one go: who watches the directory never sees half
// of it. A name that begins with a dot is no manifest to the kubelet, who may be
// another user.
func writeWhole(path, text string) error {
	part := filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+".new")
	if err := os.WriteFile(part, []byte(text), 0o644); err != nil {
		return fmt.Errorf("write file: %w", err)
	}
	if err := os.Rename(part, path); err != nil {
		return fmt.Errorf("write file: %w", err)
	}
	return nil
}

func (c *Cluster) removeStatic(name string) error {
	path, err := c.static(name)
	if err != nil {
		return err
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove static pod: %w", err)
	}
	return nil
}

// shortage is what the node is made short of.
const shortage = "memory.available=50Mi\n"

// pressure says in the lab's file what the node is short of; empty is nothing.
func (c *Cluster) pressure(text string) error {
	if c.Dir == "" {
		return errNoLab
	}
	path := filepath.Join(c.Dir, "pressure")
	if text == "" {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("end pressure: %w", err)
		}
		return nil
	}
	return writeWhole(path, text)
}
