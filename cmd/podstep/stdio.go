package main

import (
	"context"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/podstep/podstep/agent/client"
	"github.com/podstep/podstep/agent/far"
)

// stdio is the command agent-stdio. podstep starts it on another machine, and a person only to see why that fails.
func (a *app) stdio() *cobra.Command {
	return &cobra.Command{
		Use:   "agent-stdio",
		Short: "Join standard input and output with the agent's socket",
		Long: `Joins standard input and output with the agent's socket, so that a podstep of another
machine speaks to the agent: kubectl podstep, --node and --ssh start this by exec in
a pod of podstep, or by ssh. To the agent, this process is the client: holds end when
it does.

It first writes a line by which the other podstep knows it. It ends when the agent or
its input does. The exit code is 1 if there is no agent, or if it may not be used.`,
		Example: `  ssh node-1 podstep agent-stdio </dev/null`,
		Args:    arguments(0, 0, ""),
		RunE:    func(cmd *cobra.Command, _ []string) error { return a.joinAgent(cmd.Context(), os.Stdin, a.out) },
	}
}

func (a *app) joinAgent(ctx context.Context, in io.Reader, out io.Writer) error {
	if a.elsewhere() {
		return usagef("agent-stdio joins an agent of this machine; leave out --node and --ssh")
	}
	conn, err := client.At(a.socketOrDefault()).Connect(ctx)
	if err != nil {
		return err
	}
	return far.Join(ctx, conn, in, out)
}
