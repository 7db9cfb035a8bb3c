package main

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/podstep/podstep/agent/mcp"
)

// mcpFlags are the flags of mcp.
type mcpFlags struct {
	from  whyFrom
	files []string
	holds bool
}

func (a *app) mcp() *cobra.Command {
	var f mcpFlags
	cmd := &cobra.Command{
		Use:   "mcp [--file FILE]... [flags]",
		Short: "Answer an assistant's questions, by the Model Context Protocol",
		Long: `Serves podstep's answers to an assistant on stdin and stdout, by the Model Context
Protocol. An assistant starts it by itself; docs/mcp.md has the lines for its
configuration.

It has the tools why, pods, trace, compare, steps and doctor, which answer as these
commands do with -o json, in pages of at most 4 kB, and two prompts: for a stuck pod,
and for a pod that starts slowly.

It only reads: without --allow-holds it has no way to hold a pod, to make a step
fail, or to change anything in the cluster. What it asks is chosen here: no question
of the assistant names a file, a kubeconfig or an address, and no answer shows one.

With --file it answers from recordings, as podstep replay takes them, and from
nothing else unless --socket, --kubeconfig or --context is also given.

With --allow-holds the server is called podstep-holds and has three more tools: hold,
step and continue. A hold that the assistant asks for lasts 30 seconds at most, and
ends when podstep mcp ends. The assistant cannot let go what somebody else holds.`,
		Example: `  podstep mcp
  podstep mcp --socket /tmp/lab/agent.sock
  podstep mcp --kubeconfig oncall.kubeconfig --context shop
  podstep mcp --file incident.podstep --file good.podstep
  podstep mcp --socket /tmp/lab/agent.sock --allow-holds`,
		Args: arguments(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := a.useOne(cmd.Context()); err != nil {
				return err
			}
			return a.serveMCP(cmd.Context(), &f, os.Stdin, a.out)
		},
	}
	f.from.add(cmd)
	cmd.Flags().StringArrayVar(&f.files, "file", nil, "answer from this `FILE`, a trace, a bundle or a log; several times: the assistant chooses one by its name")
	cmd.Flags().BoolVar(&f.holds, "allow-holds", false, "let the assistant hold pods, for 30 seconds at most")
	return cmd
}

// serveMCP serves an assistant until it closes its end.
func (a *app) serveMCP(ctx context.Context, f *mcpFlags, in io.ReadCloser, out io.Writer) error {
	answers, err := a.newOncall(ctx, f)
	if err != nil {
		return err
	}
	if f, is := in.(*os.File); is && isTerminal(f) {
		a.printf("podstep waits for an assistant on stdin, and not for a person; docs/mcp.md says how an assistant is set up. Ctrl-D ends it")
	}
	o := mcp.Options{Private: answers.private(), Recordings: answers.names(), Live: answers.live}
	if f.holds {
		if !answers.live {
			return usagef("--allow-holds holds pods of an agent, and --file alone has none; name the agent with --socket")
		}
		h := &oncallHolds{app: a, own: map[uint32]bool{}}
		defer h.close()
		o.Holds = h
	}
	if err := mcp.Serve(ctx, mcp.New(answers, o), in, unclosed{out}); err != nil {
		return fmt.Errorf("serve the assistant: %w", err)
	}
	return nil
}

// unclosed is a writer that stays open when the server is done with it.
type unclosed struct{ io.Writer }

func (unclosed) Close() error { return nil }
