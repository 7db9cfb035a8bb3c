package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/podstep/podstep/agent/client/fleet"
	"github.com/podstep/podstep/agent/labstate"
	"github.com/podstep/podstep/cmd/podstep/node"
)

// labFlags are the flags of podstep lab, which hands them on to podstep-lab.
type labFlags struct {
	dir        string
	runtime    choice
	kubelet    string
	containerd string
	scenario   string
	port       int
	restart    bool
	nodes      int
	devices    int
	storage    bool
	plugged    int
}

func (a *app) lab() *cobra.Command {
	var ui uiFlags
	var flags labFlags
	cmd := &cobra.Command{
		Use:   "lab [--dir DIR] [--runtime sim|containerd] [flags]",
		Short: "Start a node of your own, and open the screen on it",
		Long: `Starts podstep-lab, a whole node in one directory, and opens the screen when it
is ready. The node ends with the screen.

The simulated runtime needs no root and no container runtime: the kubelet is
real, its containers are simulated. With --runtime containerd, as root, the
containers are real too.`,
		Example: `  podstep lab
  podstep lab --nodes 3
  podstep lab --tour creation --lang zh
  sudo podstep lab --runtime containerd`,
		Args: arguments(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			o, err := ui.options()
			if err != nil {
				return err
			}
			needs, err := ui.needsDevices()
			if err != nil {
				return err
			}
			args, dir, err := flags.arguments(cmd.Flags(), needs)
			if err != nil {
				return err
			}
			return node.RunLab(cmd.Context(), args, a.err, func(ended <-chan struct{}) error {
				if a.agents, err = labAgents(dir); err != nil {
					return err
				}
				o.Lab, o.LabEnded = true, ended
				return a.live(cmd.Context(), &ui, o)
			})
		},
	}
	flags.runtime = choice{value: "sim", of: []string{"sim", "containerd"}}
	cmd.Flags().StringVar(&flags.dir, "dir", "", "`DIR` for everything that the node makes (default: podstep/lab in the user's cache directory)")
	flags.runtime.add(cmd, "runtime", "", "what runs containers")
	cmd.Flags().StringVar(&flags.kubelet, "kubelet", "", "`PATH` of the kubelet to run, with --runtime containerd")
	cmd.Flags().StringVar(&flags.containerd, "containerd", "", "`PATH` of the containerd to run, with --runtime containerd (default: the machine's)")
	cmd.Flags().StringVar(&flags.scenario, "scenario", "", "scenario `FILE` for the simulated runtime")
	cmd.Flags().IntVar(&flags.nodes, "nodes", 1, "how many nodes the lab has, with simulated containers")
	cmd.Flags().IntVar(&flags.devices, "devices", 0, "how many devices of a DRA driver each node has, with simulated containers (default: 1 for a walk that needs devices)")
	cmd.Flags().IntVar(&flags.plugged, "device-plugin", 0, "how many devices of a device plugin each node has, with simulated containers (default: no plugin)")
	cmd.Flags().BoolVar(&flags.storage, "storage", false, "each node has a CSI driver, with simulated containers")
	cmd.Flags().IntVar(&flags.port, "port", 0, "port of the API server on 127.0.0.1 (default: a free one)")
	cmd.Flags().BoolVar(&flags.restart, "restart-kubelet", false, "start the kubelet again when it ends")
	ui.addLive(cmd)
	return cmd
}

// labAgents returns the agents of the nodes of a lab that runs.
func labAgents(dir string) ([]fleet.Node, error) {
	lab, err := labstate.Read(dir)
	var out []fleet.Node
	for _, n := range lab.Nodes {
		out = append(out, fleet.Socket(n.Name, n.Agent))
	}
	return out, err
}

// handedOn are the flags that podstep-lab has, too.
var handedOn = []string{"runtime", "kubelet", "containerd", "scenario", "port", "restart-kubelet", "nodes", "devices", "device-plugin", "storage"}

// arguments returns those for podstep-lab: the directory, and the flags that were given. needsDevices: the lab is
// started for a walk that needs them.
func (f *labFlags) arguments(set *pflag.FlagSet, needsDevices bool) (args []string, dir string, err error) {
	dir = f.dir
	if dir == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			return nil, "", usagef("--dir is missing, and there is no cache directory to choose one in (%s); write --dir DIR", err)
		}
		dir = filepath.Join(cache, "podstep", "lab")
		if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
			return nil, "", fmt.Errorf("make the lab's directory: %w", err)
		}
	}
	args = []string{"--dir", dir}
	for _, name := range handedOn {
		if given := set.Lookup(name); given.Changed {
			args = append(args, "--"+name+"="+given.Value.String())
		}
	}
	if needsDevices && !set.Lookup("devices").Changed {
		args = append(args, "--devices=1")
	}
	return args, dir, nil
}
