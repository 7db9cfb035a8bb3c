package journal

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/trace/tracetest"
)

// inColumns puts events into columns and reads them back.
func inColumns(t *testing.T, w *columnWriter, events [][]byte) (size int) {
	t.Helper()
	var plain []byte
	for _, raw := range events {
		w.add(raw)
		plain = append(binary.AppendUvarint(plain, uint64(len(raw))), raw...)
	}
	block := w.appendTo(nil)
	out, err := readColumns(nil, block)
	if err != nil || !bytes.Equal(out, plain) {
		t.Fatalf("%d events, %d bytes, are %d bytes when they are read back: %v", len(events), len(plain), len(out), err)
	}
	return len(block)
}

// TestSpoiltColumns: changed columns give an error, or other events, and nothing worse.
func TestSpoiltColumns(t *testing.T) {
	_, batches, err := tracetest.Read(recordings[0])
	if err != nil {
		t.Fatal(err)
	}
	var w columnWriter
	for _, raw := range batches[0].Events[:min(200, len(batches[0].Events))] {
		w.add(raw)
	}
	block := w.appendTo(nil)
	r, errors := rand.New(rand.NewPCG(1, 2)), 0
	for range 20_000 {
		spoilt := bytes.Clone(block[:1+r.IntN(len(block))])
		for range r.IntN(4) {
			spoilt[r.IntN(len(spoilt))] ^= byte(1 << r.IntN(8))
		}
		if _, err := readColumns(nil, spoilt); err != nil {
			errors++
		}
	}
	if errors == 0 {
		t.Error("nothing that was spoilt is an error")
	}
}

// TestColumns: events that were put into columns are read back, byte by byte.
func TestColumns(t *testing.T) {
	var w columnWriter
	for _, file := range recordings {
		_, batches, err := tracetest.Read(file)
		if err != nil {
			t.Fatal(err)
		}
		var all [][]byte
		for _, b := range batches {
			all = append(all, b.Events...)
		}
		for len(all) > 0 {
			n := min(len(all), 500)
			inColumns(t, &w, all[:n])
			all = all[n:]
		}
	}
	note := Event{Seq: 9, Wall: 1 << 60, Mono: 5, Kind: agentpb.Kind_NOTE, Pod: podOf(7, ""), Err: "again"}
	other := Event{Seq: 11, Wall: -1, Mono: -5, Kind: agentpb.Kind_EXIT, Span: 1 << 63, Parent: 1<<64 - 1, Duration: -1, Sync: 1<<32 - 1, Probe: 3}
	inColumns(t, &w, [][]byte{note.appendTo(nil), note.appendTo(nil), other.appendTo(nil), {}, []byte("no event"), other.appendTo(nil)})
}
