//go:build linux

package uprobe

import (
	"errors"
	"slices"
	"testing"

	"golang.org/x/arch/x86/x86asm"

	"github.com/podstep/podstep/probes/pclntab"
	"github.com/podstep/podstep/probes/uprobe/gocode"
)

// TestPlaces: the entry and the exits of each shape of function are found.
func TestPlaces(t *testing.T) {
	p := toy(t)
	for _, x := range []struct {
		name  string
		entry x86asm.Op // the instruction at the entry
		below int64
		exits int
		err   error
	}{
		{"noFrame", x86asm.INC, 0, 1, nil},
		{"smallFrame", x86asm.SUB, 8, 1, nil},
		{"middleFrame", x86asm.SUB, 8, 1, nil},
		{"largeFrame", x86asm.SUB, 8, 1, nil},
		{"manyReturns", x86asm.SUB, 8, 5, nil},
		{"literal.func1", x86asm.SUB, 8, 1, nil},
		{"loops", x86asm.JMP, 0, 1, nil},
		{"noSplit", x86asm.SUB, 8, 1, nil},
		{"never", x86asm.SUB, 8, 0, gocode.ErrNoReturn},
		{"(*Kubelet).SyncPod", x86asm.SUB, 8, -1, nil},
	} {
		t.Run(x.name, func(t *testing.T) {
			fn := toyFunction(t, p, x.name)
			entry, err := p.entry(fn)
			if err != nil {
				t.Fatal(err)
			}
			exits, err := p.exits(fn)
			if len(exits) != x.exits && x.exits >= 0 {
				t.Errorf("it has %d exits, want %d", len(exits), x.exits)
			}
			if !errors.Is(err, x.err) {
				t.Fatalf("the error is %v, want %v", err, x.err)
			}
			if in, err := p.code.Decode(entry.at); err != nil || in.Op != x.entry || entry.below != x.below {
				t.Errorf("it is entered at %v, %d below, want %v, %d below", in.Inst, entry.below, x.entry, x.below)
			}
		})
	}
}

// TestPlacesByCode: by the code of all functions of the toy that have a frame, their exits are all of their returns,
// and no jump leads between a place and its return. No jump leads behind a function's first instruction and up to its
// entry.
func TestPlacesByCode(t *testing.T) {
	p := toy(t)
	seen := 0
	for fn := range p.functions.All() {
		all, err := p.code.Function(fn)
		if err != nil || fn.Assembly() || fn.MaxDelta() == 0 {
			continue // assembly has instructions that are not decoded; a step with such an instruction is refused
		}
		entry, err := p.entry(fn)
		if err != nil {
			continue // such as the linker's
		}
		seen++
		checkExits(t, p, fn, all)
		for _, in := range all {
			if to, ok := in.Target(); ok && in.Op != x86asm.CALL && to > fn.Entry && to <= entry.at {
				t.Errorf("%s jumps to %#x, before its entry at %#x", fn.Name, to, entry.at)
			}
		}
	}
	if seen < 500 {
		t.Errorf("only %d functions were looked at", seen)
	}
}

// checkExits compares a function's exits with its code.
func checkExits(t *testing.T, p *program, fn *pclntab.Func, all []gocode.Inst) {
	t.Helper()
	var want, got []uint64
	targets := map[uint64]bool{}
	for _, in := range all {
		if to, ok := in.Target(); ok {
			targets[to] = true
		}
	}
	for n, in := range all {
		before := n - 1
		for before > 0 && all[before].Op == x86asm.NOP && !targets[all[before].PC] {
			before--
		}
		switch {
		case in.Op != x86asm.RET:
		case before >= 0 && all[before].Op == x86asm.POP && !targets[in.PC] && !targets[all[before].Next()]:
			want = append(want, all[before].PC)
		default:
			want = append(want, in.PC)
		}
	}
	exits, _ := p.exits(fn)
	for _, x := range exits {
		got = append(got, x.at)
	}
	if !slices.Equal(got, want) {
		t.Errorf("%s returns at %#x, and its exits are %#x", fn.Name, want, got)
	}
}
