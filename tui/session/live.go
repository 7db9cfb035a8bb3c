package session

import (
	"context"
	"errors"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/client"
	"github.com/podstep/podstep/agent/reason"
	"github.com/podstep/podstep/tui/screen"
)

// After a connection broke, podstep tries again after firstRetry, and then after twice as long each time, at most
// lastRetry.
const (
	firstRetry = 500 * time.Millisecond
	lastRetry  = 5 * time.Second
)

// pollEvery is how often podstep asks the agent for what it does not stream.
const pollEvery = time.Second

// silence is how long an agent may take to answer without waiting for a pod. It is far more than an agent needs,
// because giving up a connection lets all pods go.
const silence = 5 * time.Second

// live is a session with an agent. It connects again when the agent comes back.
type live struct {
	place   client.Place
	silence time.Duration
	news    *queue
	ask     chan struct{}
	stop    context.CancelFunc
	done    chan struct{}

	mu    sync.Mutex
	conn  *client.Client // nil while podstep is not connected
	order *order         // of conn
	close string         // the uid of the pod that is watched closely
	away  func()         // ends that on conn; nil: nothing is asked there
	// stale: what the agent states about itself may have changed since it was asked.
	stale atomic.Bool
}

// NewLive opens a session with the agent that c is connected to. The session owns the connection, and makes new ones
// to the same place.
func NewLive(c *client.Client) Session { return startLive(c, silence) }

func startLive(c *client.Client, silence time.Duration) *live {
	ctx, stop := context.WithCancel(context.Background())
	l := &live{place: c.Place, silence: silence, news: newQueue(), ask: make(chan struct{}, 1), stop: stop, done: make(chan struct{})}
	go l.run(ctx, c)
	return l
}

func (l *live) File() string                           { return "" }
func (l *live) Control() Control                       { return l }
func (l *live) Poll()                                  { wake(l.ask) }
func (l *live) Next(ctx context.Context) (News, error) { return l.news.next(ctx) }

// Close ends the connection, and with it the holds that depend on it.
func (l *live) Close() {
	l.stop()
	<-l.done
}

func (l *live) run(ctx context.Context, c *client.Client) {
	defer close(l.done)
	for ctx.Err() == nil {
		err := l.serve(ctx, c)
		c.Close()
		if c = l.redial(ctx, err); c == nil {
			return
		}
	}
	c.Close()
}

// redial dials until an agent answers. It returns nil when ctx ends.
func (l *live) redial(ctx context.Context, why error) *client.Client {
	for wait := firstRetry; ; wait = min(2*wait, lastRetry) {
		link := &LinkNews{Link: screen.LinkReconnecting, Why: why, Retry: time.Now().Add(wait)}
		if l.news.put(ctx, News{Link: link}) != nil {
			return nil
		}
		t := time.NewTimer(wait)
		select {
		case <-t.C:
		case <-ctx.Done():
			t.Stop()
			return nil
		}
		c, err := client.Reach(ctx, l.place)
		if err == nil {
			return c
		}
		why = err
	}
}

// silentError is the type of the errors of errSilent.
type silentError struct{ error }

func (e silentError) Unwrap() error { return e.error }

// errSilent returns the error that ends a connection to a process that does not answer. A stopped process keeps its
// connections. Pods that were held through it go on when the process wakes and finds the connection closed.
func (l *live) errSilent() error {
	return silentError{reason.Errorf("the agent has not answered for %s; is its process stopped?", "代理已有 %s 没有回答；它的进程被停住了吗？", l.silence)}
}

// serve delivers the news of one connection, until it breaks.
func (l *live) serve(ctx context.Context, c *client.Client) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	o := newOrder()
	l.useConnection(c, o)
	defer o.disconnected(errNoAgent)
	defer l.useConnection(nil, nil)
	w, err := c.Watch(ctx, &agentpb.WatchRequest{History: true, Node: true})
	if err != nil {
		return err
	}
	if err := l.news.put(ctx, News{order: o, Info: c.About(), Link: &LinkNews{Link: screen.LinkLive}}); err != nil {
		return err
	}
	polls := make(chan struct{})
	go func() {
		defer close(polls)
		cancel(l.polls(ctx, c, o))
	}()
	err = l.follow(ctx, w, o)
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	cancel(nil)
	<-polls
	return err
}

// errEndedAgent ends a connection when the agent has ended in good order.
var errEndedAgent = reason.New("the agent has ended", "代理已退出")

// follow delivers the events of a stream, until it ends.
func (l *live) follow(ctx context.Context, w *client.Watch, o *order) error {
	for {
		b, err := w.NextRaw()
		if errors.Is(err, io.EOF) {
			return errEndedAgent
		}
		if err != nil {
			return err
		}
		n := o.ofBatch(b)
		if err := l.news.put(ctx, n); err != nil {
			return err
		}
		if n.probes {
			l.stale.Store(true)
		}
		if len(n.marks) > 0 || n.probes {
			l.Poll() // the list of holds has changed, or what the agent states about itself
		}
	}
}

func (l *live) useConnection(c *client.Client, o *order) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.conn, l.order = c, o
	l.askClosely()
}

// WatchClosely makes the agent look at all steps of the pod, also after another connection.
func (l *live) WatchClosely(uid string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if uid != l.close {
		l.close = uid
		l.askClosely()
	}
}

// askClosely asks the present connection's agent for the pod that is watched closely, and for no other any more. The caller
// holds mu.
func (l *live) askClosely() {
	if l.away != nil {
		l.away()
		l.away = nil
	}
	if l.conn == nil || l.close == "" {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	l.away = cancel
	go watchClosely(ctx, l.conn, l.close)
}

// watchClosely asks an agent for a pod until ctx ends. An agent that has too many such requests is asked again: a person who goes
// through a long list leaves many behind for a moment. Without an answer the screen has less, and is true.
func watchClosely(ctx context.Context, c *client.Client, uid string) {
	for {
		err := c.WatchClosely(ctx, &agentpb.PodSelector{Uid: uid})
		if reason.CodeOf(err) != agentpb.Problem_TOO_MANY_WATCHERS {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(closelyAgain):
		}
	}
}

// closelyAgain is how long podstep waits before it asks again.
const closelyAgain = time.Second

// polls asks once a second, and soon after the person did something. It ends with ctx, or when the agent is silent.
func (l *live) polls(ctx context.Context, c *client.Client, o *order) error {
	t := time.NewTicker(pollEvery)
	defer t.Stop()
	for {
		p, err := poll(ctx, c, o, l.silence)
		if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
			return l.errSilent()
		}
		if err == nil {
			err = l.news.put(ctx, News{order: o, Poll: p, Renewed: l.renew(ctx, c)})
		}
		select {
		case <-t.C:
		case <-l.ask:
		case <-ctx.Done():
			return err
		}
	}
}

// renew asks the agent again what it states about itself, if that may have changed. It returns nil if it has not, or if the
// agent does not answer: the next poll asks again.
func (l *live) renew(ctx context.Context, c *client.Client) *agentpb.InfoResponse {
	if !l.stale.Swap(false) {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, l.silence)
	defer cancel()
	info, err := c.Info(ctx, &agentpb.InfoRequest{})
	if err != nil {
		l.stale.Store(true)
		return nil
	}
	return info
}

// poll asks for the parts that the agent does not stream, and fails if the agent does not answer. It leaves out what
// an older agent cannot answer.
func poll(ctx context.Context, c *client.Client, o *order, within time.Duration) (*Poll, error) {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	pods, err := c.Pods(ctx, &agentpb.PodsRequest{})
	if err != nil {
		return nil, err
	}
	breaks, err := c.ListBreakpoints(ctx, &agentpb.ListBreakpointsRequest{})
	if gone(err) {
		return nil, err
	}
	stats, err := c.Stats(ctx, &agentpb.StatsRequest{})
	if gone(err) {
		return nil, err
	}
	holds, err := c.ListHolds(ctx, &agentpb.ListHoldsRequest{})
	if gone(err) {
		return nil, err
	}
	now := time.Now()
	o.listed(holds, now)
	return &Poll{At: now, Pods: pods.GetPods(), Breaks: breaks.GetBreakpoints(), Dropped: stats.GetDropped()}, nil
}

// gone reports whether an error means that the agent is not there, or did not answer in time. It is false if the
// agent only does not know the request.
func gone(err error) bool {
	return client.KindOf(err) == client.NoAgent || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)
}
