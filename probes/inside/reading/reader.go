package reading

import (
	"encoding/binary"

	"github.com/podstep/podstep/probes/clock"
)

// Stopped is a thread that stands still at a place.
type Stopped struct {
	TID int
	// Place is the number of the place. At is when the thread was seen there.
	Place int
	At    clock.Time
	// Registers are the registers of arguments, in the order of Go's ABI. SP is the stack pointer. G is the register
	// that has the address of the goroutine's g. BP is the frame pointer.
	Registers [9]uint64
	SP, G, BP uint64
}

// Memory reads the memory of a process that stands still: all of b, or an error.
type Memory func(at uint64, b []byte) error

// Reader does what the program of package uprobe does in the kernel (bpf/steps.bpf.c), where a debugger stops the kubelet.
type Reader struct {
	plan    Plan
	memory  Memory
	entries map[entryKey]entry
}

type entryKey struct{ g, depth uint64 }

// entry has what an exit needs of its entry.
type entry struct {
	step      uint32
	hi        uint64
	registers [9]uint64
}

// maxEntries bounds the entries whose exits are still to come.
const maxEntries = 1 << 14

// NewReader returns a Reader that reads from a memory.
func NewReader(p Plan, m Memory) *Reader {
	return &Reader{plan: p, memory: m, entries: map[entryKey]entry{}}
}

// Read reads what is to be read of a thread at a place. It returns one record for the place, and one for each pod of
// its lists.
func (r *Reader) Read(t *Stopped) []Record {
	spec := r.plan.Places[t.Place].Spec
	one := r.newRecord(t, &spec)
	if spec.Flags&Keeps != 0 {
		if spec.Flags&AtExit != 0 {
			r.recall(&one, &spec)
		} else {
			r.keep(&one, &spec)
		}
	}
	for i := range int(spec.Reads) {
		r.value(&one, i, r.plan.Reads[int(spec.First)+i])
	}
	return append([]Record{one}, r.elements(&one, &spec)...)
}

// madeBelow is how far before a goroutine's start address the runtime's g has the address behind the goroutine's go
// statement: gopc, ancestors, startpc.
const madeBelow = 16

// newRecord returns a record of which goroutine stopped, and at which place.
func (r *Reader) newRecord(t *Stopped, spec *Spec) (out Record) {
	sp := t.SP + uint64(spec.Below)
	out = Record{
		Time: uint64(t.At), G: t.G, Place: uint32(t.Place), TID: uint32(t.TID), Values: spec.Reads, Frame: sp + 8,
	}
	out.Goid, _ = r.word(t.G + uint64(r.plan.Layout.Goid))
	out.Parent, _ = r.word(t.G + uint64(r.plan.Layout.Parent))
	out.Start, _ = r.word(t.G + uint64(r.plan.Layout.Start))
	out.Made, _ = r.word(t.G + uint64(r.plan.Layout.Start) - madeBelow)
	out.Hi, _ = r.word(t.G + 8)
	out.Depth = out.Hi - sp
	if spec.Flags&AtExit == 0 {
		r.callers(&out, t, spec, sp)
	}
	copy(out.Regs[:], t.Registers[:])
	return out
}

// callers reads the addresses to which the function and those around it return, as far as frame pointers lead up the
// goroutine's stack. sp is the stack pointer at the function's first instruction.
func (r *Reader) callers(one *Record, t *Stopped, spec *Spec, sp uint64) {
	frame, at := [2]uint64{t.BP}, sp // the caller's frame pointer, and the address to return to
	stack := r.from(sp-8, one.Hi)
	// A function that has put its caller's frame pointer on the stack has a frame pointer of its own by now.
	ok := false
	if spec.Below >= 8 {
		ok = stack.words(sp-8, frame[:])
	} else {
		ok = stack.words(sp, frame[1:])
	}
	for i := range one.Callers {
		if !ok {
			return
		}
		one.Callers[i] = frame[1]
		ok = frame[0] > at && frame[0] < one.Hi
		at = frame[0]
		ok = ok && stack.words(at, frame[:])
	}
}

// readAtOnce is how much of a stack is read at once. A debugger is asked for each read, and the kubelet stands still
// meanwhile.
const readAtOnce = 1000

// part is a part of the memory that has been read already. Reads outside of it go to the memory.
type part struct {
	*Reader
	begin uint64
	bytes []byte
}

// from reads the memory between two addresses, but no more than readAtOnce.
func (r *Reader) from(begin, end uint64) part {
	if begin >= end {
		return part{Reader: r}
	}
	b := make([]byte, min(readAtOnce, end-begin))
	if r.memory(begin, b) != nil {
		b = nil
	}
	return part{r, begin, b}
}

func (p part) words(at uint64, into []uint64) bool {
	if size := uint64(8 * len(into)); at < p.begin || uint64(len(p.bytes)) < size || at-p.begin > uint64(len(p.bytes))-size {
		return p.Reader.words(at, into)
	}
	for i := range into {
		into[i] = binary.LittleEndian.Uint64(p.bytes[at-p.begin+uint64(8*i):])
	}
	return true
}

// Goroutines returns the highest number that a goroutine may have by now; 0: it is not known.
func (r *Reader) Goroutines() uint64 {
	if r.plan.Numbers == 0 {
		return 0
	}
	highest, _ := r.word(r.plan.Numbers)
	return highest
}

// Goroutine returns the number of a goroutine; 0: it cannot be read. g is the address of the runtime's g.
func (r *Reader) Goroutine(g uint64) uint64 {
	id, _ := r.word(g + uint64(r.plan.Layout.Goid))
	return id
}

// keep keeps the registers of an entry for the exit.
func (r *Reader) keep(one *Record, spec *Spec) {
	if len(r.entries) >= maxEntries {
		clear(r.entries)
	}
	r.entries[entryKey{one.G, one.Depth}] = entry{spec.Step, one.Hi, [9]uint64(one.Regs[:9])}
}

// stackReach bounds how far below its end a goroutine's stack may reach.
const stackReach = 1 << 20

// recall finds the registers of the entry. Those that pointed into the goroutine's stack are moved along with it.
func (r *Reader) recall(one *Record, spec *Spec) {
	key := entryKey{one.G, one.Depth}
	e, ok := r.entries[key]
	if !ok || e.step != spec.Step {
		one.Flags |= FlagEntryLost
		return
	}
	delete(r.entries, key)
	for i, v := range e.registers {
		if e.hi != one.Hi && v < e.hi && v >= e.hi-stackReach {
			v += one.Hi - e.hi
		}
		one.Saved[i] = v
	}
}

// elements returns a record for each pod of the lists at a place.
func (r *Reader) elements(one *Record, spec *Spec) (out []Record) {
	parts := r.plan.Reads[int(spec.First)+int(spec.Reads):][:spec.Elements]
	for l := range int(spec.Lists) {
		at := int(spec.List) + 2*l
		if at+1 >= MaxValues || one.Have[at] != HaveNumber {
			continue
		}
		first, length := one.Value[at], one.Value[at+1]
		for i := range min(length, MaxElements) {
			e := Record{Time: one.Time, G: one.G, Place: one.Place, Flags: FlagElement, List: uint32(l), Values: spec.Elements}
			e.Element = first + i*uint64(spec.Stride)
			for k, read := range parts {
				r.value(&e, k, read)
			}
			out = append(out, e)
		}
	}
	return out
}
