package reading

// These have the same form in probes/uprobe/bpf/steps.bpf.c. A test of package uprobe compares the two.

// Bounds of what is read at a place. MaxText and UIDLength are in bytes.
const (
	MaxHops     = 4
	MaxValues   = 24
	MaxText     = 1536 + 400
	MaxElements = 128
	UIDLength   = 36
	MaxCallers  = 8
)

// The values of In and Kind of a Read.
const (
	InRegister, InStack, InElement, InEntry, InSkip   = 0, 1, 2, 3, 4
	KindWord, KindText, KindTime, KindError, KindList = 0, 1, 2, 3, 4
)

// Read states how one value is read: struct read.
type Read struct {
	In, Kind, Hops, Zero uint8
	At                   int32
	Hop                  [MaxHops]int32
}

// Flags of a Spec.
const (
	AtExit, Keeps, Armed, Every, Starts, Wakes = 1, 2, 4, 8, 16, 32
)

// Spec is what is done at an entry or an exit of a step's function: struct place.
type Spec struct {
	Below        uint32
	First        uint16
	Reads, Flags uint8
	Step         uint32
	List, Lists  uint8
	// Elements is how many reads an element of a list takes; they are behind the others. Stride is an element's size.
	Elements, Stride uint8
}

// Layout has the offsets in the kubelet's struct g: struct layout.
type Layout struct{ Goid, Parent, Start, _ uint32 }

// The values of How of a Wrap.
const WrapText, WrapInner = 0, 1

// Wrap states how the text of errors of one type is found: struct wrap.
type Wrap struct {
	How, Hops uint32
	Hop       [MaxHops]int32
}

// The flags of a Record, and the states of a value in it.
const (
	FlagSignalled, FlagElement, FlagEntryLost = 1, 2, 4
	HaveNone, HaveNumber, HaveText, HaveCut   = 0, 1, 2, 3
)

// Record is what was read at a place: struct record.
type Record struct {
	Time, G, Goid, Parent, Start, Depth uint64
	Place, TID                          uint32
	Used                                uint16
	Values, Flags                       uint8
	List                                uint32
	Made                                uint64 // where the goroutine was started; only a Reader sets it
	Callers                             [MaxCallers]uint64
	Frame, Element, Hi                  uint64
	Regs, Saved                         [16]uint64
	Have                                [MaxValues]uint8
	Value                               [MaxValues]uint64
	Text                                [MaxText]uint8
}
