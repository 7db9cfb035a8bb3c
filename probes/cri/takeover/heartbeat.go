package takeover

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/sys/unix"

	"github.com/podstep/podstep/probes/clock"
	"github.com/podstep/podstep/probes/companion"
)

const (
	// beatEvery is how often the guard makes a call through the path. If several in a row were not answered within
	// silentAfter, while the runtime itself answers within that, the guard ends the process that has the path. On a busy
	// machine one call may be late.
	beatEvery   = 500 * time.Millisecond
	silentAfter = 2 * time.Second
	fewLate     = 1 // late calls in a row that mean nothing yet
	// maxAnswer bounds what is read of an answer, in bytes.
	maxAnswer = 16 << 10
)

// late counts calls through the path that were not answered in time, in a row.
type late struct {
	calls int
	since time.Time // of the last call that was answered
}

// add adds a call that has ended now, and reports whether there are too many late ones. A call that took much longer
// than it was given does not count, nor do those before: this process was stopped itself, and does not know whether
// they went through.
func (l *late) add(answered bool, took time.Duration, now time.Time) (tooMany bool) {
	if answered || took > silentAfter+beatEvery {
		*l = late{since: now}
		return false
	}
	l.calls++
	return l.calls > fewLate && now.Sub(l.since) >= silentAfter
}

// heart watches the process that has the path by calls through the path. The calls ask for the runtime's version:
// no call costs a runtime less.
type heart struct {
	w   *watchman
	dir int
	// Names in dir: the path, and the runtime's own socket, which has two.
	path, direct, spare string
	process             *companion.Process
	stop                chan struct{}
}

// Heartbeat is a call of the guard through the path that was answered.
type Heartbeat struct {
	At   clock.Time
	Took time.Duration
}

// watchPath makes the guard look after the path of its order, which a process has, until the heart is ended.
func (w *watchman) watchPath(pid int) *heart {
	own, err := unix.FcntlInt(uintptr(w.dir), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil // then its death alone is seen
	}
	p, err := companion.OpenProcess(pid)
	if err != nil {
		_ = unix.Close(own)
		return nil
	}
	h := &heart{w: w, dir: own, path: w.Name, direct: w.Name + suffix, spare: spareDir + "/" + w.Name, process: p, stop: make(chan struct{})}
	go h.run()
	return h
}

func (h *heart) end() {
	if h != nil {
		close(h.stop)
	}
}

// run makes calls until the heart is ended, or the process that has the path is.
func (h *heart) run() {
	defer unix.Close(h.dir)
	defer h.process.Close()
	through := h.client(h.path)
	defer through.CloseIdleConnections()
	tick := time.NewTicker(beatEvery)
	defer tick.Stop()
	for missed := (late{since: time.Now()}); ; {
		select {
		case <-h.stop:
			return
		case <-tick.C:
		}
		h.w.calling.Begin()
		companion.Mishap("beat")
		blame := h.beat(through, &missed)
		h.w.calling.End()
		if !blame {
			continue
		}
		companion.Report(fmt.Sprintf("process %d let no call through to the runtime for %v: it is ended, and the runtime gets %s back", h.process.PID, time.Since(missed.since).Round(time.Second), h.path))
		h.process.Kill()
		h.awaitEnd()
		return
	}
}

// killWithin is how long the guard waits for the end of a process that it has killed.
const killWithin = time.Second

// awaitEnd waits for the end of the process that was killed, with which the link ends. One that stays does nothing any
// more, so the guard does not wait for it.
func (h *heart) awaitEnd() {
	for end := time.Now().Add(killWithin); !h.process.Ended(); time.Sleep(killWithin / 100) {
		if time.Now().After(end) {
			h.w.link.Fail()
			return
		}
	}
}

// beat makes a call through the path. It reports whether the process that has the path is to blame that the last ones were
// not answered.
func (h *heart) beat(through *http2.Transport, missed *late) (blame bool) {
	began := time.Now()
	err := askVersion(through, silentAfter)
	now := time.Now()
	tooMany := missed.add(err == nil, now.Sub(began), now)
	if err == nil {
		h.w.link.Send(message{Beat: &Heartbeat{clock.Of(now), now.Sub(began)}})
		return false
	}
	through.CloseIdleConnections()
	if !tooMany {
		return false
	}
	if !h.runtimeAnswers() {
		*missed = late{since: time.Now()}
		return false
	}
	return true
}

func (h *heart) runtimeAnswers() bool {
	for _, name := range []string{h.direct, h.spare} {
		c := h.client(name)
		err := askVersion(c, silentAfter)
		c.CloseIdleConnections()
		if err == nil {
			return true
		}
	}
	return false
}

// client returns a client that makes calls to a socket in the directory.
func (h *heart) client(name string) *http2.Transport {
	address := fmt.Sprintf("/proc/self/fd/%d/%s", h.dir, name)
	return &http2.Transport{
		AllowHTTP: true,
		DialTLSContext: func(ctx context.Context, _, _ string, _ *tls.Config) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, "unix", address)
		},
	}
}

// versionCall is the URL of the call that asks for the runtime's version. Its message is empty: five zero bytes of
// gRPC's framing.
const versionCall = "http://runtime/runtime.v1.RuntimeService/Version"

// askVersion makes one call. Any answer will do.
func askVersion(c *http2.Transport, within time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, versionCall, strings.NewReader("\x00\x00\x00\x00\x00"))
	if err != nil {
		return fmt.Errorf("ask for the runtime's version: %w", err)
	}
	r.Header.Set("Content-Type", "application/grpc")
	r.Header.Set("Te", "trailers")
	answer, err := c.RoundTrip(r)
	if err != nil {
		return fmt.Errorf("ask for the runtime's version: %w", err)
	}
	defer answer.Body.Close()
	if _, err := io.Copy(io.Discard, io.LimitReader(answer.Body, maxAnswer)); err != nil {
		return fmt.Errorf("ask for the runtime's version: %w", err)
	}
	return nil
}
