//go:build linux

package uprobe

// These have the same form in bpf/steps.bpf.c. A test compares the two.

const (
	maxHops     = 4
	maxValues   = 24
	maxText     = 1536 + 400
	maxPlaces   = 4096
	maxReads    = 8192
	maxLists    = 5
	maxElements = 128
	uidLength   = 36
	maxCallers  = 8
)

// The values of In and Kind of a readSpec.
const (
	inRegister, inStack, inElement, inEntry, inSkip         = 0, 1, 2, 3, 4
	kindWord, kindString, kindTime, kindError, kindListSpec = 0, 1, 2, 3, 4
)

// readSpec states how one value is read: struct read.
type readSpec struct {
	In, Kind, Hops, Zero uint8
	At                   int32
	Hop                  [maxHops]int32
}

// Flags of a placeSpec.
const (
	placeExit, placeKeeps, placeArmed, placeEvery, placeStarts, placeWakes = 1, 2, 4, 8, 16, 32
)

// placeSpec is an entry or an exit of a step's function: struct place.
type placeSpec struct {
	Below        uint32
	First        uint16
	Reads, Flags uint8
	Step         uint32
	List, Lists  uint8
	// Elements is how many reads an element of a list takes; they are behind the others. Stride is an element's size.
	Elements, Stride uint8
}

// layoutSpec has the offsets in the kubelet's struct g: struct layout.
type layoutSpec struct{ Goid, Parent, Start, _ uint32 }

// The values of How of a wrapSpec.
const wrapText, wrapInner = 0, 1

// wrapSpec states how the text of errors of one type is found: struct wrap.
type wrapSpec struct {
	How, Hops uint32
	Hop       [maxHops]int32
}

// The flags of a record, and the states of a value in it.
const (
	recordSignalled, recordElement, recordEntryLost = 1, 2, 4
	haveNone, haveNumber, haveText, haveCut         = 0, 1, 2, 3
)

// record is one event as the program wrote it: struct record.
type record struct {
	Time, G, Goid, Parent, Start, Depth uint64
	Place, TID                          uint32
	Used                                uint16
	Values, Flags                       uint8
	List                                uint32
	Made                                uint64 // where the goroutine was started; only a Reader sets it
	Callers                             [maxCallers]uint64
	Frame, Element, Hi                  uint64
	Regs, Saved                         [16]uint64
	Have                                [maxValues]uint8
	Value                               [maxValues]uint64
	Text                                [maxText]uint8
}

// The counters of the program.
const (
	countHits, countLost, countSignals = 0, 1, 2
)
