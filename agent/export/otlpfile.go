package export

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"strconv"

	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
)

// NewOTLPFile makes an exporter to OTLP's JSON, one TracesData message a line. That is
// protobuf's JSON with two differences: identifiers are in hexadecimal, and enums are numbers.
func NewOTLPFile(w io.Writer, about *About) Exporter {
	return NewOTLP(about, func(batch []*tracepb.ResourceSpans) error {
		text, err := json.Marshal(tracesJSON(batch))
		if err != nil {
			return fmt.Errorf("write OTLP: %w", err)
		}
		_, err = w.Write(append(text, '\n'))
		return err
	}, nil)
}

type (
	object map[string]any
	list   []object
)

func tracesJSON(batch []*tracepb.ResourceSpans) object {
	var out list
	for _, r := range batch {
		var scopes list
		for _, s := range r.ScopeSpans {
			var spans list
			for _, span := range s.Spans {
				spans = append(spans, spanJSON(span))
			}
			scopes = append(scopes, object{"scope": object{"name": s.Scope.GetName(), "version": s.Scope.GetVersion()}, "schemaUrl": s.SchemaUrl, "spans": spans})
		}
		out = append(out, object{"resource": object{"attributes": attributesJSON(r.Resource.GetAttributes())}, "schemaUrl": r.SchemaUrl, "scopeSpans": scopes})
	}
	return object{"resourceSpans": out}
}

func spanJSON(s *tracepb.Span) object {
	out := object{
		"traceId": hex.EncodeToString(s.TraceId), "spanId": hex.EncodeToString(s.SpanId), "name": s.Name, "kind": int32(s.Kind),
		"startTimeUnixNano": nanos(s.StartTimeUnixNano), "endTimeUnixNano": nanos(s.EndTimeUnixNano), "attributes": attributesJSON(s.Attributes),
	}
	if len(s.ParentSpanId) > 0 {
		out["parentSpanId"] = hex.EncodeToString(s.ParentSpanId)
	}
	if s.Status != nil {
		out["status"] = object{"code": int32(s.Status.Code), "message": s.Status.Message}
	}
	var links, events list
	for _, l := range s.Links {
		links = append(links, object{"traceId": hex.EncodeToString(l.TraceId), "spanId": hex.EncodeToString(l.SpanId), "attributes": attributesJSON(l.Attributes)})
	}
	for _, e := range s.Events {
		events = append(events, object{"name": e.Name, "timeUnixNano": nanos(e.TimeUnixNano), "attributes": attributesJSON(e.Attributes)})
	}
	if links != nil {
		out["links"] = links
	}
	if events != nil {
		out["events"] = events
	}
	return out
}

// nanos returns a number of 64 bits as text, as protobuf's JSON has it.
func nanos(n uint64) string { return strconv.FormatUint(n, 10) }

func attributesJSON(all []*commonpb.KeyValue) list {
	out := list{}
	for _, a := range all {
		var v object
		switch of := a.Value.GetValue().(type) {
		case *commonpb.AnyValue_StringValue:
			v = object{"stringValue": of.StringValue}
		case *commonpb.AnyValue_BoolValue:
			v = object{"boolValue": of.BoolValue}
		case *commonpb.AnyValue_IntValue:
			v = object{"intValue": strconv.FormatInt(of.IntValue, 10)}
		case *commonpb.AnyValue_DoubleValue:
			v = object{"doubleValue": of.DoubleValue}
		}
		out = append(out, object{"key": a.Key, "value": v})
	}
	return out
}
