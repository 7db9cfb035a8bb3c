package hook

import (
	"context"
	"testing"
)

// TestGuarded: in every way in which podstep's code runs beside the kubelet's, it is called, and a panic in it is
// caught and counted.
func TestGuarded(t *testing.T) {
	over, cancel := context.WithCancel(t.Context())
	cancel()
	for name, run := range map[string]func(f func()){
		"Guard":     func(f func()) { Guard(f) },
		"Go":        Go,
		"AfterFunc": func(f func()) { AfterFunc(0, f) },
		"AfterDone": func(f func()) { AfterDone(over, f) },
	} {
		t.Run(name, func(t *testing.T) {
			before := Faults()
			called := make(chan struct{})
			run(func() {
				defer close(called)
				panic("of a test")
			})
			<-called
			for Faults() == before { // counted after f's own deferred calls
				if t.Context().Err() != nil {
					t.Fatal("the panic was not counted")
				}
			}
		})
	}
	if !Guard(func() {}) {
		t.Error("a function that does well counts as one that does not")
	}
	if Guard(func() { var none *int; *none = 1 }) {
		t.Error("a function that panics counts as one that does well")
	}
}
