package journal

import (
	"encoding/binary"
	"maps"
	"sort"

	"github.com/podstep/podstep/agent/agentpb"
)

// recorder is the flight recorder: the recent story of every pod, and of the node, in wire form. It is used under
// Journal.out.
//
// It is bounded in all and per pod. When there is too much, the middle syncs of a pod go first, whole, since they
// repeat each other: of them, first those in which nothing went wrong. Then go the stories of pods that are gone,
// oldest first, then the oldest events of the longest story. The first sync and the last two stay as long as they can.
// The story counts what went.
type recorder struct {
	limit    int64
	podLimit int64
	// packed is the size of all that is compressed, which packedLimit bounds.
	packed, packedLimit int64
	taken               int64 // bytes of all events that there ever were
	bytes               int64
	events              int64
	folded              int64
	stories             map[*Pod]*story
}

// story is what is kept of one pod; that of the nil pod is the node's.
type story struct {
	pod      *Pod
	packed   []packed // before parts
	parts    []*part
	bytes    int64
	last     uint64 // seq of the newest event
	lastWall int64  // and its time
	note     Event  // reports what was folded
	syncs    int64
	lost     int64
}

// part is the events of one sync, each with its length in front.
type part struct {
	sync   uint32
	data   []byte
	events int64
	matter bool // an error, a hold, a fault
	// Of its first event.
	first      uint64
	wall, mono int64
}

const (
	partOverhead = 96 // of the structures around the data, in bytes
	firstPart    = 512
)

func newRecorder(limit int64) *recorder {
	return &recorder{limit: limit, podLimit: max(limit/32, 64<<10), packedLimit: limit / 12, stories: map[*Pod]*story{}}
}

func (r *recorder) add(e *Event, encoded []byte) {
	s := r.stories[e.Pod]
	if s == nil {
		s = &story{pod: e.Pod}
		r.stories[e.Pod] = s
	}
	s.last, s.lastWall = e.Seq, e.Wall
	p := s.part(e, r)
	before := cap(p.data)
	p.data = grow(p.data, len(encoded)+binary.MaxVarintLen32)
	p.data = binary.AppendUvarint(p.data, uint64(len(encoded)))
	p.data = append(p.data, encoded...)
	r.count(s, int64(cap(p.data)-before))
	p.events++
	r.events++
	r.taken += int64(len(encoded))
	if e.Err != "" || e.Kind >= agentpb.Kind_HOLD {
		p.matter = true
	}
	if s.bytes > r.podLimit {
		r.shrink(s)
	}
	if r.bytes > r.limit {
		r.evict(s)
	}
}

// part returns the part that an event belongs to. It begins a new one if need be.
func (s *story) part(e *Event, r *recorder) *part {
	if n := len(s.parts); n > 0 && s.parts[n-1].sync == e.Sync && len(s.parts[n-1].data) < int(r.podLimit/4) {
		return s.parts[n-1]
	}
	p := &part{sync: e.Sync, first: e.Seq, wall: e.Wall, mono: e.Mono}
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
	for s.bytes > r.podLimit && len(s.packed) > 0 {
		r.foldPacked(s)
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
	s.fold(moment{p.first, p.wall, p.mono}, p.sync, 1, p.events)
}

// fold counts what was dropped of a story, and notes the earliest moment at which a dropped part began.
func (s *story) fold(begin moment, sync uint32, syncs, events int64) {
	s.syncs += syncs
	s.lost += events
	if s.note.Seq == 0 || begin.seq < s.note.Seq {
		s.note = Event{Seq: begin.seq, Wall: begin.wall, Mono: begin.mono, Kind: agentpb.Kind_NOTE, Pod: s.pod, Sync: sync}
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
	goal := r.limit - r.limit/16 // so that not every event evicts
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
			if s.pod != nil && s.pod.Gone() == gone {
				r.drop(s)
			}
		}
	}
	for len(grows.packed) > 0 && r.bytes > goal {
		r.foldPacked(grows)
	}
	for len(grows.parts) > 1 && r.bytes > goal {
		r.fold(grows, 0)
	}
}

// events returns how many events are kept.
func (s *story) events() (n int64) {
	for i := range s.packed {
		n += s.packed[i].events
	}
	for _, p := range s.parts {
		n += p.events
	}
	return n
}

func (r *recorder) drop(s *story) {
	r.events -= s.events()
	r.bytes -= s.bytes
	r.folded += int64(len(s.parts))
	for i := range s.packed {
		r.folded += s.packed[i].parts
		r.packed -= s.packed[i].size()
	}
	delete(r.stories, s.pod)
}

// Counts returns how many events were published and, by kind, how many were lost.
func (j *Journal) Counts() (events uint64, lost map[string]uint64) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.seq, maps.Clone(j.lost)
}

// AddStats fills in what the journal and the recorder know.
func (j *Journal) AddStats(out *agentpb.StatsResponse) {
	out.Events, out.Dropped = j.Counts()
	j.out.Lock()
	defer j.out.Unlock()
	r := j.recorder
	out.RecorderBytes, out.RecorderLimit, out.RecorderEvents, out.FoldedSyncs = r.bytes, r.limit, r.events, r.folded
	out.Subscribers = int32(j.clients())
}
