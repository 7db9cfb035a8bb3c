package relayproc

import (
	"net"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/podstep/podstep/probes/cri/relay"
)

const (
	method     = "/runtime.v1.RuntimeService/RunPodSandbox"
	bareMethod = "/runtime.v1.RuntimeService/ListContainers"
)

// pipe returns a watcher with a link, and the other end of the link.
func pipe(t *testing.T) (*watcher, *link) {
	t.Helper()
	one, other := net.Pipe()
	w := newWatcher([]string{method}, []string{bareMethod})
	l, far := newLink(one), newLink(other)
	t.Cleanup(func() { l.Fail(); far.Fail() })
	w.use(l)
	return w, far
}

func next(t *testing.T, far *link) message {
	t.Helper()
	m, err := far.Receive()
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestReports: calls are reported in order, with their ends, and none waits.
func TestReports(t *testing.T) {
	w, far := pipe(t)
	if !w.Wants(method) || w.Wants("/other") {
		t.Error("other methods are wanted")
	}
	c := &relay.Call{Method: method, Began: time.Now()}
	if gate := w.Request(c, []byte("a")); gate != nil {
		t.Fatal("the call waits")
	}
	w.Passed()
	if m := next(t, far); m.Begin == nil || string(m.Begin.Message) != "a" || m.Begin.Waits || m.Begin.Method != method {
		t.Errorf("begin: %+v", m.Begin)
	}
	w.End(c, nil, status.New(codes.NotFound, "gone"), time.Now())
	if m := next(t, far); m.End == nil || !m.End.None || m.End.Code != codes.NotFound || m.End.Message != "gone" || m.End.ID != 1 {
		t.Errorf("end: %+v", m.End)
	}
}

// TestBare: the answers of some methods are not reported.
func TestBare(t *testing.T) {
	w, far := pipe(t)
	if !w.Wants(bareMethod) {
		t.Error("they are not reported")
	}
	c := &relay.Call{Method: bareMethod}
	w.Request(c, []byte("a"))
	w.End(c, []byte("b"), status.New(codes.OK, ""), time.Now())
	if m := next(t, far); m.Begin == nil || m.Begin.Method != bareMethod {
		t.Errorf("begin: %+v", m.Begin)
	}
	if m := next(t, far); m.End == nil || !m.End.None || m.End.Answer != nil {
		t.Errorf("end: %+v", m.End)
	}
}

// TestVerdicts: a waiting call goes on by podstep's verdict, or when no podstep is there any more to give one.
func TestVerdicts(t *testing.T) {
	for name, c := range map[string]struct {
		decide func(*watcher, uint64)
		want   codes.Code
	}{
		"go on": {func(w *watcher, id uint64) { w.decide(verdict{ID: id}) }, codes.OK},
		"fail":  {func(w *watcher, id uint64) { w.decide(verdict{ID: id, Code: codes.Aborted, Message: "no"}) }, codes.Aborted},
		"looked, then fail": {func(w *watcher, id uint64) {
			w.decide(verdict{ID: id, Looked: true})
			w.decide(verdict{ID: id, Code: codes.Aborted})
		}, codes.Aborted},
		"podstep hangs":    {func(w *watcher, id uint64) { w.decide(verdict{ID: id, Looked: true}); w.setSilent(true) }, codes.OK},
		"podstep has gone": {func(w *watcher, id uint64) { w.decide(verdict{ID: id, Looked: true}); w.use(nil) }, codes.OK},
		"nobody looks":     {func(*watcher, uint64) {}, codes.OK},
	} {
		t.Run(name, func(t *testing.T) {
			w, far := pipe(t)
			w.arm(true)
			gate := w.Request(&relay.Call{Method: method}, []byte("a"))
			if gate == nil {
				t.Fatal("the call does not wait")
			}
			m := next(t, far)
			if m.Begin == nil || !m.Begin.Waits {
				t.Fatalf("begin: %+v", m.Begin)
			}
			c.decide(w, m.Begin.ID)
			if err := gate(t.Context()); status.Code(err) != c.want {
				t.Errorf("the call goes on with %v, want %v", err, c.want)
			}
			if len(w.waiting) > 0 {
				t.Error("a call that has gone on is remembered")
			}
		})
	}
}

// TestSilent: while podstep is silent calls pass, and are counted; afterwards they are reported again.
func TestSilent(t *testing.T) {
	w, far := pipe(t)
	lost := 0
	far.OnLost = func(n int) { lost += n }
	w.setSilent(true)
	if c := (&relay.Call{Method: method}); w.Request(c, []byte("a")) != nil || c.State != nil {
		t.Error("the call is reported")
	}
	w.setSilent(false)
	w.Request(&relay.Call{Method: method}, []byte("b"))
	w.Passed()
	if m := next(t, far); m.Begin == nil || string(m.Begin.Message) != "b" {
		t.Errorf("begin: %+v", m)
	}
	w.link.Close()
	if m, err := far.Receive(); err == nil || lost != 1 {
		t.Errorf("%d calls are lost, and then comes %+v", lost, m)
	}
}

// TestFull: a link that is not read keeps a bounded number of calls, and counts the others.
func TestFull(t *testing.T) {
	w, _ := pipe(t)
	big := make([]byte, 1<<20)
	reported := 0
	const mostMiB = 32
	for range 2 * mostMiB {
		c := &relay.Call{Method: method}
		w.Request(c, big)
		if c.State != nil {
			reported++
		}
	}
	if reported > mostMiB {
		t.Errorf("%d MiB are kept", reported)
	}
}

// FuzzReceive: whatever comes over a link, Receive returns.
func FuzzReceive(f *testing.F) {
	for _, m := range []message{{Taken: true}, {Begin: &begin{ID: 1, Method: method, Message: []byte("a")}}, {Options: &Options{Path: "/run/a.sock"}}} {
		one, other := net.Pipe()
		l := newLink(one)
		l.Send(m)
		b := make([]byte, 4096)
		n, err := other.Read(b)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b[:n])
		l.Fail()
	}
	f.Fuzz(func(_ *testing.T, b []byte) {
		one, other := net.Pipe()
		l := newLink(one)
		defer l.Fail()
		go func() {
			_, _ = other.Write(b)
			_ = other.Close()
		}()
		for {
			if _, err := l.Receive(); err != nil {
				return
			}
		}
	})
}
