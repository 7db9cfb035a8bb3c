package fleet

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/podstep/podstep/agent/client"
	"github.com/podstep/podstep/agent/reason"
)

// Patience is how long one node may take to answer before it counts as silent.
const Patience = 10 * time.Second

// Answer is what one node has answered, or why it has not.
type Answer[T any] struct {
	// Name is the node's.
	Name  string
	Value T
	Err   error
}

// Ask asks all nodes at once, and each for at most within; 0: for as long as ctx goes on. The answers are in the order of
// the nodes. ask gets a connection that is closed when it returns.
func Ask[T any](ctx context.Context, nodes []Node, within time.Duration, ask func(context.Context, *client.Client) (T, error)) []Answer[T] {
	answers := make([]Answer[T], len(nodes))
	var all sync.WaitGroup
	for i := range nodes {
		all.Go(func() { answers[i] = askOne(ctx, &nodes[i], within, ask) })
	}
	all.Wait()
	return answers
}

func askOne[T any](ctx context.Context, n *Node, within time.Duration, ask func(context.Context, *client.Client) (T, error)) (a Answer[T]) {
	a.Name = n.Called()
	a.Err = n.limit(ctx, within, func(ctx context.Context) error {
		c, err := n.Dial(ctx)
		if err != nil {
			return err
		}
		defer c.Close()
		a.Name = n.NameOf(c.About().GetNode())
		a.Value, err = ask(ctx, c)
		return err
	})
	return a
}

// limit calls do with a context that ends after a time; 0: with ctx. If do fails since that time is over, the node is silent.
func (n *Node) limit(ctx context.Context, within time.Duration, do func(context.Context) error) error {
	if within == 0 {
		return do(ctx)
	}
	// gRPC sends a deadline to the agent, which may end the request a moment before this side knows that the time is over.
	limited, cancel := context.WithCancel(ctx)
	defer cancel()
	defer time.AfterFunc(within, cancel).Stop()
	err := do(limited)
	if err != nil && limited.Err() != nil && ctx.Err() == nil {
		return errSilent(n, within)
	}
	return err
}

// silentError is the type of the errors of errSilent.
type silentError struct{ error }

func (e silentError) Unwrap() error { return e.error }

// errSilent returns the error for an agent that does not answer.
func errSilent(n *Node, within time.Duration) error {
	return silentError{reason.Errorf("no answer from the agent at %s within %s: does it hang, is its process stopped, or is the node too busy?", "%s 的代理在 %s 内没有回答：它卡住了，进程被停住了，还是节点太忙？", n.Place, within)}
}

// silent reports whether an error is one of errSilent.
func silent(err error) bool {
	var e silentError
	return errors.As(err, &e)
}
