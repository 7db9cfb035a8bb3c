package agent

import (
	"encoding/binary"
	"sort"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/podstep/podstep/agent/agentpb"
)

// recorder is the flight recorder: the recent story of every pod, and of the
// node, in wire form. It is used under journal.out.
//
// It is bounded in all and per pod. What goes first, when there is too much:
// the middle syncs of a pod, whole, since they repeat each other, and of those
// the ones in which nothing went wrong; then the stories of pods that are gone,
// oldest first; then the oldest events of the longest story. The first sync
// and the last two stay as long as they can. What went is counted in the
// story.
type recorder struct {
	limit    int64
	podLimit int64
	bytes    int64
	events   int64
	folded   int64
	stories  map[*pod]*story
}

// story is what is kept of one pod; that of the nil pod is the node's.
type story struct {
	pod   *pod
	parts []*part
	bytes int64
	last  uint64 // seq of the newest event
	note  event  // tells what was folded
	syncs int64
	lost  int64
}

// part is the events of one sync, each with its length in front.
type part struct {
	sync   uint32
	data   []byte
	events int64
	first  uint64
	matter bool // an error, a hold, a fault
}

const (
	partOverhead = 96 // of the structures around the data, in bytes
	firstPart    = 512
)

func newRecorder(limit int64) *recorder {
	return &recorder{limit: limit, podLimit: max(limit/32, 64<<10), stories: map[*pod]*story{}}
}

func (r *recorder) add(e *event, encoded []byte) {
	s := r.stories[e.pod]
	if s == nil {
		s = &story{pod: e.pod}
		r.stories[e.pod] = s
	}
	s.last = e.seq
	p := s.part(e, r)
	before := cap(p.data)
	p.data = grow(p.data, len(encoded)+binary.MaxVarintLen32)
	p.data = binary.AppendUvarint(p.data, uint64(len(encoded)))
	p.data = append(p.data, encoded...)
	r.count(s, int64(cap(p.data)-before))
	p.events++
	r.events++
	if e.err != "" || e.kind >= agentpb.Kind_HOLD {
		p.matter = true
	}
	if s.bytes > r.podLimit {
		r.shrink(s)
	}
	if r.bytes > r.limit {
		r.evict(s)
	}
}

// part is the part that an event belongs to.
func (s *story) part(e *event, r *recorder) *part {
	if n := len(s.parts); n > 0 && s.parts[n-1].sync == e.sync && len(s.parts[n-1].data) < int(r.podLimit/4) {
		return s.parts[n-1]
	}
	p := &part{sync: e.sync, first: e.seq}
	s.parts = append(s.parts, p)
	r.count(s, partOverhead)
	return p
}

// grow makes room for n more bytes, by a quarter and not by half as append
// would: most parts are small and never grow again.
func grow(b []byte, n int) []byte {
	if len(b)+n <= cap(b) {
		return b
	}
	size := max(firstPart, cap(b)+cap(b)/4, len(b)+n)
	return append(make([]byte, 0, size), b...)
}

func (r *recorder) count(s *story, n int64) {
	s.bytes += n
	r.bytes += n
}

// shrink brings one story under its bound.
func (r *recorder) shrink(s *story) {
	for _, all := range []bool{false, true} {
		for i := 1; i < len(s.parts)-2 && s.bytes > r.podLimit; {
			if s.parts[i].matter && !all {
				i++
				continue
			}
			r.fold(s, i)
		}
	}
	for s.bytes > r.podLimit && len(s.parts) > 1 {
		r.fold(s, 0)
	}
}

// fold drops one part of a story whole.
func (r *recorder) fold(s *story, i int) {
	p := s.parts[i]
	s.parts = append(s.parts[:i], s.parts[i+1:]...)
	r.count(s, -int64(cap(p.data))-partOverhead)
	r.events -= p.events
	r.folded++
	s.syncs++
	s.lost += p.events
	if s.note.seq == 0 {
		s.note = event{seq: p.first, kind: agentpb.Kind_NOTE, pod: s.pod, sync: p.sync}
	}
}

// evict brings the recorder under its bound, sparing the story that grows.
func (r *recorder) evict(grows *story) {
	byAge := make([]*story, 0, len(r.stories))
	for _, s := range r.stories {
		if s != grows {
			byAge = append(byAge, s)
		}
	}
	sort.Slice(byAge, func(i, j int) bool { return byAge[i].last < byAge[j].last })
	goal := r.limit - r.limit/16 // so that it does not come to this for each event
	for _, s := range byAge {
		for len(s.parts) > 3 && r.bytes > goal {
			r.fold(s, 1)
		}
	}
	for _, gone := range []bool{true, false} {
		for _, s := range byAge {
			if r.bytes <= goal {
				return
			}
			if s.pod != nil && s.pod.gone() == gone {
				r.drop(s)
			}
		}
	}
	for len(grows.parts) > 1 && r.bytes > goal {
		r.fold(grows, 0)
	}
}

func (r *recorder) drop(s *story) {
	for _, p := range s.parts {
		r.events -= p.events
	}
	r.bytes -= s.bytes
	r.folded += int64(len(s.parts))
	delete(r.stories, s.pod)
}

// kept is an encoded event of the recorder.
type kept struct {
	seq  uint64
	pod  *pod
	data []byte
}

// story returns what is kept of the events that w wants, in their order. The
// bytes are shared: parts only ever grow at their end.
func (r *recorder) story(w *watcher) []kept {
	var out []kept
	for _, s := range r.stories {
		if !w.wantsPod(s.pod) {
			continue
		}
		if s.note.seq != 0 {
			s.note.fields = []field{number("foldedSyncs", s.syncs), number("foldedEvents", s.lost)}
			out = append(out, kept{s.note.seq, s.pod, s.note.appendTo(nil)})
		}
		for _, p := range s.parts {
			out = p.appendTo(out, s.pod, w)
		}
	}
	sort.SliceStable(out, func(i, j int) bool { return out[i].seq < out[j].seq })
	return out
}

func (p *part) appendTo(out []kept, of *pod, w *watcher) []kept {
	data := p.data
	for len(data) > 0 {
		n, k := binary.Uvarint(data)
		e := data[k : k+int(n) : k+int(n)]
		data = data[k+int(n):]
		seq, step := peek(e)
		if w.wantsStep(step) {
			out = append(out, kept{seq, of, e})
		}
	}
	return out
}

// peek reads the number and the step of an encoded event.
func peek(b []byte) (seq uint64, step uint32) {
	for len(b) > 0 {
		num, typ, n := protowire.ConsumeTag(b)
		if n < 0 || num > 5 || typ != protowire.VarintType {
			return seq, step
		}
		v, m := protowire.ConsumeVarint(b[n:])
		if m < 0 {
			return seq, step
		}
		switch num {
		case 1:
			seq = v
		case 5:
			return seq, uint32(v)
		}
		b = b[n+m:]
	}
	return seq, step
}
