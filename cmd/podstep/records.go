package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/client"
	"github.com/podstep/podstep/agent/client/fleet"
	"github.com/podstep/podstep/agent/explain/gather"
	"github.com/podstep/podstep/agent/trace/past"
)

// localRecord returns the record directory of this machine, if the service has recorded here.
func localRecord() (past.Store, error) {
	if _, err := os.ReadDir(defaultRecordDir); errors.Is(err, os.ErrPermission) {
		return nil, fmt.Errorf("%s can be read by its owner alone: run podstep with sudo, or name a copy of it", defaultRecordDir)
	}
	if past.IsDir(defaultRecordDir) {
		return past.Dir(defaultRecordDir), nil
	}
	return nil, fmt.Errorf("nothing was recorded here: no agent records, and %s has nothing; podstep attach --record-dir DIR does, and a DIR can be named", defaultRecordDir)
}

// recordOf returns the record of an agent, read over a connection to it, and the name of its node.
func recordOf(ctx context.Context, c *client.Client) (from past.Store, node string) {
	node = c.About().GetNode()
	return &past.Asked{Context: ctx, Name: "the record of " + node, Agent: c.Reader()}, node
}

// unlessNothing returns an error, but prints one that says that a record has nothing of a time: the command goes on without
// it.
func (a *app) unlessNothing(err error) error {
	var nothing *past.NothingError
	if errors.As(err, &nothing) {
		a.printf("podstep: %v", nothing)
		return nil
	}
	return err
}

// oneRecord returns the record of one node: that of its agent or, where no agent is named and none records, that of this
// machine. The connection lasts as long as ctx.
func (a *app) oneRecord(ctx context.Context, n *fleet.Node) (from past.Store, node string, err error) {
	c, err := n.Dial(ctx)
	if err == nil {
		var stats *agentpb.StatsResponse
		if stats, err = c.Reader().Stats(ctx, &agentpb.StatsRequest{}); stats.GetRecord() != nil {
			context.AfterFunc(ctx, func() { c.Close() })
			from, node = recordOf(ctx, c)
			return from, node, nil
		}
		c.Close()
	}
	switch {
	case !a.named():
		from, err = localRecord()
	case err == nil:
		err = fmt.Errorf("the agent at %s records nothing to look back at; podstep attach --record-dir DIR does", n.Place)
	}
	return from, "", err
}

// recordWith returns the record of the one node that the command is about. Of several it is the one that has some pods.
func (a *app) recordWith(ctx context.Context, sel *agentpb.PodSelector) (from past.Store, node string, err error) {
	nodes, err := a.chosen(ctx)
	if err != nil {
		return nil, "", err
	}
	at := 0
	if len(nodes) > 1 {
		if sel.GetName() == "" {
			return nil, "", errSeveralNodes(len(nodes))
		}
		answers := fleet.Ask(ctx, nodes, pastPatience, func(ctx context.Context, c *client.Client) (bool, error) {
			from, _ := recordOf(ctx, c)
			return past.Has(from, sel)
		})
		if at, err = onlyOne(answers, sel, func(a fleet.Answer[bool]) bool { return a.Value }); err != nil {
			return nil, "", err
		}
	}
	return a.oneRecord(ctx, &nodes[at])
}

// pastPatience is how long one of several nodes may take to send what it has recorded.
const pastPatience = time.Minute

// askRecords reads the records of the nodes that the command is about.
func askRecords[T any](ctx context.Context, a *app, read func(past.Store, string) (T, error)) ([]fleet.Answer[T], error) {
	nodes, err := a.chosen(ctx)
	if err != nil {
		return nil, err
	}
	if len(nodes) == 1 {
		from, node, err := a.oneRecord(ctx, &nodes[0])
		if err != nil {
			return nil, err
		}
		value, err := read(from, node)
		return []fleet.Answer[T]{{Name: node, Value: value}}, err
	}
	return fleet.Ask(ctx, nodes, pastPatience, func(ctx context.Context, c *client.Client) (T, error) {
		return read(recordOf(ctx, c))
	}), nil
}

// askThen looks at what recordings have of a moment: those that are named or, if none is, those of the nodes that the
// command is about. sel chooses the pods; nil: all.
func askThen[T any](ctx context.Context, a *app, logs *logFlags, at *atFlag, sel *agentpb.PodSelector, names []string, look func(*gather.Trace) (T, error)) ([]fleet.Answer[T], error) {
	if len(names)+len(logs.logs) == 0 {
		return askRecords(ctx, a, func(from past.Store, node string) (value T, err error) {
			of := *logs
			of.past.from, of.past.node = from, node
			t, err := a.readPast(ctx, &of, at, sel, from.String(), nil)
			if err != nil {
				return value, err
			}
			return look(t)
		})
	}
	name := nameOfLogs(append(names, logs.logs...))
	t, err := a.readPast(ctx, logs, at, sel, name, names)
	if err != nil {
		return nil, err
	}
	value, err := look(t)
	return []fleet.Answer[T]{{Name: name, Value: value}}, err
}
