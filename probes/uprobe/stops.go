//go:build linux

package uprobe

import (
	"encoding/binary"

	"github.com/podstep/podstep/probes/clock"
)

// Reading states what to read at the places of a kubelet's code, for a reader that stops the kubelet there. It can be
// sent to another process.
type Reading struct {
	Layout layoutSpec
	Places []ReadPlace
	Reads  []readSpec
	// Wraps state how errors' texts are found, by the address of the Error method.
	Wraps map[uint64]wrapSpec
	// Numbers is the address of the highest number of a goroutine that was taken; 0: it is not known.
	Numbers uint64
}

// ReadPlace is a place of a Reading.
type ReadPlace struct {
	// Address is where a breakpoint can stand in the process; 0: nowhere. Linked is the address of the place itself,
	// as the program was linked. The two are the same instruction, or next to each other.
	Address, Linked uint64
	Exit            bool
	Spec            placeSpec
}

// Record is what was read at a place.
type Record = record

// Reading returns what the probe would make the kernel read.
func (p *Probe) Reading() Reading {
	r := Reading{Layout: p.plan.layout, Reads: p.plan.reads, Wraps: p.errors.wraps()}
	if p.plan.numbers != 0 {
		r.Numbers = p.plan.numbers + p.bias
	}
	for _, at := range p.plan.places {
		spec := at.spec
		spec.Below = uint32(at.wideBelow)
		address := at.wide + p.bias
		if at.wide == 0 {
			address = 0
		}
		r.Places = append(r.Places, ReadPlace{address, at.at, at.exit, spec})
	}
	return r
}

// NoBreakpoints returns the steps at which a debugger's breakpoints cannot stand.
func (p *Probe) NoBreakpoints() map[string]bool {
	out := map[string]bool{}
	for _, at := range p.plan.places {
		if at.wide == 0 {
			out[at.step.Name] = true
		}
	}
	return out
}

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

// Reader does what bpf/steps.bpf.c does, where a debugger stops the kubelet.
type Reader struct {
	reading Reading
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
func NewReader(r Reading, m Memory) *Reader {
	return &Reader{reading: r, memory: m, entries: map[entryKey]entry{}}
}

// Read reads what is to be read of a thread at a place. It returns one record for the place, and one for each pod of
// its lists.
func (r *Reader) Read(t *Stopped) []Record {
	spec := r.reading.Places[t.Place].Spec
	one := r.newRecord(t, &spec)
	if spec.Flags&placeKeeps != 0 {
		if spec.Flags&placeExit != 0 {
			r.recall(&one, &spec)
		} else {
			r.keep(&one, &spec)
		}
	}
	for i := range int(spec.Reads) {
		r.value(&one, i, r.reading.Reads[int(spec.First)+i])
	}
	return append([]Record{one}, r.elements(&one, &spec)...)
}

// madeBelow is how far before a goroutine's start address the runtime's g has the address behind the goroutine's go
// statement: gopc, ancestors, startpc.
const madeBelow = 16

// newRecord returns a record of which goroutine stopped, and at which place.
func (r *Reader) newRecord(t *Stopped, spec *placeSpec) (out Record) {
	sp := t.SP + uint64(spec.Below)
	out = Record{
		Time: uint64(t.At), G: t.G, Place: uint32(t.Place), TID: uint32(t.TID), Values: spec.Reads, Frame: sp + 8,
	}
	out.Goid, _ = r.word(t.G + uint64(r.reading.Layout.Goid))
	out.Parent, _ = r.word(t.G + uint64(r.reading.Layout.Parent))
	out.Start, _ = r.word(t.G + uint64(r.reading.Layout.Start))
	out.Made, _ = r.word(t.G + uint64(r.reading.Layout.Start) - madeBelow)
	out.Hi, _ = r.word(t.G + 8)
	out.Depth = out.Hi - sp
	if spec.Flags&placeExit == 0 {
		r.callers(&out, t, spec, sp)
	}
	copy(out.Regs[:], t.Registers[:])
	return out
}

// callers reads the addresses to which the function and those around it return, as far as frame pointers lead up the
// goroutine's stack. sp is the stack pointer at the function's first instruction.
func (r *Reader) callers(one *Record, t *Stopped, spec *placeSpec, sp uint64) {
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
	if r.reading.Numbers == 0 {
		return 0
	}
	highest, _ := r.word(r.reading.Numbers)
	return highest
}

// Goroutine returns the number of a goroutine; 0: it cannot be read. g is the address of the runtime's g.
func (r *Reader) Goroutine(g uint64) uint64 {
	id, _ := r.word(g + uint64(r.reading.Layout.Goid))
	return id
}

// keep keeps the registers of an entry for the exit.
func (r *Reader) keep(one *Record, spec *placeSpec) {
	if len(r.entries) >= maxEntries {
		clear(r.entries)
	}
	r.entries[entryKey{one.G, one.Depth}] = entry{spec.Step, one.Hi, [9]uint64(one.Regs[:9])}
}

// stackReach bounds how far below its end a goroutine's stack may reach.
const stackReach = 1 << 20

// recall finds the registers of the entry. Those that pointed into the goroutine's stack are moved along with it.
func (r *Reader) recall(one *Record, spec *placeSpec) {
	key := entryKey{one.G, one.Depth}
	e, ok := r.entries[key]
	if !ok || e.step != spec.Step {
		one.Flags |= recordEntryLost
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
func (r *Reader) elements(one *Record, spec *placeSpec) (out []Record) {
	parts := r.reading.Reads[int(spec.First)+int(spec.Reads):][:spec.Elements]
	for l := range int(spec.Lists) {
		at := int(spec.List) + 2*l
		if at+1 >= maxValues || one.Have[at] != haveNumber {
			continue
		}
		first, length := one.Value[at], one.Value[at+1]
		for i := range min(length, maxElements) {
			e := Record{Time: one.Time, G: one.G, Place: one.Place, Flags: recordElement, List: uint32(l), Values: spec.Elements}
			e.Element = first + i*uint64(spec.Stride)
			for k, read := range parts {
				r.value(&e, k, read)
			}
			out = append(out, e)
		}
	}
	return out
}

// UID returns the pod's uid in a record, or an empty text.
func (r *record) UID() string {
	text, ok := r.text(0)
	if !ok || len(text) != uidLength {
		return ""
	}
	return text
}

// Signalled marks the record of a thread whose goroutine is held, or may be.
func (r *record) Signalled() { r.Flags |= recordSignalled }

// ArmedPlaces returns the numbers of the armed places. The value is true where every pod's threads are signalled.
func (p *Probe) ArmedPlaces(steps map[string]Armed) map[int]bool {
	out := map[int]bool{}
	for i, at := range p.plan.places {
		if want := steps[at.step.Name]; want.At(at.exit) {
			out[i] = want.Every
		}
	}
	return out
}
