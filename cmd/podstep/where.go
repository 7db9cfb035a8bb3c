package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/spf13/cobra"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/podstep/podstep/agent/client"
	"github.com/podstep/podstep/agent/far"
)

// where says where the agent is, and which cluster is meant. All commands share its flags.
type where struct {
	socket, node, ssh   string
	kubeconfig, context string

	// at is where the agent is if that is known without these; or nil.
	at client.Place

	once  sync.Once
	found client.Place // set by once
	wrong error
}

func (w *where) addTo(root *cobra.Command) {
	flags := root.PersistentFlags()
	flags.StringVar(&w.socket, "socket", "",
		"the agent's `PATH` (default $PODSTEP_SOCKET, /run/podstep/agent.sock for root, $XDG_RUNTIME_DIR/podstep/agent.sock otherwise)")
	flags.StringVar(&w.node, "node", "", "the agent in a pod of node `NAME`, through the API server; of logs of several nodes: the one whose logs are meant")
	flags.StringVar(&w.ssh, "ssh", "", "the agent on `HOST`, by ssh; podstep must be in the PATH there")
	flags.StringVar(&w.kubeconfig, "kubeconfig", "", "kubeconfig `FILE` of the API server (default: that of the lab whose agent --socket names, then as for kubectl)")
	flags.StringVar(&w.context, "context", "", "`CONTEXT` of the kubeconfig (default: its current one)")
	_ = root.RegisterFlagCompletionFunc("node", cobra.NoFileCompletions)
	_ = root.RegisterFlagCompletionFunc("ssh", cobra.NoFileCompletions)
}

// with returns the same with the agent at a place.
func (w *where) with(at client.Place) *where {
	out := &where{kubeconfig: w.kubeconfig, context: w.context, at: at}
	out.socket, _ = client.SocketOf(at)
	return out
}

// named reports whether a certain agent is meant, and not one that may be here.
func (w *where) named() bool { return w.socket != "" || w.elsewhere() || w.at != nil }

// elsewhere reports whether the agent is on another machine.
func (w *where) elsewhere() bool {
	if w.at != nil {
		_, here := client.SocketOf(w.at)
		return !here
	}
	return w.node != "" || w.ssh != ""
}

// place returns the place of the agent. It is the same each time: by it a second connection is made as the first one was.
func (w *where) place() (client.Place, error) {
	w.once.Do(func() { w.found, w.wrong = w.find() })
	return w.found, w.wrong
}

func (w *where) find() (client.Place, error) {
	switch {
	case w.at != nil:
		return w.at, nil
	case w.ssh != "" && (w.node != "" || w.socket != "") || w.node != "" && w.socket != "":
		return nil, usagef("--socket, --node and --ssh each name an agent; give one of them")
	case w.ssh != "":
		return far.BySSH(w.ssh)
	case w.node != "":
		c, _, err := w.cluster("")
		if err != nil {
			return nil, err
		}
		return c.OnNode(w.node), nil
	}
	return client.At(w.socket), nil
}

// cluster returns the cluster of the kubeconfig, and the namespace that is current there. A user who may not list the pods
// of all namespaces finds podstep's in the namespace agents; "" is the current one.
func (w *where) cluster(agents string) (*far.Cluster, string, error) {
	config := w.clientConfig()
	rest, err := config.ClientConfig()
	if err != nil {
		return nil, "", kubeconfigError(err)
	}
	namespace, _, err := config.Namespace()
	if err != nil {
		return nil, "", kubeconfigError(err)
	}
	c, err := far.NewCluster(rest, cmp.Or(agents, namespace))
	return c, namespace, err
}

// dial connects to the agent that the command line names.
func (w *where) dial(ctx context.Context) (*client.Client, error) {
	p, err := w.place()
	if err != nil {
		return nil, err
	}
	return client.Reach(ctx, p)
}

// dialReader is dial for commands that only look.
func (w *where) dialReader(ctx context.Context) (*client.Reader, error) {
	p, err := w.place()
	if err != nil {
		return nil, err
	}
	return client.ReachReader(ctx, p)
}

// socketOrDefault returns the socket at which podstep serves an agent of its own.
func (w *where) socketOrDefault() string {
	if w.socket != "" {
		return w.socket
	}
	return client.DefaultSocket()
}

// clientConfig reads the kubeconfig of a cluster.
func (w *where) clientConfig() clientcmd.ClientConfig {
	return clientcmd.NewNonInteractiveDeferredLoadingClientConfig(w.loading(), &clientcmd.ConfigOverrides{CurrentContext: w.context})
}

// loading returns where to look for kubeconfigs: as kubectl does, except for the lab whose agent is named.
func (w *where) loading() *clientcmd.ClientConfigLoadingRules {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = w.kubeconfig
	if w.kubeconfig != "" || w.elsewhere() {
		return rules
	}
	near := filepath.Join(filepath.Dir(w.socketOrDefault()), "kubeconfig")
	if _, err := os.Stat(near); err == nil {
		rules.ExplicitPath = near
	}
	return rules
}

func kubeconfigError(err error) error {
	if clientcmd.IsEmptyConfig(err) {
		return errors.New("no kubeconfig is known: name one with --kubeconfig or KUBECONFIG")
	}
	return fmt.Errorf("read kubeconfig: %w", err)
}
