package trace

import (
	"bytes"
	"encoding/binary"

	"github.com/podstep/podstep/agent/agentpb"
)

// Codes of the shape column. Larger codes stand for known shapes.
const (
	verbatim = 0 // the event is kept as a text, because our agents do not write such events
	newShape = 1
)

// Codes of the count column are 0 for "fields as last time", or their number plus one. Codes of the size column are 0
// for "as last time", or the length plus one. The error is written like one more field; if there is none, its length is
// 0.

// encoder puts events into the columns of a block.
type encoder struct {
	model   *model
	columns [columns]column
	scratch []byte
	event   event
}

// append appends the columns to a block's payload, and empties them.
func (c *encoder) append(payload []byte) []byte {
	for i := range c.columns {
		col := &c.columns[i]
		payload = binary.AppendUvarint(payload, uint64(len(*col)))
		payload = append(payload, *col...)
		*col = (*col)[:0]
	}
	return payload
}

func (c *encoder) addPod(p *agentpb.Pod) {
	col := &c.columns[podsColumn]
	col.putUint(uint64(p.Id))
	col.putText(p.Namespace)
	col.putText(p.Name)
	col.putText(p.Uid)
}

func (c *encoder) add(raw []byte) {
	e, m := &c.event, c.model
	var same bool
	if same, c.scratch = e.read(raw, c.scratch); !same {
		c.columns[shapeColumn].putUint(verbatim)
		c.columns[sizeColumn].putUint(uint64(len(raw)))
		c.columns[textColumn] = append(c.columns[textColumn], raw...)
		return
	}
	s := shape{e.Kind, e.Step, e.Goroutine}
	c.addShape(s)
	c.columns[seqColumn].putInt(int64(e.Seq - m.seq - 1))
	c.columns[monoColumn].putInt(e.Mono - m.mono)
	c.columns[offsetColumn].putInt(e.Time - e.Mono - m.offset)
	ref := c.addSpan(e)
	c.columns[syncColumn].putInt(int64(e.Sync) - int64(m.syncs[e.Pod]))
	c.addTexts(textKey{s, e.Pod}, e)
	m.update(e, ref)
}

func (c *encoder) addShape(s shape) {
	col, m := &c.columns[shapeColumn], c.model
	if n, ok := m.known[s]; ok {
		col.putUint(uint64(n))
		return
	}
	col.putUint(newShape)
	col.putInt(int64(s.kind))
	col.putUint(uint64(s.step))
	col.putUint(uint64(s.goroutine))
	m.shapes = append(m.shapes, s)
	m.known[s] = len(m.shapes) + newShape
}

// addSpan writes the numbers that an open span lets expect: span, parent, pod and duration. It returns the place of the
// event's span among the open ones, or 0.
func (c *encoder) addSpan(e *event) (ref int) {
	m := c.model
	ref = m.findOpen(e.Span)
	c.columns[refColumn].putUint(uint64(ref))
	expected := openSpan{pod: m.pod}
	if ref > 0 {
		expected = *m.behind(ref)
	} else {
		c.columns[spanColumn].putInt(int64(e.Span - m.span - 1))
		up := m.findOpen(e.Parent)
		c.columns[parentColumn].putUint(uint64(up))
		if up > 0 {
			expected = *m.behind(up)
			expected.parent = expected.span
		}
	}
	if ref > 0 || expected.parent == 0 {
		c.columns[parentColumn].putInt(int64(e.Parent - expected.parent))
	}
	c.columns[podColumn].putInt(int64(e.Pod) - int64(expected.pod))
	c.columns[lengthColumn].putInt(e.Duration - length(e, ref, &expected))
	return ref
}

// length returns the expected duration of an event.
func length(e *event, ref int, of *openSpan) int64 {
	if ref > 0 && e.Kind == agentpb.Kind_EXIT {
		return e.Mono - of.mono
	}
	return 0
}

func (c *encoder) addTexts(k textKey, e *event) {
	last := c.model.texts[k]
	if len(last.fields) == len(e.fields) && allSame(last, e) {
		c.columns[countColumn].putUint(0)
		return
	}
	c.columns[countColumn].putUint(uint64(len(e.fields)) + 1)
	for i, f := range e.fields {
		var was []byte
		if i < len(last.fields) {
			was = last.fields[i]
		}
		c.addText(f, was)
	}
	c.addText(e.ErrorText, last.error)
	c.model.keep(k, e)
}

func allSame(last texts, e *event) bool {
	for i, f := range e.fields {
		if !bytes.Equal(last.fields[i], f) {
			return false
		}
	}
	return bytes.Equal(last.error, e.ErrorText)
}

func (c *encoder) addText(text, was []byte) {
	if bytes.Equal(text, was) {
		c.columns[sizeColumn].putUint(0)
		return
	}
	c.columns[sizeColumn].putUint(uint64(len(text)) + 1)
	c.columns[textColumn] = append(c.columns[textColumn], text...)
}
