// Package plugin is what the lab's plugins of the kubelet have in common: where they are, how they reach the API server, and
// the sockets that they serve.
package plugin

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"

	"github.com/spf13/pflag"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

// Place states whose plugin it is, and where it serves.
type Place struct {
	Node       string // name of the node
	Kubeconfig string // file by which the API server is reached
	Kubelet    string // the kubelet's root directory
	Socket     string // the plugin's socket
	Called     string // socket that the kubelet is to call; other than Socket if something stands between
}

// AddTo adds the flags of a place.
func (p *Place) AddTo(flags *pflag.FlagSet) {
	flags.StringVar(&p.Node, "node", "", "name of the node")
	flags.StringVar(&p.Kubeconfig, "kubeconfig", "", "file by which the API server is reached")
	flags.StringVar(&p.Kubelet, "kubelet-dir", "", "the kubelet's root directory")
	flags.StringVar(&p.Socket, "socket", "", "socket to serve")
	flags.StringVar(&p.Called, "called", "", "socket that the kubelet is to call")
}

// Registry returns the directory in which the kubelet looks for the sockets of new plugins.
func (p *Place) Registry() string { return filepath.Join(p.Kubelet, "plugins_registry") }

// MakeDirs makes the directories of the plugin's sockets, and others.
func (p *Place) MakeDirs(others ...string) error {
	for _, dir := range append(others, p.Registry(), filepath.Dir(p.Socket)) {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return fmt.Errorf("create directory: %w", err)
		}
	}
	return nil
}

// Client returns a client of the API server.
func (p *Place) Client() (*kubernetes.Clientset, error) {
	config, err := clientcmd.BuildConfigFromFlags("", p.Kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("read kubeconfig: %w", err)
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("create client: %w", err)
	}
	return client, nil
}

// Listen opens a socket. One that an earlier plugin has left is replaced.
func Listen(ctx context.Context, socket string) (net.Listener, error) {
	if err := os.Remove(socket); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("remove earlier socket: %w", err)
	}
	l, err := new(net.ListenConfig).Listen(ctx, "unix", socket)
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	return l, nil
}
