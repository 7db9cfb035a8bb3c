//go:build node && linux

package uprobe

import (
	"testing"
	"time"
	"unsafe"

	"github.com/podstep/podstep/probes/inside/reading"
)

// unwatched returns the running toy with a probe of it that nobody watches, and that never reads by itself.
func unwatched(t *testing.T) (*Probe, *running) {
	t.Helper()
	path, err := buildToy()
	if err != nil {
		t.Fatal(err)
	}
	p, plan, table := planOf(t, openToy(t, path))
	r := runToy(t, path)
	probe, err := newProbe(p, plan, table, r.cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	probe.Watched, probe.idle = func() bool { return false }, time.Hour
	if err := probe.Start(toyCatalogue(), r.seen); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := probe.Stop(); err != nil {
			t.Error(err)
		}
	})
	return probe, r
}

// TestReadNow: while nobody watches, no call comes by itself. Whoever asks gets all calls so far, each time.
func TestReadNow(t *testing.T) {
	probe, r := unwatched(t)
	for range 3 {
		r.do("grow")
		if n := len(r.seen.lines); n != 0 {
			t.Errorf("%d lines came by themselves", n)
		}
		probe.ReadNow(t.Context())
		for _, want := range []string{"enter toy.grows [" + pod(1) + "]", "exit toy.grows [false 1000 web-1] <nil>"} {
			select {
			case got := <-r.seen.lines:
				if got != want {
					t.Errorf("it sees %s, want %s", got, want)
				}
			default:
				t.Fatalf("it does not see %q", want)
			}
		}
	}
	if err := probe.Stop(); err != nil {
		t.Error(err)
	}
	probe.ReadNow(t.Context()) // returns
}

// TestFull: nobody watches, and nothing is lost of what does not fit into the ring at once.
func TestFull(t *testing.T) {
	probe, r := unwatched(t)
	calls := 2 * int(probe.kernel.objects.Events.MaxEntries()) / int(unsafe.Sizeof(reading.Record{}))
	read := make(chan int)
	go func() {
		n := 0
		for line := range r.seen.lines {
			if n++; n%2 == 1 && line != "enter toy.grows ["+pod(1)+"]" || n%2 == 0 && line != "exit toy.grows [false 1000 web-1] <nil>" {
				t.Errorf("line %d is %s", n, line)
			}
		}
		read <- n
	}()
	for range calls {
		r.do("grow")
	}
	probe.ReadNow(t.Context())
	close(r.seen.lines)
	if n := <-read; n != 2*calls {
		t.Errorf("%d lines of %d calls", n, calls)
	}
}
