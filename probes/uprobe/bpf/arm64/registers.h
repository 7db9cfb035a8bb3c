// The registers of a process on arm64, as the kernel hands them to the program, and what Go's ABI uses them for.

struct pt_regs {
	u64 regs[31], sp, pc, pstate;
};

// How many registers have arguments and results.
enum { REGISTERS = 16 };

static always void arguments(u64 *regs, struct pt_regs *ctx)
{
	for (int i = 0; i < REGISTERS; i++)
		regs[i] = ctx->regs[i];
}

static always u64 result(struct pt_regs *ctx) { return ctx->regs[0]; }

// goroutine returns the address of the goroutine's g.
static always u64 goroutine(struct pt_regs *ctx) { return ctx->regs[28]; }

static always u64 frame_pointer(struct pt_regs *ctx) { return ctx->regs[29]; }

// The frame pointers of the functions around one are above its stack pointer at its first instruction, less this. A
// function's frame pointer points to one word below its frame.
enum { POINTERS_BELOW = 16 };

// caller returns the address to return to. A function puts it on the stack as it makes its frame, or behind that.
static always int caller(struct pt_regs *ctx, u64 sp, u32 below, u64 *frame)
{
	frame[1] = ctx->regs[30];
	return 0;
}
