package journal

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/podstep/podstep/agent/wire"
	"github.com/podstep/podstep/probes/hook"
)

// Most of what the recorder has after a while is of pods that are gone, and nobody may ever ask for it. The collector
// of a Go program lets the heap grow to twice what is live, so each byte that is kept costs the kubelet two. Stories of
// pods that are gone are therefore put into columns and compressed. They are read back when a client asks for them.
const (
	// packAfter is how long a story must have been silent before it is compressed, once its pod is gone.
	packAfter = 30 * time.Second
	// sweepEvery is how often the recorder looks for such stories while there
	// are events.
	sweepEvery = 10 * time.Second
	// packBlock is how much is compressed as one, in bytes. A reader of a story has one block of it in memory.
	packBlock = 64 << 10
	// packTurn is how much is compressed in one sweep: the journal does nothing
	// else meanwhile. If there is more, the next sweep comes after packPause.
	packTurn  = 1 << 20
	packPause = 200 * time.Millisecond

	// packChunk is how much memory is allocated at once for compressed blocks, in bytes. Allocated one by one, in all
	// sizes, blocks would keep the kubelet from reusing several times their own size of memory around them.
	packChunk = 256 << 10

	packedOverhead = 96 // of the structures around the data, in bytes
)

// packed is a run of a story's events, compressed.
type packed struct {
	data   []byte
	plain  int // size of the events, each with its length in front
	events int64
	parts  int64 // the number of parts that were compressed
	begin  moment
}

func (p *packed) size() int64 { return int64(cap(p.data)) + packedOverhead }

// packable returns the stories to compress in one sweep. next is how long after it another sweep is worth while; 0:
// none is. The stories that have been silent for the longest come first. They are also dropped first, so memory that is
// filled together is freed together.
func (r *recorder) packable(now int64) (stories []*story, next time.Duration) {
	for _, s := range r.stories {
		switch {
		case s.pod == nil || len(s.parts) == 0 || !s.pod.Gone():
		case now-s.lastWall < int64(packAfter):
			next = sweepEvery
		default:
			stories = append(stories, s)
		}
	}
	slices.SortFunc(stories, func(a, b *story) int { return cmp.Compare(a.last, b.last) })
	size := int64(0)
	for i, s := range stories {
		if size >= packTurn {
			return stories[:i], packPause
		}
		size += s.bytes
	}
	return stories, next
}

// packer compresses stories. It is dropped after one sweep, since it takes as much memory as many stories.
type packer struct {
	z    *zstd.Encoder
	room *chunk
	// columns, plain and data are those of the block that is being made.
	columns     columnWriter
	plain, data []byte
}

// pack compresses the parts of a story. It does not change the story, so it needs no lock on the goroutine that changes
// the recorder.
func (z *packer) pack(s *story) (out []packed) {
	var block packed
	flush := func() {
		if block.events > 0 {
			z.plain = z.columns.appendTo(z.plain[:0])
			z.data = z.z.EncodeAll(z.plain, z.data[:0])
			block.data = z.room.copy(z.data)
			out = append(out, block)
		}
		block = packed{}
	}
	for _, p := range s.parts {
		block.parts++
		for data := p.data; len(data) > 0; {
			n, k := binary.Uvarint(data)
			e := data[k : k+int(n)]
			data = data[k+len(e):]
			if block.plain+k+len(e) > packBlock {
				flush()
			}
			if block.events == 0 {
				block.begin = momentOf(wire.Peek(e))
			}
			z.columns.add(e)
			block.plain += k + len(e)
			block.events++
		}
	}
	flush()
	return out
}

// replace replaces the parts of a story by what pack made of them.
func (r *recorder) replace(s *story, by []packed) {
	for _, p := range s.parts {
		r.count(s, -int64(cap(p.data))-partOverhead)
	}
	s.parts = nil
	for i := range by {
		r.count(s, by[i].size())
		r.packed += by[i].size()
	}
	s.packed = append(s.packed, by...)
	for r.packed > r.packedLimit && r.dropGone() {
	}
}

// dropGone drops the story of the pod that has been gone for the longest. It
// returns false if there is none.
func (r *recorder) dropGone() bool {
	var oldest *story
	for _, s := range r.stories {
		if s.pod != nil && s.pod.Gone() && len(s.packed) > 0 && (oldest == nil || s.last < oldest.last) {
			oldest = s
		}
	}
	if oldest == nil {
		return false
	}
	r.drop(oldest)
	return true
}

// foldPacked drops the oldest compressed block of a story.
func (r *recorder) foldPacked(s *story) {
	p := s.packed[0]
	s.packed = append([]packed(nil), s.packed[1:]...) // a history may read the old slice
	r.count(s, -p.size())
	r.packed -= p.size()
	r.events -= p.events
	r.folded += p.parts
	s.fold(p.begin, 0, p.parts, p.events)
}

func newPacker(room *chunk) (*packer, error) {
	z, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderCRC(false),
		zstd.WithWindowSize(packBlock), zstd.WithLowerEncoderMem(true))
	if err != nil {
		return nil, fmt.Errorf("prepare compression: %w", err)
	}
	return &packer{z: z, room: room}, nil
}

// sweep compresses stories of pods that are gone. It compresses none while a client reads history, because the history
// would keep the uncompressed parts in memory. It is called on the journal's goroutine, the only one that changes the
// recorder. It holds out only while others must not look.
func (j *Journal) sweep() {
	now, _ := j.clock()
	j.out.Lock()
	reading := j.readsHistory()
	stories, next := j.recorder.packable(now)
	j.out.Unlock()
	if reading && len(stories) > 0 {
		stories, next = nil, sweepEvery
	}
	if j.forget != nil {
		// On a node with nothing to do no event would bring the next sweep.
		hook.Guard(func() {
			if j.forget(now) && next == 0 {
				next = sweepEvery
			}
		})
	}
	if next > 0 {
		j.armSweep(next)
	}
	if len(stories) == 0 {
		return
	}
	z, err := newPacker(&j.blocks)
	if err != nil {
		return
	}
	for _, s := range stories {
		by := z.pack(s)
		j.out.Lock()
		j.recorder.replace(s, by)
		j.out.Unlock()
	}
}

// readsHistory reports whether a client has not yet read all history that it asked
// for. The caller holds out.
func (j *Journal) readsHistory() bool {
	for w := range j.watchers {
		if w.history != nil && !w.history.isRead() {
			return true
		}
	}
	return false
}

// armSweep makes the journal sweep after that time, unless a sweep is already planned.
func (j *Journal) armSweep(after time.Duration) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.sweeps == nil && !j.closed {
		j.sweeps = hook.AfterFunc(after, j.sweepNow)
	}
}

// sweepNow wakes the journal for a sweep.
func (j *Journal) sweepNow() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.sweeps, j.sweepDue = nil, true
	j.wake.Signal()
}
