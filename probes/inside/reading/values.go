package reading

import "encoding/binary"

// value reads value i of a record.
func (r *Reader) value(one *Record, i int, read Read) {
	if i >= MaxValues || read.In == InSkip {
		return
	}
	from := origin{inMemory: true}
	switch read.In {
	case InRegister:
		from = origin{pair: [2]uint64{one.Regs[read.At&15], one.Regs[(read.At+1)&15]}}
	case InEntry:
		if one.Flags&FlagEntryLost != 0 {
			return
		}
		from = origin{pair: [2]uint64{one.Saved[read.At&15], one.Saved[(read.At+1)&15]}}
	case InStack:
		from.at = one.Frame + uint64(int64(read.At))
	default:
		from.at = one.Element + uint64(int64(read.At))
	}
	if read.Hops > 0 {
		ok := true
		if !from.inMemory {
			from = origin{at: from.pair[0], inMemory: true}
		} else if from.at, ok = r.word(from.at); !ok {
			return
		}
		if from.at, ok = r.follow(from.at, read.Hop[:read.Hops]); !ok {
			one.zero(i, &read)
			return
		}
	}
	r.readFrom(one, i, read.Kind, from)
}

// origin is where a value is: in a pair of registers, or in memory at an address.
type origin struct {
	pair     [2]uint64
	at       uint64
	inMemory bool
}

// zero sets the value to that of a nil pointer, if the read has one.
func (r *Record) zero(i int, read *Read) {
	if read.Zero == 0 {
		return
	}
	r.Have[i], r.Value[i] = HaveNumber, 0
	if read.Kind == KindText {
		r.Have[i] = HaveText
	}
}

// readFrom reads value i of a record from its origin.
func (r *Reader) readFrom(one *Record, i int, kind uint8, from origin) {
	if kind == KindTime {
		if from.inMemory {
			r.text(one, i, from.at, 24)
		}
		return
	}
	pair := from.pair
	if from.inMemory {
		words := pair[:]
		if kind == KindWord {
			words = pair[:1]
		}
		if !r.words(from.at, words) {
			return
		}
	}
	switch kind {
	case KindWord:
		one.Have[i], one.Value[i] = HaveNumber, pair[0]
	case KindText:
		r.text(one, i, pair[0], pair[1])
	case KindError:
		r.error(one, i, pair[0], pair[1])
	case KindList:
		if i+1 < MaxValues {
			one.Have[i], one.Value[i], one.Value[i+1] = HaveNumber, pair[0], pair[1]
		}
	}
}

// follow goes through hops, from a pointer to the address to which the last hop leads. ok is false at a nil pointer,
// or at one that cannot be read.
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
	// longestText is how much is read of a text, in bytes. roomForText is where the last text may begin.
	longestText = 400
	roomForText = MaxText - longestText
	// maxWraps bounds how many errors are looked into, one within the other.
	maxWraps = 4
)

// text appends bytes to the record's text as value i.
func (r *Reader) text(one *Record, i int, at, length uint64) {
	have, n := uint8(HaveText), length
	if int(one.Used) > roomForText {
		return
	}
	if n > longestText {
		have, n = HaveCut, longestText
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
	if i+1 >= MaxValues {
		return
	}
	one.Have[i+1], one.Value[i+1] = HaveNumber, 0
	if itab == 0 {
		return
	}
	one.Value[i+1] = 1 // there is an error, of a type that cannot be read
	for k := range maxWraps {
		method, ok := r.word(itab + 24)
		if !ok {
			return
		}
		if k == 0 {
			one.Value[i+1] = method
		}
		w, known := r.plan.Wraps[method]
		if !known {
			return
		}
		var pair [2]uint64
		at, ok := r.follow(data, w.Hop[:w.Hops])
		if !ok || !r.words(at, pair[:]) {
			return
		}
		if w.How == WrapText {
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
