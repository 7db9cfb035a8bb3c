package explore

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/podstep/podstep/agent/client/fleet"
	"github.com/podstep/podstep/agent/explain/causes"
	"github.com/podstep/podstep/agent/explain/evidence"
	"github.com/podstep/podstep/agent/explain/gather"
	"github.com/podstep/podstep/agent/explain/recording"
	"github.com/podstep/podstep/lab/faults"
)

var errLate = errors.New("it did not come in time")

// How long a pod may take until its life begins, and how long it has to stay where it came: a pod that becomes Ready
// may be killed the moment after.
const (
	beginWithin = 60 * time.Second
	staysFor    = 3 * time.Second
)

// endWithin is how long it may take to remove what a trial made.
const endWithin = 20 * time.Second

// faultlessWithin is how long a life may take in which nothing is broken: no fault makes it slow, but the machine may.
const faultlessWithin = 2 * time.Minute

// latest is how much longer a pod may take whose calls all come late: it goes on, slowly.
const latest = 6 * faults.LateBy

// trial is one fault, tried on a pod of its own.
type trial struct {
	*Run
	fault     Fault
	life      *Life
	namespace string
	marker    string
	began     time.Time // its life
	faultless bool      // no call is broken
	begins    bool      // what makes the life happen did not end in time
	with      *together // the restart of the kubelet; nil: there is none
	came      func()    // is to be called when the trial waits for it, or ends before
}

// start makes the pod, and comes to where its life begins.
func (t *trial) start(ctx context.Context) error {
	var err error
	if t.namespace, err = t.node.namespace(ctx); err != nil {
		return err
	}
	t.marker = "mark-" + t.namespace
	if !t.life.ready {
		t.watch()
	}
	if p := t.life.plugins; p != nil {
		if t.faultless || t.fault.alone() {
			t.node.Table.Only(t.namespace)
		}
		if err := p.make(ctx, t.node, t.namespace); err != nil {
			return err
		}
	}
	p := pod(t.namespace)
	if t.life.change != nil {
		t.life.change(p)
	}
	create := t.node.create
	if t.life.unbound {
		create = t.node.make
	}
	if err := create(ctx, p); err != nil {
		return err
	}
	t.began = time.Now()
	if t.life.ready {
		if err := until(ctx, beginWithin, func() bool { return ready(t.node.pod(t.namespace, podName)) }); err != nil {
			return fmt.Errorf("the pod is not Ready: %w", err)
		}
		if err := t.awaitRestart(ctx); err != nil {
			return err
		}
		t.watch()
		t.began = time.Now()
	}
	return nil
}

// restartsWith makes the trial one of those that share a restart of the kubelet. nil: it has none.
func (t *trial) restartsWith(with *together) {
	t.with, t.came = with, func() {}
	if with != nil {
		t.came = sync.OnceFunc(with.trials.Done)
	}
}

// awaitRestart returns when the kubelet is killed, if that belongs to the life.
func (t *trial) awaitRestart(ctx context.Context) error {
	if t.with == nil {
		return nil
	}
	t.came()
	if err := t.with.wait(ctx); err != nil {
		return fmt.Errorf("restart the kubelet: %w", err)
	}
	return nil
}

func (t *trial) watch() {
	if t.faultless {
		t.node.Table.Watch(t.namespace, nil)
		return
	}
	t.node.Table.Watch(t.namespace, t.fault.rule(t.marker))
}

// live lets the life happen. It returns true when the pod came to where it has to and stayed there, and false if it is
// stuck somewhere else at the end.
func (t *trial) live(ctx context.Context) (arrived bool, err error) {
	if when := t.life.when; when != nil {
		if err := until(ctx, beginWithin, func() bool { return when(t.node.pod(t.namespace, podName)) }); err != nil {
			return false, t.endOf(err) // it is stuck even before
		}
	}
	after := t.After
	switch {
	case t.faultless:
		after = faultlessWithin
	case t.fault.Action == faults.Late:
		after += latest
	}
	ctx, cancel := context.WithTimeoutCause(ctx, after, errLate)
	defer cancel()
	if t.life.begin != nil {
		if err := t.life.begin(ctx, t.node, t.namespace); err != nil {
			t.begins = errors.Is(err, errLate)
			return false, t.endOf(err)
		}
	}
	var since time.Time
	err = until(ctx, after, func() bool {
		if !t.life.done(t.node.pod(t.namespace, podName)) {
			since = time.Time{}
			return false
		}
		if since.IsZero() {
			since = time.Now()
		}
		// A fault of what a running pod does again and again may come only now.
		broken, _ := t.node.Table.Broken(t.namespace)
		return time.Since(since) > staysFor && (t.faultless || broken > 0 || t.node.pod(t.namespace, podName) == nil)
	})
	if err == nil || !since.IsZero() && time.Since(since) > staysFor {
		return true, nil
	}
	return false, t.endOf(err)
}

// endOf returns nil for the end of the time that a pod has, and any other error.
func (t *trial) endOf(err error) error {
	if errors.Is(err, errLate) {
		return nil
	}
	return err
}

// end removes the pod and all that the fault left.
func (t *trial) end() {
	if t.namespace == "" {
		return // it did not even begin
	}
	t.node.Table.Forget(t.namespace)
	t.node.remove(t.namespace, podName)
	if p := t.life.plugins; p != nil {
		t.node.Table.Only("")
		ctx, cancel := context.WithTimeout(context.Background(), endWithin)
		defer cancel()
		if err := p.drop(ctx, t.node, t.namespace); err != nil {
			t.printf("%s: %v", t.namespace, err)
		}
	}
}

// try tries the fault. freed is called once the trial only waits for whether the pod recovers.
func (t *trial) try(ctx context.Context, freed func()) (*Result, error) {
	defer t.end()
	if err := t.start(ctx); err != nil {
		return nil, err
	}
	arrived, err := t.live(ctx)
	if err != nil {
		return nil, err
	}
	r := &Result{ID: t.fault.ID(), Fault: t.fault, Stuck: !arrived}
	var first time.Time
	r.Broken, first = t.node.Table.Broken(t.namespace)
	if r.Broken == 0 {
		r.Verdict = Unbroken
		return r, nil
	}
	r.Bystanders, r.Harmed = t.others.between(first, time.Now())
	if t.life.done(nil) && arrived {
		r.Verdict = Fine
		return r, nil
	}
	if err := t.askTwice(ctx, r); err != nil {
		return nil, err
	}
	if r.Stuck && !t.fault.Always && !t.fault.alone() && t.with == nil {
		freed()
		t.recover(ctx, r)
	}
	return r, nil
}

// recover waits whether the pod goes on by itself after its one lost call.
func (t *trial) recover(ctx context.Context, r *Result) {
	err := until(ctx, t.Patience, func() bool {
		p := t.node.pod(t.namespace, podName)
		return t.life.done(p) || t.begins && p == nil // it was to be gone before the life goes on
	})
	if ctx.Err() != nil {
		return
	}
	r.Recovered = "no"
	if err == nil {
		r.Recovered = "yes"
	}
}

// askTwice asks why, and once more if nothing is known: some causes take their time to show.
func (t *trial) askTwice(ctx context.Context, r *Result) error {
	if err := t.ask(ctx, r); err != nil || r.Verdict != Unexplained {
		return err
	}
	first := *r
	err := until(ctx, t.Again, func() bool { return t.life.done(t.node.pod(t.namespace, podName)) })
	if err == nil { // it was slow, and is not stuck
		r.Stuck, r.Slow, r.Verdict, r.APIVerdict = false, true, Fine, ""
		return nil
	}
	if !errors.Is(err, errLate) {
		return err
	}
	if err := t.ask(ctx, r); err != nil {
		return err
	}
	r.Later, r.CertainWrong = true, r.CertainWrong || first.CertainWrong
	return nil
}

// tries is how often `why` is asked at most, if one of its sources does not answer in time.
const tries = 3

// ask asks why, judges the answer and keeps what it was about.
func (t *trial) ask(ctx context.Context, r *Result) error {
	t.asking <- struct{}{}
	defer func() { <-t.asking }()
	var s *evidence.Snapshot
	for range tries {
		from := gather.From{API: t.node.API, More: []gather.Source{&gather.Agent{Node: fleet.Socket("", t.node.Agent)}}}
		s = from.Pod(ctx, evidence.Name{Namespace: t.namespace, Name: podName})
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if !isLate(s) {
			break
		}
	}
	r.judge(s, t.marker)
	return t.keep(ctx, r, s)
}

func isLate(s *evidence.Snapshot) bool {
	for _, u := range s.Unseen {
		if u.Why == evidence.Late {
			return true
		}
	}
	return false
}

// judge judges what `why` says of a snapshot, and of what the API server alone knows.
func (r *Result) judge(s *evidence.Snapshot, marker string) {
	report := causes.Explain(s)
	r.Marker = marker
	r.State = report.Word()
	r.First = answerOf(report)
	r.Verdict, r.CertainWrong = judge(r.Fault, report, marker, r.Stuck)
	if s.Pod != nil && r.Stuck {
		far := causes.Explain(recording.API.Mask(s))
		r.API = answerOf(far)
		r.APIVerdict, _ = judge(r.Fault, far, marker, true)
	}
}

// seenIn returns the calls of a life in which nothing is broken.
func (r *Run) seenIn(ctx context.Context, life *Life) ([]faults.Op, error) {
	t := &trial{Run: r, life: life, faultless: true}
	if life.restarts {
		with := newTogether(1)
		t.restartsWith(with)
		defer t.came()
		go func() {
			if err := with.restart(ctx, r.node); err != nil && ctx.Err() == nil {
				r.printf("%v", err)
			}
		}()
	}
	defer t.end()
	if err := t.start(ctx); err != nil {
		return nil, err
	}
	arrived, err := t.live(ctx)
	if err != nil {
		return nil, err
	}
	if !arrived {
		return nil, fmt.Errorf("it did not end in %s, with nothing broken", faultlessWithin)
	}
	return t.node.Table.Seen(t.namespace), nil
}
