//go:build node

package soak

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/podstep/podstep/agent/labtest"
)

// report prints what happened. If PODSTEP_SOAK_REPORT names a file, it also writes it there, and beside it the
// kubelet's heap before and after, for go tool pprof.
func (s *soak) report(before, after *baseline, health *labtest.Health) {
	var b strings.Builder
	line := func(name, format string, args ...any) {
		fmt.Fprintf(&b, "%-42s %s\n", name, fmt.Sprintf(format, args...))
	}
	line("run", "PODSTEP_SOAK=%v PODSTEP_SOAK_SEED=%d, %v in all, %d things wrong", s.length, s.seed, time.Since(s.begin).Round(time.Second), s.errors.Load())
	for _, what := range s.counts.list {
		line(what, "%d", s.counts.all[what])
	}
	o := s.seen
	line("events seen", "%d", o.events)
	line("events lost, as reported to who watches", "%v", o.drops)
	line("events lost, as the agent counts", "%v", after.stats.Dropped)
	line("verdicts that agent and events agree on", "%v", o.verdicts)
	faults := 0
	for _, n := range o.faults {
		faults += n
	}
	line("faults injected", "%d, at %d steps", faults, len(o.faults))
	line("node and lease", "%s", health.Summary)
	for _, which := range []string{unheldWindow, heldWindow} {
		line("until Ready, "+which, "%s", quantiles(s.pods.took[which]))
	}
	line("how long holds were", "%s", quantiles(o.held))
	line("by how much longer than lease or budget", "%s", quantiles(o.over))
	line("goroutines", "%d before, %d after", before.goroutines, after.goroutines)
	line("open files", "%d before, %d after", before.files, after.files)
	line("memory, MiB", "%d before, %d after", before.resident>>20, after.resident>>20)
	line("heap in use, MiB", "%d before, %d after", before.heap>>20, after.heap>>20)
	line("of it live, MiB", "%d before, %d after", before.live>>20, after.live>>20)
	line("recorder, MiB", "%d before, %d after", before.stats.RecorderBytes>>20, after.stats.RecorderBytes>>20)
	b.WriteString("why holds ended\n")
	for _, r := range sorted(o.reasons) {
		fmt.Fprintf(&b, "  %6d %s\n", o.reasons[r], r)
	}
	fmt.Fprintf(&b, "where pods were held: %s", s.sides)
	b.WriteString("looked through for canaries\n" + o.canaries.String())
	s.t.Log("\n" + b.String())
	if file := os.Getenv("PODSTEP_SOAK_REPORT"); file != "" {
		if err := os.WriteFile(file, []byte(b.String()), 0o644); err != nil {
			s.t.Error(err)
		}
		for name, profile := range map[string][]byte{".heap-before": before.profile, ".heap": after.profile} {
			if err := os.WriteFile(file+name, profile, 0o644); err != nil {
				s.t.Error(err)
			}
		}
	}
}

func quantiles[T cmp.Ordered](all []T) string {
	if len(all) == 0 {
		return "none"
	}
	all = slices.Sorted(slices.Values(all))
	at := func(q float64) any {
		v := all[min(len(all)-1, int(q*float64(len(all))))]
		if d, ok := any(v).(time.Duration); ok {
			return d.Round(10 * time.Millisecond)
		}
		return v
	}
	return fmt.Sprintf("%d: half in %v, 90%% in %v, 99%% in %v, at most %v", len(all), at(.5), at(.9), at(.99), at(1))
}
