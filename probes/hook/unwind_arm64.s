#include "textflag.h"

// func anyFrameIn(lo1, hi1, lo2, hi2 uintptr) bool
// Walks up to six frames by their frame pointers.
TEXT ·anyFrameIn(SB), NOSPLIT|NOFRAME, $0-33
	MOVD lo1+0(FP), R0
	MOVD hi1+8(FP), R1
	MOVD lo2+16(FP), R2
	MOVD hi2+24(FP), R3
	MOVD R29, R4
	MOVD $6, R5
	MOVB ZR, ret+32(FP)
next:
	CBZ R4, done
	MOVD 8(R4), R6
	CMP R0, R6
	BLS second
	CMP R1, R6
	BLS found
second:
	CMP R2, R6
	BLS up
	CMP R3, R6
	BLS found
up:
	MOVD 0(R4), R4
	SUB $1, R5
	CBNZ R5, next
done:
	RET
found:
	MOVD $1, R7
	MOVB R7, ret+32(FP)
	RET
