package verbosity

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/podstep/podstep/probes/companion"
	"github.com/podstep/podstep/probes/kubelets"
)

// Role is the argument by which this program is the guard of a raised -v.
const Role = "verbosity"

// message is a message of the link. One of its fields is set. Podstep sends Options and Leave, the guard Ready.
type message struct {
	Options *guardOptions
	Leave   bool // the old value is back

	Ready int // the guard's PID
}

type guardOptions struct {
	Record Record
	Dir    string
}

// Main is the guard. It returns the code with which the process ends.
func Main() int {
	conn, err := companion.Link()
	if err != nil {
		fmt.Fprintln(os.Stderr, "podstep starts this process itself")
		return 2
	}
	companion.Survive(score)
	link := companion.NewDuplex[message](conn)
	m, err := link.Receive()
	if err != nil || m.Options == nil {
		return 1
	}
	link.Send(message{Ready: os.Getpid()})
	if awaitEnd(link, m.Options.Record.Until.Add(late)) {
		link.Close()
		return 0
	}
	link.Fail()
	if err := m.Options.putBack(); err != nil {
		return 1
	}
	return 0
}

// score is the guard's oom_score_adj: it is small, and ends late.
const score = -900

// late is how long after the time is over the guard leaves it to podstep to put the old value back.
const late = 3 * time.Second

// awaitEnd waits until podstep has put the old value back, and then returns true. It returns false if podstep has ended
// without that, is silent, or is late.
func awaitEnd(link *companion.Duplex[message], until time.Time) bool {
	ended := make(chan bool, 1)
	go func() {
		for {
			m, err := link.Receive()
			if err != nil || m.Leave {
				ended <- err == nil
				return
			}
		}
	}()
	tick := time.NewTicker(companion.BeatEvery)
	defer tick.Stop()
	for {
		select {
		case left := <-ended:
			return left
		case <-tick.C:
			if link.Silent() > companion.SilentAfter || time.Now().After(until) {
				return false
			}
		}
	}
}

// The guard tries again and again, as the kubelet may be busy.
const (
	tries    = 60
	tryEvery = time.Second
	tryFor   = 5 * time.Second
)

// putBack puts the old value back.
func (o *guardOptions) putBack() (err error) {
	for range tries {
		ctx, cancel := context.WithTimeout(context.Background(), tryFor)
		err = o.Record.restore(ctx, o.Dir)
		cancel()
		if err == nil {
			return nil
		}
		time.Sleep(tryEvery)
	}
	return err
}

// restore puts the old value back with the credentials that its machine has.
func (r *Record) restore(ctx context.Context, dir string) error {
	if !kubelets.Same(r.PID, r.Started) {
		return r.back(ctx, nil, dir)
	}
	k, err := kubeletOf(ctx, r.PID)
	if err != nil {
		return err
	}
	port, err := portOf(&k, r.Kubeconfig)
	if err != nil {
		return err
	}
	return r.back(ctx, port, dir)
}

// kubeletOf finds a kubelet. Tests pretend one.
var kubeletOf = func(ctx context.Context, pid int) (kubelets.Kubelet, error) {
	return kubelets.ByPID(ctx, pid, kubelets.Options{})
}

// Restored is a -v that podstep restore has put back, or could not.
type Restored struct {
	PID, Old int
	Err      error
}

// Restore puts back what a podstep and its guard have left raised.
func Restore(ctx context.Context, dir string) (out []Restored, err error) {
	all, err := Records(dir)
	for i := range all {
		if r := &all[i]; !r.guarded() {
			out = append(out, Restored{r.PID, r.Old, r.restore(ctx, dir)})
		}
	}
	return out, err
}
