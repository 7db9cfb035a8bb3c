package node

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// stayAlive has this process neither stop nor end by what becomes of its
// terminal or of who reads its words: while it is attached all calls of the
// kubelet go through it. The programs that it starts inherit what is ignored:
// the guard, and those with which a kubeconfig logs in, for which the same holds.
func stayAlive() {
	// Ctrl-Z, and reading or writing in the background. A signal that is caught
	// instead would have the read or write begin again and again.
	signal.Ignore(syscall.SIGTSTP, syscall.SIGTTIN, syscall.SIGTTOU)
	// Writing to a pipe that nobody reads any more, as of the tee that the same
	// Ctrl-C has ended, fails as any write may. Nobody has to know of it.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
}

// endings are when to end in order, and when to end at once: at the first and
// at the second signal. A terminal that is closed is a signal too, unless
// podstep was started to outlive it, as by nohup.
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
