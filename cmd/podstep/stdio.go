package main

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/podstep/podstep/agent/client"
	"github.com/podstep/podstep/agent/far"
	"github.com/podstep/podstep/agent/peer"
)

// stdio is the command agent-stdio. podstep starts it on another machine, and a person only to see why that fails.
func (a *app) stdio() *cobra.Command {
	var own bool
	cmd := &cobra.Command{
		Use:   "agent-stdio [--own-rights]",
		Short: "Join standard input and output with the agent's socket",
		Long: `Joins standard input and output with the agent's socket, so that a podstep of another
machine speaks to the agent: kubectl podstep, --node and --ssh start this by exec in
a pod of podstep, or by ssh. To the agent, this process is the client: holds end when
it does.

The agent then lets the other podstep do what its token allows: docs/kubectl.md. With
--own-rights the other podstep may do all that your user may do on the node;
--ssh gives this flag.

It first writes a line by which the other podstep knows it. It ends when the agent or
its input does. The exit code is 1 if there is no agent, or if it may not be used.`,
		Example: `  ssh node-1 podstep agent-stdio </dev/null`,
		Args:    arguments(0, 0, ""),
		RunE:    func(cmd *cobra.Command, _ []string) error { return a.joinAgent(cmd.Context(), own, os.Stdin, a.out) },
	}
	cmd.Flags().BoolVar(&own, "own-rights", false, "let the other podstep do what your user may here")
	return cmd
}

// joinAgent joins an agent with streams. Unless own is set, the agent asks for tokens.
func (a *app) joinAgent(ctx context.Context, own bool, in io.Reader, out io.Writer) error {
	if a.elsewhere() {
		return usagef("agent-stdio joins an agent of this machine; leave out --node and --ssh")
	}
	conn, err := client.At(a.socketOrDefault()).Connect(ctx)
	if err != nil {
		return err
	}
	if !own {
		if err := peer.MarkElsewhere(conn); err != nil {
			return fmt.Errorf("speak to the agent: %w", err)
		}
	}
	return far.Join(ctx, conn, in, out)
}
