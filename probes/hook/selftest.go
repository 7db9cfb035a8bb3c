package hook

import (
	"context"
	"errors"
	"runtime/pprof"
)

// SelfTest checks what the hook relies on in the Go runtime that this program was
// built with: where a goroutine's profiler labels are, that goroutines inherit
// them, and how runtime/pprof lays them out. With an error no step may be
// switched on.
func SelfTest() error {
	prev := getLabels()
	defer setLabels(prev)
	own := Goroutine()
	if own == 0 || own != Goroutine() {
		return errors.New("goroutines cannot be told apart in this build of the Go runtime")
	}
	s := NewSpan(Labels("self-test"), nil)
	setLabels(s.pointer())
	if Current() != s {
		return errors.New("a goroutine's profiler labels are not kept as podstep expects in this build of the Go runtime")
	}
	inherited := make(chan bool)
	Go(func() { inherited <- Current() == s && Goroutine() != own })
	if !<-inherited {
		return errors.New("goroutines do not inherit profiler labels in this build of the Go runtime")
	}
	foreign := true
	pprof.Do(context.Background(), pprof.Labels("key", "value"), func(context.Context) { foreign = Current() != nil })
	if foreign {
		return errors.New("another program's profiler labels look like podstep's in this build of the Go runtime")
	}
	return nil
}
