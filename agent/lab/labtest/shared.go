package labtest

import (
	"fmt"
	"os"
	"sync"
	"testing"
)

// Shared is one node for all tests of a package that leave it as they found it.
// It starts with the first test that asks for it, and ends after the last test.
type Shared struct {
	launch func(flags ...string) (*Lab, error)
	flags  []string
	once   sync.Once
	lab    *Lab
	err    error
}

// NewShared sets how the node is started: by Launch or LaunchSim, with which
// flags.
func NewShared(launch func(flags ...string) (*Lab, error), flags ...string) *Shared {
	return &Shared{launch: launch, flags: flags}
}

// For is the node for one test.
func (s *Shared) For(tb testing.TB) *Lab {
	tb.Helper()
	s.once.Do(func() { s.lab, s.err = s.launch(s.flags...) })
	if s.err != nil {
		tb.Fatal(s.err)
	}
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
