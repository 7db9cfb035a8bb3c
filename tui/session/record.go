package session

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/trace"
)

// Record reads a stream of its own. So the file also has what the agent remembers, and all that this screen leaves
// out.
func (l *live) Record(ctx context.Context, path string) (events int, err error) {
	c, err := l.agent()
	if err != nil {
		return 0, err
	}
	w, err := c.Watch(ctx, &agentpb.WatchRequest{History: true, Node: true})
	if err != nil {
		return 0, err
	}
	out, err := trace.Create(path, &trace.Header{Podstep: c.About().GetVersion(), Began: time.Now(), Info: c.About()})
	if err != nil {
		return 0, err
	}
	defer func() {
		err = errors.Join(err, out.Close())
		events = int(out.Events())
	}()
	for {
		b, err := w.NextRaw()
		if ctx.Err() != nil || errors.Is(err, io.EOF) {
			return 0, nil
		}
		if err != nil {
			return 0, err
		}
		if err := out.Add(b); err != nil {
			return 0, err
		}
	}
}
