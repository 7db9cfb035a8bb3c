package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/client"
	"github.com/podstep/podstep/agent/client/fleet"
)

// socketFlag is the flag --socket, which may be given more than once.
type socketFlag struct{ where *where }

func (f socketFlag) String() string { return "" }
func (f socketFlag) Type() string   { return "PATH" }
func (f socketFlag) Set(text string) error {
	if text == "" {
		return nil // a variable of a script that is not set
	}
	n, err := fleet.ParseSocket(text)
	if err != nil {
		return err
	}
	for _, other := range f.where.agents {
		switch {
		case other.Place.String() == n.Place.String():
			return errors.New("it is given twice")
		case n.Name != "" && other.Name == n.Name:
			return fmt.Errorf("%s is given that name already", other.Place)
		}
	}
	f.where.agents = append(f.where.agents, n)
	return nil
}

// nodes returns the ways to the agents that the command line names, or the usual one.
func (a *app) nodes() ([]fleet.Node, error) {
	place, err := a.place()
	if err != nil || len(a.agents) > 0 {
		return a.agents, err
	}
	return []fleet.Node{{Place: place}}, nil
}

// chosen returns the nodes that the command is about: all, or the one of --node.
func (a *app) chosen(ctx context.Context) ([]fleet.Node, error) {
	all, err := a.nodes()
	if err != nil || a.node == "" || len(a.agents) == 0 {
		return all, err
	}
	if i := slices.IndexFunc(all, func(n fleet.Node) bool { return n.Name == a.node }); i >= 0 {
		return all[i : i+1], nil
	}
	answers := fleet.Ask(ctx, all, fleet.Patience, func(context.Context, *client.Client) (struct{}, error) { return struct{}{}, nil })
	for i := range answers {
		if answers[i].Name == a.node && answers[i].Err == nil {
			return all[i : i+1], nil
		}
	}
	for i := range answers {
		if err := answers[i].Err; err != nil {
			return nil, fmt.Errorf("no node that answers is called %s; %s: %w", a.node, answers[i].Name, err)
		}
	}
	return nil, usagef("--node %q: there is no such node; there are %s", a.node, strings.Join(namesOf(answers), ", "))
}

func namesOf[T any](answers []fleet.Answer[T]) (names []string) {
	for i := range answers {
		names = append(names, answers[i].Name)
	}
	return names
}

// useOne makes the one node that the command is about the only one that is named, for commands that pass its socket on.
func (a *app) useOne(ctx context.Context) error {
	if len(a.agents) == 0 {
		return nil
	}
	n, err := a.one(ctx)
	if err != nil {
		return err
	}
	a.where = a.with(n.Place)
	return nil
}

// one returns the one node that the command is about.
func (a *app) one(ctx context.Context) (fleet.Node, error) {
	nodes, err := a.chosen(ctx)
	if err != nil {
		return fleet.Node{}, err
	}
	if len(nodes) > 1 {
		return fleet.Node{}, errSeveralNodes(len(nodes))
	}
	return nodes[0], nil
}

// errSeveralNodes returns the error of a command that is about one node.
func errSeveralNodes(named int) error {
	return usagef("%d nodes are named, and this command is about one; choose it with --node NAME", named)
}

// patienceWith returns how long each of some nodes may take to answer. A node that is asked alone delays nobody, and
// package client knows best what it waits for; 0: as long as that waits.
func patienceWith(nodes []fleet.Node) time.Duration {
	if len(nodes) == 1 {
		return 0
	}
	return fleet.Patience
}

// dial connects to the agent of the one node that the command is about.
func (a *app) dial(ctx context.Context) (*client.Client, error) {
	n, err := a.one(ctx)
	if err != nil {
		return nil, err
	}
	return n.Dial(ctx)
}

// dialReader is dial for commands that only look.
func (a *app) dialReader(ctx context.Context) (*client.Reader, error) {
	c, err := a.dial(ctx)
	if err != nil {
		return nil, err
	}
	return c.Reader(), nil
}

// dialNodeOf connects to the agent of the node that has a pod.
func (a *app) dialNodeOf(ctx context.Context, sel *agentpb.PodSelector) (*client.Client, error) {
	nodes, err := a.chosen(ctx)
	if err != nil {
		return nil, err
	}
	if len(nodes) == 1 {
		return nodes[0].Dial(ctx)
	}
	answers := fleet.Ask(ctx, nodes, fleet.Patience, func(ctx context.Context, c *client.Client) ([]*agentpb.PodState, error) {
		answer, err := c.Pods(ctx, &agentpb.PodsRequest{Pods: sel})
		return answer.GetPods(), err
	})
	has := func(a fleet.Answer[[]*agentpb.PodState]) bool { return len(a.Value) > 0 }
	i, err := onlyOne(answers, sel, has)
	if err != nil {
		return nil, err
	}
	return nodes[i].Dial(ctx)
}

// onlyOne returns the place of the only node that has a pod.
func onlyOne[T any](answers []fleet.Answer[T], sel *agentpb.PodSelector, has func(fleet.Answer[T]) bool) (at int, err error) {
	var with []string
	var silent []error
	for i := range answers {
		switch {
		case answers[i].Err != nil:
			silent = append(silent, fmt.Errorf("%s: %w", answers[i].Name, answers[i].Err))
		case has(answers[i]):
			at, with = i, append(with, answers[i].Name)
		}
	}
	switch {
	case len(with) == 1:
		return at, nil
	case len(with) > 1:
		return 0, fmt.Errorf("%s is on the nodes %s; choose one with --node", sel.Written(), strings.Join(with, ", "))
	case len(silent) > 0:
		return 0, fmt.Errorf("no node that answers has %s; %w", sel.Written(), errors.Join(silent...))
	}
	return 0, fmt.Errorf("no pod %s on the %d nodes; podstep pods shows all, and with --at TIME those of then", sel.Written(), len(answers))
}

// printUnanswered prints the errors of nodes that did not answer, and returns the error with which the command then ends.
func (a *app) printUnanswered(names []string, errs []error) error {
	failed := false
	for i, err := range errs {
		if err != nil {
			a.printf("podstep: %s: %v", names[i], err)
			failed = true
		}
	}
	if failed {
		return errQuiet
	}
	return nil
}

// errorsOf returns the errors of answers.
func errorsOf[T any](answers []fleet.Answer[T]) (errs []error) {
	for i := range answers {
		errs = append(errs, answers[i].Err)
	}
	return errs
}

// onEach runs do with a connection to each node that the command is about, at once. name is empty if there is only one.
// A node that fails does not end the others; its error is printed as soon as it comes. With first, the first node
// that succeeds ends all.
func (a *app) onEach(ctx context.Context, first bool, do func(ctx context.Context, name string, c *client.Client) error) error {
	nodes, err := a.chosen(ctx)
	if err != nil {
		return err
	}
	if len(nodes) == 1 {
		c, err := nodes[0].Dial(ctx)
		if err != nil {
			return err
		}
		defer c.Close()
		return do(ctx, "", c)
	}
	within, end := context.WithCancel(ctx)
	defer end()
	var all sync.WaitGroup
	outcomes := make([]outcome, len(nodes))
	for i := range nodes {
		all.Go(func() {
			o := &outcomes[i]
			o.name = nodes[i].Called()
			o.err = dialAnd(within, &nodes[i], func(c *client.Client) error {
				o.name = nodes[i].NameOf(c.About().GetNode())
				return do(within, o.name, c)
			})
			switch {
			case o.err == nil && first:
				end()
			case o.err != nil && within.Err() == nil:
				o.printed = !first
				if o.printed {
					a.printf("podstep: %s: %v", o.name, o.err)
				}
			}
		})
	}
	all.Wait()
	return a.endOf(outcomes, first)
}

// outcome is how a command has ended on a node.
type outcome struct {
	name    string
	err     error
	printed bool
}

// endOf returns the error of a command on several nodes.
func (a *app) endOf(outcomes []outcome, first bool) error {
	failed := slices.ContainsFunc(outcomes, func(o outcome) bool { return o.err != nil })
	done := slices.ContainsFunc(outcomes, func(o outcome) bool { return o.err == nil })
	if !failed || first && done {
		return nil
	}
	printed := map[string]bool{} // the nodes often fail for one reason, such as that the time is over
	for _, o := range outcomes {
		if text := fmt.Sprint(o.err); o.err != nil && !o.printed && !printed[text] {
			printed[text] = true
			a.printf("podstep: %s: %s", o.name, text)
		}
	}
	return errQuiet
}

// dialAnd connects to a node, which has to answer in time, and calls do.
func dialAnd(ctx context.Context, n *fleet.Node, do func(*client.Client) error) error {
	c, err := n.DialWithin(ctx, fleet.Patience)
	if err != nil {
		return err
	}
	defer c.Close()
	return do(c)
}
