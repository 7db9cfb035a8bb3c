//go:build node && (amd64 || arm64)

package holdproc

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/podstep/podstep/agent/labtest"
	"github.com/podstep/podstep/probes/inside"
	"github.com/podstep/podstep/probes/inside/park"
	"github.com/podstep/podstep/probes/inside/toy"
)

// TestKilled: the hold process may be killed at any moment. The program goes on, with all of its goroutines.
func TestKilled(t *testing.T) {
	y := toy.Start(t, toy.Build(t, os.Getenv("PODSTEP_GO")), toy.Options{
		Workers: 8, Garbage: 2, Pace: 100 * time.Microsecond, Env: []string{"GOGC=5"},
	})
	place := entry(t, y.PID, "main.step")
	newTrigger(t, y.PID, place.Address).want(everyone, false)
	n, holds := labtest.Times(t, "PODSTEP_KILLS", 20), 0
	for range n {
		c := startClient(t, y.PID)
		go func() { // it may be killed while Arm begins to trace
			_, _ = c.Arm(t.Context(), []inside.Place{{Address: place.Address, Within: []string{"main.podWorkerLoop"}, Lease: time.Millisecond}})
		}()
		time.Sleep(rand.N(20 * time.Millisecond))
		kill(t, c.PID(), unix.SIGKILL)
		<-c.Done()
		holds += len(c.held)
		wait(t, "no thread is traced", func() bool { return untraced(y.PID) })
		y.Moved(y.Counts(), y.All()...)
	}
	t.Logf("the hold process was killed %d times, and %d goroutines were held: the program goes on, %+v", n, holds, y.Counts())
}

// TestStress: goroutines are held over and over, on stacks of all sizes, while the garbage collector never rests and
// checks itself. Arguments and results stay right.
func TestStress(t *testing.T) {
	for _, o := range []toy.Options{
		{Workers: 8, Garbage: 2, Grow: true, Env: []string{"GOGC=1", "GODEBUG=clobberfree=1"}},
		{Workers: 8, Garbage: 4, Grow: true, Env: []string{"GOGC=1"}},
		{Workers: 64, Garbage: 1, Pace: 20 * time.Microsecond},
	} {
		t.Run(fmt.Sprintf("%d workers, %v", o.Workers, o.Env), func(t *testing.T) {
			stress(t, os.Getenv("PODSTEP_GO"), o, labtest.Times(t, "PODSTEP_HOLDS", 300))
		})
	}
}

func stress(t *testing.T, version string, o toy.Options, n int) {
	y, g, c, place := setup(t, version, o)
	c.arm(place, 500*time.Microsecond)
	before := y.Counts()
	g.want(everyone, false)
	var stood []time.Duration
	began, refused, ended := time.Now(), map[park.Reason]int{}, map[inside.End]int{}
	for len(stood) < n {
		select {
		case h := <-c.held:
			stood = append(stood, h.Stood)
		case r := <-c.refused:
			refused[r.Reason]++
			if r.Reason != inside.NotWithin {
				t.Errorf("refused is %+v", r)
			}
		case e := <-c.ended:
			ended[e.How]++
		case <-time.After(time.Minute):
			t.Fatalf("only %d holds\n%s", len(stood), y.Trace())
		}
	}
	g.want(nobody, false)
	took := time.Since(began)
	stats, err := c.Disarm(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if ended[inside.LeaseOver] < n/2 || len(ended) > 1 {
		t.Errorf("holds ended %v", ended)
	}
	now := y.Moved(y.Counts(), y.All()...)
	var calls int64
	for i := range now.Calls {
		calls += now.Calls[i] - before.Calls[i]
	}
	t.Logf("%d holds in %v, %d calls right, %d times the stack grew, %d collections; refused %v, ended %v", len(stood), took.Round(time.Millisecond),
		calls, now.Grown-before.Grown, now.GCs-before.GCs, refused, ended)
	t.Logf("a thread stood still for a hold: %s; %d stops in all, %v each, at most %v", quantiles(stood), stats.Stops,
		stats.Stood/time.Duration(max(stats.Stops, 1)), stats.Worst)
}

// quantiles returns the quantiles of durations in words.
func quantiles(all []time.Duration) string {
	slices.Sort(all)
	var out []string
	for _, q := range []float64{0.5, 0.99, 0.999, 1} {
		out = append(out, fmt.Sprintf("%v%% %v", q*100, all[min(int(q*float64(len(all))), len(all)-1)]))
	}
	return strings.Join(out, ", ")
}

// TestLetGoTime measures how soon a goroutine goes on after it is let go.
func TestLetGoTime(t *testing.T) {
	y, g, c, place := setup(t, "", calm)
	c.arm(place, time.Hour)
	var took []time.Duration
	for range labtest.Times(t, "PODSTEP_LETGO", 50) {
		g.want(1, true)
		h := next(t, c.held, "hold")
		w := park.Wait{PID: y.PID, TID: h.TID}
		wait(t, "the goroutine waits", func() (ok bool) { w, ok = park.At(y.PID, h.TID); return ok })
		before := calls(t, y, 1)
		began := time.Now()
		if err := w.Interrupt(); err != nil {
			t.Fatal(err)
		}
		for !w.Over() {
		}
		took = append(took, time.Since(began))
		next(t, c.ended, "end")
		wait(t, "the worker goes on", func() bool { return calls(t, y, 1) > before })
	}
	t.Logf("let go: %s", quantiles(took))
}

func calls(t *testing.T, y *toy.Toy, worker int) int64 {
	t.Helper()
	return y.Counts().Calls[worker]
}
