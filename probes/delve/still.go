//go:build linux && amd64

package delve

import (
	"bytes"
	"fmt"
	"os"
	"sync"
	"time"
)

// stillEvery is how often it is looked whether the kubelet stands still. A stop takes some
// milliseconds, and there are hundreds of them.
const stillEvery = 2 * time.Millisecond

// stillness measures how long a process is stopped by its tracer, from outside: Delve stops
// threads before it answers, and has them go on after it is asked to, and both take it most of
// the time.
type stillness struct {
	stat *os.File // of the process
	done chan struct{}

	mu    sync.Mutex
	stood time.Duration // since it was taken
}

// watchStill begins to measure a process.
func watchStill(pid int) (*stillness, error) {
	stat, err := os.Open(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return nil, fmt.Errorf("measure how long the kubelet stands still: %w", err)
	}
	s := &stillness{stat: stat, done: make(chan struct{})}
	go s.watch()
	return s, nil
}

func (s *stillness) watch() {
	defer s.stat.Close()
	tick := time.NewTicker(stillEvery)
	defer tick.Stop()
	for last := time.Now(); ; {
		select {
		case <-s.done:
			return
		case <-tick.C:
		}
		now := time.Now()
		if s.stopped() {
			s.mu.Lock()
			s.stood += now.Sub(last)
			s.mu.Unlock()
		}
		last = now
	}
}

// stopped reports whether a tracer has the process's first thread stand still; then it has all
// of them do so, or is about to.
func (s *stillness) stopped() bool {
	var b [256]byte
	n, _ := s.stat.ReadAt(b[:], 0)
	_, after, ok := bytes.Cut(b[:n], []byte(") ")) // PID (NAME) STATE ...
	return ok && bytes.HasPrefix(after, []byte("t"))
}

// take is how long it stood still since take was called last.
func (s *stillness) take() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	stood := s.stood
	s.stood = 0
	return stood
}

func (s *stillness) close() { close(s.done) }
