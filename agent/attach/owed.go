package attach

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/podstep/podstep/probes/cri/takeover"
)

// ensureWithin is how long podstep waits for a process that gives a path back. The guard needs a moment to see that the
// relay process has ended.
const ensureWithin = 3 * time.Second

// taken is a path that a relay process has taken over.
type taken struct {
	path, root, file string // file has the state
	pid              int    // the relay process's; 0: it has changed nothing
}

// ensure makes sure that the path is the runtime's. It returns what it did about that. The error is why the path may
// not be the runtime's.
func (p *taken) ensure(ctx context.Context) ([]string, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), ensureWithin)
	defer cancel()
	did, err := takeover.Ensure(ctx, p.file, p.root, p.path, p.pid)
	if err != nil {
		err = fmt.Errorf("%s may not be the runtime's again: %w; run podstep restore", p.path, err)
	}
	return did, err
}

// owed are the paths that could not be given back. The zero value has none.
type owed struct {
	mu  sync.Mutex
	all map[string]taken // by path
}

// note remembers a path that could not be given back, and forgets one that was.
func (o *owed) note(p *taken, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if err == nil {
		delete(o.all, p.path)
		return
	}
	if o.all == nil {
		o.all = map[string]taken{}
	}
	o.all[p.path] = *p
}

// pay tries once more to give back what is left. The error is about what still is.
func (o *owed) pay(ctx context.Context) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	var errs []error
	for _, p := range o.all {
		_, err := p.ensure(ctx)
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}
