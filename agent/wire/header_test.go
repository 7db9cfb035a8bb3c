package wire

import (
	"bytes"
	"testing"

	"github.com/podstep/podstep/agent/agentpb"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

func TestReadHeader(t *testing.T) {
	for _, raw := range samples(t) {
		agree(t, raw)
	}
	for name, raw := range map[string][]byte{
		"said twice":         {0x08, 1, 0x08, 2},
		"longer than needed": {0x88, 0x80, 0x00, 0x81, 0x00},
		"32 bits of 64":      append([]byte{0x28}, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01),
		"number as text":     {0x0a, 1, 'x'},
		"error as number":    {0x60, 1},
		"unknown members":    protowire.AppendFixed64(protowire.AppendTag([]byte{0x08, 5}, 99, protowire.Fixed64Type), 1),
		"error taken back":   {0x62, 1, 'x', 0x62, 0},
	} {
		t.Run(name, func(t *testing.T) { agree(t, raw) })
	}
}

func TestReadHeaderErrors(t *testing.T) {
	for name, raw := range map[string][]byte{
		"half a number":   {0x08, 0x80},
		"half a tag":      {0x80},
		"half an error":   {0x62, 5, 'x'},
		"half a field":    {0x5a, 5, 'x'},
		"lying length":    {0x62, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01},
		"member 0":        {0x00, 1},
		"reserved type":   {0x0f},
		"end of no group": {0x0c},
	} {
		if h, err := ReadHeader(raw); err == nil {
			t.Errorf("%s is read as %+v", name, h)
		}
	}
}

func TestReadHeaderAllocates(t *testing.T) {
	for _, raw := range samples(t) {
		if n := testing.AllocsPerRun(100, func() { _, _ = ReadHeader(raw) }); n != 0 {
			t.Errorf("%v allocations", n)
		}
	}
}

// agree compares ReadHeader with proto.Unmarshal.
func agree(t *testing.T, raw []byte) {
	t.Helper()
	var e agentpb.Event
	if err := proto.Unmarshal(raw, &e); err != nil {
		return
	}
	h, err := ReadHeader(raw)
	if err != nil {
		t.Fatalf("%x: %v, but it is %v", raw, err, &e)
	}
	if !bytes.Equal(h.ErrorText, []byte(e.Error)) || h.HasError != (e.Error != "") {
		t.Errorf("%x: error %q, %t; want %q", raw, h.ErrorText, h.HasError, e.Error)
	}
	h.ErrorText, h.HasError = nil, false
	want := Header{
		Seq: e.Seq, Time: e.Time, Mono: e.Mono, Kind: e.Kind, Step: e.Step, Pod: e.Pod,
		Span: e.Span, Parent: e.Parent, Sync: e.Sync, Goroutine: e.Goroutine, Duration: e.Duration, Probe: e.Probe,
	}
	if !equal(h, want) {
		t.Errorf("%x is\n%+v, want\n%+v", raw, h, want)
	}
}

func equal(a, b Header) bool {
	return a.Seq == b.Seq && a.Time == b.Time && a.Mono == b.Mono && a.Kind == b.Kind && a.Step == b.Step && a.Pod == b.Pod &&
		a.Span == b.Span && a.Parent == b.Parent && a.Sync == b.Sync && a.Goroutine == b.Goroutine && a.Duration == b.Duration && a.Probe == b.Probe
}

// FuzzReadHeader: what proto.Unmarshal can read, ReadHeader reads as well, and
// the same.
func FuzzReadHeader(f *testing.F) {
	for _, raw := range samples(f) {
		f.Add(raw)
		f.Add(raw[:len(raw)/2])
	}
	f.Add([]byte{0x9b, 0x06, 0x08, 0x01, 0x9c, 0x06}) // a group
	f.Fuzz(func(t *testing.T, raw []byte) { agree(t, raw) })
}

func BenchmarkReadHeader(b *testing.B) {
	raws := samples(b)
	raw := raws[len(raws)-1]
	b.Run("podstep", func(b *testing.B) {
		b.ReportAllocs()
		for range b.N {
			if _, err := ReadHeader(raw); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("protobuf", func(b *testing.B) {
		b.ReportAllocs()
		for range b.N {
			var e agentpb.Event
			if err := proto.Unmarshal(raw, &e); err != nil {
				b.Fatal(err)
			}
		}
	})
}
