package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/reason"
	"github.com/podstep/podstep/probes"
)

func (a *app) breakpoints() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "break add|ls|rm",
		Short: "Hold, delay or fail pods wherever they come to a step",
		Long: `Breakpoints act on pods when they come to a step: on pods that are there, and on
pods to come. A breakpoint holds the pod, or makes the step fail or wait. Or it holds
nobody, and keeps the stack, or logs values.

Most steps of the sync loop and of the pod sources serve all pods of the node.
podstep holds a pod there only in a lab, and the whole node stands still
meanwhile.`,
		Args: noSuchCommand,
		RunE: func(*cobra.Command, []string) error {
			return usagef("break does nothing alone; give add, ls or rm")
		},
	}
	cmd.AddCommand(a.breakAdd(), a.breakList(), a.breakRemove())
	return cmd
}

// breakFlags are the flags of break add.
type breakFlags struct {
	podName
	step, at, action, filter, labels, message string
	on                                        choice
	slowerThan                                slowness
	lease, expires                            *period
	times, after                              uint32
	force                                     bool
	out                                       format
}

func (a *app) breakAdd() *cobra.Command {
	var flags breakFlags
	cmd := &cobra.Command{
		Use:   "add [POD|GLOB] --step STEP|GLOB|stage:NAME|--at FUNCTION|FILE:LINE [flags]",
		Short: "Add a breakpoint, also for pods to come",
		Long: `Adds a breakpoint, for pods that are there and pods to come.

With --action fail=MESSAGE the step returns that error without doing its work,
once, or as often as --times says. For a call to the runtime MESSAGE may begin with
a gRPC code and a colon, such as "NotFound: no such image".

With --action snapshot the stack is kept in the pod's story, with lines and values,
and nobody is held: V on the screen and podstep why show it, also when all is over.
It may be at any step that is seen, of any pod.

With --action log=NAME,NAME these values of the step are put into the pod's story, with
err and took, and nobody is held: podstep trace and the screen show them as they come.
log alone means all values. --if is a filter of the calls, as podstep trace --filter
takes it. It may be at any step that is seen, of any pod, and where nobody may be held.

With --slower-than p99 the step has to take longer than 99 in 100 of its calls took: of
those that the agent remembers, or that podstep top --save has written to --against FILE.

With --at the breakpoint is at a place in the kubelet's code, and not at a step:
FUNCTION, FUNCTION:LINE or FILE:LINE, as Delve has them. It holds a pod when the
pod's own goroutine comes to that place inside a step. With --action log the values are
expressions, as podstep print takes them; log alone means all arguments and local
variables. With --if EXPRESSION podstep logs only where that is true. The pod stands for
some milliseconds. It takes a debugger that holds pods: podstep attach --probe cri,delve,api --allow-holds --risk-the-kubelet.`,
		Example: `  podstep break add web --step cri.RunPodSandbox
  podstep break add 'shop/*' --step stage:volume --on error
  podstep break add -l app=web --step sync.volumes --slower-than 5s
  podstep break add --step cri.PullImage --slower-than p99 --against before.json --action snapshot
  podstep break add '*' --step 'sync.*' --on error --action snapshot
  podstep break add '*' --step cri.PullImage --on exit --action log=image,took --if 'slow>2s'
  podstep break add web --at 'kubelet.(*Kubelet).makePodDataDirs'
  podstep break add web --at pkg/kubelet/kubelet.go:2010
  podstep break add web --at kuberuntime_manager.go:1205 --action log=attempt,sandboxID --if createPodSandbox
  podstep break add web --step cri.PullImage --action 'fail=Unavailable: no such registry' --times 2`,
		Args:              arguments(0, 1, "POD|GLOB"),
		ValidArgsFunction: a.completePods,
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := probes.Load()
			if err != nil {
				return err
			}
			req, err := flags.request(first(args), cmd.Flags().Changed("on"), c)
			if err != nil {
				return err
			}
			if err := flags.slowerThan.resolve(cmd.Context(), a, c, flags.step); err != nil {
				return err
			}
			req.SlowerThan = flags.slowerThan.proto()
			return a.addBreakpoint(cmd.Context(), req, c, &flags.out)
		},
	}
	flags.add(cmd)
	return cmd
}

func (f *breakFlags) add(cmd *cobra.Command) {
	f.on = choice{value: "enter", of: []string{"enter", "exit", "error"}}
	f.lease, f.expires = newPeriod("--lease 5m"), newPeriod("--expires 1h")
	f.podName.add(cmd)
	cmd.Flags().StringVar(&f.step, "step", "", "the `STEP`: a name, a glob, or stage:NAME for all steps of a stage")
	cmd.RegisterFlagCompletionFunc("step", completeSteps)
	cmd.Flags().StringVar(&f.at, "at", "", "a `PLACE` in the kubelet's code in place of a step: FUNCTION, FUNCTION:LINE or FILE:LINE")
	cmd.RegisterFlagCompletionFunc("at", cobra.NoFileCompletions)
	f.on.add(cmd, "on", "", "when the step is entered, left, or left with an error")
	f.slowerThan.add(cmd)
	cmd.Flags().StringVar(&f.action, "action", "hold", "hold, snapshot, log, log=NAME,NAME, `fail=MESSAGE` or delay=DURATION")
	cmd.Flags().StringVar(&f.filter, "if", "", "with --action log: only calls that this `FILTER` selects; with --at: only where this expression is true")
	cmd.RegisterFlagCompletionFunc("if", cobra.NoFileCompletions)
	cmd.RegisterFlagCompletionFunc("action", cobra.FixedCompletions([]string{"hold", "snapshot", "log=", "fail=", "delay="}, cobra.ShellCompDirectiveNoFileComp|cobra.ShellCompDirectiveNoSpace))
	cmd.Flags().Uint32Var(&f.times, "times", agentpb.DefaultTimes, "remove the breakpoint after it acted `N` times (default: after one for faults, else never)")
	cmd.Flags().Uint32Var(&f.after, "after", 0, "skip the first `N` hits")
	cmd.Flags().StringVarP(&f.labels, "selector", "l", "", "only pods with these `LABELS`, like app=web,tier=front")
	f.lease.add(cmd, "lease", "how long each hold may last at most, like 5m (default: the agent's)")
	addMessage(cmd, &f.message)
	f.expires.add(cmd, "expires", "remove the breakpoint after this time, like 1h (default: the agent's)")
	cmd.Flags().BoolVar(&f.force, "force", false, "act on control-plane and system-critical pods too")
	f.out.add(cmd, "wide", "json", "yaml")
}

func (f *breakFlags) request(pods string, onGiven bool, c *probes.Catalogue) (*agentpb.AddBreakpointRequest, error) {
	switch {
	case f.at != "" && (f.step != "" || f.on.value != "enter" || f.slowerThan.given() || f.action != "hold" && !f.isLog()):
		return nil, usagef("--at holds or logs, as a pod comes there; leave --step, --on, --slower-than and other actions out")
	case f.at == "" && f.step == "":
		return nil, usagef("--step is missing; name a step, like --step cri.RunPodSandbox; podstep steps lists them")
	case f.at == "":
		if _, err := stepsNamed(c, f.step); err != nil {
			return nil, err
		}
	}
	sel, err := f.some(pods)
	if err != nil {
		return nil, err
	}
	if sel.Labels, err = labels(f.labels); err != nil {
		return nil, err
	}
	req := &agentpb.AddBreakpointRequest{
		Pods: sel, Step: f.step, At: f.at, Expires: f.expires.proto(),
		Times: f.times, After: f.after, Force: f.force, Message: f.message,
	}
	if req.On, err = f.side(onGiven); err != nil {
		return nil, err
	}
	return req, f.act(req)
}

// side returns when to act. How long a step took is known when it is left, so --slower-than means exit.
func (f *breakFlags) side(given bool) (agentpb.On, error) {
	if f.slowerThan.given() && !given {
		return agentpb.On_ON_EXIT, nil
	}
	if f.slowerThan.given() && f.on.value == "enter" {
		return 0, usagef("--slower-than does not go with --on enter: how long a step took is known only at its exit")
	}
	return map[string]agentpb.On{"enter": agentpb.On_ON_ENTER, "exit": agentpb.On_ON_EXIT, "error": agentpb.On_ON_ERROR}[f.on.value], nil
}

func (f *breakFlags) act(req *agentpb.AddBreakpointRequest) error {
	word, value, _ := strings.Cut(f.action, "=")
	if word != "log" && f.filter != "" {
		return usagef("--if is for logs, and --action is %s; leave it out", word)
	}
	if word != "hold" && f.lease.d > 0 {
		return usagef("--lease is for holds, and --action is %s; leave one of them out", word)
	}
	switch {
	case f.action == "hold":
		req.Action = &agentpb.AddBreakpointRequest_Hold{Hold: &agentpb.HoldAction{Lease: f.lease.proto()}}
	case f.action == "snapshot" && f.force:
		return usagef("--force is not needed for --action snapshot, which holds nobody; leave it out")
	case f.action == "snapshot":
		req.Action = &agentpb.AddBreakpointRequest_Snapshot{Snapshot: &agentpb.SnapshotAction{}}
	case word == "log":
		return f.logs(req, value)
	case word == "fail" && value != "":
		req.Action = &agentpb.AddBreakpointRequest_Fail{Fail: value}
	case word == "delay":
		d, err := time.ParseDuration(value)
		if err != nil || d <= 0 {
			return usagef("--action %q: not a positive duration; write it like --action delay=2s", f.action)
		}
		req.Action = &agentpb.AddBreakpointRequest_Delay{Delay: durationpb.New(d)}
	default:
		return usagef("--action %q: there is no such action; write hold, snapshot, log=NAME,NAME, fail=MESSAGE or delay=DURATION", f.action)
	}
	return nil
}

// labels reads a selector as kubectl -l does, as far as a pod selector of the agent goes: equality.
func labels(s string) (map[string]string, error) {
	if s == "" {
		return nil, nil
	}
	out := map[string]string{}
	for _, pair := range strings.Split(s, ",") {
		key, value, ok := strings.Cut(strings.TrimSpace(pair), "=")
		value = strings.TrimPrefix(value, "=")
		if !ok || key == "" || strings.ContainsAny(key, "! ()") || strings.ContainsAny(value, "=! ()") {
			return nil, usagef("-l %q: %q is not KEY=VALUE; write labels like app=web,tier=front", s, pair)
		}
		out[key] = value
	}
	return out, nil
}

func (a *app) addBreakpoint(ctx context.Context, req *agentpb.AddBreakpointRequest, c *probes.Catalogue, out *format) error {
	conn, err := a.dial(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	b, err := conn.AddBreakpoint(ctx, req)
	if err != nil {
		return err
	}
	for _, r := range b.Refused {
		a.printf("podstep: warning: not at %s: %s", r.Step, reason.Problem(r.Problem).En)
	}
	a.warnStandstill(b, c)
	return out.print(a.out, newBreakJSON(b), func(w io.Writer) { breakTable(w, []*agentpb.Breakpoint{b}, out.wide()) })
}

// warnStandstill names the steps of a breakpoint at which the whole node will wait. The agent
// accepts such steps in a lab only.
func (a *app) warnStandstill(b *agentpb.Breakpoint, c *probes.Catalogue) {
	switch b.GetSpec().GetAction().(type) {
	case *agentpb.AddBreakpointRequest_Fail, *agentpb.AddBreakpointRequest_Snapshot, *agentpb.AddBreakpointRequest_Log:
		return
	}
	enter := b.GetSpec().GetOn() == agentpb.On_ON_ENTER
	var steps []string
	for _, name := range b.Steps {
		s := c.Step(name)
		if s != nil && (enter && s.Hold.Enter == probes.HoldNode || !enter && s.Hold.Exit == probes.HoldNode) {
			steps = append(steps, name)
		}
	}
	if len(steps) > 0 {
		a.printf("podstep: warning: while a pod waits at %s, the node stands still: its other pods are not started, updated or stopped", strings.Join(steps, ", "))
	}
}

func (a *app) breakList() *cobra.Command {
	var out format
	cmd := &cobra.Command{
		Use:   "ls [-o wide|json|yaml]",
		Short: "List the breakpoints",
		Args:  arguments(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := a.dial(cmd.Context())
			if err != nil {
				return err
			}
			defer c.Close()
			answer, err := c.ListBreakpoints(cmd.Context(), &agentpb.ListBreakpointsRequest{})
			if err != nil {
				return err
			}
			if len(answer.Breakpoints) == 0 && out.value == "" {
				a.printf("there is no breakpoint; %s break add makes one", a.name)
				return nil
			}
			data := make([]breakJSON, len(answer.Breakpoints))
			for i, b := range answer.Breakpoints {
				data[i] = newBreakJSON(b)
			}
			return out.print(a.out, data, func(w io.Writer) { breakTable(w, answer.Breakpoints, out.wide()) })
		},
	}
	out.add(cmd, "wide", "json", "yaml")
	return cmd
}

// breakJSON is a breakpoint as scripts get it.
type breakJSON struct {
	ID         uint32            `json:"id"`
	Namespace  string            `json:"namespace,omitempty"`
	Pod        string            `json:"pod,omitempty"`
	Labels     map[string]string `json:"labels,omitempty"`
	Step       string            `json:"step"`
	At         string            `json:"at,omitempty"`
	Places     []frameJSON       `json:"places,omitempty"`
	On         string            `json:"on"`
	SlowerThan string            `json:"slowerThan,omitempty"`
	Action     string            `json:"action"`
	If         string            `json:"if,omitempty"`
	Lease      string            `json:"lease,omitempty"`
	Times      uint32            `json:"times"`
	After      uint32            `json:"after"`
	Force      bool              `json:"force"`
	Hits       uint32            `json:"hits"`
	Missed     uint32            `json:"missed"`
	Expires    *time.Time        `json:"expires"`
	Steps      []string          `json:"steps"`
	Refused    []refusedJSON     `json:"refused"`
	Peer       *peerJSON         `json:"peer,omitempty"`
	Message    string            `json:"message,omitempty"`
}

// refusedJSON is a step at which a breakpoint cannot act.
type refusedJSON struct {
	Step string `json:"step"`
	Why  string `json:"why"`
	// Code is the code of the protocol's Problem.
	Code string `json:"code"`
}

func newBreakJSON(b *agentpb.Breakpoint) breakJSON {
	s := b.GetSpec()
	out := breakJSON{
		ID: b.Id, Namespace: s.GetPods().GetNamespace(), Pod: s.GetPods().GetName(), Labels: s.GetPods().GetLabels(),
		Step: s.GetStep(), On: strings.ToLower(strings.TrimPrefix(s.GetOn().String(), "ON_")),
		Times: s.GetTimes(), After: s.GetAfter(), Force: s.GetForce(), Hits: b.Hits, Missed: b.Missed, Expires: moment(b.Expires), Peer: newPeerJSON(b.Peer), Message: s.GetMessage(),
		Steps: append([]string{}, b.Steps...), Refused: []refusedJSON{},
	}
	out.At = s.GetAt()
	for _, f := range b.Places {
		out.Places = append(out.Places, newFrameJSON(f))
	}
	for _, r := range b.Refused {
		out.Refused = append(out.Refused, refusedJSON{r.Step, reason.Problem(r.Problem).En, r.Problem.GetCode().String()})
	}
	if s.GetSlowerThan() != nil {
		out.SlowerThan = s.GetSlowerThan().AsDuration().String()
	}
	switch action := s.GetAction().(type) {
	case *agentpb.AddBreakpointRequest_Fail:
		out.Action = "fail=" + action.Fail
	case *agentpb.AddBreakpointRequest_Delay:
		out.Action = "delay=" + action.Delay.AsDuration().String()
	case *agentpb.AddBreakpointRequest_Snapshot:
		out.Action = "snapshot"
	case *agentpb.AddBreakpointRequest_Log:
		out.Action, out.If = strings.TrimSuffix("log="+strings.Join(action.Log.GetFields(), ","), "="), action.Log.GetFilter()
	default:
		out.Action = "hold"
		if lease := s.GetHold().GetLease(); lease != nil {
			out.Lease = lease.AsDuration().String()
		}
	}
	return out
}

func breakTable(w io.Writer, breakpoints []*agentpb.Breakpoint, wide bool) {
	header := []string{"ID", "PODS", "STEP", "ON", "ACTION", "HITS", "EXPIRES"}
	if wide {
		header = append(header, "MISSED", "TIMES", "AFTER", "BY", "MESSAGE", "AT", "REFUSED")
	}
	var rows [][]string
	for _, b := range breakpoints {
		j := newBreakJSON(b)
		on := j.On
		if j.SlowerThan != "" {
			on += " after " + j.SlowerThan
		}
		expires := ""
		if j.Expires != nil {
			expires = "in " + left(time.Until(*j.Expires))
		}
		row := []string{number(j.ID), selected(b.GetSpec().GetPods()), cmp.Or(j.Step, j.At), on, j.Action, number(j.Hits), expires}
		if wide {
			var refused []string
			for _, r := range j.Refused {
				refused = append(refused, r.Step)
			}
			by := ""
			if b.Peer != nil {
				by = reason.Peer(b.Peer).En
			}
			at := j.Steps
			for _, f := range b.Places {
				at = append(at, fmt.Sprintf("%s (%s)", path.Base(f.GetFunction()), f.Written()))
			}
			row = append(row, number(j.Missed), number(j.Times), number(j.After), by, j.Message, strings.Join(at, " "), strings.Join(refused, " "))
		}
		rows = append(rows, row)
	}
	table(w, header, rows)
}

func number(n uint32) string { return strconv.FormatUint(uint64(n), 10) }

// selected writes a selection with its labels.
func selected(sel *agentpb.PodSelector) string {
	if sel == nil {
		sel = &agentpb.PodSelector{}
	}
	parts := []string{sel.Written()}
	for _, k := range sortedKeys(sel.Labels) {
		parts = append(parts, k+"="+sel.Labels[k])
	}
	return strings.Join(parts, " ")
}
