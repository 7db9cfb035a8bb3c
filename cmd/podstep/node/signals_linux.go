package node

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// stayAlive makes sure that this process neither stops nor ends because of its terminal, or
// because nobody reads its output any more: while it is attached, all calls of the kubelet go
// through it. The programs that it starts inherit the ignored signals. The same holds for them:
// they are the guard, and programs with which a kubeconfig logs in.
func stayAlive() {
	// These are for Ctrl-Z, and for reading or writing in the background. If they were caught
	// instead, the read or write would begin again and again.
	signal.Ignore(syscall.SIGTSTP, syscall.SIGTTIN, syscall.SIGTTOU)
	// A write to a pipe that nobody reads any more fails as any write may, for example to a tee
	// that the same Ctrl-C has ended. Nobody needs to know of it.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
}

// endings returns a context that is over at the first signal, when podstep is to end in order,
// and one that is over at the second, when it is to end at once. A closed terminal is a signal,
// too, unless podstep was started to outlive it, as by nohup.
func endings(ctx context.Context) (end, hurry context.Context, stop func()) {
	end, cancel := context.WithCancel(ctx)
	hurry, cut := context.WithCancel(context.WithoutCancel(ctx))
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) {
		signal.Notify(signals, syscall.SIGHUP)
	}
	over := make(chan struct{})
	go func() {
		for _, do := range []func(){cancel, cut} {
			select {
			case <-signals:
				do()
			case <-over:
				return
			}
		}
	}()
	return end, hurry, func() { signal.Stop(signals); close(over); cancel(); cut() }
}
