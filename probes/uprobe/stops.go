//go:build linux

package uprobe

import (
	"encoding/binary"
	"time"
)

// Reading is what is to be read at the places of a kubelet's code, for a reader that has the
// kubelet stand still there. It can be sent to another process.
type Reading struct {
	Layout layoutSpec
	Places []ReadPlace
	Reads  []readSpec
	// Wraps are how errors' texts are found, by the address of the method Error.
	Wraps map[uint64]wrapSpec
	// Numbers is the address of the highest number of a goroutine that was taken, 0 if that is
	// not known.
	Numbers uint64
}

// ReadPlace is a place of a Reading.
type ReadPlace struct {
	// Address is that of the instruction in the process at which a breakpoint can stand, 0 if
	// there is none, Linked
	// that of the place itself, as the program was linked: the same one or one next to it.
	Address, Linked uint64
	Exit            bool
	Spec            placeSpec
}

// Record is what was read at a place.
type Record = record

// Reading is what the probe would have the kernel read.
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

// NoBreakpoints are the steps at which a debugger's breakpoints cannot stand.
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
	// Place is the number of the place, and At when the thread was seen there.
	Place int
	At    time.Time
	// Registers are those of arguments, in the order of Go's ABI, SP the stack pointer, and G
	// the one that has the address of the goroutine's g, BP the frame pointer.
	Registers [9]uint64
	SP, G, BP uint64
}

// Memory reads the memory of a process that stands still: all of b, or an error.
type Memory func(at uint64, b []byte) error

// Reader does what bpf/steps.bpf.c does, where another has the kubelet stand still.
type Reader struct {
	reading Reading
	memory  Memory
	began   time.Time
	entries map[entryKey]entry
}

type entryKey struct{ g, depth uint64 }

// entry is what an exit needs of the entry.
type entry struct {
	step      uint32
	hi        uint64
	registers [9]uint64
}

// maxEntries bounds the entries whose exits are still to come.
const maxEntries = 1 << 14

// NewReader reads what is to be read from a memory. Times of records count from began.
func NewReader(r Reading, began time.Time, m Memory) *Reader {
	return &Reader{reading: r, memory: m, began: began, entries: map[entryKey]entry{}}
}

// Read is what there is to read of a thread at a place: a record, and one for each pod of
// its lists.
func (r *Reader) Read(t *Stopped) []Record {
	spec := r.reading.Places[t.Place].Spec
	one := r.begin(t, &spec)
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

// madeBelow is how far before the address of a goroutine's function the runtime's g has the one
// behind its go statement: gopc, ancestors, startpc.
const madeBelow = 16

// begin has who came, and where to.
func (r *Reader) begin(t *Stopped, spec *placeSpec) (out Record) {
	sp := t.SP + uint64(spec.Below)
	out = Record{
		Time: uint64(t.At.Sub(r.began)), G: t.G, Place: uint32(t.Place), TID: uint32(t.TID), Values: spec.Reads, Frame: sp + 8,
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

// callers reads where the function and those around it return to, as far as frame pointers
// lead up the goroutine's stack; sp is the stack pointer at the function's first instruction.
func (r *Reader) callers(one *Record, t *Stopped, spec *placeSpec, sp uint64) {
	frame, at := [2]uint64{t.BP}, sp // the frame pointer around, and the address to return to
	stack := r.from(sp-8, one.Hi)
	// A function that has put its caller's frame pointer on the stack has one of its own by now.
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

// readAtOnce is how much of a stack is read at once: who reads through a debugger asks it for
// each read, and the kubelet stands still meanwhile.
const readAtOnce = 1000

// part is a part of the memory that has been read already. What is not in it is read as usual.
type part struct {
	*Reader
	begin uint64
	bytes []byte
}

// from reads what is there from an address to another one, or as much as is read at once.
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

// Goroutines is the highest number that a goroutine may have by now; 0: it is not known.
func (r *Reader) Goroutines() uint64 {
	if r.reading.Numbers == 0 {
		return 0
	}
	highest, _ := r.word(r.reading.Numbers)
	return highest
}

// Goroutine is the number of the goroutine whose g is at an address; 0: it cannot be read.
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

// stackReach is how far below its end a goroutine's stack is taken to go.
const stackReach = 1 << 20

// recall finds the registers of the entry. What pointed into the goroutine's stack has moved
// with it.
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

// elements has a record for each pod of the lists that a place has.
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

// value reads value i of a record.
func (r *Reader) value(one *Record, i int, read readSpec) {
	if i >= maxValues || read.In == inSkip {
		return
	}
	var pair [2]uint64
	var at uint64
	inMemory := true
	switch read.In {
	case inRegister:
		pair, inMemory = [2]uint64{one.Regs[read.At&15], one.Regs[(read.At+1)&15]}, false
	case inEntry:
		if one.Flags&recordEntryLost != 0 {
			return
		}
		pair, inMemory = [2]uint64{one.Saved[read.At&15], one.Saved[(read.At+1)&15]}, false
	case inStack:
		at = one.Frame + uint64(int64(read.At))
	default:
		at = one.Element + uint64(int64(read.At))
	}
	if read.Hops > 0 {
		ok := true
		if !inMemory {
			at, inMemory = pair[0], true
		} else if at, ok = r.word(at); !ok {
			return
		}
		if at, ok = r.follow(at, read.Hop[:read.Hops]); !ok {
			one.zero(i, &read)
			return
		}
	}
	r.found(one, i, read.Kind, at, pair, inMemory)
}

// zero is the value behind a nil pointer, where the read wants one.
func (r *record) zero(i int, read *readSpec) {
	if read.Zero == 0 {
		return
	}
	r.Have[i], r.Value[i] = haveNumber, 0
	if read.Kind == kindString {
		r.Have[i] = haveText
	}
}

// found reads what is at an address, or in a pair of registers.
func (r *Reader) found(one *Record, i int, kind uint8, at uint64, pair [2]uint64, inMemory bool) {
	if kind == kindTime {
		if inMemory {
			r.text(one, i, at, 24)
		}
		return
	}
	if inMemory {
		words := pair[:]
		if kind == kindWord {
			words = pair[:1]
		}
		if !r.words(at, words) {
			return
		}
	}
	switch kind {
	case kindWord:
		one.Have[i], one.Value[i] = haveNumber, pair[0]
	case kindString:
		r.text(one, i, pair[0], pair[1])
	case kindError:
		r.error(one, i, pair[0], pair[1])
	case kindListSpec:
		if i+1 < maxValues {
			one.Have[i], one.Value[i], one.Value[i+1] = haveNumber, pair[0], pair[1]
		}
	}
}

// follow goes through hops, from a pointer to the address of what the last leads to. ok is
// false at a nil pointer, or one that cannot be read.
func (r *Reader) follow(at uint64, hops []int32) (to uint64, ok bool) {
	for k, hop := range hops {
		if k > 0 {
			if at, ok = r.word(at); !ok {
				return 0, false
			}
		}
		if at == 0 {
			return 0, false
		}
		at += uint64(int64(hop))
	}
	return at, true
}

const (
	// longestText is how much is read of a text, in bytes, and roomForText where the last
	// may begin.
	longestText = 400
	roomForText = maxText - longestText
	// maxWraps is how many errors are looked into, one within the other.
	maxWraps = 4
)

// text appends bytes to the record's text as value i.
func (r *Reader) text(one *Record, i int, at, length uint64) {
	have, n := uint8(haveText), length
	if int(one.Used) > roomForText {
		return
	}
	if n > longestText {
		have, n = haveCut, longestText
	}
	if n > 0 && r.memory(at, one.Text[one.Used:][:n]) != nil {
		return
	}
	one.Have[i], one.Value[i] = have, uint64(one.Used)<<32|n
	one.Used += uint16(n)
}

// error appends the text of an error, and puts the address of its method Error into value
// i+1.
func (r *Reader) error(one *Record, i int, itab, data uint64) {
	if i+1 >= maxValues {
		return
	}
	one.Have[i+1], one.Value[i+1] = haveNumber, 0
	if itab == 0 {
		return
	}
	one.Value[i+1] = 1 // there is one, of a type that cannot be read
	for k := range maxWraps {
		method, ok := r.word(itab + 24)
		if !ok {
			return
		}
		if k == 0 {
			one.Value[i+1] = method
		}
		w, known := r.reading.Wraps[method]
		if !known {
			return
		}
		var pair [2]uint64
		at, ok := r.follow(data, w.Hop[:w.Hops])
		if !ok || !r.words(at, pair[:]) {
			return
		}
		if w.How == wrapText {
			r.text(one, i, pair[0], pair[1])
			return
		}
		if itab, data = pair[0], pair[1]; itab == 0 {
			return
		}
	}
}

func (r *Reader) word(at uint64) (uint64, bool) {
	var w [1]uint64
	ok := r.words(at, w[:])
	return w[0], ok
}

func (r *Reader) words(at uint64, into []uint64) bool {
	var b [16]byte
	if r.memory(at, b[:8*len(into)]) != nil {
		return false
	}
	for i := range into {
		into[i] = binary.LittleEndian.Uint64(b[8*i:])
	}
	return true
}

// UID is the pod's uid that a record has, if it has one.
func (r *record) UID() string {
	text, ok := r.text(0)
	if !ok || len(text) != uidLength {
		return ""
	}
	return text
}

// Signalled marks a record of a thread that is held, or may be.
func (r *record) Signalled() { r.Flags |= recordSignalled }

// ArmedPlaces are the numbers of the places that are armed, with whether every pod's threads
// are meant.
func (p *Probe) ArmedPlaces(steps map[string]Armed) map[int]bool {
	out := map[int]bool{}
	for i, at := range p.plan.places {
		if want := steps[at.step.Name]; want.At(at.exit) {
			out[i] = want.Every
		}
	}
	return out
}
