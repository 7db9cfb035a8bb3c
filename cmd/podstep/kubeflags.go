package main

import (
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"k8s.io/client-go/tools/clientcmd"
)

// kubeFlags name an API server and the credentials for it.
type kubeFlags struct {
	kubeconfig string
	context    string
}

func (c *kubeFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&c.kubeconfig, "kubeconfig", "", "kubeconfig `FILE` of the API server (default: that of the lab whose agent --socket names, then as for kubectl)")
	cmd.Flags().StringVar(&c.context, "context", "", "`CONTEXT` of the kubeconfig (default: its current one)")
}

// clientConfig reads the kubeconfig of a cluster.
func (a *app) clientConfig(c *kubeFlags) clientcmd.ClientConfig {
	return clientcmd.NewNonInteractiveDeferredLoadingClientConfig(a.loading(c), &clientcmd.ConfigOverrides{CurrentContext: c.context})
}

// loading returns where to look for kubeconfigs: as kubectl does, except for the lab whose agent is named.
func (a *app) loading(c *kubeFlags) *clientcmd.ClientConfigLoadingRules {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = c.kubeconfig
	if c.kubeconfig != "" {
		return rules
	}
	near := filepath.Join(filepath.Dir(a.socketOrDefault()), "kubeconfig")
	if _, err := os.Stat(near); err == nil {
		rules.ExplicitPath = near
	}
	return rules
}
