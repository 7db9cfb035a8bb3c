package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/spf13/cobra"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/podstep/podstep/agent/client"
	"github.com/podstep/podstep/agent/client/fleet"
	"github.com/podstep/podstep/agent/far"
)

// where says where the agent is, and which cluster is meant. All commands share its flags.
type where struct {
	// agents are those that --socket or --all-nodes names, or that a command has found.
	agents              []fleet.Node
	node, ssh           string
	allNodes            bool
	kubeconfig, context string

	once  sync.Once
	found client.Place // set by once
	wrong error
}

func (w *where) addTo(root *cobra.Command) {
	flags := root.PersistentFlags()
	flags.Var(socketFlag{w}, "socket",
		"the agent's `[NAME=]PATH`; more than once: of several nodes (default $PODSTEP_SOCKET, /run/podstep/agent.sock for root, $XDG_RUNTIME_DIR/podstep/agent.sock otherwise)")
	flags.StringVar(&w.node, "node", "", "the agent in a pod of node `NAME`, through the API server; of several that --socket names, and of logs of several nodes: the one that is meant")
	flags.BoolVar(&w.allNodes, "all-nodes", false, "the agents of all nodes on which a pod of podstep is ready, through the API server")
	flags.StringVar(&w.ssh, "ssh", "", "the agent on `HOST`, by ssh; podstep must be in the PATH there")
	flags.StringVar(&w.kubeconfig, "kubeconfig", "", "kubeconfig `FILE` of the API server (default: that of the lab whose agent --socket names, then as for kubectl)")
	flags.StringVar(&w.context, "context", "", "`CONTEXT` of the kubeconfig (default: its current one)")
	_ = root.RegisterFlagCompletionFunc("node", cobra.NoFileCompletions)
	_ = root.RegisterFlagCompletionFunc("ssh", cobra.NoFileCompletions)
}

// with returns the same with the agent at a place.
func (w *where) with(at client.Place) *where {
	return &where{kubeconfig: w.kubeconfig, context: w.context, agents: []fleet.Node{{Place: at}}}
}

// named reports whether a certain agent is meant, and not one that may be here.
func (w *where) named() bool { return len(w.agents) > 0 || w.elsewhere() }

// elsewhere reports whether the agent is on another machine.
func (w *where) elsewhere() bool {
	if len(w.agents) > 0 {
		_, here := client.SocketOf(w.agents[0].Place)
		return !here
	}
	return w.node != "" || w.ssh != ""
}

// findAllNodes looks for the agents of --all-nodes. From then on they are named as if by --socket.
func (w *where) findAllNodes(ctx context.Context) error {
	switch {
	case !w.allNodes:
		return nil
	case len(w.agents) > 0 || w.ssh != "":
		return usagef("--all-nodes names the agents of a cluster, and --socket and --ssh name others; give one of them")
	}
	c, _, err := w.cluster("")
	if err != nil {
		return err
	}
	all, err := c.Agents(ctx, "")
	if err != nil {
		return err
	}
	var nodes []string
	for _, a := range all {
		if a.Ready {
			nodes = append(nodes, a.Node)
		}
	}
	slices.Sort(nodes)
	for _, node := range slices.Compact(nodes) {
		w.agents = append(w.agents, fleet.Node{Name: node, Place: c.OnNode(node)})
	}
	if len(w.agents) == 0 {
		return errors.New("no pod of podstep is ready in this cluster: the chart puts one on each node, and podstep connect POD makes one for a while")
	}
	return nil
}

// several reports whether the agents of several nodes are meant.
func (w *where) several() bool { return len(w.agents) > 1 && w.node == "" }

// place returns the place of the agent. It is the same each time: by it a second connection is made as the first one was.
func (w *where) place() (client.Place, error) {
	w.once.Do(func() { w.found, w.wrong = w.find() })
	return w.found, w.wrong
}

func (w *where) find() (client.Place, error) {
	switch {
	case w.ssh != "" && (w.node != "" || len(w.agents) > 0):
		return nil, usagef("--ssh names an agent, and so do --socket and --node; give one of them")
	case w.ssh != "":
		return far.BySSH(w.ssh)
	case len(w.agents) > 0:
		return w.agents[0].Place, nil
	case w.node != "":
		c, _, err := w.cluster("")
		if err != nil {
			return nil, err
		}
		return c.OnNode(w.node), nil
	}
	return client.At(""), nil
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

// socketOrDefault returns the socket at which podstep serves an agent of its own.
func (w *where) socketOrDefault() string {
	if len(w.agents) > 0 {
		if path, here := client.SocketOf(w.agents[0].Place); here {
			return path
		}
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
