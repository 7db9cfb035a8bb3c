package journal

import (
	"container/heap"
	"encoding/binary"
	"slices"
	"sync"

	"github.com/klauspost/compress/zstd"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/wire"
	"github.com/podstep/podstep/probes/hook"
)

// historyKeeps bounds the memory, in bytes, that a history keeps after the recorder has dropped it. Once the recorder
// has taken so many bytes since the history began, the rest of the history is cut. Histories share what they keep, so
// the bound holds for all of them together.
const historyKeeps = 16 << 20

// history has the events that a watcher wants and that the recorder had when the watcher began. It copies no events:
// the recorder's parts only ever grow at their end. The stories are merged while they are sent.
type history struct {
	taken int64 // recorder.taken at that moment

	mu      sync.Mutex
	readers readerHeap
	want    *Wanted
	left    int64  // events that are not yet read, of any step
	last    moment // of the event that was read last; before that, of the first event
	begun   bool   // readers is a heap
	zstd    *zstd.Decoder
	columns []byte // for zstd to decode into
	cut     bool
}

// history returns what the recorder has of the stories that are wanted. The caller holds Journal.out, so it has to be
// quick.
func (r *recorder) history(want *Wanted) *history {
	h := &history{taken: r.taken, want: want}
	for _, s := range r.stories {
		if !want.wantsPod(s.pod) {
			continue
		}
		if s.note.Seq != 0 {
			s.note.Fields = []wire.Field{wire.Number("foldedSyncs", s.syncs), wire.Number("foldedEvents", s.lost)}
			note := s.note.appendTo(nil)
			h.readers = append(h.readers, &storyReader{pod: s.pod, key: s.note.Seq, next: note})
		}
		reader := &storyReader{pod: s.pod, packed: s.packed, parts: slices.Clone(s.parts)}
		if n := len(s.parts); n > 0 {
			reader.last = s.parts[n-1].data
		}
		if begin, any := s.begin(); any {
			h.beginsAt(begin)
			reader.key = begin.seq
			h.readers = append(h.readers, reader)
		}
		h.left += s.events()
	}
	return h
}

// begin returns the moment of a story's first event; false: it has none.
func (s *story) begin() (moment, bool) {
	switch {
	case len(s.packed) > 0:
		return s.packed[0].begin, true
	case len(s.parts) > 0:
		p := s.parts[0]
		return moment{p.first, p.wall, p.mono}, true
	}
	return moment{}, false
}

// beginsAt lets the history begin at this moment, unless it begins before.
func (h *history) beginsAt(begin moment) {
	if h.last.seq == 0 || begin.seq < h.last.seq {
		h.last = begin
	}
}

// isRead reports whether nothing is left to read.
func (h *history) isRead() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.readers) == 0
}

// unpack reads a compressed block. A block that cannot be read counts as a fault, and is reported as lost.
func (h *history) unpack(p *packed) []byte {
	if h.zstd == nil {
		z, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxMemory(2*packBlock))
		if err != nil {
			h.cut = true
			return nil
		}
		h.zstd = z
	}
	columns, err := h.zstd.DecodeAll(p.data, h.columns[:0])
	data := make([]byte, 0, p.plain)
	if err == nil {
		h.columns = columns
		data, err = readColumns(data, columns)
	}
	if err != nil {
		hook.CountFault()
		h.cut = true
		return nil
	}
	return data
}

// read returns the next events, as many as fit in one message. There are no
// more if it returns none.
func (h *history) read() (out []kept) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.begun {
		h.begun = true
		heap.Init(&h.readers)
	}
	for size := 0; len(h.readers) > 0 && len(out) < batchEvents && size < batchBytes; {
		r := h.readers[0]
		if r.next != nil {
			out = append(out, kept{seq: r.key, pod: r.pod, data: r.next})
			size += len(r.next)
			r.next = nil
		}
		if r.advance(h) {
			heap.Fix(&h.readers, 0)
		} else {
			heap.Pop(&h.readers)
		}
	}
	if n := len(out); n > 0 {
		h.last = momentOf(wire.Peek(out[n-1].data))
	}
	if len(h.readers) == 0 && h.zstd != nil {
		h.zstd.Close()
		h.zstd, h.columns = nil, nil
	}
	if h.cut && len(h.readers) == 0 {
		h.cut = false
		out = append(out, h.drop())
	}
	return out
}

// drop returns an event that reports how much of the history was cut. The caller holds mu.
func (h *history) drop() kept {
	e := Event{Seq: h.last.seq, Wall: h.last.wall, Mono: h.last.mono, Kind: agentpb.Kind_DROP, Fields: []wire.Field{wire.Number("history", h.left)}}
	return kept{seq: e.Seq, kind: e.Kind, data: e.appendTo(nil)}
}

// cutAt ends a history if the recorder has taken too much since it began: the client does not read, or reads more
// slowly than events come. taken is what the recorder has taken in all, in bytes.
func (h *history) cutAt(taken int64) {
	if taken-h.taken <= historyKeeps {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.cut = h.cut || len(h.readers) > 0
	h.readers = nil
}

// storyReader reads one story.
type storyReader struct {
	pod    *Pod
	key    uint64 // seq of next; without next, no event to come has a lower one
	next   []byte
	data   []byte // rest of the part that is being read
	packed []packed
	parts  []*part
	last   []byte // data of the last part when the history began: the recorder appends to it
	carry  int    // the story is shortened to about so many bytes; 0: it is not, or was
}

// advance goes to the next event of a step that is wanted; false: there is none.
func (r *storyReader) advance(h *history) bool {
	for {
		for len(r.data) > 0 {
			n, k := binary.Uvarint(r.data)
			e := r.data[k : k+int(n) : k+int(n)]
			r.data = r.data[k+int(n):]
			h.left--
			head := wire.Peek(e)
			if h.want.wantsStep(head.Step) {
				r.key, r.next = head.Seq, e
				return true
			}
		}
		if !r.open(h) {
			return false
		}
	}
}

// open goes to the next part, which of a shortened story is all that is left; false: there is none.
func (r *storyReader) open(h *history) bool {
	if r.carry == 0 {
		return r.openNext(h)
	}
	r.data = r.carried(h)
	r.carry = 0
	return len(r.data) > 0
}

// openNext goes to the next part; false: there is none.
func (r *storyReader) openNext(h *history) bool {
	if len(r.packed) > 0 {
		r.data = h.unpack(&r.packed[0])
		r.packed = r.packed[1:]
		return true
	}
	switch len(r.parts) {
	case 0:
		return false
	case 1:
		r.data = r.last
	default:
		r.data = r.parts[0].data
	}
	r.parts = r.parts[1:]
	return true
}

// readerHeap has the story with the earliest event first.
type readerHeap []*storyReader

func (r readerHeap) Len() int           { return len(r) }
func (r readerHeap) Less(i, j int) bool { return r[i].key < r[j].key }
func (r readerHeap) Swap(i, j int)      { r[i], r[j] = r[j], r[i] }
func (r *readerHeap) Push(x any)        { *r = append(*r, x.(*storyReader)) }
func (r *readerHeap) Pop() any {
	n := len(*r) - 1
	last := (*r)[n]
	(*r)[n] = nil
	*r = (*r)[:n]
	return last
}
