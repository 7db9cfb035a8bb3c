package trace

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/podstep/podstep/agent/agentpb"
)

var (
	errRef   = errors.New("an event is about a span that is not open")
	errRange = errors.New("a number is out of its range")
	errLarge = tooMany(maxPlain, "bytes of events in a block")
)

// arenaChunk is how much memory is allocated at once for events, in bytes.
const arenaChunk = 64 << 10

// decoder makes events out of the columns of blocks.
type decoder struct {
	model   *model
	columns [columns]reading
	event   event
	arena   []byte
	size    int // of the block's events, in bytes
}

// split splits a payload into its columns.
func (d *decoder) split(payload []byte) error {
	for i := range d.columns {
		n, k := binary.Uvarint(payload)
		if k <= 0 || n > uint64(len(payload)-k) {
			return errShort
		}
		d.columns[i] = reading{rest: payload[k : k+int(n)]}
		payload = payload[k+int(n):]
	}
	return nil
}

// events returns the next n events.
func (d *decoder) events(n int) ([][]byte, error) {
	// The capacity does not trust the file's count, but follows from the bytes that are there.
	events := make([][]byte, 0, min(n, len(d.columns[shapeColumn].rest)))
	d.size = 0
	for range n {
		raw, err := d.next()
		if err != nil {
			return events, err
		}
		if d.size += len(raw); d.size > maxPlain {
			return events, errLarge
		}
		events = append(events, raw)
	}
	return events, nil
}

func (d *decoder) next() ([]byte, error) {
	code := d.columns[shapeColumn].uint()
	if code == verbatim {
		raw := d.columns[textColumn].bytes(d.columns[sizeColumn].uint())
		return bytes.Clone(raw), d.err()
	}
	s, err := d.shape(code)
	if err != nil {
		return nil, err
	}
	e, m := &d.event, d.model
	e.Kind, e.Step, e.Goroutine = s.kind, s.step, s.goroutine
	e.Seq = m.seq + 1 + uint64(d.columns[seqColumn].int())
	e.Mono = m.mono + d.columns[monoColumn].int()
	e.Time = e.Mono + m.offset + d.columns[offsetColumn].int()
	ref, err := d.span(e)
	if err != nil {
		return nil, err
	}
	e.Sync, err = number(int64(m.syncs[e.Pod]), d.columns[syncColumn].int())
	if err != nil {
		return nil, err
	}
	d.texts(textKey{s, e.Pod}, e)
	if err := d.err(); err != nil {
		return nil, err
	}
	if m.textBytes > maxTexts {
		return nil, tooMany(maxTexts, "bytes of texts that come again")
	}
	m.update(e, ref)
	return d.encode(e)
}

// err returns the error of the first column that has one.
func (d *decoder) err() error {
	for i := range d.columns {
		if err := d.columns[i].err; err != nil {
			return err
		}
	}
	return nil
}

func (d *decoder) shape(code uint64) (shape, error) {
	m := d.model
	if code == newShape {
		col := &d.columns[shapeColumn]
		kind, step, goroutine := col.int(), col.uint(), col.uint()
		if kind != int64(int32(kind)) || step > math.MaxUint32 || goroutine > math.MaxUint32 {
			return shape{}, errRange
		}
		m.shapes = append(m.shapes, shape{agentpb.Kind(kind), uint32(step), uint32(goroutine)})
		return m.shapes[len(m.shapes)-1], nil
	}
	if code-newShape > uint64(len(m.shapes)) {
		return shape{}, fmt.Errorf("there is no shape %d", code)
	}
	return m.shapes[code-newShape-1], nil
}

func (d *decoder) span(e *event) (ref int, err error) {
	m := d.model
	if ref, err = d.ref(refColumn); err != nil {
		return 0, err
	}
	expected := openSpan{pod: m.pod}
	if ref > 0 {
		expected = *m.behind(ref)
		e.Span = expected.span
	} else {
		e.Span = m.span + 1 + uint64(d.columns[spanColumn].int())
		up, err := d.ref(parentColumn)
		if err != nil {
			return 0, err
		}
		if up > 0 {
			expected = *m.behind(up)
			expected.parent = expected.span
		}
	}
	e.Parent = expected.parent
	if ref > 0 || expected.parent == 0 {
		e.Parent += uint64(d.columns[parentColumn].int())
	}
	e.Pod, err = number(int64(expected.pod), d.columns[podColumn].int())
	e.Duration = length(e, ref, &expected) + d.columns[lengthColumn].int()
	return ref, err
}

func (d *decoder) ref(column int) (int, error) {
	n := d.columns[column].uint()
	if n > uint64(len(d.model.open)) {
		return 0, errRef
	}
	return int(n), nil
}

func number(expected, delta int64) (uint32, error) {
	v := expected + delta
	if v != int64(uint32(v)) {
		return 0, errRange
	}
	return uint32(v), nil
}

func (d *decoder) texts(k textKey, e *event) {
	last := d.model.texts[k]
	count := d.columns[countColumn].uint()
	if count == 0 {
		e.fields, e.ErrorText = last.fields, last.error
		return
	}
	if count-1 > maxFields {
		d.columns[countColumn].err = tooMany(maxFields, "fields in an event")
		return
	}
	if count > uint64(len(d.columns[sizeColumn].rest)) {
		d.columns[countColumn].err = errShort // each field, and the error, needs a size
		return
	}
	e.fields = make([][]byte, count-1) // a new slice: the model may have the last one
	for i := range e.fields {
		var was []byte
		if i < len(last.fields) {
			was = last.fields[i]
		}
		e.fields[i] = d.text(was)
	}
	e.ErrorText = d.text(last.error)
	d.model.keep(k, e)
}

func (d *decoder) text(was []byte) []byte {
	n := d.columns[sizeColumn].uint()
	if n == 0 {
		return was
	}
	return d.columns[textColumn].bytes(n - 1)
}

// encode returns the event as the agent sent it. Events share pieces of memory, even across blocks, because blocks may
// be small.
func (d *decoder) encode(e *event) ([]byte, error) {
	need := e.size()
	if need > maxPlain {
		return nil, errLarge
	}
	if cap(d.arena)-len(d.arena) < need {
		d.arena = make([]byte, 0, max(arenaChunk, need))
	}
	start := len(d.arena)
	d.arena = e.append(d.arena)
	return d.arena[start:len(d.arena):len(d.arena)], nil
}

// pods returns the pods of a block. More than room is an error.
func (d *decoder) pods(room int64) (pods []*agentpb.Pod, err error) {
	col := &d.columns[podsColumn]
	for len(col.rest) > 0 && col.err == nil {
		if int64(len(pods)) == min(room, maxPods) {
			return nil, tooMany(min(room, maxPods), "pods for its size")
		}
		id := col.uint()
		if id > math.MaxUint32 {
			return nil, errRange
		}
		p := &agentpb.Pod{Id: uint32(id)}
		for _, text := range []*string{&p.Namespace, &p.Name, &p.Uid} {
			b := col.bytes(col.uint())
			if len(b) > maxPodText {
				return nil, tooMany(maxPodText, "bytes in a pod's name")
			}
			*text = string(b)
		}
		pods = append(pods, p)
	}
	return pods, col.err
}
