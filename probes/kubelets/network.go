package kubelets

import (
	"context"
	"fmt"
	"net"
	"path/filepath"
	"runtime"

	"golang.org/x/sys/unix"
)

// Dial connects to an address as the kubelet's machine does. That is in the kubelet's network if it is not ours, as
// for a node that is itself a container, and takes root. It is for the DialContext of an HTTP client.
func (k *Kubelet) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	var d net.Dialer
	if !k.OwnNetwork {
		return d.DialContext(ctx, network, address)
	}
	type answer struct {
		c   net.Conn
		err error
	}
	answers := make(chan answer, 1)
	go onThreadOfItsOwn(func() {
		if err := k.enterNetwork(); err != nil {
			answers <- answer{nil, fmt.Errorf("enter the network of kubelet %d: %w", k.PID, err)}
			return
		}
		c, err := d.DialContext(ctx, network, address)
		answers <- answer{c, err}
	})
	a := <-answers // the dialer minds the context
	return a.c, a.err
}

// onThreadOfItsOwn runs do, which changes its thread. The thread is never unlocked, so it is never used again: it
// ends with the goroutine. The process's first thread cannot end, and others take it for the whole process, so it
// is only kept busy meanwhile.
func onThreadOfItsOwn(do func()) {
	runtime.LockOSThread()
	if unix.Gettid() != unix.Getpid() {
		do()
		return
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread()
		do()
	}()
	<-done
	runtime.UnlockOSThread()
}

func (k *Kubelet) enterNetwork() error {
	fd, err := unix.Open(filepath.Join(filepath.Dir(k.Root), "ns/net"), unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return unix.Setns(fd, unix.CLONE_NEWNET)
}
