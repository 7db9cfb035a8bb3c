//go:build linux && amd64

package delve

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/rpc"
	"syscall"
	"time"

	"github.com/go-delve/delve/service/api"
	"github.com/go-delve/delve/service/rpc2"
)

const (
	// A headless Delve has dialWithin to accept, and answerWithin to answer: it may be behind a slow line.
	dialWithin   = 10 * time.Second
	answerWithin = 20 * time.Second
)

// dial connects to a headless Delve, and stops what it debugs. It gives up when ctx ends, and
// by itself after a while.
func dial(ctx context.Context, address string) (*target, error) {
	ctx, cancel := context.WithTimeout(ctx, dialWithin+answerWithin)
	defer cancel()
	c, err := (&net.Dialer{Timeout: dialWithin}).DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("connect to Delve at %s: %w; is there a dlv --headless --listen=%s?", address, err, address)
	}
	t := &target{remote: address, close: func() { _ = c.Close() }}
	until, _ := ctx.Deadline()
	if err := t.meet(c, until); err != nil {
		t.close()
		if !time.Now().Before(until) {
			err = fmt.Errorf("it accepts a connection and does not answer: it may wait for another client, or be no Delve: %w", err)
		}
		return nil, fmt.Errorf("ask Delve at %s: %w", address, err)
	}
	return t, nil
}

// meet finds out what program is at the other end. That program has until then to answer.
func (t *target) meet(c net.Conn, until time.Time) error {
	_ = c.SetDeadline(until)
	client := rpc2.NewClientFromConn(c)
	var v api.GetVersionOut
	if err := client.CallAPI("GetVersion", api.GetVersionIn{}, &v); err != nil {
		return fmt.Errorf("it does not answer as Delve does: %w", err)
	}
	if v.APIVersion != 2 {
		return fmt.Errorf("it speaks version %d of Delve's API, and podstep version 2: start it with --api-version=2", v.APIVersion)
	}
	t.conn = remote{client}
	if err := t.halt(); err != nil {
		return fmt.Errorf("have the program stand still: %w", err)
	}
	var pid rpc2.ProcessPidOut
	if err := t.call("ProcessPid", rpc2.ProcessPidIn{}, &pid); err != nil {
		return fmt.Errorf("ask for the process: %w", err)
	}
	t.pid = pid.Pid
	return c.SetDeadline(time.Time{})
}

// lost reports whether an error means that the connection to a headless Delve has ended.
func lost(err error) bool {
	return errors.Is(err, rpc.ErrShutdown) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) || errors.Is(err, syscall.ECONNRESET)
}

// untilRuns waits until a headless Delve has let the program go on. That Delve answers only when the program stands
// still again.
func (t *target) untilRuns(stops <-chan error) error {
	for began := time.Now(); time.Since(began) < answerWithin; {
		select {
		case err := <-stops:
			return err
		case <-time.After(20 * time.Millisecond):
		}
		var out rpc2.StateOut
		if err := t.call("State", rpc2.StateIn{NonBlocking: true}, &out); err != nil {
			return err
		}
		if out.State != nil && out.State.Running {
			return nil
		}
	}
	return fmt.Errorf("have the program go on: Delve at %s does not say that it does", t.remote)
}
