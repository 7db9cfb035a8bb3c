package trace

import (
	"slices"

	"github.com/podstep/podstep/agent/agentpb"
)

// Bounds of what the model keeps. Beyond openSpans the oldest is forgotten;
// beyond the others a block begins with an empty model.
const (
	openSpans   = 512
	keptShapes  = 4096
	keptPods    = 1 << 14
	keptTexts   = 1 << 13
	keptTextLen = 1 << 10 // of one event, in bytes; more is not kept
	keptFields  = 64      // of one event
	// textOverhead is what a text takes besides its bytes.
	textOverhead = 24
)

// shape is what many events have in common.
type shape struct {
	kind      agentpb.Kind
	step      uint32
	goroutine uint32
}

// openSpan is a call that was entered and not left.
type openSpan struct {
	span, parent uint64
	pod          uint32
	mono         int64
}

// model is what the events so far let one expect of the next. Writer and reader
// keep the same one, so that only what is not as expected needs to be written.
type model struct {
	seq    uint64
	mono   int64
	offset int64
	span   uint64 // the newest
	pod    uint32

	open   []openSpan // the one that was used last is the last
	syncs  map[uint32]uint32
	shapes []shape
	known  map[shape]int // index in shapes, plus 2
	texts  map[textKey]texts

	textBytes int64 // that texts takes, about
}

// textKey is whose texts are expected to be the same again.
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

// full reports that the model must be begun anew.
func (m *model) full() bool {
	return len(m.shapes) > keptShapes || len(m.syncs) > keptPods || len(m.texts) > keptTexts
}

// find gives how far behind the last one an open span is, from 1; 0 is nowhere.
func (m *model) find(span uint64) int {
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

// behind is the open span that find gave.
func (m *model) behind(n int) *openSpan { return &m.open[len(m.open)-n] }

// saw learns from an event. ref is what find gave for its span.
func (m *model) saw(e *event, ref int) {
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

// keep remembers the texts of an event. It copies them: blocks come and go.
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

// size is what texts take in memory, about.
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
