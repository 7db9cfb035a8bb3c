package takeover

import (
	"context"
	"errors"
	"fmt"
	"net"

	"golang.org/x/sys/unix"
)

// ErrRuntimeGone is returned if there is no runtime at the moment.
var ErrRuntimeGone = errors.New("the runtime does not listen at the moment")

// upstream is the runtime's socket for those that dial it. The takeover and each connection that is served hold it
// open: a connection that was let in at the very end wants to dial after the path was given back.
type upstream struct {
	t *Takeover
	pinned
	refs int // guarded by t.see
}

func (t *Takeover) newUpstream(s pinned) *upstream { return &upstream{t: t, pinned: s, refs: 1} }

func (u *upstream) hold() {
	u.t.see.Lock()
	defer u.t.see.Unlock()
	u.refs++
}

func (u *upstream) drop() {
	u.t.see.Lock()
	defer u.t.see.Unlock()
	u.refs--
	if u.refs > 0 {
		return
	}
	u.close()
	if u.t.up == u {
		u.t.up = nil
	}
}

// setUpstream sets the socket that is dialed from now on, and returns the one before.
func (t *Takeover) setUpstream(u *upstream) *upstream {
	t.see.Lock()
	defer t.see.Unlock()
	before := t.up
	t.up = u
	return before
}

// Dial makes a new connection to the runtime's own socket.
func (t *Takeover) Dial(ctx context.Context) (*net.UnixConn, error) {
	t.see.Lock()
	u := t.up
	if u == nil {
		t.see.Unlock()
		return nil, fmt.Errorf("connect to the runtime: %w", ErrRuntimeGone)
	}
	u.refs++
	t.see.Unlock()
	defer u.drop()
	c, err := u.dial(ctx)
	if errors.Is(err, unix.ECONNREFUSED) {
		t.requestLook()
		return nil, fmt.Errorf("connect to the runtime: %w: %w", ErrRuntimeGone, err)
	}
	if err != nil {
		return nil, fmt.Errorf("connect to the runtime: %w", err)
	}
	return c, nil
}
