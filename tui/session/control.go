package session

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/client"
	"github.com/podstep/podstep/agent/reason"
)

// errNoAgent is returned for actions on pods while no agent is there to do them.
var errNoAgent = reason.New("the agent is not there; podstep tries to reach it again", "代理不在；podstep 正在重新连接")

func (l *live) agent() (*client.Client, error) {
	c, _, err := l.connection()
	return c, err
}

// connection returns the connection to the agent, and the order that its answers are put into.
func (l *live) connection() (*client.Client, *order, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.conn == nil {
		return nil, nil, errNoAgent
	}
	return l.conn, l.order, nil
}

// granted waits until the screen has shown a hold, which is when its event has come.
func (l *live) granted(ctx context.Context, o *order, h *agentpb.HoldInfo) error {
	o.granted(h, time.Now())
	if err := l.news.put(ctx, News{order: o, granted: true}); err != nil {
		return err
	}
	return o.awaitHold(ctx, h.GetId())
}

// Hold waits until the pod is held and the screen has shown it. The hold lives by a stream, which ends with the
// connection. So the pod goes on whatever becomes of this process.
func (l *live) Hold(ctx context.Context, req *agentpb.HoldRequest) (*agentpb.HoldInfo, error) {
	c, o, err := l.connection()
	if err != nil {
		return nil, err
	}
	// The stream outlives a wait that succeeds, but not a wait that was given up.
	tied, let := context.WithCancel(context.WithoutCancel(ctx))
	given := context.AfterFunc(ctx, let)
	s, err := c.HoldWhile(tied, req)
	if err != nil {
		let()
		return nil, err
	}
	h, err := s.Recv()
	if err == nil {
		err = l.granted(ctx, o, h)
	}
	if !given() && err == nil {
		err = ctx.Err()
	}
	if err != nil {
		let()
		if errors.Is(err, io.EOF) {
			err = reason.New("the agent ended the request without a hold", "代理结束了请求，没有停住 Pod")
		}
		return nil, err
	}
	l.Poll()
	go func() {
		defer let()
		for err == nil {
			_, err = s.Recv()
		}
		l.Poll()
	}()
	return h, nil
}

// Step lets a held pod go on to the next place. The new hold ends with the connection, like a hold by Hold.
func (l *live) Step(ctx context.Context, req *agentpb.StepRequest) (*agentpb.HoldInfo, error) {
	c, o, err := l.connection()
	if err != nil {
		return nil, err
	}
	defer l.Poll()
	req.WhileConnected = true
	h, err := c.Step(ctx, req)
	if err != nil {
		return nil, err
	}
	return h, l.granted(ctx, o, h)
}

func (l *live) Continue(ctx context.Context, req *agentpb.ContinueRequest) ([]*agentpb.HoldInfo, error) {
	c, err := l.agent()
	if err != nil {
		return nil, err
	}
	defer l.Poll()
	answer, err := c.Continue(ctx, req)
	return answer.GetReleased(), err
}

func (l *live) Retry(ctx context.Context, req *agentpb.RetryRequest) (*agentpb.RetryResponse, error) {
	c, err := l.agent()
	if err != nil {
		return nil, err
	}
	return c.Retry(ctx, req)
}

func (l *live) Look(ctx context.Context, req *agentpb.LookRequest) (*agentpb.LookResponse, error) {
	c, err := l.agent()
	if err != nil {
		return nil, err
	}
	return c.Look(ctx, req)
}

// AddBreakpoint sets a breakpoint that ends with the connection, as do its holds. So a screen that is killed leaves
// nothing armed.
func (l *live) AddBreakpoint(ctx context.Context, req *agentpb.AddBreakpointRequest) (*agentpb.Breakpoint, error) {
	c, err := l.agent()
	if err != nil {
		return nil, err
	}
	defer l.Poll()
	req.WhileConnected = true
	return c.AddBreakpoint(ctx, req)
}

func (l *live) RemoveBreakpoint(ctx context.Context, id uint32) error {
	c, err := l.agent()
	if err != nil {
		return err
	}
	defer l.Poll()
	_, err = c.RemoveBreakpoint(ctx, &agentpb.RemoveBreakpointRequest{Id: id})
	return err
}

func (l *live) Holds(ctx context.Context) ([]*agentpb.HoldInfo, error) {
	c, err := l.agent()
	if err != nil {
		return nil, err
	}
	answer, err := c.ListHolds(ctx, &agentpb.ListHoldsRequest{})
	return answer.GetHolds(), err
}

func (l *live) Breakpoints(ctx context.Context) ([]*agentpb.Breakpoint, error) {
	c, err := l.agent()
	if err != nil {
		return nil, err
	}
	answer, err := c.ListBreakpoints(ctx, &agentpb.ListBreakpointsRequest{})
	return answer.GetBreakpoints(), err
}

func (l *live) History(ctx context.Context, take func(*agentpb.InfoResponse, *agentpb.Batch) error) error {
	c, o, err := l.connection()
	if err != nil {
		return err
	}
	w, err := c.Watch(ctx, &agentpb.WatchRequest{OnlyHistory: true, Node: true})
	if err != nil {
		return err
	}
	last := uint64(0)
	for {
		b, err := w.NextRaw()
		if errors.Is(err, io.EOF) {
			return o.await(ctx, last)
		}
		if err != nil {
			return err
		}
		last = max(last, b.GetSeq())
		if err := take(c.About(), b); err != nil {
			return err
		}
	}
}
