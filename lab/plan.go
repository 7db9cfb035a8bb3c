package lab

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// A plan starts parts side by side, each as soon as those it needs are ready.
type plan struct {
	ctx      context.Context
	fail     context.CancelCauseFunc
	progress func(part string, took time.Duration)
	ready    map[string]chan struct{}
	parts    sync.WaitGroup
	report   sync.Mutex
}

func newPlan(ctx context.Context, progress func(string, time.Duration)) *plan {
	p := &plan{progress: progress, ready: map[string]chan struct{}{}}
	p.ctx, p.fail = context.WithCancelCause(ctx)
	return p
}

// add starts a part when the parts that it needs are ready. Those must have been added before.
func (p *plan) add(name string, start func(context.Context) error, needs ...string) {
	ready := make(chan struct{})
	var wait []chan struct{}
	for _, need := range needs {
		c, ok := p.ready[need]
		if !ok {
			panic(fmt.Sprintf("part %s needs %s, which was not added", name, need))
		}
		wait = append(wait, c)
	}
	p.ready[name] = ready
	p.parts.Go(func() {
		for _, c := range wait {
			select {
			case <-c:
			case <-p.ctx.Done():
				return
			}
		}
		begin := time.Now()
		if err := start(p.ctx); err != nil {
			p.fail(fmt.Errorf("start %s: %w", name, err))
			return
		}
		p.reportReady(name, time.Since(begin))
		close(ready)
	})
}

// reportReady reports that a part is ready, before the parts that need it begin.
func (p *plan) reportReady(name string, took time.Duration) {
	if p.progress == nil {
		return
	}
	p.report.Lock()
	defer p.report.Unlock()
	p.progress(name, took)
}

// wait waits until every part is ready. If one fails, it returns the first error.
func (p *plan) wait() error {
	p.parts.Wait()
	err := context.Cause(p.ctx)
	p.fail(nil)
	return err
}

// inTurn returns a step that runs several steps one after the other.
func inTurn(steps ...func(context.Context) error) func(context.Context) error {
	return func(ctx context.Context) error {
		for _, step := range steps {
			if err := step(ctx); err != nil {
				return err
			}
		}
		return nil
	}
}
