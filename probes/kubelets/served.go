package kubelets

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"

	"golang.org/x/net/http2"
	"golang.org/x/sys/unix"
)

// Served checks that a process serves a socket of the kubelet's in the way that runtimes do: it connects, greets in
// HTTP/2 and waits to be greeted. It makes no call.
func (k *Kubelet) Served(ctx context.Context, socket string) error {
	c, err := k.DialSocket(ctx, socket)
	if err != nil {
		return err
	}
	defer c.Close()
	stop := context.AfterFunc(ctx, func() { _ = c.Close() })
	defer stop()
	if err := greet(c); err != nil {
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		return fmt.Errorf("greet %s: %w", socket, bare(err))
	}
	return nil
}

// Server returns the process that made a socket of the kubelet's listen; 0 if that is out of sight. It fails for a
// socket that refuses connections: no process serves it.
func (k *Kubelet) Server(ctx context.Context, socket string) (pid int, err error) {
	c, err := k.DialSocket(ctx, socket)
	if err != nil {
		return 0, err
	}
	defer c.Close()
	raw, err := c.(*net.UnixConn).SyscallConn()
	if err != nil {
		return 0, fmt.Errorf("look at %s: %w", socket, err)
	}
	var peer *unix.Ucred
	failed := raw.Control(func(fd uintptr) { peer, err = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED) })
	if err = errors.Join(failed, err); err != nil {
		return 0, fmt.Errorf("look at %s: %w", socket, err)
	}
	return int(peer.Pid), nil
}

// DialSocket connects to a socket as the kubelet sees it, by way of an open file. The file's name below /proc is
// short, where the socket's own may be too long, and it cannot lead elsewhere.
func (k *Kubelet) DialSocket(ctx context.Context, socket string) (net.Conn, error) {
	f, err := resolve(k.Root, socket, unix.O_PATH)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("look at %s: %w", socket, err)
	}
	if info.Mode().Type() != os.ModeSocket {
		return nil, fmt.Errorf("%s is not a socket", socket)
	}
	var d net.Dialer
	c, err := d.DialContext(ctx, "unix", "/proc/self/fd/"+strconv.Itoa(int(f.Fd())))
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", socket, bare(err))
	}
	return c, nil
}

// bare leaves out the name that net puts before an error: the caller did not give that name.
func bare(err error) error {
	var op *net.OpError
	if errors.As(err, &op) {
		return op.Err
	}
	return err
}

func greet(c net.Conn) error {
	if _, err := c.Write([]byte(http2.ClientPreface)); err != nil {
		return err
	}
	f := http2.NewFramer(c, c)
	if err := f.WriteSettings(); err != nil {
		return err
	}
	frame, err := f.ReadFrame()
	if err != nil {
		return err
	}
	if _, ok := frame.(*http2.SettingsFrame); !ok {
		return fmt.Errorf("it answers with %s in place of settings", frame.Header().Type)
	}
	return nil
}
