//go:build linux && (amd64 || arm64)

package park

import (
	"fmt"
	"strings"

	"golang.org/x/arch/arm64/arm64asm"

	"github.com/podstep/podstep/probes/inside/gocode"
	"github.com/podstep/podstep/probes/pclntab"
)

// a64 is the code of a program on arm64. Among the instructions there may be constants.
type a64 pclntab.Section

// floats are F0 to F31. Functions return numbers in the first half of them.
func (a64) floats() (lost, results vectors) { return 1<<32 - 1, 1<<16 - 1 }

// pushed: the called function itself puts the address to return to on the stack.
func (a64) pushed() int64 { return 0 }

func (a64) breakable(*inst) bool { return true }

// unknown is an instruction that is not known here.
type unknown uint32

func (u unknown) String() string { return fmt.Sprintf("%#08x", uint32(u)) }

func (x a64) decode(pc uint64) (inst, error) {
	i, err := gocode.ARM64(x).Decode(pc)
	if err != nil {
		return inst{}, err
	}
	w := i.Enc
	out := inst{PC: pc, next: i.Next(), word: w, text: unknown(w), looks: a64Looks(w), frames: a64Frames(w)}
	if i.Op == 0 {
		out.unknown(w)
		return out, nil
	}
	out.text = i.Inst
	out.to, _ = i.Target()
	out.goes(i.Inst)
	out.readsFlags, out.setsFlags = a64Flags(i.Inst)
	out.numbers(i.Inst)
	return out, nil
}

// unknown fills in what can be known of an instruction that the library does not decode, by the kind of instruction: the
// fields op0 of the manual's table of the encodings. Loads and stores without vector registers, such as those that add in
// memory at once, do neither. Whatever else it is may do anything.
func (i *inst) unknown(w uint32) {
	const zeros = 0 // it is no instruction: constants, or padding
	switch kind, vector := w>>25&0b1111, w>>26&1 == 1; {
	case w == zeros:
		i.dies = true
	case kind&0b0101 == 0b0100 && !vector:
		i.straight = true
	default:
		i.readsFlags, i.reads, i.float = true, 1<<32-1, true
	}
}

// goes fills in where the processor goes on.
func (i *inst) goes(of arm64asm.Inst) {
	switch of.Op {
	case arm64asm.BL, arm64asm.BLR:
		i.calls = true
	case arm64asm.RET:
		i.returns = true
	case arm64asm.BR:
		i.jumps = true
	case arm64asm.B:
		_, conditional := of.Args[0].(arm64asm.Cond)
		i.jumps = !conditional
	case arm64asm.CBZ, arm64asm.CBNZ, arm64asm.TBZ, arm64asm.TBNZ, arm64asm.SVC, arm64asm.HVC, arm64asm.SMC:
	case arm64asm.BRK, arm64asm.HLT, arm64asm.ERET, arm64asm.DRPS:
		i.dies = true
	default:
		i.straight = true
	}
}

// a64Flags returns inst.readsFlags and inst.setsFlags.
func a64Flags(i arm64asm.Inst) (reads, sets bool) {
	switch i.Op {
	case arm64asm.B:
		_, reads = i.Args[0].(arm64asm.Cond)
	case arm64asm.CSEL, arm64asm.CSET, arm64asm.CSETM, arm64asm.CSINC, arm64asm.CSINV, arm64asm.CSNEG, arm64asm.CINC, arm64asm.CINV,
		arm64asm.CNEG, arm64asm.FCSEL, arm64asm.ADC, arm64asm.SBC, arm64asm.NGC, arm64asm.MRS,
		arm64asm.CCMP, arm64asm.CCMN, arm64asm.FCCMP, arm64asm.FCCMPE, arm64asm.ADCS, arm64asm.SBCS, arm64asm.NGCS:
		reads = true // the last of them set flags, too
	case arm64asm.CMP, arm64asm.CMN, arm64asm.TST, arm64asm.ADDS, arm64asm.SUBS, arm64asm.ANDS, arm64asm.BICS, arm64asm.NEGS,
		arm64asm.FCMP, arm64asm.FCMPE, arm64asm.BL, arm64asm.BLR, arm64asm.RET:
		sets = true
	}
	return reads, sets
}

// numbers fills in what the instruction does with vector registers.
func (i *inst) numbers(of arm64asm.Inst) {
	var bits [len(arm64asm.Args{})]vectors
	var all vectors
	whole, wide := true, false
	for n, a := range of.Args {
		one, inParts, of16 := a64Bit(a)
		bits[n], all = one, all|one
		whole, wide = whole && !inParts, wide || of16
	}
	name := of.Op.String()
	switch {
	case all == 0:
		return
	case strings.HasPrefix(name, "ST"), of.Op == arm64asm.FCMP, of.Op == arm64asm.FCMPE, of.Op == arm64asm.FCCMP, of.Op == arm64asm.FCCMPE:
		i.reads = all
		return
	case strings.HasPrefix(name, "LD"):
		i.sets = all
		i.float = !wide // a register of 16 bytes copies memory
		if !whole {
			i.reads, i.sets = all, 0
		}
		return
	}
	i.reads = bits[1] | bits[2] | bits[3] | bits[4]
	i.truncates = bits[0] == 0 && bits[1] == firstResult && strings.HasPrefix(name, "FCVT")
	if bits[0] == 0 {
		return
	}
	i.float = true
	if whole {
		i.sets = bits[0]
	} else {
		i.reads |= bits[0] // of a register in parts, some may stay
	}
}

// a64Bit returns the vector registers that an argument names. inParts: it names numbers in them. of16: it names one as 16
// bytes.
func a64Bit(a arm64asm.Arg) (bits vectors, inParts, of16 bool) {
	switch r := a.(type) {
	case arm64asm.Reg:
		if r >= arm64asm.B0 && r <= arm64asm.V31 {
			return 1 << ((r - arm64asm.B0) % 32), false, r >= arm64asm.Q0 && r <= arm64asm.Q31
		}
	case arm64asm.RegisterWithArrangement, arm64asm.RegisterWithArrangementAndIndex:
		return listed(r.String()), true, false
	}
	return 0, false, false
}

// listed returns the registers of a list as the library writes it, such as V3.16B, or {V0.B, V1.B}[3].
func listed(text string) (bits vectors) {
	if strings.Contains(text, "-") {
		return 1<<32 - 1
	}
	for part := range strings.SplitSeq(strings.TrimPrefix(text, "{"), ",") {
		var n uint
		if _, err := fmt.Sscanf(strings.ToUpper(strings.TrimSpace(part)), "V%d", &n); err != nil || n > 31 {
			return 1<<32 - 1
		}
		bits |= 1 << n
	}
	return bits
}

// a64Looks reports whether an instruction loads the third word of the g, in R28.
func a64Looks(w uint32) bool { return w&^0b11111 == 0xf9400b80 }

// a64Frames reports whether an instruction moves the stack pointer: it stores the address to return to below it, or it is
// an ADD or SUB of a number whose result is the stack pointer.
func a64Frames(w uint32) bool {
	_, stores := a64Pushes(w)
	return stores || w&0xbf80001f == 0x9100001f
}
