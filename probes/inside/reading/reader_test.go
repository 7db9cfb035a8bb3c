package reading

import (
	"encoding/binary"
	"errors"
	"testing"
)

// fakeMemory is the memory of a process, by address.
type fakeMemory map[uint64][]byte

func (m fakeMemory) words(at uint64, all ...uint64) {
	b := make([]byte, 8*len(all))
	for i, w := range all {
		binary.LittleEndian.PutUint64(b[8*i:], w)
	}
	m[at] = b
}

func (m fakeMemory) read(at uint64, b []byte) error {
	for from, have := range m {
		if from <= at && at+uint64(len(b)) <= from+uint64(len(have)) {
			copy(b, have[at-from:])
			return nil
		}
	}
	return errors.New("there is nothing")
}

// Addresses in the memory that the tests read.
const (
	gAt, podAt, nameAt, listAt, errAt, itabAt, methodAt = 0x1000, 0x2000, 0x3000, 0x4000, 0x5000, 0x6000, 0x7000
)

func newMemory() fakeMemory {
	m := fakeMemory{nameAt: []byte("web-1")}
	m.words(gAt, 0x8000, 0x9000, 0, 77, 66, 55) // a stack, then number, parent and start
	m.words(podAt, 0, nameAt, 5, 0)
	m.words(listAt, podAt, podAt)
	m.words(errAt, nameAt, 5)
	m.words(itabAt, 0, 0, 0, methodAt)
	return m
}

func readerOf(m fakeMemory, places []Place, reads ...Read) *Reader {
	return NewReader(Plan{
		Layout: Layout{Goid: 24, Parent: 32, Start: 40}, Places: places, Reads: reads,
		Wraps: map[uint64]Wrap{methodAt: {How: WrapText, Hops: 1}},
	}, m.read)
}

var (
	readName  = Read{In: InRegister, Kind: KindText, Hops: 1, Hop: [MaxHops]int32{8}}
	readDeep  = Read{In: InRegister, Kind: KindWord, Hops: 2, Hop: [MaxHops]int32{24, 8}, Zero: 1}
	readError = Read{In: InRegister, Kind: KindError, At: 1}
	skip      = Read{In: InSkip}
)

// TestReader: a Reader reads of a thread that stands still what the program in the kernel would read.
func TestReader(t *testing.T) {
	spec := Spec{Reads: 4, Below: 16}
	r := readerOf(newMemory(), []Place{{Spec: spec}}, readName, readDeep, readError, skip)
	all := r.Read(&Stopped{TID: 9, SP: 0x8f00, G: gAt, At: 123, Registers: [9]uint64{podAt, itabAt, errAt}})
	if len(all) != 1 {
		t.Fatalf("there are %d records", len(all))
	}
	one := &all[0]
	if one.Goid != 77 || one.Parent != 66 || one.Start != 55 || one.Depth != 0x9000-0x8f10 || one.Time != 123 || one.TID != 9 {
		t.Errorf("who came is %+v", one)
	}
	if text, ok := one.TextIn(0); !ok || text != "web-1" {
		t.Errorf("the text is %q, %v", text, ok)
	}
	if n, ok := one.NumberIn(1); !ok || n != 0 {
		t.Errorf("what is behind a nil pointer is %d, %v", n, ok)
	}
	if text, _ := one.TextIn(2); text != "web-1" {
		t.Errorf("the error is %q", text)
	}
	if method, ok := one.NumberIn(3); !ok || method != methodAt {
		t.Errorf("the error's method is %#x, %v", method, ok)
	}
}

// TestReaderLists: there is a record for each pod of a list.
func TestReaderLists(t *testing.T) {
	spec := Spec{Reads: 2, Lists: 1, Elements: 1, Stride: 8}
	element := Read{In: InElement, Kind: KindText, Hops: 1, Hop: [MaxHops]int32{8}}
	r := readerOf(newMemory(), []Place{{Spec: spec}}, Read{In: InRegister, Kind: KindList}, skip, element)
	all := r.Read(&Stopped{SP: 0x8f00, G: gAt, Registers: [9]uint64{listAt, 2}})
	if len(all) != 3 {
		t.Fatalf("there are %d records", len(all))
	}
	for _, e := range all[1:] {
		if text, _ := e.TextIn(0); text != "web-1" || e.Flags != FlagElement {
			t.Errorf("a pod of the list is %q, with flags %d", text, e.Flags)
		}
	}
	// A list whose length cannot be right is cut off.
	if all := r.Read(&Stopped{SP: 0x8f00, G: gAt, Registers: [9]uint64{listAt, 1 << 40}}); len(all) != 1+MaxElements {
		t.Errorf("of a list without end there are %d records", len(all))
	}
}

// TestReaderRecalls: an exit reads through the registers of its entry, which pointed into a stack that has moved
// since.
func TestReaderRecalls(t *testing.T) {
	m := newMemory()
	const stack, moved = 0xc000000000, 0xc000100000
	m.words(gAt, stack-0x1000, stack, 0, 77, 66, 55)
	entry, exit := Spec{Flags: Keeps, Step: 5}, Spec{Flags: Keeps | AtExit, Step: 5, Reads: 1}
	r := readerOf(m, []Place{{Spec: entry}, {Spec: exit}}, Read{In: InEntry, Kind: KindWord})
	r.Read(&Stopped{SP: stack - 0x100, G: gAt, Registers: [9]uint64{stack - 0x80}})
	m.words(gAt, moved-0x2000, moved, 0, 77, 66, 55)
	at := &Stopped{Place: 1, SP: moved - 0x100, G: gAt}
	if n, ok := r.Read(at)[0].NumberIn(0); !ok || n != moved-0x80 {
		t.Errorf("the register is %#x, %v", n, ok)
	}
	if one := r.Read(at)[0]; one.Flags&FlagEntryLost == 0 {
		t.Error("an entry is there twice")
	}
}

// TestReaderCallers: the addresses to which the functions under way return are read up the stack by frame pointers,
// and no further than these lead. This works both before and after the function has set its own frame pointer.
func TestReaderCallers(t *testing.T) {
	const sp = 0x8e00
	chain := func(m fakeMemory) {
		m.words(sp-8, 0x8e40, 0xa1) // the caller's frame pointer, and where the function returns to
		m.words(0x8e40, 0x8e80, 0xa2)
		m.words(0x8e80, 0x8f00, 0xa3)
		m.words(0x8f00, 0, 0xa4)
	}
	for _, c := range []struct {
		name   string
		spec   Spec
		bp     uint64
		change func(fakeMemory)
		want   [MaxCallers]uint64
	}{
		{"without a frame", Spec{}, 0x8e40, nil, [MaxCallers]uint64{0xa1, 0xa2, 0xa3, 0xa4}},
		{"with a frame", Spec{Below: 8}, 0x1234, nil, [MaxCallers]uint64{0xa1, 0xa2, 0xa3, 0xa4}},
		{"with a large frame", Spec{Below: 0x80}, 0x1234, nil, [MaxCallers]uint64{0xa1, 0xa2, 0xa3, 0xa4}},
		{"at an exit", Spec{Flags: AtExit}, 0x8e40, nil, [MaxCallers]uint64{}},
		{"without a frame pointer", Spec{}, 0, nil, [MaxCallers]uint64{0xa1}},
		{"below the stack pointer", Spec{}, sp - 8, nil, [MaxCallers]uint64{0xa1}},
		{"behind the stack", Spec{}, 0x9000, nil, [MaxCallers]uint64{0xa1}},
		{"in a circle", Spec{}, 0x8e40, func(m fakeMemory) { m.words(0x8e80, 0x8e40, 0xa3) }, [MaxCallers]uint64{0xa1, 0xa2, 0xa3}},
		{"not to be read", Spec{}, 0x8e40, func(m fakeMemory) { delete(m, 0x8e80) }, [MaxCallers]uint64{0xa1, 0xa2}},
		{"no stack", Spec{}, 0x8e40, func(m fakeMemory) { delete(m, sp-8) }, [MaxCallers]uint64{}},
		{"read at once", Spec{Below: 8}, 0x1234, func(m fakeMemory) {
			stack := make([]byte, 0x9000-sp+8)
			for at, b := range m {
				if at >= sp-8 && at < 0x9000 {
					copy(stack[at-(sp-8):], b)
					delete(m, at)
				}
			}
			m[sp-8] = stack
		}, [MaxCallers]uint64{0xa1, 0xa2, 0xa3, 0xa4}},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := newMemory()
			chain(m)
			if c.change != nil {
				c.change(m)
			}
			r, reads := readerOf(m, []Place{{Spec: c.spec}}), 0
			r.memory = func(at uint64, b []byte) error {
				if at >= sp-8 {
					reads++
				}
				return m.read(at, b)
			}
			one := r.Read(&Stopped{SP: sp - uint64(c.spec.Below), BP: c.bp, G: gAt})[0]
			if one.Callers != c.want {
				t.Errorf("they return to %#x, want %#x", one.Callers, c.want)
			}
			if whole := len(m[sp-8]) > 16; whole && reads != 1 {
				t.Errorf("a stack that can be read at once is read %d times", reads)
			}
		})
	}
}

// FuzzReader: whatever is in the memory, a read comes to an end.
func FuzzReader(f *testing.F) {
	f.Add([]byte("0123456789abcdef"), uint64(0x8f00), uint64(podAt), uint8(1))
	f.Fuzz(func(_ *testing.T, b []byte, sp, register uint64, flags uint8) {
		memory := func(at uint64, into []byte) error {
			if len(b) == 0 || at%3 == 0 {
				return errors.New("there is nothing")
			}
			for i := range into {
				into[i] = b[(at+uint64(i))%uint64(len(b))]
			}
			return nil
		}
		spec := Spec{Reads: 6, Lists: 1, List: 4, Elements: 1, Stride: 8, Flags: flags & (AtExit | Keeps)}
		plan := Plan{Places: []Place{{Spec: spec}}, Reads: []Read{
			readName, readDeep, readError, skip, {In: InRegister, Kind: KindList}, skip, {In: InElement, Kind: KindTime},
		}}
		r := NewReader(plan, memory)
		r.Read(&Stopped{SP: sp, G: gAt, BP: register, Registers: [9]uint64{register, register, 1 << 40}})
	})
}
