//go:build linux

package uprobe

import (
	"testing"
	"time"
)

func TestCost(t *testing.T) {
	before, now := Cost{Hits: 1000, Each: 2 * time.Microsecond}, Cost{Hits: 6000, Each: 2 * time.Microsecond}
	if got := now.Share(before, 10*time.Second); got != 0.001 {
		t.Errorf("5000 hits of 2 µs in 10 s are a share of %v", got)
	}
	if got := now.Share(before, 0); got != 0 {
		t.Errorf("in no time they are a share of %v", got)
	}
}

// TestMeasuredOffset: the place at which a hit is measured is found.
func TestMeasuredOffset(t *testing.T) {
	offset, err := measuredOffset()
	if err != nil || offset == 0 {
		t.Errorf("it is %#x (%v)", offset, err)
	}
}
