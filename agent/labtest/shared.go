package labtest

import (
	"fmt"
	"os"
	"sync"
	"testing"
)

// Shared is one node for all tests of a package that leave it unchanged. It starts with the first test that asks for
// it, and ends after the last test. A test that fails may leave anything on it, so the next test gets a new node.
type Shared struct {
	launch func(flags ...string) (*Lab, error)
	flags  []string

	mu    sync.Mutex
	lab   *Lab
	err   error
	users int  // tests that use the node now
	worn  bool // a test that used the node has failed
}

// NewShared makes a Shared whose node is started by launch, which is Launch or LaunchSim, with flags.
func NewShared(launch func(flags ...string) (*Lab, error), flags ...string) *Shared {
	return &Shared{launch: launch, flags: flags}
}

// For returns the node for one test. It starts the node if there is none that the test can use.
func (s *Shared) For(tb testing.TB) *Lab {
	tb.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.worn && s.users == 0 && s.lab != nil {
		if err := s.lab.Stop(); err != nil {
			tb.Logf("stop the node of a test that failed: %v", err)
		}
		s.lab, s.worn = nil, false
	}
	if s.lab == nil && s.err == nil {
		s.lab, s.err = s.launch(s.flags...)
	}
	if s.err != nil {
		tb.Fatal(s.err)
	}
	s.users++
	tb.Cleanup(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.users--
		s.worn = s.worn || tb.Failed()
	})
	return s.lab.For(tb)
}

// Main is a package's TestMain: it runs the tests, ends the node and returns the
// exit code.
func (s *Shared) Main(m *testing.M) int {
	code := m.Run()
	if err := s.Stop(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

// Stop ends the node, if it was started.
func (s *Shared) Stop() error {
	if s.lab == nil {
		return nil
	}
	return s.lab.Stop()
}
