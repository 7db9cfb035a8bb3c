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
)

const (
	// beatEvery is how often the guard makes a call through the path, and silentAfter how
	// long none may have been answered, while the runtime answers, before the guard ends
	// who has the path.
	beatEvery   = 500 * time.Millisecond
	silentAfter = 2 * time.Second
	// directWithin is how long the runtime itself may take to answer.
	directWithin = time.Second
)

// heart watches who has the path by calls through it. What is asked for is the runtime's
// version: no call costs a runtime less.
type heart struct {
	dir int
	// Names in dir: the path, and the runtime's own socket, which has two.
	path, direct, spare string
	process             *process
	stop                chan struct{}

	mu    sync.Mutex
	beats []Heartbeat // since they were taken last
}

// Heartbeat is a call of the guard through the path that was answered.
type Heartbeat struct {
	At   time.Time     `json:"at"`
	Took time.Duration `json:"took"`
}

// maxBeats bounds what is kept while nobody asks. Between two questions two are made as a
// rule.
const maxBeats = 8

// add keeps a heartbeat; of too many the last ones.
func (h *heart) add(b Heartbeat) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.beats) == maxBeats {
		h.beats = h.beats[1:]
	}
	h.beats = append(h.beats, b)
}

// take returns the heartbeats since it was called last. A nil heart has none.
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

// watch has the guard look after the path of an order, until it is closed.
func watch(o order, dir, pid int) *heart {
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

// run makes calls until the heart is ended, or who has the path is.
func (h *heart) run() {
	defer unix.Close(h.dir)
	defer h.process.close()
	through := h.client(h.path)
	defer through.CloseIdleConnections()
	tick := time.NewTicker(beatEvery)
	defer tick.Stop()
	for last := time.Now(); ; {
		select {
		case <-h.stop:
			return
		case <-tick.C:
		}
		began := time.Now()
		if askVersion(through, silentAfter) == nil {
			last = time.Now()
			h.add(Heartbeat{last, last.Sub(began)})
			continue
		}
		through.CloseIdleConnections()
		if time.Since(began) > silentAfter+beatEvery {
			// This process was stopped itself: it does not know whether a call went through.
			last = time.Now()
			continue
		}
		if time.Since(last) < silentAfter {
			continue
		}
		if !h.runtimeAnswers() {
			last = time.Now() // then it is not for want of who has the path
			continue
		}
		Report(fmt.Sprintf("process %d let no call through to the runtime for %v: it is ended, and the runtime gets %s back", h.process.pid, time.Since(last).Round(time.Second), h.path))
		h.process.kill()
		return
	}
}

func (h *heart) runtimeAnswers() bool {
	for _, name := range []string{h.direct, h.spare} {
		c := h.client(name)
		err := askVersion(c, directWithin)
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

// client makes calls to a socket in the directory.
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

// versionCall is the path of the call that asks for the runtime's version; its message is
// empty, as five zero bytes of gRPC's framing have it.
const versionCall = "http://runtime/runtime.v1.RuntimeService/Version"

// askVersion makes one call. An answer of any kind is one.
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

// Report writes a line to the kernel's log, which is there when nothing else is.
func Report(text string) {
	f, err := os.OpenFile("/dev/kmsg", os.O_WRONLY, 0)
	if err != nil {
		return
	}
	defer f.Close()
	const warning = 4
	_, _ = fmt.Fprintf(f, "<%d>podstep: %s\n", warning, text)
}
