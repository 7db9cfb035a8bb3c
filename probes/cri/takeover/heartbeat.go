package takeover

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/sys/unix"

	"github.com/podstep/podstep/probes/clock"
)

const (
	// beatEvery is how often the guard makes a call through the path. If several in a row were not answered within
	// silentAfter, while the runtime itself answers within that, the guard ends the process that has the path. On a busy
	// machine one call may be late.
	beatEvery   = 500 * time.Millisecond
	silentAfter = 2 * time.Second
	fewLate     = 1 // late calls in a row that mean nothing yet
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
	dir int
	// Names in dir: the path, and the runtime's own socket, which has two.
	path, direct, spare string
	process             *process
	stop                chan struct{}

	mu    sync.Mutex
	beats []Heartbeat // since they were last taken
}

// Heartbeat is a call of the guard through the path that was answered.
type Heartbeat struct {
	At   clock.Time    `json:"at"`
	Took time.Duration `json:"took"`
}

// maxBeats bounds what is kept while nobody asks. As a rule there are two between two questions.
const maxBeats = 8

// add keeps a heartbeat. If there are too many, it keeps the last ones.
func (h *heart) add(b Heartbeat) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.beats) == maxBeats {
		h.beats = h.beats[1:]
	}
	h.beats = append(h.beats, b)
}

// take returns the heartbeats since its last call. A nil heart has none.
func (h *heart) take() []Heartbeat {
	if h == nil {
		return nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	out := h.beats
	h.beats = nil
	return out
}

// watchPath makes the guard look after the path of an order, until the heart is ended.
func watchPath(o order, dir, pid int) *heart {
	own, err := unix.FcntlInt(uintptr(dir), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil // then its death alone is seen
	}
	p, err := openProcess(pid)
	if err != nil {
		_ = unix.Close(own)
		return nil
	}
	h := &heart{dir: own, path: o.Name, direct: o.Name + suffix, spare: spareDir + "/" + o.Name, process: p, stop: make(chan struct{})}
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
	defer h.process.close()
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
		began := time.Now()
		err := askVersion(through, silentAfter)
		now := time.Now()
		tooMany := missed.add(err == nil, now.Sub(began), now)
		if err == nil {
			h.add(Heartbeat{clock.Of(now), now.Sub(began)})
			continue
		}
		through.CloseIdleConnections()
		if !tooMany {
			continue
		}
		if !h.runtimeAnswers() {
			missed = late{since: time.Now()} // then the process that has the path is not to blame
			continue
		}
		Report(fmt.Sprintf("process %d let no call through to the runtime for %v: it is ended, and the runtime gets %s back", h.process.pid, time.Since(missed.since).Round(time.Second), h.path))
		h.process.kill()
		return
	}
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

func (p *process) kill() {
	if raw, err := p.file.SyscallConn(); err == nil {
		_ = raw.Control(func(fd uintptr) { _ = unix.PidfdSendSignal(int(fd), unix.SIGKILL, nil, 0) })
	}
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
	if _, err := io.Copy(io.Discard, io.LimitReader(answer.Body, maxOrder)); err != nil {
		return fmt.Errorf("ask for the runtime's version: %w", err)
	}
	return nil
}

// Report writes a line to the kernel's log, which is there when no other log is.
func Report(text string) {
	f, err := os.OpenFile("/dev/kmsg", os.O_WRONLY, 0)
	if err != nil {
		return
	}
	defer f.Close()
	const warning = 4
	_, _ = fmt.Fprintf(f, "<%d>podstep: %s\n", warning, text)
}
