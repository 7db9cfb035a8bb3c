// The registers of a process on amd64, as the kernel hands them to the program, and what Go's ABI uses them for.

struct pt_regs {
	u64 r15, r14, r13, r12, bp, bx, r11, r10, r9, r8, ax, cx, dx, si, di, orig_ax, ip, cs, flags, sp, ss;
};

// How many registers have arguments and results.
enum { REGISTERS = 9 };

static always void arguments(u64 *regs, struct pt_regs *ctx)
{
	regs[0] = ctx->ax;
	regs[1] = ctx->bx;
	regs[2] = ctx->cx;
	regs[3] = ctx->di;
	regs[4] = ctx->si;
	regs[5] = ctx->r8;
	regs[6] = ctx->r9;
	regs[7] = ctx->r10;
	regs[8] = ctx->r11;
}

static always u64 result(struct pt_regs *ctx) { return ctx->ax; }

// goroutine returns the address of the goroutine's g.
static always u64 goroutine(struct pt_regs *ctx) { return ctx->r14; }

static always u64 frame_pointer(struct pt_regs *ctx) { return ctx->bp; }

// The frame pointers of the functions around one are above its stack pointer at its first instruction, less this.
enum { POINTERS_BELOW = 0 };

// caller reads the frame pointer of the function around, if the register does not have it any more, and the address to
// return to. sp is the stack pointer at the function's first instruction, and below is how far it is below that by now.
static always long caller(struct pt_regs *ctx, u64 sp, u32 below, u64 *frame)
{
	// A function that has put its caller's frame pointer on the stack has one of its own by now.
	return below >= 8 ? probe_read_user(frame, 16, sp - 8) : word(sp, &frame[1]);
}
