package main

import (
	"github.com/spf13/cobra"

	"github.com/podstep/podstep/lab"
)

// pressureCommand makes the node of a sim lab run short of a resource.
func pressureCommand() *cobra.Command {
	var dir, node string
	c := &cobra.Command{
		Use:   "pressure --dir DIR [SIGNAL=QUANTITY...]",
		Short: "Have the node of a sim lab run short of memory or disk, so that it evicts pods",
		Long: `Have the node of a sim lab run short of memory or disk, so that it evicts pods.

The signals are the kubelet's: memory.available, nodefs.available and nodefs.inodesFree. Without any, the node has enough of everything again.`,
		Example: `  podstep-lab pressure --dir DIR memory.available=50Mi
  podstep-lab pressure --dir DIR nodefs.available=3%
  podstep-lab pressure --dir DIR`,
		RunE: func(_ *cobra.Command, signals []string) error { return lab.SetPressure(dir, node, signals) },
	}
	c.Flags().StringVar(&dir, "dir", "", "directory of the lab")
	c.Flags().StringVar(&node, "node", "", "name of the node (default: the first one)")
	return c
}
