package verbosity

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/podstep/podstep/agent/kubeport"
	"github.com/podstep/podstep/probes/companion"
	"github.com/podstep/podstep/probes/kubelets"
)

// Options state what to raise.
type Options struct {
	Kubelet kubelets.Kubelet
	// Kubeconfig is a file of the user's with credentials for the kubelet; empty: podstep tries the usual files.
	Kubeconfig string
	// To is the new -v, and For how long it stays.
	To  int
	For time.Duration
	// Dir is the directory of the records; empty: DefaultDir.
	Dir string
	// Note is called with what a person should know; nil: nobody wants to.
	Note func(text string, err error)

	guard []string                             // the command that starts the guard; nil: this program's
	short func(*kubelets.Kubelet) (why string) // nil: shortage
}

// Raised is a raised -v.
type Raised struct {
	// Old is the value before, which comes back.
	Old   int
	port  *kubeport.Port
	dir   string
	guard []string
	note  func(string, error)

	mu     sync.Mutex // of the fields below
	record Record
	link   *companion.Client[message]
	backed bool
}

// Raise raises the -v. When it returns, a guard is there that puts the old value back.
func Raise(ctx context.Context, o Options) (*Raised, error) {
	k := &o.Kubelet
	if o.Dir == "" {
		o.Dir = DefaultDir
	}
	if o.short == nil {
		o.short = shortage
	}
	if why := o.short(k); why != "" {
		return nil, fmt.Errorf("the kubelet's -v stays as it is: %s, and a log with more lines would take more of it", why)
	}
	if o.Kubeconfig != "" { // the guard is in another directory
		if abs, err := filepath.Abs(o.Kubeconfig); err == nil {
			o.Kubeconfig = abs
		}
	}
	port, err := portOf(k, o.Kubeconfig)
	if err != nil {
		return nil, err
	}
	old, err := o.old(ctx, port)
	if err != nil {
		return nil, err
	}
	if o.To <= old {
		return nil, fmt.Errorf("the kubelet's -v is %d already; --raise-verbosity takes a higher one", old)
	}
	if o.Note == nil {
		o.Note = func(string, error) {}
	}
	r := &Raised{Old: old, port: port, dir: o.Dir, guard: o.guard, note: o.Note, record: Record{
		PID: k.PID, Started: k.Started, Old: old, To: o.To, Until: time.Now().Add(o.For), Kubeconfig: o.Kubeconfig,
	}}
	if err := r.startGuard(ctx); err != nil {
		return nil, err
	}
	if err := port.SetVerbosity(ctx, o.To); err != nil {
		return nil, r.giveUp(ctx, fmt.Errorf("raise the kubelet's -v: %w", err))
	}
	go r.keepGuard()
	return r, nil
}

// keepGuard starts another guard when one has ended, as long as the -v is raised. If there can be none, it puts the old
// value back.
func (r *Raised) keepGuard() {
	for {
		r.mu.Lock()
		ended := r.link.Done()
		r.mu.Unlock()
		<-ended
		r.mu.Lock()
		if r.backed {
			r.mu.Unlock()
			return
		}
		why := r.link.Err()
		err := r.startGuard(context.Background())
		r.mu.Unlock()
		if err != nil {
			r.note("podstep cannot guard the kubelet's raised -v, and puts it back", errors.Join(why, err, r.Back(context.Background())))
			return
		}
		r.note("podstep has started another verbosity guard", why)
	}
}

// giveUp ends the guard after the kubelet has not taken the -v. If the kubelet did not answer, it may have taken it.
func (r *Raised) giveUp(ctx context.Context, why error) error {
	var noAnswer *url.Error
	if errors.As(why, &noAnswer) {
		return errors.Join(why, r.Back(ctx))
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.backed = true
	r.link.Send(message{Leave: true})
	if err := os.Remove(fileOf(r.dir, r.record.PID)); err != nil {
		why = errors.Join(why, fmt.Errorf("remove the record of the kubelet's -v: %w", err))
	}
	return why
}

// portOf returns the way to a kubelet's port, with credentials. Tests pretend a kubelet.
var portOf = func(k *kubelets.Kubelet, kubeconfig string) (*kubeport.Port, error) {
	config, err := kubeport.CredentialsOf(k, kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("find credentials for the kubelet: %w", err)
	}
	return kubeport.Of(k, config)
}

// old returns the value that comes back: that of a podstep which has died, or the kubelet's.
func (o *Options) old(ctx context.Context, port *kubeport.Port) (int, error) {
	left, err := read(o.Dir, o.Kubelet.PID)
	switch {
	case err != nil:
		return 0, err
	case left == nil:
		return port.Verbosity(ctx)
	case left.guarded():
		return 0, fmt.Errorf("another podstep has raised the kubelet's -v to %d, until %s", left.To, left.Until.Local().Format("15:04:05"))
	}
	return left.Old, nil
}

// guardWithin bounds the start of the guard, and backWithin that of its end.
const (
	guardWithin = 5 * time.Second
	backWithin  = 5 * time.Second
)

// startGuard starts a guard and writes the record. The caller has mu, or nobody else knows r yet.
func (r *Raised) startGuard(ctx context.Context) error {
	// The guard has no environment but this, and finds the same credentials by it.
	conn, err := companion.Start(Role, r.guard, "KUBECONFIG="+os.Getenv("KUBECONFIG"))
	if err != nil {
		return err
	}
	ready := make(chan int, 1)
	r.link = companion.NewClient[message](conn, "verbosity guard")
	go r.link.Run(func(m *message) {
		if m.Ready != 0 {
			ready <- m.Ready
		}
	})
	r.link.Send(message{Options: &guardOptions{r.record, r.dir}})
	ctx, cancel := context.WithTimeout(ctx, guardWithin)
	defer cancel()
	select {
	case r.record.Guard = <-ready:
	case <-r.link.Done():
		return r.link.Err()
	case <-ctx.Done():
		r.link.Fail()
		return fmt.Errorf("wait for the verbosity guard: %w", ctx.Err())
	}
	if r.record.GuardStarted, err = kubelets.Started(r.record.Guard); err == nil {
		err = r.link.Watch(r.record.Guard, companion.SilentAfter, 0)
	}
	if err == nil {
		err = r.record.write(r.dir)
	}
	if err != nil {
		r.link.Send(message{Leave: true})
		return err
	}
	return nil
}

// Until returns when the old value comes back at the latest.
func (r *Raised) Until() time.Time { return r.record.Until }

// Back puts the old value back, and ends the guard. If it fails, the guard does it.
func (r *Raised) Back(ctx context.Context) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.backed {
		return nil
	}
	r.backed = true
	ctx, cancel := context.WithTimeout(ctx, backWithin)
	defer cancel()
	if err := r.record.back(ctx, r.port, r.dir); err != nil {
		r.link.Fail() // then the guard tries
		return fmt.Errorf("put the kubelet's -v back to %d: %w; podstep's guard tries again", r.Old, err)
	}
	r.link.Send(message{Leave: true})
	select {
	case <-r.link.Done():
	case <-ctx.Done():
	}
	return nil
}

// back puts the old value back, unless the kubelet is another process by now, and removes the record.
func (r *Record) back(ctx context.Context, port *kubeport.Port, dir string) error {
	if kubelets.Same(r.PID, r.Started) {
		if err := port.SetVerbosity(ctx, r.Old); err != nil && kubelets.Same(r.PID, r.Started) {
			return err
		}
	}
	if err := os.Remove(fileOf(dir, r.PID)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("remove the record of the kubelet's -v: %w", err)
	}
	return nil
}
