package explore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
)

// Options state what is explored, and where the results go.
type Options struct {
	Results    string        // the file of results
	Recordings string        // directory for recordings; empty: none are kept
	KeepAll    bool          // keep recordings of right answers, too
	AtOnce     int           // how many faults are tried at one time
	After      time.Duration // after how long a pod that is not where it has to be is stuck
	Again      time.Duration // how much later `why` is asked again about a pod of which it knows nothing
	Patience   time.Duration // how long a pod may take to recover from one broken call
	For        time.Duration // how long the run takes at most; what is left over is left to the next run
	Sample     int           // how many faults, chosen evenly; 0: all
	Only       string        // only faults whose id has this text
	Progress   io.Writer
}

// Run is one run.
type Run struct {
	Options
	node   *Node
	others bystanders
	asking chan struct{} // bounds how many ask the agent at one time
	out    *results

	mu     sync.Mutex
	all    []Result
	failed []string
	total  int
}

// asksAtOnce is well below the number of clients that an agent lets watch.
const asksAtOnce = 4

// Explore explores a node. It returns all results of the file, those of earlier runs too, and how many faults are left
// over. An error of one trial does not end the others; the fault is then left over.
func Explore(ctx context.Context, n *Node, o Options) (all []Result, left int, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, o.For, errTimeOver)
	defer cancel()
	r := &Run{Options: o, node: n, asking: make(chan struct{}, asksAtOnce)}
	if r.all, err = Read(o.Results); err != nil {
		return nil, 0, err
	}
	if o.Recordings != "" {
		if err := os.MkdirAll(o.Recordings, 0o755); err != nil {
			return nil, 0, fmt.Errorf("make directory of recordings: %w", err)
		}
	}
	if r.out, err = openResults(o.Results, r.all); err != nil {
		return nil, 0, err
	}
	defer func() { err = errors.Join(err, r.out.file.Close()) }()
	if err := n.open(ctx); err != nil {
		return nil, 0, err
	}
	var helpers sync.WaitGroup
	defer helpers.Wait()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	helpers.Go(func() {
		if err := r.others.run(ctx, n); err != nil && ctx.Err() == nil {
			r.printf("%v", err)
		}
	})
	plan, err := r.plan(ctx)
	if err != nil {
		return nil, 0, err
	}
	r.tryAll(ctx, plan)
	return r.all, r.total - len(r.all), nil
}

var errTimeOver = errors.New("the time for the run is over")

func (r *Run) printf(format string, args ...any) {
	fmt.Fprintf(r.Progress, format+"\n", args...)
}

// plan lives each life without a fault, and returns the faults that are left to try.
func (r *Run) plan(ctx context.Context) ([]Fault, error) {
	all := make([][]Fault, len(Lives))
	errs := make([]error, len(Lives))
	live := func(i int) {
		seen, err := r.seenIn(ctx, &Lives[i])
		if err != nil {
			errs[i] = fmt.Errorf("live %q: %w", Lives[i].Name, err)
		}
		all[i] = faultsOf(&Lives[i], seen)
		r.printf("%-14s %4d calls seen, %4d faults", Lives[i].Name, len(seen), len(all[i]))
	}
	var lives sync.WaitGroup
	var later []int // one after the other: some of their calls name no pod, or the kubelet ends
	for i := range Lives {
		switch l := &Lives[i]; {
		case !r.wants(l):
		case l.plugins != nil || l.restarts:
			later = append(later, i)
		default:
			lives.Go(func() { live(i) })
		}
	}
	lives.Wait()
	for _, i := range later {
		live(i)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	plan := slices.DeleteFunc(mix(all), func(f Fault) bool { return !strings.Contains(f.ID(), r.Only) })
	if r.Sample > 0 {
		plan = slices.DeleteFunc(plan, Fault.alone)
	}
	plan = sample(plan, r.Sample)
	r.total = len(plan)
	plan = slices.DeleteFunc(plan, func(f Fault) bool {
		return slices.ContainsFunc(r.all, func(old Result) bool { return old.ID == f.ID() })
	})
	r.total = len(r.all) + len(plan)
	return plan, nil
}

// wants reports whether faults of a life may be tried: all are, unless Only begins with the name of another life.
func (r *Run) wants(l *Life) bool {
	name, _, has := strings.Cut(r.Only, "/")
	return !has || name == l.Name || !slices.ContainsFunc(Lives, func(other Life) bool { return other.Name == name })
}

// tryAll tries faults, as many at one time as allowed, and then those that hold up the node, one after the other. Those of
// lives in which the kubelet is restarted come last.
func (r *Run) tryAll(ctx context.Context, plan []Fault) {
	of := func(restarts, alone bool) (out []Fault) {
		for _, f := range plan {
			if lifeOf(f.Life).restarts == restarts && f.alone() == alone {
				out = append(out, f)
			}
		}
		return out
	}
	r.tryThese(ctx, of(false, false), r.AtOnce)
	r.tryThese(ctx, of(false, true), 1)
	r.tryBatches(ctx, of(true, false), r.AtOnce)
	r.tryBatches(ctx, of(true, true), 1)
}

func lifeOf(name string) *Life {
	return &Lives[slices.IndexFunc(Lives, func(l Life) bool { return l.Name == name })]
}

// pace spreads the beginnings of the first trials, which would all ask for the same at the same moment.
const pace = 150 * time.Millisecond

func (r *Run) tryThese(ctx context.Context, plan []Fault, atOnce int) {
	places := make(chan struct{}, atOnce)
	var trials sync.WaitGroup
	defer trials.Wait()
	for _, f := range plan {
		select {
		case places <- struct{}{}:
		case <-ctx.Done():
			return
		}
		_ = until(ctx, pace, func() bool { return false })
		trials.Go(func() {
			free := sync.OnceFunc(func() { <-places })
			defer free()
			r.tryOne(ctx, f, nil, free)
		})
	}
}

// tryOne tries a fault. with is the restart of the kubelet that belongs to its life, if there is one.
func (r *Run) tryOne(ctx context.Context, f Fault, with *together, freed func()) {
	t := &trial{Run: r, fault: f, life: lifeOf(f.Life)}
	t.restartsWith(with)
	result, err := t.try(ctx, freed)
	t.came()
	if r.node.died() {
		r.printf("%s: the kubelet ended by itself", f.ID())
	}
	if ctx.Err() != nil && err != nil {
		return // it is left over
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if err == nil {
		err = r.out.add(result)
	}
	if err != nil {
		r.failed = append(r.failed, f.ID())
		r.printf("%s: %v", f.ID(), err)
		return
	}
	r.all = append(r.all, *result)
	r.show(result)
}

// show prints what is worth a look, and now and then how far the run is.
func (r *Run) show(one *Result) {
	if one.Open() {
		certain := ""
		if one.CertainWrong {
			certain = ", CERTAIN"
		}
		r.printf("%-11s %s: %s (%s%s)", one.Verdict, one.ID, one.First.ID, one.First.Confidence, certain)
	}
	if len(r.all)%20 == 0 {
		r.printf("%d of %d faults", len(r.all), r.total)
	}
}
