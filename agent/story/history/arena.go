package history

import "slices"

// chunkEvents is how many events a chunk has. Chunks are forgotten whole.
const chunkEvents = 4096

// chunk has some events in their wire form, one after the other: a slice for each event would cost more than the
// events.
type chunk struct {
	data []byte
	ends []uint32 // where each event ends in data
}

// arena keeps events by position, and can forget the oldest.
type arena struct {
	chunks []*chunk
	first  int // position of the first event that is kept
	end    int // position after the last
	bytes  int
}

func (a *arena) add(raw []byte) {
	if a.end%chunkEvents == 0 {
		a.open()
	}
	c := a.chunks[len(a.chunks)-1]
	c.data = append(c.data, raw...)
	c.ends = append(c.ends, uint32(len(c.data)))
	a.bytes += len(raw)
	a.end++
}

// open begins a chunk, with room for about as many bytes as the last one has.
func (a *arena) open() {
	size := 64 * chunkEvents
	if n := len(a.chunks); n > 0 {
		last := a.chunks[n-1]
		if cap(last.data) > len(last.data)+len(last.data)/8 {
			last.data = slices.Clone(last.data)
		}
		size = len(last.data) + len(last.data)/16
	}
	a.chunks = append(a.chunks, &chunk{data: make([]byte, 0, size), ends: make([]uint32, 0, chunkEvents)})
}

// at returns the event at a position; nil: it is not kept.
func (a *arena) at(pos int) []byte {
	if pos < a.first || pos >= a.end {
		return nil
	}
	c := a.chunks[(pos-a.first)/chunkEvents]
	i, from := pos%chunkEvents, uint32(0)
	if i > 0 {
		from = c.ends[i-1]
	}
	return c.data[from:c.ends[i]:c.ends[i]]
}

// forget drops the oldest chunk, which is not the last one.
func (a *arena) forget() {
	a.bytes -= len(a.chunks[0].data)
	a.chunks[0] = nil
	a.chunks = a.chunks[1:]
	a.first += chunkEvents
}
