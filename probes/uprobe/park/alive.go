//go:build linux && amd64

package park

import (
	"strings"

	"golang.org/x/arch/x86/x86asm"
)

// usesFlags reports whether code behind its first instruction looks at flags that it has
// not set itself.
func usesFlags(code []inst) bool {
	for _, i := range code[1:] {
		name := i.Op.String()
		switch {
		case strings.HasPrefix(name, "J") && i.Op != x86asm.JMP, strings.HasPrefix(name, "SET"), strings.HasPrefix(name, "CMOV"),
			i.Op == x86asm.ADC, i.Op == x86asm.SBB, i.Op == x86asm.RCL, i.Op == x86asm.RCR, i.Op == x86asm.PUSHFQ, i.Op == x86asm.LAHF:
			return true
		case i.Op == x86asm.CMP, i.Op == x86asm.TEST, i.Op == x86asm.ADD, i.Op == x86asm.SUB, i.Op == x86asm.AND,
			i.Op == x86asm.OR, i.Op == x86asm.XOR, i.Op == x86asm.NEG, !i.straight():
			return false
		}
	}
	return false
}

// usesFloats reports whether code uses what is in vector registers before it has put it
// there, up to its first jump or call. X15 is always zero, and comes back so.
func usesFloats(code []inst) bool {
	set := map[x86asm.Arg]bool{x86asm.X15: true}
	for _, i := range code {
		if !i.straight() {
			return false
		}
		for n, arg := range i.Args {
			reg, ok := arg.(x86asm.Reg)
			if !ok || reg < x86asm.X0 || reg > x86asm.X15 {
				continue
			}
			if n > 0 && !set[reg] && i.Args[0] != arg {
				return true
			}
			if n == 0 && !set[reg] && !writes(i) {
				return true
			}
		}
		set[i.Args[0]] = true
	}
	return false
}

// writes reports whether an instruction only writes its first argument.
func writes(i inst) bool {
	name := i.Op.String()
	return strings.HasPrefix(name, "MOV") || strings.HasPrefix(name, "CVT") || i.Args[0] == i.Args[1]
}
