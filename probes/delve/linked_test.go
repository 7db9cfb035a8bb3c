//go:build linux && amd64

package delve

import (
	"os/exec"
	"testing"

	"github.com/podstep/podstep/probes/inside/park"
)

// TestLinkedByC: a stripped program that the C linker has linked is no program of Go for Delve. Delve's own breakpoint in the
// dynamic linker, which no rescuer could take back, is gone, and the program still stops at podstep's.
func TestLinkedByC(t *testing.T) {
	if _, err := exec.LookPath("gcc"); err != nil {
		t.Skip("there is no C compiler")
	}
	t.Setenv("CGO_ENABLED", "1")
	target, stdin := attachBuilt(t, "a secret", "-ldflags", "-s -w -linkmode=external")
	if at := target.own.breakpoints(); len(at) != 0 {
		t.Fatalf("Delve has breakpoints of its own at %#x", at)
	}
	program, err := park.Open(target.pid)
	if err != nil {
		t.Fatal(err)
	}
	defer program.Close()
	f, ok := program.ByName("os.(*File).Read")
	if !ok {
		t.Fatal("its function is not found")
	}
	place, why := program.Begin(f)
	if why != nil {
		t.Fatal(why)
	}
	if _, err := target.set([]uint64{place.Address}); err != nil {
		t.Fatal(err)
	}
	go func() { _, _ = stdin.Write([]byte("more")) }() // it reads again then
	hits, err := target.goOn()
	if err != nil || len(hits) != 1 || hits[0].pc != place.Address {
		t.Errorf("it stands still at %+v, %v; want %#x", hits, err, place.Address)
	}
	if err := target.clearAll(); err != nil {
		t.Error(err)
	}
}
