// The program that runs at each place of the kubelet's code: it reads who comes there and
// the values that the place's reads name, and puts them into a ring buffer. Nothing here
// waits. What cannot be read is left out; what finds no room is counted.
//
// It needs no types of the kernel but the registers of a process, which are in amd64/registers.h and arm64/registers.h
// with all else that differs by architecture.

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef int s32;
typedef unsigned long long u64;

#define SEC(name) __attribute__((section(name), used))
#define __uint(name, val) int (*name)[val]
#define __type(name, val) typeof(val) *name
#define always __attribute__((always_inline))

// Of linux/bpf.h, by number.
#define BPF_ANY 0
#define MAP_HASH 1
#define MAP_ARRAY 2
#define MAP_PERCPU_ARRAY 6
#define MAP_LRU_HASH 9
#define MAP_RINGBUF 27

static void *(*lookup)(void *map, const void *key) = (void *)1;
static long (*update)(void *map, const void *key, const void *value, u64 flags) = (void *)2;
static long (*remove)(void *map, const void *key) = (void *)3;
static u64 (*ktime_get_ns)(void) = (void *)5;
static u64 (*get_current_pid_tgid)(void) = (void *)14;
static long (*probe_read_user)(void *dst, u32 size, u64 src) = (void *)112;
static long (*send_signal_thread)(u32 sig) = (void *)117;
static void *(*ringbuf_reserve)(void *ringbuf, u64 size, u64 flags) = (void *)131;
static void (*ringbuf_submit)(void *data, u64 flags) = (void *)132;
static u64 (*ringbuf_query)(void *ringbuf, u64 flags) = (void *)134;
static u64 (*get_attach_cookie)(void *ctx) = (void *)174;

// The signal that has a thread stop for a tracer, and does nothing without one: package park
// names it.
#define SIGWINCH 28

// The reader looks at the ring several times a second. Waking it at each record would have
// it take the processor from the kubelet. It is woken when the ring is a quarter full.
#define NO_WAKEUP 1
#define FORCE_WAKEUP 2
#define AVAILABLE 0
#define RING (1 << 24)
#define FULL (RING / 4)

// word reads one word of the kubelet's memory.
static always int word(u64 at, u64 *into) { return probe_read_user(into, 8, at); }

#include "registers.h"

enum { HOPS = 4, VALUES = 24, TEXT = 1536, LONGEST = 400, ELEMENTS = 128, LISTS = 5, PARTS = 4, WRAPS = 4, UID = 36, CALLERS = 8 };

// read is how one value is read; package memory has the forms.
struct read {
	u8 in;    // IN_*
	u8 kind;  // KIND_*
	u8 hops;  // how many of hop
	u8 zero;  // a nil pointer on the way gives zero
	s32 at;   // a register's number, or an offset
	s32 hop[HOPS];
};

enum { IN_REGISTER, IN_STACK, IN_ELEMENT, IN_ENTRY, IN_SKIP };
enum { KIND_WORD, KIND_STRING, KIND_TIME, KIND_ERROR, KIND_LIST };

// place is an entry or an exit of a step's function.
struct place {
	u32 below;  // bytes from the stack pointer here to that at the function's first instruction
	u16 first;  // of the reads
	u8 reads;
	u8 flags;  // PLACE_*
	u32 step;   // tells calls of one step from those of another at the same depth
	u8 list;      // the value of the first list of pods, each of which has two
	u8 lists;     // how many there are
	u8 elements;  // reads of an element, behind the others
	u8 stride;    // bytes of an element
};

enum {
	PLACE_EXIT = 1,
	PLACE_KEEPS = 2,   // the exit reads through the entry's registers
	PLACE_ARMED = 4,   // a wanted pod's thread is signalled
	PLACE_EVERY = 8,   // so is every pod's
	PLACE_STARTS = 16,  // no step, but the exit of the function that makes goroutines
	PLACE_WAKES = 32,  // the reader is woken: another probe is about to see the call further in
};

// entry is what an exit needs of the entry.
struct entry {
	u32 step, pad;
	u64 hi;  // of the goroutine's stack
	u64 regs[REGISTERS];
};

struct entry_key {
	u64 g, depth;
};

// record is one event.
struct record {
	u64 time;     // CLOCK_MONOTONIC, in ns
	u64 g, goid, parent, start;
	u64 depth;    // bytes from the goroutine's stack's end to its pointer at the first instruction
	u32 place;
	u32 tid;
	u16 used;     // of text
	u8 values;
	u8 flags;     // RECORD_*
	u32 list;     // the list whose element this is
	u64 made;     // where the goroutine was started; who has the kubelet stand still reads it
	u64 callers[CALLERS];  // at an entry: where the functions under way return to, the innermost first
	// What is read from, and how much is there. Of no interest to the reader.
	u64 frame, element, hi;
	u64 regs[16], saved[16];
	u8 have[VALUES];   // HAVE_*
	u64 value[VALUES];  // a number, or offset << 32 | length of a text
	u8 text[TEXT + LONGEST];
};

enum { RECORD_SIGNALLED = 1, RECORD_ELEMENT = 2, RECORD_ENTRY_LOST = 4 };
enum { HAVE_NONE, HAVE_NUMBER, HAVE_TEXT, HAVE_CUT };

// layout is where things are in the kubelet's struct g.
struct layout {
	u32 goid, parent, start, pad;
};

// wrap is how the text of an error of one type is found, by its method Error.
struct wrap {
	u32 how;  // WRAP_*
	u32 hops;
	s32 hop[HOPS];
};

enum { WRAP_TEXT, WRAP_INNER };

struct {
	__uint(type, MAP_ARRAY);
	__uint(max_entries, 4096);
	__type(key, u32);
	__type(value, struct place);
} places SEC(".maps");

struct {
	__uint(type, MAP_ARRAY);
	__uint(max_entries, 8192);
	__type(key, u32);
	__type(value, struct read);
} reads SEC(".maps");

struct {
	__uint(type, MAP_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct layout);
} layouts SEC(".maps");

struct {
	__uint(type, MAP_HASH);
	__uint(max_entries, 256);
	__type(key, u64);
	__type(value, struct wrap);
} wraps SEC(".maps");

struct {
	__uint(type, MAP_LRU_HASH);
	__uint(max_entries, 16384);
	__type(key, struct entry_key);
	__type(value, struct entry);
} entries SEC(".maps");

// The pods, and the goroutines by number, whose threads are signalled at places that are armed.
struct {
	__uint(type, MAP_HASH);
	__uint(max_entries, 1024);
	__uint(key_size, UID);
	__type(value, u8);
} pods SEC(".maps");

struct {
	__uint(type, MAP_HASH);
	__uint(max_entries, 1024);
	__type(key, u64);
	__type(value, u8);
} goroutines SEC(".maps");

// The goroutines that are in a step, with the depth of the outermost.
struct {
	__uint(type, MAP_LRU_HASH);
	__uint(max_entries, 16384);
	__type(key, u64);
	__type(value, u64);
} busy SEC(".maps");

struct {
	__uint(type, MAP_RINGBUF);
	__uint(max_entries, RING);
} events SEC(".maps");

enum { COUNT_HITS, COUNT_LOST, COUNT_SIGNALS, COUNTS };

struct {
	__uint(type, MAP_PERCPU_ARRAY);
	__uint(max_entries, COUNTS);
	__type(key, u32);
	__type(value, u64);
} counts SEC(".maps");

static always void count(u32 what)
{
	u64 *n = lookup(&counts, &what);
	if (n)
		*n += 1;
}

// text appends bytes of the kubelet's memory to the record's text as value i.
static always void text(struct record *r, u32 i, u64 at, u64 length)
{
	u32 pos = r->used, n = length;
	u8 have = HAVE_TEXT;
	if (i >= VALUES || pos > TEXT)
		return;
	if (length > LONGEST) {
		n = LONGEST;
		have = HAVE_CUT;
	}
	if (n > 0) {
		// The compiler would otherwise forget the bound where it is needed.
		asm volatile("" : "+r"(n));
		if (n > LONGEST || probe_read_user(r->text + pos, n, at))
			return;
	}
	r->value[i] = (u64)pos << 32 | n;
	r->have[i] = have;
	r->used = pos + n;
}

// follow goes through hops, from a pointer to the address of what the last leads to. It
// returns false at a nil pointer, or one that cannot be read.
static always int follow(u64 *p, const s32 *hop, u32 hops)
{
	u64 at = *p;
	for (u32 k = 0; k < HOPS; k++) {
		if (k >= hops)
			break;
		if (k > 0 && word(at, &at))
			return 0;
		if (at == 0)
			return 0;
		at += hop[k];
	}
	*p = at;
	return 1;
}

// error appends the text of an error, and puts the address of its method Error into
// value i + 1: the reader knows the error's type by it.
static always void error(struct record *r, u32 i, u64 itab, u64 data)
{
	u64 method, first = 0;
	if (i + 1 >= VALUES)
		return;
	r->have[i + 1] = HAVE_NUMBER;
	r->value[i + 1] = 0;
	if (itab == 0)
		return;
	r->value[i + 1] = 1;  // there is one, of a type that cannot be read
	for (u32 k = 0; k < WRAPS; k++) {
		if (word(itab + 24, &method))
			return;
		if (first == 0)
			r->value[i + 1] = first = method;
		struct wrap *w = lookup(&wraps, &method);
		if (!w)
			return;
		u64 at = data, pair[2];
		if (!follow(&at, w->hop, w->hops) || probe_read_user(pair, 16, at))
			return;
		if (w->how == WRAP_TEXT) {
			text(r, i, pair[0], pair[1]);
			return;
		}
		itab = pair[0];
		data = pair[1];
		if (itab == 0)
			return;
	}
}

// value reads value i of the record, by the read of that number. It is verified by itself.
__attribute__((noinline)) int value(struct record *r, u32 i, u32 number)
{
	u64 pair[2] = {0, 0}, at = 0;
	int memory = 0;
	if (!r || i >= VALUES)
		return 0;
	struct read *d = lookup(&reads, &number);
	if (!d || d->in == IN_SKIP)  // the value before it has two
		return 0;
	r->have[i] = HAVE_NONE;
	if (i + 1 < VALUES && (d->kind == KIND_ERROR || d->kind == KIND_LIST))
		r->have[i + 1] = HAVE_NONE;
	switch (d->in) {
	case IN_REGISTER:
		pair[0] = r->regs[d->at & 15];
		pair[1] = r->regs[(d->at + 1) & 15];
		break;
	case IN_ENTRY:
		if (r->flags & RECORD_ENTRY_LOST)
			return 0;
		pair[0] = r->saved[d->at & 15];
		pair[1] = r->saved[(d->at + 1) & 15];
		break;
	case IN_STACK:
		at = r->frame + d->at;
		memory = 1;
		break;
	default:
		at = r->element + d->at;
		memory = 1;
	}
	if (d->hops > 0) {
		if (!memory)
			at = pair[0];
		else if (word(at, &at))
			return 0;
		if (!follow(&at, d->hop, d->hops)) {
			if (d->zero) {
				r->have[i] = d->kind == KIND_STRING ? HAVE_TEXT : HAVE_NUMBER;
				r->value[i] = 0;
			}
			return 0;
		}
		memory = 1;
	}
	if (d->kind == KIND_TIME) {
		if (memory)
			text(r, i, at, 24);
		return 0;
	}
	if (memory) {
		if (d->kind == KIND_WORD) {
			if (word(at, &pair[0]))
				return 0;
		} else if (probe_read_user(pair, 16, at))
			return 0;
	}
	switch (d->kind) {
	case KIND_WORD:
		r->value[i] = pair[0];
		r->have[i] = HAVE_NUMBER;
		break;
	case KIND_STRING:
		text(r, i, pair[0], pair[1]);
		break;
	case KIND_ERROR:
		error(r, i, pair[0], pair[1]);
		break;
	case KIND_LIST:
		if (i + 1 < VALUES) {
			r->value[i] = pair[0];
			r->value[i + 1] = pair[1];
			r->have[i] = HAVE_NUMBER;
		}
	}
	return 0;
}

// callers reads where the function and those around it return to, as far as frame pointers
// lead up the goroutine's stack; sp is the stack pointer at the function's first instruction.
static always void callers(struct record *r, struct pt_regs *ctx, struct place *p, u64 sp)
{
	u64 frame[2] = {frame_pointer(ctx), 0}, at = sp - POINTERS_BELOW;  // the frame pointer around, and the address to return to
	for (u32 i = 0; i < CALLERS; i++)
		r->callers[i] = 0;
	if (p->flags & PLACE_EXIT)
		return;
	if (caller(ctx, sp, p->below, frame))
		return;
	r->callers[0] = frame[1];
	for (u32 i = 1; i < CALLERS; i++) {
		if (frame[0] <= at || frame[0] >= r->hi)
			return;
		at = frame[0];
		if (probe_read_user(frame, 16, at))
			return;
		r->callers[i] = frame[1];
	}
}

// begin fills in who comes, and where to.
static always void begin(struct record *r, struct pt_regs *ctx, struct place *p, u32 number)
{
	u32 zero = 0;
	u64 sp = ctx->sp + p->below;
	r->time = ktime_get_ns();
	r->g = goroutine(ctx);
	r->goid = r->parent = r->start = r->hi = 0;
	r->place = number;
	r->tid = (u32)get_current_pid_tgid();
	r->used = 0;
	r->values = p->reads;
	r->flags = 0;
	r->list = 0;
	r->made = 0;
	r->frame = sp + 8;
	r->element = 0;
	struct layout *l = lookup(&layouts, &zero);
	if (l) {
		word(r->g + l->goid, &r->goid);
		word(r->g + l->parent, &r->parent);
		word(r->g + l->start, &r->start);
	}
	word(r->g + 8, &r->hi);
	r->depth = r->hi - sp;
	callers(r, ctx, p, sp);
	arguments(r->regs, ctx);
}

// keep keeps the registers of an entry for the exit.
static always void keep(struct record *r, struct place *p)
{
	struct entry_key k = {r->g, r->depth};
	struct entry e = {.step = p->step, .hi = r->hi};
	for (int i = 0; i < REGISTERS; i++)
		e.regs[i] = r->regs[i];
	update(&entries, &k, &e, BPF_ANY);
}

// recall finds the registers of the entry. What pointed into the goroutine's stack has
// moved with it.
static always void recall(struct record *r, struct place *p)
{
	struct entry_key k = {r->g, r->depth};
	struct entry *e = lookup(&entries, &k);
	if (!e || e->step != p->step) {
		r->flags |= RECORD_ENTRY_LOST;
		return;
	}
	for (int i = 0; i < REGISTERS; i++) {
		u64 v = e->regs[i];
		if (e->hi != r->hi && v < e->hi && v >= e->hi - (1 << 20))
			v += r->hi - e->hi;
		r->saved[i] = v;
	}
	remove(&entries, &k);
}

// wanted reports whether the thread is to be signalled.
static always int wanted(struct record *r, struct place *p)
{
	u8 uid[UID];
	if (!(p->flags & PLACE_ARMED))
		return 0;
	u64 goid = r->goid;
	if (p->flags & PLACE_EVERY || lookup(&goroutines, &goid))
		return 1;
	if (p->reads == 0 || r->have[0] != HAVE_TEXT || r->value[0] != UID)  // the uid, first in text
		return 0;
	for (int i = 0; i < UID; i++)
		uid[i] = r->text[i];
	return lookup(&pods, uid) != 0;
}

// element sends a record for one pod of a list, from where it is. It is verified by itself.
__attribute__((noinline)) int element(struct record *r, u32 list, u64 at, u32 reads, u32 parts)
{
	if (!r)
		return 0;
	struct record *e = ringbuf_reserve(&events, sizeof(*e), 0);
	if (!e) {
		count(COUNT_LOST);
		return 0;
	}
	e->time = r->time;
	e->g = r->g;
	e->place = r->place;
	e->flags = RECORD_ELEMENT;
	e->list = list;
	e->element = at;
	e->values = parts;
	e->used = 0;
	for (u32 k = 0; k < PARTS; k++)
		if (k < parts)
			value(e, k, reads + k);
	ringbuf_submit(e, NO_WAKEUP);
	return 0;
}

// elements sends a record for each pod of one list that the place has. It is verified by
// itself: in a loop over the lists that would take a hundred times as long.
__attribute__((noinline)) int elements(struct record *r, u32 number, u32 list)
{
	struct place *p = lookup(&places, &number);
	if (!r || !p)
		return 0;
	u32 at = p->list + 2 * list, reads = p->first + p->reads;
	if (at >= VALUES - 1 || r->have[at] != HAVE_NUMBER)
		return 0;
	u64 first = r->value[at], length = r->value[at + 1];
	for (u32 i = 0; i < ELEMENTS; i++) {
		if (i >= length)
			break;
		element(r, list, first, reads, p->elements);
		first += p->stride;
	}
	return 0;
}

// note notes that a goroutine is in a step, or in none any more.
static always void note(struct record *r, struct place *p)
{
	u64 goid = r->goid, depth = r->depth, *outermost = lookup(&busy, &goid);
	if (p->flags & PLACE_EXIT) {
		if (outermost && *outermost >= depth)
			remove(&busy, &goid);
	} else if (!outermost || *outermost >= depth) {
		update(&busy, &goid, &depth, BPF_ANY);
	}
}

// started sends a record of a new goroutine, whose g is the result, if the one that starts
// it is in a step.
static always void started(struct pt_regs *ctx, u32 number)
{
	u32 zero = 0;
	u8 yes = 1;
	u64 g = result(ctx), parent = 0, goid = 0;
	struct layout *l = lookup(&layouts, &zero);
	if (!l || word(g + l->parent, &parent) || word(g + l->goid, &goid) || !lookup(&busy, &parent))
		return;
	if (lookup(&goroutines, &parent))  // what it starts is wanted too
		update(&goroutines, &goid, &yes, BPF_ANY);
	struct record *r = ringbuf_reserve(&events, sizeof(*r), 0);
	if (!r) {
		count(COUNT_LOST);
		return;
	}
	r->time = ktime_get_ns();
	r->g = g;
	r->goid = goid;
	r->parent = parent;
	r->place = number;
	r->values = r->flags = 0;
	r->used = 0;
	ringbuf_submit(r, NO_WAKEUP);
}

SEC("uprobe")
int step(struct pt_regs *ctx)
{
	u32 number = get_attach_cookie(ctx);
	count(COUNT_HITS);
	struct place *p = lookup(&places, &number);
	if (!p)
		return 0;
	if (p->flags & PLACE_STARTS) {
		started(ctx, number);
		return 0;
	}
	struct record *r = ringbuf_reserve(&events, sizeof(*r), 0);
	if (!r) {
		count(COUNT_LOST);
		return 0;
	}
	begin(r, ctx, p, number);
	if (p->flags & PLACE_KEEPS) {
		if (p->flags & PLACE_EXIT)
			recall(r, p);
		else
			keep(r, p);
	}
	note(r, p);
	for (u32 i = 0; i < VALUES; i++) {
		if (i >= p->reads)
			break;
		value(r, i, p->first + i);
	}
	if (wanted(r, p) && send_signal_thread(SIGWINCH) == 0) {
		r->flags |= RECORD_SIGNALLED;
		count(COUNT_SIGNALS);
	}
	for (u32 i = 0; i < LISTS; i++)
		if (i < p->lists)
			elements(r, number, i);
	int wakes = r->flags & RECORD_SIGNALLED || p->flags & PLACE_WAKES || ringbuf_query(&events, AVAILABLE) > FULL;
	ringbuf_submit(r, wakes ? FORCE_WAKEUP : NO_WAKEUP);
	return 0;
}

char _license[] SEC("license") = "GPL";
