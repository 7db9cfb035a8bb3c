package journal

import (
	"bytes"
	"encoding/binary"
	"errors"
	"slices"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/wire"
)

// Half the size of compressed events is times and numbers of calls, which look like noise to a compressor. So the
// events of a block are put into columns before it is compressed. A column has, for each event, the difference between
// a number and its expected value, which follows from the events before it in the block. The fields stay as their
// bytes. The process that wrote a block reads it, so the form has no version. Clients get the very bytes that were
// taken apart.

// The columns of a block. Each but the last has its length in front.
const (
	shapeColumn  = iota // place among the shapes of the block, plus 2; 0: verbatim, 1: a new one
	newColumn           // new shapes
	seqColumn           // after the one before
	monoColumn          // after the one before
	offsetColumn        // wall clock less mono, less that of the event before
	refColumn           // place of the call among the open ones, counted from the last one; 0: none
	spanColumn          // only if refColumn has 0: span, less that of the event before
	parentColumn        // less the expected parent
	podColumn           // to that of the event before
	syncColumn          // to that of the event before
	lengthColumn        // duration, less the expected one
	sizeColumn          // of a text, plus 1; 0: the fields are those of the last event of the shape
	textColumn          // fields, errors, and events that are kept verbatim
	columnCount
)

// shape is what many events have in common.
type shape struct {
	kind                   agentpb.Kind
	step, goroutine, probe uint32
	line                   uint32 // of the caller
}

// openCall is a call that has not ended.
type openCall struct {
	span, parent uint64
	mono         int64
}

// maxOpen bounds the open calls that a columnModel remembers.
const maxOpen = 64

// columnModel predicts an event from those before it in the block.
type columnModel struct {
	last   wire.Header // of the event before
	shapes []shape
	fields [][]byte // of the last event of each shape
	open   []openCall
}

func (m *columnModel) reset() {
	clear(m.fields)
	m.last, m.shapes, m.fields, m.open = wire.Header{}, m.shapes[:0], m.fields[:0], m.open[:0]
}

// findOpen returns the place of an open call, counted from the last one, or 0 if the call is not there.
func (m *columnModel) findOpen(span uint64) int {
	for i := len(m.open) - 1; i >= 0; i-- {
		if m.open[i].span == span {
			return len(m.open) - i
		}
	}
	return 0
}

// expected returns the open call at a place, as far as an event's numbers can be expected from it. For place 0 that is
// the parent alone: the last open call.
func (m *columnModel) expected(ref int) (of openCall) {
	switch n := len(m.open); {
	case ref > 0:
		return m.open[n-ref]
	case n > 0:
		return openCall{parent: m.open[n-1].span}
	}
	return of
}

// length returns the expected duration of an event: for the exit of an open call, the time since the enter.
func length(h *wire.Header, ref int, of openCall) int64 {
	if ref > 0 && h.Kind == agentpb.Kind_EXIT {
		return h.Mono - of.mono
	}
	return 0
}

// update brings the model up to date with an event that was put into the columns, or read from them.
func (m *columnModel) update(h *wire.Header, ref int) {
	m.last, h = *h, &m.last
	h.ErrorText = nil
	switch n := len(m.open); {
	case ref > 0 && h.Kind == agentpb.Kind_EXIT:
		m.open = slices.Delete(m.open, n-ref, n-ref+1)
	case ref == 0 && h.Span != 0 && h.Kind == agentpb.Kind_ENTER:
		if n == maxOpen {
			m.open = slices.Delete(m.open, 0, 1)
		}
		m.open = append(m.open, openCall{h.Span, h.Parent, h.Mono})
	}
}

// columnWriter puts events into columns.
type columnWriter struct {
	columnModel
	columns [columnCount][]byte
	// head and tail are those of the event that is being added.
	head, tail []byte
}

func (w *columnWriter) put(column int, v uint64) {
	w.columns[column] = binary.AppendUvarint(w.columns[column], v)
}

func (w *columnWriter) putInt(column int, v int64) {
	w.columns[column] = binary.AppendVarint(w.columns[column], v)
}

// add puts an event into the columns.
func (w *columnWriter) add(raw []byte) {
	h, err := wire.ReadHeader(raw)
	w.head = h.AppendHead(w.head[:0])
	w.tail = wire.AppendTail(w.tail[:0], h.ErrorText, h.Duration, h.Probe, h.CallerLine)
	if err != nil || len(w.head)+len(w.tail) > len(raw) || !bytes.HasPrefix(raw, w.head) || !bytes.HasSuffix(raw, w.tail) {
		w.put(shapeColumn, 0)
		w.putText(raw)
		return
	}
	at := w.addShape(shape{h.Kind, h.Step, h.Goroutine, h.Probe, h.CallerLine})
	last := &w.last
	w.putInt(seqColumn, int64(h.Seq-last.Seq))
	w.putInt(monoColumn, h.Mono-last.Mono)
	w.putInt(offsetColumn, h.Time-h.Mono-(last.Time-last.Mono))
	ref := w.findOpen(h.Span)
	w.put(refColumn, uint64(ref))
	if ref == 0 {
		w.putInt(spanColumn, int64(h.Span-last.Span))
	}
	of := w.expected(ref)
	w.putInt(parentColumn, int64(h.Parent-of.parent))
	w.putInt(podColumn, int64(h.Pod)-int64(last.Pod))
	w.putInt(syncColumn, int64(h.Sync)-int64(last.Sync))
	w.putInt(lengthColumn, h.Duration-length(&h, ref, of))
	w.addFields(at, raw[len(w.head):len(raw)-len(w.tail)])
	w.putText(h.ErrorText)
	w.update(&h, ref)
}

func (w *columnWriter) addShape(s shape) (at int) {
	if at = slices.Index(w.shapes, s); at >= 0 {
		w.put(shapeColumn, uint64(at)+2)
		return at
	}
	w.put(shapeColumn, 1)
	for _, v := range []uint32{uint32(s.kind), s.step, s.goroutine, s.probe, s.line} {
		w.put(newColumn, uint64(v))
	}
	w.shapes, w.fields = append(w.shapes, s), append(w.fields, nil)
	return len(w.shapes) - 1
}

func (w *columnWriter) addFields(at int, fields []byte) {
	if bytes.Equal(fields, w.fields[at]) {
		w.put(sizeColumn, 0)
		return
	}
	w.putText(fields)
	w.fields[at] = fields
}

// putText puts a text, and its length plus one. A length column of 0 stands for no text.
func (w *columnWriter) putText(b []byte) {
	w.put(sizeColumn, uint64(len(b))+1)
	w.columns[textColumn] = append(w.columns[textColumn], b...)
}

// appendTo appends the columns, and empties them for the next block.
func (w *columnWriter) appendTo(b []byte) []byte {
	for i, c := range w.columns {
		if i < textColumn {
			b = binary.AppendUvarint(b, uint64(len(c)))
		}
		b = append(b, c...)
		w.columns[i] = c[:0]
	}
	w.reset()
	return b
}

var errColumns = errors.New("read columns: they are cut short")

// columnReader reads columns. What it reads is not trusted.
type columnReader struct {
	columnModel
	columns [columnCount][]byte
	bad     bool
}

// readColumns appends the events of a block to out, each with its length in front.
func readColumns(out, block []byte) ([]byte, error) {
	var r columnReader
	for i := range textColumn {
		size, n := binary.Uvarint(block)
		if n <= 0 || size > uint64(len(block)-n) {
			return out, errColumns
		}
		r.columns[i], block = block[n:n+int(size)], block[n+int(size):]
	}
	r.columns[textColumn] = block
	var event []byte
	for len(r.columns[shapeColumn]) > 0 {
		if event = r.next(event[:0]); r.bad {
			return out, errColumns
		}
		out = append(binary.AppendUvarint(out, uint64(len(event))), event...)
	}
	return out, nil
}

func (r *columnReader) get(column int) uint64 {
	v, n := binary.Uvarint(r.columns[column])
	return advance(r, column, v, n)
}

func (r *columnReader) getInt(column int) int64 {
	v, n := binary.Varint(r.columns[column])
	return advance(r, column, v, n)
}

func advance[T int64 | uint64](r *columnReader, column int, v T, n int) T {
	if n <= 0 {
		r.bad = true
		return 0
	}
	r.columns[column] = r.columns[column][n:]
	return v
}

// text reads a text; ok is false if there is none.
func (r *columnReader) text() (b []byte, ok bool) {
	size := r.get(sizeColumn)
	if size == 0 {
		return nil, false
	}
	size--
	if size > uint64(len(r.columns[textColumn])) {
		r.bad = true
		return nil, false
	}
	b, r.columns[textColumn] = r.columns[textColumn][:size], r.columns[textColumn][size:]
	return b, true
}

// next appends the next event to b, or sets bad.
func (r *columnReader) next(b []byte) []byte {
	code := r.get(shapeColumn)
	if code == 0 {
		raw, _ := r.text()
		return append(b, raw...)
	}
	if code == 1 {
		r.shapes = append(r.shapes, r.newShape())
		r.fields = append(r.fields, nil)
		code = uint64(len(r.shapes)) + 1
	}
	if code -= 2; r.bad || code >= uint64(len(r.shapes)) {
		r.bad = true
		return b
	}
	h, ref := r.header(r.shapes[code])
	fields, ok := r.text()
	if !ok {
		fields = r.fields[code]
	}
	r.fields[code] = fields
	h.ErrorText, _ = r.text()
	b = append(h.AppendHead(b), fields...)
	b = wire.AppendTail(b, h.ErrorText, h.Duration, h.Probe, h.CallerLine)
	r.update(&h, ref)
	return b
}

func (r *columnReader) newShape() (s shape) {
	s.kind = agentpb.Kind(r.get(newColumn))
	for _, v := range []*uint32{&s.step, &s.goroutine, &s.probe, &s.line} {
		*v = uint32(r.get(newColumn))
	}
	return s
}

// header reads the numbers of an event.
func (r *columnReader) header(s shape) (h wire.Header, ref int) {
	last := &r.last
	h.Kind, h.Step, h.Goroutine, h.Probe, h.CallerLine = s.kind, s.step, s.goroutine, s.probe, s.line
	h.Seq = last.Seq + uint64(r.getInt(seqColumn))
	h.Mono = last.Mono + r.getInt(monoColumn)
	h.Time = h.Mono + last.Time - last.Mono + r.getInt(offsetColumn)
	at := r.get(refColumn)
	if at > uint64(len(r.open)) {
		r.bad = true
		return h, 0
	}
	ref = int(at)
	of := r.expected(ref)
	h.Span = of.span
	if ref == 0 {
		h.Span = last.Span + uint64(r.getInt(spanColumn))
	}
	h.Parent = of.parent + uint64(r.getInt(parentColumn))
	h.Pod = uint32(int64(last.Pod) + r.getInt(podColumn))
	h.Sync = uint32(int64(last.Sync) + r.getInt(syncColumn))
	h.Duration = r.getInt(lengthColumn) + length(&h, ref, of)
	return h, ref
}
