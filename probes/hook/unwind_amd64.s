#include "textflag.h"

// func anyFrameIn(lo1, hi1, lo2, hi2 uintptr) bool
// Walks up to six frames by their frame pointers.
TEXT ·anyFrameIn(SB), NOSPLIT|NOFRAME, $0-33
	MOVQ lo1+0(FP), AX
	MOVQ hi1+8(FP), BX
	MOVQ lo2+16(FP), SI
	MOVQ hi2+24(FP), DI
	MOVQ BP, CX
	MOVQ $6, R8
	MOVB $0, ret+32(FP)
next:
	TESTQ CX, CX
	JEQ done
	MOVQ 8(CX), DX
	CMPQ DX, AX
	JLS second
	CMPQ DX, BX
	JLS found
second:
	CMPQ DX, SI
	JLS up
	CMPQ DX, DI
	JLS found
up:
	MOVQ 0(CX), CX
	DECQ R8
	JNE next
done:
	RET
found:
	MOVB $1, ret+32(FP)
	RET
