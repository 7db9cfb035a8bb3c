package trace

import (
	"slices"

	"github.com/podstep/podstep/agent/agentpb"
)

// Bounds on the model. Beyond openSpans it forgets the oldest span. Beyond the other bounds the next block begins with
// an empty model.
const (
	openSpans   = 512
	keptShapes  = 4096
	keptPods    = 1 << 14
	keptTexts   = 1 << 13
	keptTextLen = 1 << 10 // of one event, in bytes; larger texts are not kept
	keptFields  = 64      // of one event
	// textOverhead is the memory of a text besides its bytes.
	textOverhead = 24
)

// shape is what many events have in common.
type shape struct {
	kind      agentpb.Kind
	step      uint32
	goroutine uint32
}

// openSpan is a call that was entered and has not been left.
type openSpan struct {
	span, parent uint64
	pod          uint32
	mono         int64
}

// model predicts the next event from those before it. Writer and reader keep the same model, so that only the
// differences need to be written.
type model struct {
	seq    uint64
	mono   int64
	offset int64
	span   uint64 // the newest
	pod    uint32

	open   []openSpan // the one that was used last is at the end
	syncs  map[uint32]uint32
	shapes []shape
	known  map[shape]int // index in shapes, plus 2
	texts  map[textKey]texts

	textBytes int64 // size of texts, about
}

// textKey says which events are expected to have the same texts again.
type textKey struct {
	shape shape
	pod   uint32
}

// texts are the fields and the error of an event.
type texts struct {
	fields [][]byte
	error  []byte
}

func newModel() *model {
	return &model{syncs: map[uint32]uint32{}, known: map[shape]int{}, texts: map[textKey]texts{}}
}

// full reports whether the model must begin anew.
func (m *model) full() bool {
	return len(m.shapes) > keptShapes || len(m.syncs) > keptPods || len(m.texts) > keptTexts
}

// findOpen returns how far an open span is from the end, from 1; 0: it is not there.
func (m *model) findOpen(span uint64) int {
	if span == 0 || span > m.span {
		return 0
	}
	for i := len(m.open) - 1; i >= 0; i-- {
		if m.open[i].span == span {
			return len(m.open) - i
		}
	}
	return 0
}

// behind returns the open span at a distance that findOpen returned.
func (m *model) behind(n int) *openSpan { return &m.open[len(m.open)-n] }

// update brings the model up to date with an event. ref is what findOpen returned for its span.
func (m *model) update(e *event, ref int) {
	m.seq, m.mono, m.offset, m.pod = e.Seq, e.Mono, e.Time-e.Mono, e.Pod
	m.syncs[e.Pod] = e.Sync
	switch {
	case ref > 0:
		i := len(m.open) - ref
		used := m.open[i]
		m.open = slices.Delete(m.open, i, i+1)
		if e.Kind != agentpb.Kind_EXIT {
			m.open = append(m.open, used)
		}
	case e.Kind == agentpb.Kind_ENTER && e.Span != 0:
		if len(m.open) == openSpans {
			m.open = slices.Delete(m.open, 0, 1)
		}
		m.open = append(m.open, openSpan{e.Span, e.Parent, e.Pod, e.Mono})
		fallthrough
	default:
		m.span = max(m.span, e.Span)
	}
}

// keep remembers the texts of an event. It copies them, because they are parts of a block.
func (m *model) keep(k textKey, e *event) {
	n := len(e.ErrorText)
	for _, f := range e.fields {
		n += len(f)
	}
	if n == 0 || n > keptTextLen || len(e.fields) > keptFields {
		return
	}
	own := make([]byte, 0, n)
	copied := func(b []byte) []byte {
		own = append(own, b...)
		return own[len(own)-len(b) : len(own) : len(own)]
	}
	t := texts{fields: make([][]byte, len(e.fields))}
	for i, f := range e.fields {
		t.fields[i] = copied(f)
	}
	t.error = copied(e.ErrorText)
	m.textBytes += t.size() - m.texts[k].size()
	m.texts[k] = t
}

// size returns what texts take in memory, about.
func (t texts) size() int64 {
	if t.fields == nil {
		return 0
	}
	n := textOverhead + cap(t.error)
	for _, f := range t.fields {
		n += textOverhead + len(f)
	}
	return int64(n)
}
