package export

import (
	"encoding/json"
	"fmt"
	"io"
	"math"

	"google.golang.org/protobuf/encoding/protowire"
)

// Numbers of Perfetto's messages: protos/perfetto/trace in its source.
const (
	tracePacket = 1 // Trace.packet

	packetClockSnapshot = 6
	packetTimestamp     = 8
	packetSequence      = 10 // trusted_packet_sequence_id
	packetTrackEvent    = 11
	packetInterned      = 12
	packetSequenceFlags = 13
	packetTrack         = 60

	trackUUID, trackName, trackParent, trackText = 1, 2, 5, 14

	eventCategory   = 3
	eventAnnotation = 4
	eventType       = 9
	eventName       = 10
	eventTrack      = 11
	eventNameText   = 23
	eventFlow       = 47

	annotationName   = 1
	annotationBool   = 2
	annotationInt    = 4
	annotationDouble = 5
	annotationText   = 6
	annotationJSON   = 9
	annotationPlain  = 10 // an annotation's name, not interned

	internedCategory, internedName, internedAnnotation = 1, 2, 3

	typeBegin, typeEnd, typeInstant = 1, 2, 3

	flagCleared, flagNeeds = 1, 2

	clockRealtime, clockBoottime = 1, 6
)

// mostInterned bounds the names that are written once. Others are written each time.
const mostInterned = 16384

// packets writes a trace, packet by packet.
type packets struct {
	w        io.Writer
	b        []byte
	interned map[uint64]map[string]uint64
	// fresh are the entries of interned data that go into the next packet.
	fresh []byte
	begun bool
}

// flush writes the gathered packets.
func (p *packets) flush() error {
	_, err := p.w.Write(p.b)
	p.b = p.b[:0]
	return err
}

func number(b []byte, field protowire.Number, v uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(b, field, protowire.VarintType), v)
}

func bytesOf[T ~string | ~[]byte](b []byte, field protowire.Number, v T) []byte {
	return append(protowire.AppendVarint(protowire.AppendTag(b, field, protowire.BytesType), uint64(len(v))), v...)
}

// put adds a packet.
func (p *packets) put(body []byte) {
	flags := uint64(flagNeeds)
	if !p.begun {
		p.begun = true
		flags |= flagCleared
	}
	body = number(body, packetSequence, 1)
	body = number(body, packetSequenceFlags, flags)
	if len(p.fresh) > 0 {
		body = bytesOf(body, packetInterned, p.fresh)
		p.fresh = p.fresh[:0]
	}
	p.b = bytesOf(p.b, tracePacket, body)
}

// clock writes what the wall clock was at a time of the trace.
func (p *packets) clock(wall, at int64) {
	var snapshot []byte
	for _, c := range [][2]uint64{{clockBoottime, uint64(at)}, {clockRealtime, uint64(wall)}} {
		snapshot = bytesOf(snapshot, 1, number(number(nil, 1, c[0]), 2, c[1]))
	}
	p.put(bytesOf(number(nil, packetTimestamp, uint64(at)), packetClockSnapshot, snapshot))
}

// track describes a track; parent 0: it has none.
func (p *packets) track(uuid, parent uint64, name, text string) {
	d := bytesOf(number(nil, trackUUID, uuid), trackName, name)
	if parent != 0 {
		d = number(d, trackParent, parent)
	}
	if text != "" {
		d = bytesOf(d, trackText, text)
	}
	p.put(bytesOf(nil, packetTrack, d))
}

// intern returns the number of a name. It returns false if the name must be written in full.
func (p *packets) intern(kind uint64, name string) (uint64, bool) {
	of := p.interned[kind]
	if of == nil {
		of = map[string]uint64{}
		p.interned[kind] = of
	}
	iid, is := of[name]
	if !is {
		if len(of) >= mostInterned {
			return 0, false
		}
		iid = uint64(len(of)) + 1
		of[name] = iid
		p.fresh = bytesOf(p.fresh, protowire.Number(kind), bytesOf(number(nil, 1, iid), 2, name))
	}
	return iid, true
}

// packet is a TrackEvent that is being written.
type packet struct {
	p    *packets
	at   uint64
	body []byte
}

func (p *packets) event(at int64, track, kind uint64, name string, categories ...string) *packet {
	e := &packet{p: p, at: uint64(max(at, 0))}
	e.body = number(number(nil, eventType, kind), eventTrack, track)
	for _, c := range categories {
		if iid, ok := p.intern(internedCategory, c); ok {
			e.body = number(e.body, eventCategory, iid)
		}
	}
	if name == "" {
		return e
	}
	if iid, ok := p.intern(internedName, name); ok {
		e.body = number(e.body, eventName, iid)
	} else {
		e.body = bytesOf(e.body, eventNameText, name)
	}
	return e
}

// flow joins the event to the others of a flow.
func (e *packet) flow(id uint64) {
	e.body = protowire.AppendFixed64(protowire.AppendTag(e.body, eventFlow, protowire.Fixed64Type), id)
}

// text adds an annotation, unless it is empty.
func (e *packet) text(name, v string) {
	if v != "" {
		e.value(name, v)
	}
}

// value adds an annotation.
func (e *packet) value(name string, v any) {
	var a []byte
	if iid, ok := e.p.intern(internedAnnotation, name); ok {
		a = number(a, annotationName, iid)
	} else {
		a = bytesOf(a, annotationPlain, name)
	}
	switch v := v.(type) {
	case bool:
		a = number(a, annotationBool, protowire.EncodeBool(v))
	case int64:
		a = number(a, annotationInt, uint64(v))
	case float64:
		a = protowire.AppendFixed64(protowire.AppendTag(a, annotationDouble, protowire.Fixed64Type), math.Float64bits(v))
	case json.RawMessage:
		if json.Valid(v) {
			a = bytesOf(a, annotationJSON, v)
		} else {
			a = bytesOf(a, annotationText, string(v))
		}
	case string:
		a = bytesOf(a, annotationText, v)
	default:
		a = bytesOf(a, annotationText, fmt.Sprint(v))
	}
	e.body = bytesOf(e.body, eventAnnotation, a)
}

func (e *packet) end() {
	e.p.put(bytesOf(number(nil, packetTimestamp, e.at), packetTrackEvent, e.body))
}
