//go:build linux

#include "textflag.h"

// Offsets in the siginfo and the ucontext that the kernel gives to a handler on amd64.
#define siCode 8
#define ucRIP  168

// Offsets in the net's data: see net.go.
#define dataOld     16
#define dataTries   48
#define dataCount   56
#define dataPath    64
#define dataEntries 80
#define entrySize   32

// The kernel calls a copy of this code with DI: the signal, SI: its siginfo, DX: its ucontext. Install replaces the
// constant by the address of the data. The kernel restores all registers afterwards.
TEXT handler<>(SB), NOSPLIT|NOFRAME, $0-0
	CMPL siCode(SI), $0x80 // SI_KERNEL: of an INT3. Others are Delve's, which came too late
	JNE  back
	MOVQ $0x5afe5afe5afe5afe, R8
	MOVQ ucRIP(DX), R9     // behind the INT3
	SUBQ $1, R9
	MOVQ dataCount(R8), CX
	LEAQ dataEntries(R8), BX
	XORL AX, AX

next:
	CMPQ AX, CX
	JAE  unknown
	MOVQ R9, R11
	SUBQ 0(BX), R11
	MOVBQZX 8(BX), R10
	CMPQ R11, R10
	JB   found
	ADDQ $entrySize, BX
	ADDQ $1, AX
	JMP  next

unknown:
	CMPB 0(R9), $0xcc
	JNE  back // Delve has set the thread back already, or has parked it

chain:
	MOVQ dataOld(R8), AX
	JMP  AX

found:
	MOVQ 0(BX), R13
	MOVQ DX, R12
	CMPB 0(R13), $0xcc
	JNE  rewind // it is written back already
	SUBQ $1, dataTries(R8)
	JLT  chain  // nobody can write it back: end as without a net
	CMPQ dataTries(R8), $0x80000
	JGT  wait   // the rescuer writes it back, when no thread is behind the first byte
	MOVQ $2, AX             // open
	LEAQ dataPath(R8), DI
	MOVQ $0x80001, SI       // O_WRONLY|O_CLOEXEC
	XORL DX, DX
	SYSCALL
	TESTQ AX, AX
	JLT  wait
	MOVQ AX, BP
	MOVQ AX, DI
	MOVQ $18, AX            // pwrite64
	LEAQ 9(BX), SI
	MOVBQZX 8(BX), DX
	MOVQ R13, R10
	SYSCALL
	MOVQ $3, AX             // close
	MOVQ BP, DI
	SYSCALL

wait:
	MOVQ $24, AX            // sched_yield
	SYSCALL

rewind:
	MOVQ R13, ucRIP(R12)

back:
	RET

// The handler returns to a copy of this code.
TEXT restorer<>(SB), NOSPLIT|NOFRAME, $0-0
	MOVQ $15, AX // rt_sigreturn
	SYSCALL
	RET

TEXT handlerEnd<>(SB), NOSPLIT|NOFRAME, $0-0
	RET

// func handlerRange() (begin unsafe.Pointer, restorer, end uintptr)
TEXT ·handlerRange(SB), NOSPLIT, $0-24
	LEAQ handler<>(SB), AX
	MOVQ AX, begin+0(FP)
	LEAQ restorer<>(SB), AX
	MOVQ AX, restorer+8(FP)
	LEAQ handlerEnd<>(SB), AX
	MOVQ AX, end+16(FP)
	RET
