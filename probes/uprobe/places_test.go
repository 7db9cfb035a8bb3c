//go:build linux

package uprobe

import (
	"encoding/binary"
	"errors"
	"slices"
	"testing"

	"golang.org/x/arch/arm64/arm64asm"
	"golang.org/x/arch/x86/x86asm"

	"github.com/podstep/podstep/probes/inside/gocode"
	"github.com/podstep/podstep/probes/pclntab"
)

// TestPlaces: the entry and the exits of each shape of function are found.
func TestPlaces(t *testing.T) {
	for _, x := range []struct {
		name         string
		amd64, arm64 string // the instruction at the entry
		below        int64  // on amd64; on arm64 the stack pointer is that of the caller
		exits        int
		err          error
	}{
		{"noFrame", "INC", "ADD", 0, 1, nil},
		{"smallFrame", "SUB", "STR", 8, 1, nil},
		{"middleFrame", "SUB", "MOV", 8, 1, nil},
		{"largeFrame", "SUB", "MOV", 8, 1, nil},
		{"manyReturns", "SUB", "STR", 8, 5, nil},
		{"literal.func1", "SUB", "STR", 8, 1, nil},
		{"loops", "JMP", "B", 0, 1, nil},
		{"noSplit", "SUB", "STR", 8, 1, nil},
		{"never", "SUB", "STR", 8, 0, gocode.ErrNoReturn},
		{"(*Kubelet).SyncPod", "SUB", "STR", 8, -1, nil},
	} {
		t.Run(x.name, func(t *testing.T) {
			checkPlaces(t, toyFor(t, "amd64"), x.name, x.amd64, x.below, x.exits, x.err)
			checkPlaces(t, toyFor(t, "arm64"), x.name, x.arm64, 0, x.exits, x.err)
		})
	}
}

func checkPlaces(t *testing.T, p *program, name, op string, below int64, number int, why error) {
	t.Helper()
	fn := toyFunction(t, p, name)
	entry, err := p.entry(fn)
	if err != nil {
		t.Fatal(err)
	}
	exits, err := p.exits(fn)
	if len(exits) != number && number >= 0 {
		t.Errorf("it has %d exits, want %d", len(exits), number)
	}
	if !errors.Is(err, why) {
		t.Fatalf("the error is %v, want %v", err, why)
	}
	if got := opAt(t, p, entry.at); got != op || entry.below != below {
		t.Errorf("on %s it is entered at %v, %d below, want %v, %d below", p.Arch, got, entry.below, op, below)
	}
	for _, x := range exits {
		at := x.at
		if x.below > 0 {
			at += 4 // it takes down the frame
		}
		if p.Arch == "arm64" && opAt(t, p, at) != "RET" {
			t.Errorf("on arm64 it returns at %v, %d below", opAt(t, p, x.at), x.below)
		}
	}
}

// opAt returns the name of the instruction at an address.
func opAt(t *testing.T, p *program, pc uint64) string {
	t.Helper()
	if text, ok := p.code.(gocode.Text); ok {
		i, err := text.Decode(pc)
		if err != nil {
			t.Fatal(err)
		}
		return i.Op.String()
	}
	i, err := arm64asm.Decode(p.Text.Data[pc-p.Text.Addr:])
	if err != nil {
		t.Fatal(err)
	}
	return i.Op.String()
}

// TestPlacesByCode: by the code of all functions of the toy that have a frame, their exits are all of their returns,
// and no jump leads between a place and its return. No jump leads behind a function's first instruction and up to its
// entry.
func TestPlacesByCode(t *testing.T) {
	p := toyFor(t, "amd64")
	seen := 0
	for fn := range p.functions.All() {
		all, err := p.code.(gocode.Text).Function(fn)
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

// TestPlacesByCodeOnARM64: by the code of all functions of the toy on arm64, their exits are all of their returns, or right
// before them, where no jump leads between the two. At an entry the stack pointer is the caller's. No jump leads behind a function's first instruction and up to its entry,
// nor does one of a function without a frame lead back to it.
func TestPlacesByCodeOnARM64(t *testing.T) {
	p := toyFor(t, "arm64")
	seen := 0
	for fn := range p.functions.All() {
		entry, err := p.entry(fn)
		if err != nil || fn.Assembly() {
			continue
		}
		seen++
		if entry.below != 0 {
			t.Errorf("at the entry of %s its frame has %d bytes", fn.Name, entry.below)
		}
		var want, got []uint64
		targets := map[uint64]bool{}
		for pc := fn.Entry; pc < fn.End; pc += 4 {
			word := binary.LittleEndian.Uint32(p.Text.Data[pc-p.Text.Addr:])
			if word == 0xd65f03c0 { // RET
				want = append(want, pc)
			}
			to := targetOnARM64(word, pc)
			targets[to] = true
			if to != 0 && to <= entry.at && (to > fn.Entry || to == entry.at) {
				t.Errorf("%s jumps to %#x, and its entry is at %#x", fn.Name, to, entry.at)
			}
		}
		exits, _ := p.exits(fn)
		for _, x := range exits {
			if x.below > 0 && !targets[x.at+4] {
				x.at += 4
			}
			got = append(got, x.at)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s returns at %#x, and its exits are %#x", fn.Name, want, got)
		}
	}
	if seen < 500 {
		t.Errorf("only %d functions were looked at", seen)
	}
}

// targetOnARM64 returns where a jump leads that is no call; 0: the instruction is none.
func targetOnARM64(word uint32, pc uint64) uint64 {
	offset := func(high, low int) uint64 { return pc + uint64(int64(int32(word<<(31-high))>>(31-high+low))*4) }
	switch {
	case word>>26 == 5: // B
		return offset(25, 0)
	case word>>24 == 0x54, word>>25&0x3f == 0x1a: // B.cond, CBZ, CBNZ
		return offset(23, 5)
	case word>>25&0x3f == 0x1b: // TBZ, TBNZ
		return offset(18, 5)
	}
	return 0
}
