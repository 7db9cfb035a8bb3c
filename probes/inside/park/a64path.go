//go:build linux && (amd64 || arm64)

package park

import (
	"errors"
	"fmt"

	"github.com/podstep/podstep/probes/pclntab"
)

// On arm64 a function finds the address to return to in a register, LR, and keeps it at the bottom of its frame. The end of
// debugCall128 does not load LR from there, so it returns to itself if another function has returned to it. The end of
// RawSyscall6 does. Its frame has just room for the seven words of a callee, and for the 24 bytes that the system call
// reads. What else the record has is in places of debugCallV2's frame that no code uses.

// The registers by their numbers. R18 belongs to the system, and no Go program uses it.
const (
	fp, lr = 29, 30
	unused = 18
)

// The frame of debugCallV2 on arm64. Above it is the address to which the goroutine's function returns, for which a
// debugger makes room before it calls debugCallV2.
const (
	a64DebugFrame = 272
	a64LinkRoom   = 16
)

func (a64) findPath(p *Program) (*path, error) {
	out, err := p.findAll(finders{DebugCall: a64Restores, "syscall.RawSyscall6": a64Room, "syscall.Syscall6": a64Enter})
	if err == nil {
		out.size = a64LinkRoom + out.registers.delta + out.room.delta + out.enter.delta
	}
	return out, err
}

// a64Restores finds where debugCallV2 restores the registers: behind R20 = 16, BRK.
func a64Restores(p *Program, f *pclntab.Func, out *path) error {
	code, err := p.code(f)
	if err != nil {
		return err
	}
	const sixteen, brk = 0xb27c03f4, 0xd4200000 // MOV X20, #16; BRK #0
	var rest []inst
	for n := 1; n < len(code)-1; n++ {
		if code[n-1].word == sixteen && code[n].word == brk {
			rest = code[n+1:]
		}
	}
	if rest == nil {
		return errors.New("it has no BRK with 16 in R20")
	}
	out.registers, out.slots = tail{rest[0].PC, a64DebugFrame}, map[int]int64{}
	for len(rest) > 0 {
		pair, ok := a64LoadsPair(rest[0].word)
		if !ok || pair.at < 0 {
			break
		}
		out.slots[pair.first], out.slots[pair.second], rest = pair.at, pair.at+8, rest[1:]
	}
	if err := a64Returns(rest); err != nil {
		return err
	}
	taken := map[int64]bool{a64UnusedLow: true, a64UnusedLow + 8: true, a64UnusedLow + 16: true, a64UnusedHigh: true, a64UnusedHigh + 8: true}
	for reg := range fp {
		if reg == unused {
			continue
		}
		disp, ok := out.slots[reg]
		if !ok || disp < 8 || disp%8 != 0 || disp > a64DebugFrame-8 || taken[disp] {
			return fmt.Errorf("it does not take R%d back from a place of its own in its frame", reg)
		}
		taken[disp] = true
	}
	if len(out.slots) != fp-1 {
		return errors.New("it takes back more than the general registers")
	}
	return known(f, out.registers.pc, out.registers.delta)
}

// a64Returns checks that instructions take the frame pointer and LR back, and go on where the goroutine was.
func a64Returns(code []inst) error {
	want := []uint32{
		0xa97feffd, // LDP -8(SP), (R29, R27)
		0x910483ff, // ADD $288, SP
		0xf85f03fe, // MOVD -16(SP), R30
		0xd61f0360, // JMP (R27)
	}
	for n, w := range want {
		if len(code) <= n || code[n].word != w {
			return errors.New("it does not go on where its caller was in the way that is known")
		}
	}
	return nil
}

// a64Room finds the end of RawSyscall6: behind its only call. A wrapper for callers in assembly has the same name, and calls
// it.
func a64Room(p *Program, f *pclntab.Func, out *path) error {
	code, err := p.code(f)
	if err != nil {
		return err
	}
	var rest []inst
	for n := range code {
		if code[n].calls {
			if p.callee(&code[n]) == f.Name {
				return nil
			}
			if rest != nil {
				return errors.New("it calls more than one function")
			}
			rest = code[n+1:]
		}
	}
	if rest == nil {
		return errors.New("it calls no function")
	}
	at, behind := tail{rest[0].PC, a64RoomFrame}, rest
	for len(rest) > 0 && a64LoadsResult(rest[0].word) {
		rest = rest[1:]
	}
	n, ok := a64Pops(rest)
	if !ok || n != a64RoomFrame {
		return errors.New("it does not return in a way that is known")
	}
	out.room = at
	if err := known(f, at.pc, at.delta); err != nil {
		return err
	}
	return unsafe(f, behind)
}

// a64LoadsResult reports whether an instruction loads R0, R1 or R2 from the frame, or two of them.
func a64LoadsResult(w uint32) bool {
	if pair, ok := a64LoadsPair(w); ok {
		return pair.first < 3 && pair.second < 3 && pair.at > 0
	}
	reg, _, ok := a64Loads(w)
	return ok && reg < 3
}

// a64Pops checks that the instructions take the frame pointer and LR back, take down the frame and return, and do nothing
// else. It returns the frame's size.
func a64Pops(code []inst) (frame uint64, ok bool) {
	const pointer, both, ret = 0xf85f83fd, 0xa97ffbfd, 0xd65f03c0 // MOVD -8(SP), R29; LDP -8(SP), (R29, R30); RET
	if len(code) < 3 || code[2].word != ret {
		return 0, false
	}
	switch w := code[1].word; {
	case code[0].word == pointer && w&0xffe00fff == 0xf84007fe: // MOVD.P N(SP), R30
		return uint64(w >> 12 & 0x1ff), true
	case code[0].word == both && w&0xffc003ff == 0x910003ff: // ADD $N, SP
		return uint64(w >> 10 & 0xfff), true
	}
	return 0, false
}

// a64Enter finds the Syscall6 that gets its arguments in registers, does not check how much stack is left, and
// notifies the scheduler of the system call.
func a64Enter(p *Program, f *pclntab.Func, out *path) error {
	code, err := p.code(f)
	if err != nil {
		return err
	}
	if is, err := p.notifies(code); !is {
		return err // a wrapper
	}
	kept := map[int]bool{}
	for _, i := range code {
		if i.calls {
			break
		}
		for _, reg := range a64Keeps(i.word) {
			kept[reg] = true
		}
	}
	for reg := range 7 {
		if !kept[reg] {
			return fmt.Errorf("it does not take an argument from R%d", reg)
		}
	}
	const keep, point = 0xf81f83fd, 0xd10023fd // MOVD R29, -8(SP); SUB $8, SP, R29
	frame, ok := a64Pushes(code[0].word)
	if !ok || code[1].word != keep || code[2].word != point {
		return fmt.Errorf("it begins with %v, %v, %v", code[0].text, code[1].text, code[2].text)
	}
	out.enter = tail{code[3].PC, frame}
	if err := known(f, out.enter.pc, frame); err != nil {
		return err
	}
	return unsafe(f, code[3:])
}

// a64Pushes returns by how much an instruction lowers the stack pointer that stores LR there: MOVD.W R30, -N(SP).
func a64Pushes(w uint32) (frame uint64, ok bool) {
	n := int64(w>>12&0x1ff) - 0x200 // nine bits, negative
	return uint64(-n), w&0xffe00fff == 0xf8000ffe && w>>20&1 == 1
}

// pair is what an instruction does with two registers and two words on the stack.
type pair struct {
	first, second int
	at            int64
}

// a64LoadsPair returns the registers that an instruction loads, and from where: LDP N(SP), (first, second).
func a64LoadsPair(w uint32) (pair, bool) {
	return a64Pair(w), w&0xffc003e0 == 0xa94003e0
}

func a64Pair(w uint32) pair {
	at := int64(int32(w<<10) >> 25) // seven bits, signed
	return pair{int(w & 31), int(w >> 10 & 31), at * 8}
}

// a64Loads returns the register that an instruction loads, and from where: MOVD N(SP), reg.
func a64Loads(w uint32) (reg int, at int64, ok bool) {
	return int(w & 31), int64(w>>10&0xfff) * 8, w&0xffc003e0 == 0xf94003e0
}

// a64Keeps returns the registers that an instruction stores on the stack.
func a64Keeps(w uint32) []int {
	switch w & 0xffc003e0 {
	case 0xf90003e0: // MOVD reg, N(SP)
		return []int{int(w & 31)}
	case 0xa90003e0: // STP (first, second), N(SP)
		p := a64Pair(w)
		return []int{p.first, p.second}
	}
	return nil
}
