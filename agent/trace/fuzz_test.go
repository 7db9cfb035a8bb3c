package trace

import (
	"bytes"
	"os"
	"testing"

	"github.com/podstep/podstep/agent/agentpb"
)

// FuzzReader: reading ends whatever bytes a file has, and returns the events before the fault.
func FuzzReader(f *testing.F) {
	s := newSample()
	raw := written(f, s.batch(10), s.batch(10))
	f.Add(raw)
	f.Add(raw[:len(raw)/2])
	f.Add([]byte("podstep trace 1\n"))
	if file, err := os.ReadFile("testdata/v1.podstep"); err == nil {
		f.Add(file)
	}
	for _, b := range bombs(f) {
		f.Add(b.file(f))
	}
	f.Fuzz(func(t *testing.T, raw []byte) { _, _ = read(raw) })
}

// FuzzBlock: a block with a correct checksum may still have any content.
func FuzzBlock(f *testing.F) {
	c := encoder{model: newModel()}
	b := newSample().batch(8) // small: the fuzzer shortens what it finds, which takes long
	for _, p := range b.Pods {
		c.addPod(p)
	}
	for _, raw := range append(b.Events, odd[:6]...) {
		c.add(raw)
	}
	payload := c.append(nil)
	f.Add(uint16(14), payload)
	f.Add(uint16(65535), payload)
	f.Add(uint16(1), payload[:40])
	f.Fuzz(func(t *testing.T, events uint16, payload []byte) {
		var r Reader
		size := 0
		for _, flags := range []byte{freshFlag, 0} {
			got, err := r.batch(&block{flags: flags, events: uint32(events)}, payload)
			for _, e := range got.GetEvents() {
				size += len(e)
			}
			if err != nil {
				break
			}
		}
		if size > 3*maxPlain {
			t.Errorf("%d bytes of events are made of %d", size, len(payload))
		}
	})
}

// FuzzEvents: any bytes that an agent sends as events are read back.
func FuzzEvents(f *testing.F) {
	for _, raw := range odd {
		f.Add(raw, raw)
	}
	for _, raw := range newSample().batch(10).Events {
		f.Add(raw, raw[:len(raw)/2])
	}
	f.Fuzz(func(t *testing.T, a, b []byte) {
		want := &agentpb.Batch{Events: [][]byte{a, b, a, a, b}}
		c := encoder{model: newModel()}
		for _, raw := range want.Events {
			c.add(raw)
		}
		var r Reader
		got, err := r.batch(&block{flags: freshFlag, events: 5}, c.append(nil))
		if err != nil {
			t.Fatal(err)
		}
		same(t, got, want)
	})
}

// FuzzFooter: the end of a file may have any bytes.
func FuzzFooter(f *testing.F) {
	var out bytes.Buffer
	w, err := NewWriter(&out, header)
	if err != nil {
		f.Fatal(err)
	}
	if err := w.CloseWith([]byte("{}")); err != nil {
		f.Fatal(err)
	}
	f.Add(out.Bytes())
	f.Add(out.Bytes()[out.Len()-30:])
	f.Fuzz(func(t *testing.T, raw []byte) {
		if footer, err := ReadFooter(bytes.NewReader(raw), int64(len(raw))); err == nil && len(footer) > maxPlain {
			t.Errorf("a footer of %d bytes", len(footer))
		}
	})
}
