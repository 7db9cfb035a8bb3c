package takeover

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// ensured calls Ensure for a setup's path, as for a takeover by a process.
func (s *setup) ensured(t *testing.T, pid int, within time.Duration) ([]string, error) {
	t.Helper()
	file, err := StateFile(s.state, "/", s.path)
	must(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	return Ensure(ctx, file, "/", s.path, pid)
}

// TestEnsure: whatever two dead processes have left, with or without their state, the path is the runtime's.
func TestEnsure(t *testing.T) {
	for name, meddle := range map[string]func(t *testing.T, s *setup){
		"all":               func(*testing.T, *setup) {},
		"without the state": func(t *testing.T, s *setup) { must(t, os.RemoveAll(s.state)) },
		"without the path":  func(t *testing.T, s *setup) { must(t, os.Remove(s.path)) },
		"an empty state": func(t *testing.T, s *setup) {
			files, err := filepath.Glob(s.state + "/*.json")
			must(t, err)
			must(t, os.Truncate(files[0], 0))
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSetup(t)
			play(t, "echo", s.path)
			s.killBoth(t)
			meddle(t, s)
			if did, err := s.ensured(t, 1, time.Minute); err != nil || len(did) == 0 {
				t.Errorf("it did %q, %v", did, err)
			}
			if err := round(s.path); err != nil {
				t.Error(err)
			}
			s.untouched(t, "rt.sock")
			if did, err := s.ensured(t, 1, time.Minute); err != nil || len(did) != 0 {
				t.Errorf("the second time it did %q, %v", did, err)
			}
		})
	}
}

// TestEnsureLeavesTheLiving: a path that a living process has is left alone. That is an error only if it is the process
// that should have given it back.
func TestEnsureLeavesTheLiving(t *testing.T) {
	s := newSetup(t)
	play(t, "echo", s.path)
	holder := play(t, "holder", s.path, s.state, "/")
	if did, err := s.ensured(t, 1, time.Minute); err != nil || len(did) != 0 {
		t.Errorf("of another one's it did %q, %v", did, err)
	}
	if did, err := s.ensured(t, holder.pid(), time.Millisecond); err == nil || len(did) != 0 {
		t.Errorf("of its own one it did %q, %v", did, err)
	}
	if err := round(s.path); err != nil {
		t.Error(err)
	}
}

// TestLate: one call through the path that is late proves nothing, nor do those while the guard itself stood still.
func TestLate(t *testing.T) {
	const slow, stood = silentAfter, silentAfter + 2*beatEvery
	for _, x := range []struct {
		name  string
		calls []time.Duration // 0: it was answered
		want  bool
	}{
		{"one late call", []time.Duration{slow}, false},
		{"two in a row", []time.Duration{slow, slow}, true},
		{"two, and one between", []time.Duration{slow, 0, slow}, false},
		{"it stood still itself", []time.Duration{slow, stood, slow}, false},
		{"refused at once", []time.Duration{1, 1}, false},
		{"refused all the time", []time.Duration{1, 1, 1, 1, 1}, true},
	} {
		now := time.Unix(0, 0)
		missed, got := late{since: now}, false
		for _, took := range x.calls {
			now = now.Add(max(took, beatEvery))
			got = missed.add(took == 0, took, now)
		}
		if got != x.want {
			t.Errorf("%s: too many: %v", x.name, got)
		}
	}
}
