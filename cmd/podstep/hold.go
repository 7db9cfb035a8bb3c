package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/client"
	"github.com/podstep/podstep/agent/reason"
	"github.com/podstep/podstep/agent/wire"
	"github.com/podstep/podstep/cmd/podstep/lines"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/words"
)

// holdFlags are the flags of commands that end with a held pod.
type holdFlags struct {
	podName
	lease, wait *period
	message     string
	out         format
}

func (f *holdFlags) add(cmd *cobra.Command) {
	f.lease, f.wait = newPeriod("--lease 5m"), newPeriod("--wait 30s")
	f.podName.add(cmd)
	f.lease.add(cmd, "lease", "how long the hold may last at most, like 5m (default: the agent's)")
	f.wait.add(cmd, "wait", "how long to wait for the pod to come to a step, like 30s (default: the agent's)")
	addMessage(cmd, &f.message)
	f.out.add(cmd, "wide", "json", "yaml")
}

// addMessage adds the flag of the message that a hold has for others.
func addMessage(cmd *cobra.Command, message *string) {
	cmd.Flags().StringVarP(message, "message", "m", "", "`TEXT` for others who meet the hold, at most 200 bytes; everybody sees it")
	cmd.RegisterFlagCompletionFunc("message", cobra.NoFileCompletions)
}

func (a *app) hold() *cobra.Command {
	var flags holdFlags
	var force, whileRunning bool
	cmd := &cobra.Command{
		Use:   "hold POD [-n NAMESPACE] [--lease DURATION] [--wait DURATION] [-m TEXT] [--force] [--while-running] [-o wide|json|yaml]",
		Short: "Hold a pod at its next step that allows it",
		Long: `Holds a pod at its next step that allows it, prints where, and returns. The pod
goes on by itself when the lease of the hold ends, or before a timer of the
kubelet would run out. With --while-running the hold ends with the command.`,
		Example: `  podstep hold web
  podstep hold shop/db-0 --lease 2m --wait 1m -m "reading its volumes, Ana"
  podstep hold web --while-running`,
		Args:              arguments(1, 1, "POD"),
		ValidArgsFunction: a.completePods,
		RunE: func(cmd *cobra.Command, args []string) error {
			sel, err := flags.one(args[0])
			if err != nil {
				return err
			}
			req := &agentpb.HoldRequest{Pods: sel, Lease: flags.lease.proto(), Wait: flags.wait.proto(), Force: force, Message: flags.message}
			return a.withHold(cmd.Context(), sel, func(ctx context.Context, c *client.Client, waited func()) error {
				if whileRunning {
					return a.holdWhile(ctx, c, req, &flags.out, waited)
				}
				h, err := c.Hold(ctx, req)
				waited()
				return a.printHold(h, err, &flags.out)
			})
		},
	}
	flags.add(cmd)
	cmd.Flags().BoolVar(&force, "force", false, "hold the pod even if it is of the control plane or system-critical")
	cmd.Flags().BoolVar(&whileRunning, "while-running", false, "stay, and let go when the command ends (Ctrl-C)")
	return cmd
}

// patience is how long a person waits without wondering what is going on.
const patience = 2 * time.Second

// withHold dials. It tells a person who begins to wonder what podstep waits for.
func (a *app) withHold(ctx context.Context, sel *agentpb.PodSelector, do func(context.Context, *client.Client, func()) error) error {
	c, err := a.dialNodeOf(ctx, sel)
	if err != nil {
		return err
	}
	defer c.Close()
	t := time.AfterFunc(patience, func() {
		a.printf("waiting for %s to come to a step that can be held; Ctrl-C gives up", sel.Written())
	})
	return do(ctx, c, func() { t.Stop() })
}

func (a *app) holdWhile(ctx context.Context, c *client.Client, req *agentpb.HoldRequest, out *format, waited func()) error {
	stream, err := c.HoldWhile(ctx, req)
	if err != nil {
		return err
	}
	h, err := stream.Recv()
	waited()
	if errors.Is(err, io.EOF) {
		return errors.New("the agent ended the request without a hold; see podstep pods")
	}
	if err != nil {
		return err
	}
	if err := out.print(a.out, newHoldJSON(h), func(w io.Writer) { holdText(w, h, out.wide()) }); err != nil {
		return err
	}
	a.printStandstill(h)
	a.printf("held while this command runs; Ctrl-C lets go")
	for err == nil {
		_, err = stream.Recv()
	}
	pod := podOf(h.Pod)
	if errors.Is(err, io.EOF) || errors.Is(err, context.Canceled) {
		a.printf("%s goes on", lines.FullName(&pod))
		return nil
	}
	return err
}

// printHold ends the commands that hold: it prints the hold to stdout, and what to do with it to stderr.
func (a *app) printHold(h *agentpb.HoldInfo, err error, out *format) error {
	if err != nil {
		return err
	}
	if err := out.print(a.out, newHoldJSON(h), func(w io.Writer) { holdText(w, h, out.wide()) }); err != nil {
		return err
	}
	a.printStandstill(h)
	pod := podOf(h.Pod)
	name := lines.FullName(&pod)
	a.printf("it goes on by itself in %s at the latest; next: %s step %s, or %s continue %s",
		left(soonest(h)), a.name, name, a.name, name)
	return nil
}

// printStandstill warns of a hold for which the whole node waits.
func (a *app) printStandstill(h *agentpb.HoldInfo) {
	if h.Node {
		a.printf("the node stands still meanwhile: its other pods are not started, updated or stopped")
	}
}

// soonest returns when the agent will let the pod go by itself.
func soonest(h *agentpb.HoldInfo) time.Duration {
	in, _ := h.End()
	return in
}

// holdJSON is a hold as scripts get it.
type holdJSON struct {
	ID     uint32      `json:"id"`
	Pod    probes.Pod  `json:"pod"`
	Step   string      `json:"step"`
	On     string      `json:"on"`
	Place  *frameJSON  `json:"place,omitempty"`
	Since  *time.Time  `json:"since"`
	Lease  string      `json:"lease"`
	Budget *budgetJSON `json:"budget"`
	Ends   string      `json:"ends"`
	EndsBy string      `json:"endsBy,omitempty"`
	Peer   *peerJSON   `json:"peer,omitempty"`
	// Message is in the words of the person who asked for the hold.
	Message string `json:"message,omitempty"`
	Node    bool   `json:"node,omitempty"`
	// OnNode is the node's name, if several are asked.
	OnNode string `json:"onNode,omitempty"`
	Why    string `json:"why"`
	// Cause is hold, step, breakpoint or delay. For the last two, Breakpoint is set.
	Cause      string         `json:"cause"`
	Breakpoint uint32         `json:"breakpoint,omitempty"`
	Fields     map[string]any `json:"fields,omitempty"`
	Error      string         `json:"error,omitempty"`
}

type budgetJSON struct {
	Timer string `json:"timer"`
	Left  string `json:"left"`
}

// causeWord returns a cause as scripts get it.
func causeWord(c agentpb.Cause) string {
	return strings.ToLower(strings.TrimPrefix(c.String(), "CAUSE_"))
}

// peerJSON is the process that asked for something.
type peerJSON struct {
	UID uint32 `json:"uid"`
	PID int32  `json:"pid"`
	// Of a client on another machine: what its token proves, and the name that it gave.
	Account    string `json:"account,omitempty"`
	Credential string `json:"credential,omitempty"`
	User       string `json:"user,omitempty"`
}

func newPeerJSON(p *agentpb.Peer) *peerJSON {
	if p == nil {
		return nil
	}
	return &peerJSON{p.Uid, p.Pid, p.Account, p.Credential, p.User}
}

func newHoldJSON(h *agentpb.HoldInfo) holdJSON {
	out := holdJSON{
		ID: h.Id, Pod: podOf(h.Pod), Step: h.Step, On: h.On, Since: moment(h.Since),
		Lease: left(h.Lease.AsDuration()), Node: h.Node, Why: reason.Cause(h).En, Cause: causeWord(h.Cause), Breakpoint: h.Breakpoint, Fields: wire.Fields(h.Fields), Error: h.Error,
		Ends: left(soonest(h)), EndsBy: h.EndsBy, Peer: newPeerJSON(h.Peer), Message: h.Message,
	}
	if h.Place != nil {
		place := newFrameJSON(h.Place)
		out.Place = &place
	}
	if h.Budget != nil {
		out.Budget = &budgetJSON{Timer: h.Budget.Timer, Left: left(h.Budget.Left.AsDuration())}
	}
	return out
}

// documentLines writes a value as lines of YAML, if it is a long document: a person holds a pod
// before a call to see the call's request.
func documentLines(v any) []string {
	const short = 60
	doc, ok := v.(probes.RawJSON)
	if !ok || len(doc) < short {
		return nil
	}
	text, err := yaml.JSONToYAML(doc)
	if err != nil {
		return nil
	}
	return strings.Split(strings.TrimRight(string(text), "\n"), "\n")
}

func holdText(w io.Writer, h *agentpb.HoldInfo, wide bool) {
	pod := podOf(h.Pod)
	line := func(word, text string) { fmt.Fprintf(w, "  %-7s %s\n", word, words.Clean(text)) }
	if at := h.Place; at != nil {
		fmt.Fprintf(w, "%s is held inside %s, at %s in %s\n", words.Clean(lines.FullName(&pod)), words.Clean(h.Step), words.Clean(at.Written()), words.Clean(path.Base(at.GetFunction())))
	} else {
		fmt.Fprintf(w, "%s is held at %s of %s\n", words.Clean(lines.FullName(&pod)), words.Clean(h.On), words.Clean(h.Step))
	}
	line("why", fmt.Sprintf("%s (hold %d)", reason.Cause(h).En, h.Id))
	line("lease", left(h.Lease.AsDuration()))
	if b := h.Budget; b != nil {
		line("budget", strings.TrimSuffix(left(b.Left.AsDuration())+" until "+b.Timer+": "+reason.Timer(b.Timer).En, ": "))
	} else {
		line("budget", "no timer of the kubelet runs: the hold costs the pod nothing but time")
	}
	if h.Peer != nil {
		line("by", reason.Peer(h.Peer).En)
	}
	if id := h.Peer.GetCredential(); id != "" {
		line("token", id)
	}
	if h.Message != "" {
		line("message", h.Message)
	}
	fields := wire.Fields(h.Fields)
	for _, name := range sortedKeys(fields) {
		if doc := documentLines(fields[name]); doc != nil && !wide {
			line(name, "")
			for _, l := range doc {
				fmt.Fprintf(w, "    %s\n", words.Clean(l))
			}
			continue
		}
		line(name, lines.FieldText(fields[name], wide))
	}
	if h.Error != "" {
		line("error", h.Error)
	}
}
