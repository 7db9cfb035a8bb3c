package trace

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"runtime"
	"strings"
	"testing"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/wire/eventtest"
)

// Bounds on the memory for reading a small file: at one time, and in all that comes and goes.
const (
	maxLive  = 32 << 20
	maxTaken = 512 << 20
)

// bomb is a file of a few kilobytes that claims to have much.
type bomb struct {
	header []byte // JSON; nil: the sample's header
	events uint32
	fill   func(*encoder) // the columns
	blocks int            // how often the block is repeated; 0: once
	want   string         // a part of the error; empty: the file may be read
}

// bombs returns a bomb for each count of the format.
func bombs(t testing.TB) map[string]bomb {
	repeat := func(n int, b ...byte) []byte { return bytes.Repeat(b, n) }
	// An event of a new shape adds to every column that events have.
	plainEvents := func(c *encoder, n int) {
		for i := range uint32(n) {
			c.add(eventtest.Encode(&agentpb.Event{Seq: uint64(i + 1), Kind: agentpb.Kind_ENTER, Step: i, Pod: i, Span: uint64(i + 1)}))
		}
	}
	return map[string]bomb{
		"pods":        {fill: func(c *encoder) { c.columns[podsColumn] = repeat(4<<20, 0, 0, 0, 0)[:maxPlain-64] }, want: "more than 65536 pods"},
		"pods, often": {fill: func(c *encoder) { c.columns[podsColumn] = repeat(maxPods-1, 0, 0, 0, 0) }, blocks: 100, want: "pods for its size"},
		"a pod's name": {fill: func(c *encoder) {
			c.columns[podsColumn] = append(binary.AppendUvarint([]byte{1}, 8<<20), repeat(8<<20, 'x')...)
			c.columns[podsColumn] = append(c.columns[podsColumn], 0, 0)
		}, want: "bytes in a pod's name"},
		"steps":      {header: infoBomb(t, repeat(1<<20, 7<<3|2, 0)), want: "steps and goroutines"},
		"goroutines": {header: infoBomb(t, repeat(1<<20, 9<<3|2, 0)), want: "steps and goroutines"},
		"header":     {header: []byte(`{"podstep":"` + strings.Repeat("x", 12<<20) + `"}`), want: "bytes in its header"},
		"nesting":    {header: []byte(strings.Repeat(`{"x":`, 600_000) + strings.Repeat("}", 600_000)), want: "max depth"},
		"events":     {events: math.MaxUint32, fill: func(c *encoder) { plainEvents(c, 10) }, want: "events in a block"},
		"no events":  {events: maxEvents, want: "column is too short"},
		"shapes":     {events: maxEvents, fill: func(c *encoder) { plainEvents(c, maxEvents) }},
		"fields": {events: 1000, fill: func(c *encoder) {
			for range 1000 {
				c.add(eventtest.Encode(&agentpb.Event{Kind: agentpb.Kind_ENTER, Step: 1}))
			}
			c.columns[countColumn] = repeat(1000, 0x80, 8) // 1024 is 1023 fields plus one: the sizes do not have so many
		}, want: "column is too short"},
		"too many fields": {events: 1, fill: func(c *encoder) {
			c.add(eventtest.Encode(&agentpb.Event{Kind: agentpb.Kind_ENTER, Step: 1}))
			c.columns[countColumn] = binary.AppendUvarint(nil, math.MaxUint64)
			c.columns[sizeColumn] = repeat(8<<20, 0)
		}, want: "fields in an event"},
		"texts again": {events: maxEvents, fill: func(c *encoder) {
			fields := make([]*agentpb.Field, keptFields)
			for i := range fields {
				fields[i] = &agentpb.Field{}
			}
			for i := range maxEvents {
				// Each is of a pod of its own, so that the model keeps its fields, which are all but empty.
				c.add(eventtest.Encode(&agentpb.Event{Kind: agentpb.Kind_NOTE, Pod: uint32(i), Error: "x", Fields: fields}))
			}
		}, want: "bytes of texts"},
		"large texts again": {events: maxEvents, fill: func(c *encoder) {
			c.add(eventtest.Encode(&agentpb.Event{Kind: agentpb.Kind_NOTE, Error: strings.Repeat("x", keptTextLen)}))
			for range maxEvents {
				c.add(eventtest.Encode(&agentpb.Event{Kind: agentpb.Kind_NOTE, Error: strings.Repeat("x", keptTextLen)}))
			}
		}, want: "bytes of events in a block"},
		"a size": {events: 1, fill: func(c *encoder) {
			c.add(eventtest.Encode(&agentpb.Event{Kind: agentpb.Kind_NOTE, Error: "x"}))
			c.columns[sizeColumn] = binary.AppendUvarint(nil, math.MaxUint64)
		}, want: "column is too short"},
	}
}

// infoBomb returns a header with these bytes as the agent's Info.
func infoBomb(t testing.TB, info []byte) []byte {
	t.Helper()
	raw, err := json.Marshal(headerJSON{Podstep: "v0", Info: info})
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// file returns the bomb as a trace file.
func (b bomb) file(t testing.TB) []byte {
	t.Helper()
	p, err := newPacker()
	if err != nil {
		t.Fatal(err)
	}
	raw, err := header.pack(p)
	if err != nil {
		t.Fatal(err)
	}
	raw = bytes.Clone(raw)
	if b.header != nil {
		raw = append([]byte(magic+"1\n"), p.pack(block{kind: headerBlock}, b.header)...)
	}
	c := encoder{model: newModel()}
	if b.fill != nil {
		b.fill(&c)
	}
	one := p.pack(block{kind: eventsBlock, flags: freshFlag, events: b.events}, c.append(nil))
	for range max(1, b.blocks) {
		raw = append(raw, one...)
	}
	return append(raw, p.pack(block{kind: endBlock}, nil)...)
}

// TestBombs: whatever a small file counts, reading it takes bounded memory. The error says of what there was too much.
func TestBombs(t *testing.T) {
	for name, b := range bombs(t) {
		t.Run(name, func(t *testing.T) {
			raw := b.file(t)
			got, live, taken, err := readMeasured(raw)
			t.Logf("%d bytes: %d MiB live, %d MiB taken; %d events, %d pods; %v", len(raw), live>>20, taken>>20, len(got.Events), len(got.Pods), err)
			if b.want == "" && err != nil || b.want != "" && (err == nil || !strings.Contains(err.Error(), b.want)) {
				t.Errorf("the error is %v, want %q", err, b.want)
			}
			if live > maxLive || taken > maxTaken {
				t.Errorf("%d bytes take %d MiB, and %d MiB in passing", len(raw), live>>20, taken>>20)
			}
		})
	}
}

// readMeasured reads a trace, and keeps all of it and the reader. It returns how much memory that takes in the end, and
// how much was taken in all.
func readMeasured(raw []byte) (all *agentpb.Batch, live, taken uint64, err error) {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	all = &agentpb.Batch{}
	r, err := NewReader(bytes.NewReader(raw))
	for err == nil {
		var b *agentpb.Batch
		if b, err = r.Next(); err == nil {
			all.Pods, all.Events = append(all.Pods, b.Pods...), append(all.Events, b.Events...)
		}
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	runtime.KeepAlive(r)
	if r != nil && r.err != nil && r.err.Error() == "EOF" {
		err = nil
	}
	return all, max(after.HeapAlloc, before.HeapAlloc) - before.HeapAlloc, after.TotalAlloc - before.TotalAlloc, err
}

// TestEveryCount replaces every number of a block, one after the other, by huge ones, and those of its frame.
func TestEveryCount(t *testing.T) {
	c := encoder{model: newModel()}
	b := newSample().batch(40)
	for _, p := range b.Pods {
		c.addPod(p)
	}
	for _, raw := range append(b.Events, odd[:4]...) {
		c.add(raw)
	}
	whole := c.columns
	for column := range whole {
		whole[column] = bytes.Clone(c.columns[column])
	}
	tried := 0
	for column := range whole {
		for at := range whole[column] {
			for _, huge := range []uint64{1 << 16, 1 << 24, math.MaxUint32, 1 << 62, math.MaxUint64} {
				copy(c.columns[:], whole[:])
				c.columns[column] = append(binary.AppendUvarint(bytes.Clone(whole[column][:at]), huge), whole[column][at+1:]...)
				payload := c.append(nil)
				tried++
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				var r Reader
				_, _ = r.batch(&block{flags: freshFlag, events: uint32(len(b.Events) + 4), packed: uint32(len(payload))}, payload)
				runtime.ReadMemStats(&after)
				if taken := after.TotalAlloc - before.TotalAlloc; taken > 4<<20 {
					t.Fatalf("%d at byte %d of column %d takes %d MiB", huge, at, column, taken>>20)
				}
			}
		}
	}
	if tried < 1000 {
		t.Errorf("only %d numbers were tried", tried)
	}
	raw := written(t, b)
	first := bytes.IndexByte(raw, '\n') + 1
	for at := first + 2; at < first+blockSize-4; at += 4 {
		huge := bytes.Clone(raw)
		binary.LittleEndian.PutUint32(huge[at:], math.MaxUint32)
		got, _, taken, err := readMeasured(huge)
		var fault *Fault
		if !errors.As(err, &fault) || len(got.Events) > 0 || taken > 4<<20 {
			t.Errorf("a frame with a huge number at byte %d is read with %v, %d MiB", at-first, err, taken>>20)
		}
	}
}

// TestManyPods: a trace with more pods than a block can have can be read.
func TestManyPods(t *testing.T) {
	want := &agentpb.Batch{}
	for i := range uint32(maxPods + 1000) {
		want.Pods = append(want.Pods, &agentpb.Pod{Id: i, Namespace: "shop", Name: fmt.Sprintf("web-%d", i), Uid: fmt.Sprintf("%08x-%x", i*2654435761, uint64(i)*0x9e3779b97f4a7c15)})
	}
	want.Events = newSample().batch(10).Events
	got, err := read(written(t, want))
	if err != nil {
		t.Fatal(err)
	}
	same(t, got, want)
	w, err := NewWriter(&bytes.Buffer{}, header)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Add(&agentpb.Batch{Pods: []*agentpb.Pod{{Name: strings.Repeat("x", maxPodText+1)}}}); err == nil {
		t.Error("a pod that no reader takes is written")
	}
}
