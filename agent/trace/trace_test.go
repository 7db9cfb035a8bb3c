package trace

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/wire/eventtest"
	"google.golang.org/protobuf/proto"
)

// TestRoundTrip: the events that are read are those that were written, byte by byte, whatever the size of the batches.
func TestRoundTrip(t *testing.T) {
	for _, size := range []int{1, 7, 1000, 3 * blockEvents} {
		s := newSample()
		var batches []*agentpb.Batch
		want := &agentpb.Batch{}
		for n := 0; n < 6*blockEvents && len(batches) < 500; n += size {
			b := s.batch(size)
			if len(batches)%3 == 1 {
				b.Events = append(b.Events, odd...)
			}
			batches = append(batches, b)
			want.Pods = append(want.Pods, b.Pods...)
			want.Events = append(want.Events, b.Events...)
		}
		got, err := read(written(t, batches...))
		if err != nil {
			t.Fatalf("batches of %d: %v", size, err)
		}
		same(t, got, want)
	}
}

func same(t *testing.T, got, want *agentpb.Batch) {
	t.Helper()
	if len(got.Events) != len(want.Events) || len(got.Pods) != len(want.Pods) {
		t.Fatalf("%d events and %d pods, want %d and %d", len(got.Events), len(got.Pods), len(want.Events), len(want.Pods))
	}
	for i := range got.Events {
		if !bytes.Equal(got.Events[i], want.Events[i]) {
			t.Fatalf("event %d is\n%x, want\n%x", i, got.Events[i], want.Events[i])
		}
	}
	for i := range got.Pods {
		if !proto.Equal(got.Pods[i], want.Pods[i]) {
			t.Fatalf("pod %d is %v, want %v", i, got.Pods[i], want.Pods[i])
		}
	}
}

// TestModelBeginsAnew: many pods and spans do no harm, and do not grow the model without bound.
func TestModelBeginsAnew(t *testing.T) {
	var batches []*agentpb.Batch
	want := &agentpb.Batch{}
	for i := range uint32(3 * keptPods) {
		if i%4096 == 0 {
			batches = append(batches, &agentpb.Batch{})
		}
		b := batches[len(batches)-1]
		b.Events = append(b.Events, eventtest.Encode(&agentpb.Event{Seq: uint64(i), Kind: agentpb.Kind_ENTER, Span: uint64(i), Parent: uint64(i / 2), Pod: i, Step: i % 5000}))
	}
	for _, b := range batches {
		want.Events = append(want.Events, b.Events...)
	}
	raw := written(t, batches...)
	got, err := read(raw)
	if err != nil {
		t.Fatal(err)
	}
	same(t, got, want)
	r, err := NewReader(bytes.NewReader(raw))
	for err == nil {
		if _, err = r.Next(); r.decoder.model != nil && len(r.decoder.model.syncs) > keptPods+blockEvents {
			t.Fatalf("the model has grown to %d pods", len(r.decoder.model.syncs))
		}
	}
}

func TestHeader(t *testing.T) {
	r, err := NewReader(bytes.NewReader(written(t)))
	if err != nil {
		t.Fatal(err)
	}
	h := r.Header()
	if h.Podstep != header.Podstep || !h.Began.Equal(header.Began) || h.Selection != "web" || !proto.Equal(h.Info, about) {
		t.Errorf("header %+v", h)
	}
	if _, err := r.Next(); err != io.EOF {
		t.Errorf("a trace without events ends with %v", err)
	}
}

func TestCaughtUp(t *testing.T) {
	s := newSample()
	raw := written(t, s.batch(3), &agentpb.Batch{CaughtUp: true}, s.batch(2))
	r, err := NewReader(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []struct {
		events int
		caught bool
	}{{3, false}, {0, true}, {2, false}} {
		b, err := r.Next()
		if err != nil || len(b.Events) != want.events || b.CaughtUp != want.caught {
			t.Errorf("batch %d: %d events, %t, %v; want %+v", i, len(b.GetEvents()), b.GetCaughtUp(), err, want)
		}
	}
}

func TestNoTrace(t *testing.T) {
	for name, text := range map[string]string{
		"empty": "", "text": "apiVersion: v1\nkind: Pod\nmetadata:\n", "short": "podstep tr", "no version": "podstep trace \n",
		"endless version": "podstep trace 1111111111111", "no number": "podstep trace x\n", "version 0": "podstep trace 0\n", "negative": "podstep trace -1\n",
	} {
		if _, err := NewReader(strings.NewReader(text)); !errors.Is(err, ErrNoTrace) {
			t.Errorf("%s: %v", name, err)
		}
	}
	_, err := NewReader(strings.NewReader("podstep trace 2\nwhat ever comes"))
	var newer *VersionError
	if !errors.As(err, &newer) || newer.Version != 2 || !strings.Contains(err.Error(), "use a newer podstep") {
		t.Errorf("a newer version: %v", err)
	}
	_, err = NewReader(strings.NewReader("podstep trace 1\n"))
	var fault *Fault
	if !errors.As(err, &fault) || fault.Offset != 16 {
		t.Errorf("no header: %v", err)
	}
}

// TestCutShort: a file that ends early is read up to there, wherever it ends.
func TestCutShort(t *testing.T) {
	s := newSample()
	batches := []*agentpb.Batch{s.batch(20), s.batch(20), s.batch(20)}
	raw := written(t, batches...)
	whole, err := read(raw)
	if err != nil {
		t.Fatal(err)
	}
	unfinished := 0
	for n := range raw {
		got, err := read(raw[:n])
		var fault *Fault
		switch {
		case errors.As(err, &fault):
			if fault.Events != uint64(len(got.Events)) || fault.Offset > int64(n) || len(got.Events)%20 != 0 {
				t.Fatalf("cut at %d of %d: %+v, and %d events", n, len(raw), fault, len(got.Events))
			}
			if fault.Unfinished {
				unfinished++
			}
		case errors.Is(err, ErrNoTrace) && n <= len(magic)+1:
		default:
			t.Fatalf("cut at %d: %v", n, err)
		}
		if len(got.Events) > 0 {
			whole := &agentpb.Batch{Events: whole.Events[:len(got.Events)], Pods: whole.Pods[:len(got.Pods)]}
			same(t, got, whole)
		}
	}
	if unfinished != 5 { // behind the first line, the header, and three blocks
		t.Errorf("the end mark is missing at %d places", unfinished)
	}
}

// TestDamaged: a changed byte is found, and everything before its block is read.
func TestDamaged(t *testing.T) {
	s := newSample()
	raw := written(t, s.batch(20), s.batch(20))
	whole, err := read(raw)
	if err != nil {
		t.Fatal(err)
	}
	for n := range raw {
		bad := bytes.Clone(raw)
		bad[n] ^= 0x41
		got, err := read(bad)
		if err == nil {
			t.Fatalf("byte %d of %d is changed and nobody sees it", n, len(raw))
		}
		var fault *Fault
		if errors.As(err, &fault) && (fault.Unfinished || fault.Offset > int64(n)) {
			t.Fatalf("byte %d of %d: %+v", n, len(raw), fault)
		}
		before := &agentpb.Batch{Events: whole.Events[:len(got.Events)], Pods: whole.Pods[:len(got.Pods)]}
		same(t, got, before)
	}
}

// TestUnknownBlock: blocks of a kind that a later podstep may add are passed over.
func TestUnknownBlock(t *testing.T) {
	raw := written(t, newSample().batch(5))
	p, err := newPacker()
	if err != nil {
		t.Fatal(err)
	}
	end := len(raw) - blockSize - len(p.zstd.EncodeAll(nil, nil))
	with := append(bytes.Clone(raw[:end]), p.pack(block{kind: 'I'}, []byte("an index"))...)
	got, err := read(append(with, raw[end:]...))
	if err != nil || len(got.Events) != 5 {
		t.Errorf("%d events, %v", len(got.Events), err)
	}
}
