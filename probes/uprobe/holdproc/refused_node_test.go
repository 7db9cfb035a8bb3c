//go:build node && (amd64 || arm64)

package holdproc

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/podstep/podstep/agent/labtest"
	"github.com/podstep/podstep/probes/inside"
	"github.com/podstep/podstep/probes/inside/park"
	"github.com/podstep/podstep/probes/inside/toy"
)

// TestNotWithin: a goroutine is held only within the wanted function, and only if no forbidden function is between.
func TestNotWithin(t *testing.T) {
	y, g, c, place := setup(t, "", calm)
	c.arm(place, time.Hour)
	for worker, within := range map[int64]string{1000: "main.other", 2000: "main.locked"} {
		g.want(worker, true)
		r := next(t, c.refused, "refusal")
		if r.Reason != inside.NotWithin || !slices.Contains(r.Functions, within) || r.Place != place.Address {
			t.Errorf("refused is %+v", r)
		}
	}
	refused, err := c.Arm(t.Context(), []inside.Place{{Address: place.Address, NotWithin: []string{"main.locked"}, Lease: time.Hour}})
	if err != nil || len(refused) > 0 {
		t.Fatal(refused, err)
	}
	g.want(2000, true)
	if r := next(t, c.refused, "refusal"); r.Reason != inside.NotWithin {
		t.Errorf("refused is %+v", r)
	}
	g.want(1000, true)
	c.LetGo(next(t, c.held, "hold").Hold)
	next(t, c.ended, "end")
	y.Moved(y.Counts(), y.All()...)
}

// exitsOf opens a toy, and returns the places where its step returns.
func exitsOf(t *testing.T, pid int) (*park.Program, []park.Place) {
	t.Helper()
	p, err := park.Open(pid)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	exits, why := p.Exits("main.step")
	if why != nil {
		t.Fatal(why)
	}
	return p, exits
}

// TestRefusedPlaces: a place at which no goroutine can be parked is refused when it is armed.
func TestRefusedPlaces(t *testing.T) {
	y, _, c, place := setup(t, "", calm)
	p, exits := exitsOf(t, y.PID)
	inRuntime, why := p.Entry("runtime.newproc")
	if why == nil || why.Reason != park.InRuntime {
		t.Errorf("the entry of runtime.newproc is %+v (%v)", inRuntime, why)
	}
	for address, want := range map[uint64]park.Reason{
		1:                 park.NoFunction,
		place.Address + 1: park.Elsewhere, // within an instruction
		exits[0].Next:     park.Elsewhere,
	} {
		refused, err := c.Arm(t.Context(), []inside.Place{{Address: address, Lease: time.Hour}})
		if err != nil || refused[address].Reason != want || refused[address].Text == "" {
			t.Errorf("at %#x: %+v (%v), not %s", address, refused, err, want)
		}
	}
	if !untraced(y.PID) {
		t.Error("threads are traced for places at which nothing can be held")
	}
}

// TestAnotherTracer: a program that is traced already is left alone, and the message names its tracer.
func TestAnotherTracer(t *testing.T) {
	y, _, first, place := setup(t, "", calm)
	first.arm(place, time.Hour)
	second := startClient(t, y.PID)
	_, err := second.Arm(t.Context(), []inside.Place{{Address: place.Address, Lease: time.Hour}})
	for _, part := range []string{"podstep", fmt.Sprint(first.PID()), fmt.Sprint(y.PID)} {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("the error is %v, without %s", err, part)
		}
	}
	first.Close()
	second.arm(place, time.Hour)
	y.Moved(y.Counts(), y.All()...)
}

// TestNoProgram: a process that runs no Go program is refused at once.
func TestNoProgram(t *testing.T) {
	sleep := filepath.Join("/", "bin", "sleep")
	cmd := command(t, sleep, "1000")
	for pid, want := range map[int]string{cmd: "no Go program", 1 << 30: "no such"} {
		_, err := Start(t.Context(), Options{PID: pid}, nil, Handler{})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("process %d: %v", pid, err)
		}
	}
}

// TestExits: a goroutine is also held where its function is about to return.
func TestExits(t *testing.T) {
	y := toy.Start(t, toy.Build(t, ""), calm)
	_, exits := exitsOf(t, y.PID)
	c := startClient(t, y.PID)
	places := []inside.Place{}
	for _, e := range exits {
		newTrigger(t, y.PID, e.Address).want(everyone, false)
		places = append(places, inside.Place{Address: e.Address, Within: []string{"main.podWorkerLoop"}, Lease: 3 * time.Millisecond})
	}
	if refused, err := c.Arm(t.Context(), places); err != nil || len(refused) > 0 {
		t.Fatal(refused, err)
	}
	for range labtest.Times(t, "PODSTEP_HOLDS", 300) {
		if h := next(t, c.held, "hold"); h.Functions[0] != "main.step" {
			t.Errorf("held is %+v", h)
		}
	}
	c.Close()
	y.Moved(y.Counts(), y.All()...)
}
