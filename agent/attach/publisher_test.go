package attach

import (
	"context"
	"slices"
	"testing"
)

// TestPublisherOrder: the publisher keeps the order of calls, also of those that are queued when it is closed.
func TestPublisherOrder(t *testing.T) {
	p := newPublisher()
	var got, want []int
	for i := range 100 {
		want = append(want, i)
		if !p.queueBegin(func() { got = append(got, i) }, 1) {
			t.Fatal("there is no room for 100")
		}
		if i == 50 {
			go p.run()
		}
	}
	p.close()
	if !slices.Equal(got, want) {
		t.Errorf("published in the order %v", got)
	}
	if p.queueBegin(func() {}, 1) {
		t.Error("a publisher that is closed takes more")
	}
	p.queueEnd(func() { t.Error("a publisher that is closed publishes more") }, 1)
}

// TestPublisherBounds: a full queue refuses a begin, and takes an end.
func TestPublisherBounds(t *testing.T) {
	p := newPublisher()
	if !p.queueBegin(func() {}, maxPendingBytes) || p.queueBegin(func() {}, 1) {
		t.Error("there is not room for just so many bytes")
	}
	ended := false
	p.queueEnd(func() { ended = true }, 1)
	go p.run()
	p.close()
	if !ended {
		t.Error("an end is lost")
	}

	p = newPublisher()
	for range maxPending {
		if !p.queueBegin(func() {}, 0) {
			t.Fatal("there is less room than there is to be")
		}
	}
	if p.queueBegin(func() {}, 0) {
		t.Error("there is more room than there is to be")
	}
	go p.run()
	p.close()
}

// TestPublisherAwait: await returns when its work has run, or when its context ends.
func TestPublisherAwait(t *testing.T) {
	p := newPublisher()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	late := false
	if p.await(ctx, func() { late = true }, 1) {
		t.Error("it is published, by nobody")
	}
	go p.run()
	published := false
	if !p.await(context.Background(), func() { published = true }, 1) || !published {
		t.Error("it is not published")
	}
	p.close()
	if !late {
		t.Error("what somebody waited for in vain is not published")
	}
}

// TestPublisherPanic: a panic costs the event that was to be published, and is reported; callers that wait go on.
func TestPublisherPanic(t *testing.T) {
	p := newPublisher()
	var failed, published []any
	p.failed = func(r any) { failed = append(failed, r) }
	p.queueBegin(func() { panic("oops") }, 1)
	p.queueBegin(func() { published = append(published, 1) }, 1)
	go p.run()
	p.close()
	if len(failed) != 1 || len(published) != 1 || p.bytes != 0 {
		t.Errorf("failed %v, published %v, %d bytes left", failed, published, p.bytes)
	}
}
