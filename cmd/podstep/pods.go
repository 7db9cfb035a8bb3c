package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/client"
	"github.com/podstep/podstep/agent/client/fleet"
	"github.com/podstep/podstep/agent/story/life"
	"github.com/podstep/podstep/agent/wire"
	"github.com/podstep/podstep/probes"
)

func (a *app) pods() *cobra.Command {
	var name podName
	var out format
	var then podsThen
	cmd := &cobra.Command{
		Use:   "pods [POD|GLOB] [-n NAMESPACE] [-o wide|json|yaml]",
		Short: "What every pod is doing",
		Long: `Shows every pod that the kubelet works on, the worst first: what it is doing, at
which step it is, or was last, and FOR how long it has been so. If an API server can be
asked, it also shows the pods that have no node. STATE is one of these; the screen says
retrying for retry:

  held     podstep holds it
  stuck    it has been at one step for a minute, has failed for two, has waited for
           five and as long as its health probes allow, or should have ended
  retry    it has failed, and waits for its next try, or is in one: a container that
           crashed again and again is up, and not for ten minutes yet
  working  the kubelet does something for it
  waiting  for something that normally comes
  running  it runs and is ready
  done     it has ended, or the kubelet has refused it

With --at it shows what the pods were doing at a TIME, by what podstep attach
--record-dir has recorded, here or on the nodes that are named; FOR is as of then.

A pod that is named and is not there is an error; a glob may match none.`,
		Example: `  podstep pods
  podstep pods 'web-*' -o wide
  podstep pods --at 03:12
  podstep pods -o json | jq -r '.[] | select(.state == "held") | .name'`,
		Args:              arguments(0, 1, "POD|GLOB"),
		ValidArgsFunction: a.completePods,
		RunE: func(cmd *cobra.Command, args []string) error {
			sel, err := name.some(first(args))
			if err != nil {
				return err
			}
			if then.given() {
				return a.printPodsThen(cmd.Context(), sel, &then, &out)
			}
			return a.printPods(cmd.Context(), sel, &out)
		},
	}
	name.add(cmd)
	out.add(cmd, "wide", "json", "yaml")
	then.add(cmd)
	return cmd
}

func (a *app) printPods(ctx context.Context, sel *agentpb.PodSelector, out *format) error {
	nodes, err := a.chosen(ctx)
	if err != nil {
		return err
	}
	answers := fleet.Ask(ctx, nodes, patienceWith(nodes), func(ctx context.Context, c *client.Client) ([]*agentpb.PodState, error) {
		answer, err := c.Reader().Pods(ctx, &agentpb.PodsRequest{Pods: sel})
		return answer.GetPods(), err
	})
	if len(nodes) == 1 && answers[0].Err != nil {
		return answers[0].Err
	}
	pods := podsOf(answers, len(nodes) > 1, func(all []*agentpb.PodState) []*agentpb.PodState { return all })
	more := onOneNode(a.unscheduled(ctx, sel))
	if pods = append(pods, more...); len(nodes) > 1 || len(more) > 0 { // an agent's own are in order
		sortWorst(pods)
	}
	unanswered := a.printUnanswered(namesOf(answers), errorsOf(answers))
	switch {
	case len(pods) > 0:
	case unanswered != nil:
		return unanswered
	case sel.Name != "" && !sel.HasGlob() && len(nodes) == 1:
		return fmt.Errorf("no pod %s on this node; podstep pods shows all", sel.Written())
	case sel.Name != "" && !sel.HasGlob():
		return fmt.Errorf("no pod %s on the %d nodes; podstep pods shows all", sel.Written(), len(nodes))
	case out.value == "":
		a.printf("the kubelet has no such pod (%s)", sel.Written())
		return nil
	}
	err = out.print(a.out, newPodsJSON(pods), func(w io.Writer) { podTable(w, pods, len(nodes) > 1, out.wide(), time.Now()) })
	return errors.Join(err, unanswered)
}

// podStates returns what the pods of an agent are doing, and those that have no node, the worst first.
func (a *app) podStates(ctx context.Context, c *client.Reader, sel *agentpb.PodSelector) ([]*agentpb.PodState, error) {
	answer, err := c.Pods(ctx, &agentpb.PodsRequest{Pods: sel})
	if err != nil {
		return nil, err
	}
	pods := answer.Pods
	if more := a.unscheduled(ctx, sel); len(more) > 0 {
		pods = append(pods, more...)
		life.SortWorst(pods)
	}
	return pods, nil
}

// nodePod is a pod on a node. The name is empty if there is one node only, or if the pod has none.
type nodePod struct {
	node string
	*agentpb.PodState
}

// onOneNode returns pods of a node that need not be named.
func onOneNode(pods []*agentpb.PodState) (out []nodePod) {
	for _, p := range pods {
		out = append(out, nodePod{"", p})
	}
	return out
}

// podsOf returns the pods that all nodes answered, with the names of the nodes if they are named.
func podsOf[T any](answers []fleet.Answer[T], named bool, of func(T) []*agentpb.PodState) (out []nodePod) {
	for i := range answers {
		name := ""
		if named {
			name = answers[i].Name
		}
		for _, p := range of(answers[i].Value) {
			out = append(out, nodePod{name, p})
		}
	}
	return out
}

// sortWorst puts the pods that need a look first.
func sortWorst(pods []nodePod) {
	slices.SortStableFunc(pods, func(a, b nodePod) int { return life.CompareWorst(a.PodState, b.PodState) })
}

// podJSON is a pod's state as scripts get it.
type podJSON struct {
	Node string `json:"node,omitempty"` // if several were asked
	probes.Pod
	Phase string     `json:"phase"`
	State string     `json:"state"`
	Stage string     `json:"stage"`
	Step  string     `json:"step"`
	Since *time.Time `json:"since"`
	Hold  *holdJSON  `json:"hold"`

	Sync     uint32 `json:"sync"`
	Ready    bool   `json:"ready"`
	Deleting bool   `json:"deleting"`
	Error    string `json:"error,omitempty"`
}

func newPodsJSON(pods []nodePod) []podJSON {
	data := make([]podJSON, len(pods))
	for i, p := range pods {
		data[i] = newPodJSON(p.PodState)
		data[i].Node = p.node
	}
	return data
}

func newPodJSON(p *agentpb.PodState) podJSON {
	out := podJSON{
		Pod: podOf(p.Pod), Phase: p.Phase, State: p.State,
		Stage: p.Stage, Step: p.Step, Since: moment(p.Since),
		Sync: p.Sync, Ready: p.Ready, Deleting: p.Deleting, Error: p.Error,
	}
	if len(p.Holds) > 0 {
		h := newHoldJSON(p.Holds[0])
		out.Hold = &h
	}
	return out
}

func podOf(p *agentpb.Pod) probes.Pod {
	return wire.PodOf(p)
}

// moment returns nil for a time that is not known.
func moment(t *timestamppb.Timestamp) *time.Time {
	if t == nil {
		return nil
	}
	m := t.AsTime()
	return &m
}

func podTable(w io.Writer, pods []nodePod, named, wide bool, now time.Time) {
	header := []string{"NAMESPACE", "NAME", "PHASE", "STATE", "STEP", "FOR", "HOLD"}
	if wide {
		header = append(header, "STAGE", "SYNC", "READY", "UID", "ERROR")
	}
	if named {
		header = append([]string{"NODE"}, header...)
	}
	var rows [][]string
	for _, p := range pods {
		row := []string{p.Pod.GetNamespace(), p.Pod.GetName(), p.Phase, p.State, p.Step, since(p.Since, now), holdCell(p.Holds)}
		if wide {
			row = append(row, p.Stage, strconv.Itoa(int(p.Sync)), strconv.FormatBool(p.Ready), p.Pod.GetUid(), p.Error)
		}
		if named {
			row = append([]string{p.node}, row...)
		}
		rows = append(rows, row)
	}
	table(w, header, rows)
}

func since(t *timestamppb.Timestamp, now time.Time) string {
	if t == nil {
		return ""
	}
	return now.Sub(t.AsTime()).Round(time.Second).String()
}

func holdCell(holds []*agentpb.HoldInfo) string {
	if len(holds) == 0 {
		return ""
	}
	h := holds[0]
	return h.On + " of " + h.Step + ", " + left(soonest(h)) + " left"
}

func first(args []string) string {
	if len(args) == 0 {
		return ""
	}
	return args[0]
}
