package export

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
)

// A reader of Perfetto's traces, as far as podstep's own go. It has the numbers of messages
// from Perfetto's protos, and not from the writer, so that it finds a wrong one in the writer.

type perfettoTrack struct {
	name, text string
	parent     uint64
}

type perfettoEvent struct {
	at         int64
	kind       uint64
	track      uint64
	name       string
	categories []string
	args       []string
	flows      []uint64
}

type perfettoSlice struct {
	perfettoEvent
	begin, end  int64 // end -1: none
	depth       int
	beginUnseen bool
	endUnseen   bool
}

type perfettoTrace struct {
	tracks map[uint64]perfettoTrack
	order  []uint64
	events []perfettoEvent
	clocks int
}

// message takes an encoded message apart.
func message(t testing.TB, b []byte, each func(n protowire.Number, v uint64, b []byte)) {
	for len(b) > 0 {
		n, kind, size := protowire.ConsumeTag(b)
		if size < 0 {
			t.Fatalf("not a message: %v", protowire.ParseError(size))
		}
		b = b[size:]
		var v uint64
		var body []byte
		switch kind {
		case protowire.VarintType:
			v, size = protowire.ConsumeVarint(b)
		case protowire.Fixed64Type:
			v, size = protowire.ConsumeFixed64(b)
		case protowire.BytesType:
			body, size = protowire.ConsumeBytes(b)
		default:
			t.Fatalf("field %d is of type %d", n, kind)
		}
		if size < 0 {
			t.Fatalf("not a message: %v", protowire.ParseError(size))
		}
		b = b[size:]
		each(n, v, body)
	}
}

func parsePerfetto(t testing.TB, b []byte) *perfettoTrace {
	p := &perfettoTrace{tracks: map[uint64]perfettoTrack{}}
	names := map[protowire.Number]map[uint64]string{1: {}, 2: {}, 3: {}}
	cleared := false
	message(t, b, func(n protowire.Number, _ uint64, packet []byte) {
		if n != 1 {
			t.Fatalf("field %d of a trace", n)
		}
		at := int64(-1)
		var event, track, interned []byte
		message(t, packet, func(n protowire.Number, v uint64, b []byte) {
			switch n {
			case 6:
				p.clocks++
			case 8:
				at = int64(v)
			case 11:
				event = b
			case 12:
				interned = b
			case 13:
				cleared = cleared || v&1 != 0
			case 60:
				track = b
			}
		})
		if !cleared {
			t.Fatal("the first packet does not clear the state")
		}
		message(t, interned, func(n protowire.Number, _ uint64, b []byte) {
			var iid uint64
			var name string
			message(t, b, func(n protowire.Number, v uint64, b []byte) {
				if n == 1 {
					iid = v
				} else {
					name = string(b)
				}
			})
			names[n][iid] = name
		})
		if track != nil {
			var uuid uint64
			var d perfettoTrack
			message(t, track, func(n protowire.Number, v uint64, b []byte) {
				switch n {
				case 1:
					uuid = v
				case 2:
					d.name = string(b)
				case 5:
					d.parent = v
				case 14:
					d.text = string(b)
				}
			})
			p.tracks[uuid] = d
			p.order = append(p.order, uuid)
		}
		if event != nil {
			e := perfettoEvent{at: at}
			message(t, event, func(n protowire.Number, v uint64, b []byte) {
				switch n {
				case 3:
					e.categories = append(e.categories, names[1][v])
				case 4:
					e.args = append(e.args, annotation(t, b, names[3]))
				case 9:
					e.kind = v
				case 10:
					e.name = names[2][v]
				case 11:
					e.track = v
				case 23:
					e.name = string(b)
				case 47:
					e.flows = append(e.flows, v)
				}
			})
			if _, is := p.tracks[e.track]; !is {
				t.Fatalf("%q is in track %d, which has not been described", e.name, e.track)
			}
			p.events = append(p.events, e)
		}
	})
	return p
}

func annotation(t testing.TB, b []byte, names map[uint64]string) string {
	var name, value string
	message(t, b, func(n protowire.Number, v uint64, b []byte) {
		switch n {
		case 1:
			name = names[v]
		case 10:
			name = string(b)
		case 2:
			value = fmt.Sprint(v != 0)
		case 4:
			value = fmt.Sprint(int64(v))
		case 5:
			value = fmt.Sprint(v)
		case 6, 9:
			value = string(b)
		default:
			t.Fatalf("an annotation has field %d", n)
		}
	})
	return name + "=" + value
}

// slices plays the events as Perfetto does: in the order of their times. An end closes the
// innermost slice of its track. slices fails where slices do not nest.
func (p *perfettoTrace) slices(t testing.TB) (out []*perfettoSlice) {
	events := slices.Clone(p.events)
	slices.SortStableFunc(events, func(a, b perfettoEvent) int { return int(a.at - b.at) })
	open := map[uint64][]*perfettoSlice{}
	for _, e := range events {
		stack := open[e.track]
		switch e.kind {
		case 1:
			s := &perfettoSlice{perfettoEvent: e, begin: e.at, end: -1, depth: len(stack), beginUnseen: slices.Contains(e.args, "beginUnseen=true"), endUnseen: slices.Contains(e.args, "endUnseen=true")}
			out = append(out, s)
			open[e.track] = append(stack, s)
		case 2:
			if len(stack) == 0 {
				t.Fatalf("track %d: an end without a slice at %d", e.track, e.at)
			}
			last := stack[len(stack)-1]
			last.end = e.at
			open[e.track] = stack[:len(stack)-1]
		}
	}
	for uuid, stack := range open {
		for _, s := range stack {
			if !s.endUnseen && !slices.Contains(s.categories, categoryHeld) {
				t.Fatalf("track %d: %s has no end", uuid, s.name)
			}
		}
	}
	return out
}

// String returns the trace as a person reads it.
func (p *perfettoTrace) String() string {
	var b strings.Builder
	for _, uuid := range p.order {
		d := p.tracks[uuid]
		fmt.Fprintf(&b, "track %d in %d: %s  %s\n", uuid, d.parent, d.name, d.text)
	}
	events := slices.Clone(p.events)
	slices.SortStableFunc(events, func(a, b perfettoEvent) int { return int(a.at - b.at) })
	for _, e := range events {
		kind := []string{"?", "begin", "end", "instant"}[min(e.kind, 3)]
		fmt.Fprintf(&b, "%9d track %d %-7s %s %v %v %v\n", e.at, e.track, kind, e.name, e.categories, e.args, e.flows)
	}
	return b.String()
}
