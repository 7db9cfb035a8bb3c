//go:build linux && amd64

package delve

import (
	"bytes"
	"fmt"
	"os"
	"sync"
	"time"
)

// stillEvery is how often stillness looks whether the process stands still. A stop takes some milliseconds, and there
// are hundreds of them.
const stillEvery = 2 * time.Millisecond

// stillness measures from outside how long a process is stopped by its tracer. Delve stops the threads before it
// answers, and lets them go on after it is asked to; these two take most of the time.
type stillness struct {
	stat *os.File // of the process
	done chan struct{}

	mu    sync.Mutex
	stood time.Duration // since take was last called
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

// stopped reports whether a tracer has stopped the process's first thread. The tracer then has stopped all threads,
// or is about to.
func (s *stillness) stopped() bool {
	var b [256]byte
	n, _ := s.stat.ReadAt(b[:], 0)
	_, after, ok := bytes.Cut(b[:n], []byte(") ")) // PID (NAME) STATE ...
	return ok && bytes.HasPrefix(after, []byte("t"))
}

// take returns how long the process stood still since the last call of take.
func (s *stillness) take() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	stood := s.stood
	s.stood = 0
	return stood
}

func (s *stillness) close() { close(s.done) }
