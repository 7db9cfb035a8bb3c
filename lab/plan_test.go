package lab

import (
	"context"
	"errors"
	"testing"
	"time"
)

func TestPlan(t *testing.T) {
	var done []string
	p := newPlan(t.Context(), func(part string, _ time.Duration) { done = append(done, part) })
	nothing := func(context.Context) error { return nil }
	first := make(chan struct{})
	p.add("first", func(context.Context) error { <-first; return nil })
	p.add("beside", func(context.Context) error { defer close(first); return nil })
	p.add("after", nothing, "first", "beside")
	p.add("last", inTurn(nothing, nothing), "after")
	if err := p.wait(); err != nil {
		t.Fatal(err)
	}
	if len(done) != 4 || done[2] != "after" || done[3] != "last" {
		t.Errorf("the parts became ready in the order %v", done)
	}
}

func TestPlanFails(t *testing.T) {
	broken := errors.New("broken")
	p := newPlan(t.Context(), nil)
	p.add("bad", func(context.Context) error { return broken })
	p.add("waits", func(ctx context.Context) error {
		return poll(ctx, func(context.Context) error { return errors.New("not yet") })
	})
	p.add("never", func(context.Context) error { t.Error("a part started without what it needs"); return nil }, "bad")
	if err := p.wait(); !errors.Is(err, broken) || err.Error() != "start bad: broken" {
		t.Errorf("got %v", err)
	}
}

func TestPlanInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	p := newPlan(ctx, nil)
	p.add("slow", func(ctx context.Context) error { cancel(); <-ctx.Done(); return nil })
	p.add("never", func(context.Context) error { return nil }, "slow")
	if err := p.wait(); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestPollNamesWhatIsMissing(t *testing.T) {
	late, missing := errors.New("too late"), errors.New("missing")
	ctx, cancel := context.WithTimeoutCause(t.Context(), 0, late)
	defer cancel()
	if err := poll(ctx, func(context.Context) error { return missing }); !errors.Is(err, late) || !errors.Is(err, missing) {
		t.Errorf("got %v", err)
	}
}
