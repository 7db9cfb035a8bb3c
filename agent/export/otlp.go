package export

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	semconv "go.opentelemetry.io/otel/semconv/v1.37.0"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	resourcepb "go.opentelemetry.io/proto/otlp/resource/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/grpc/codes"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/story/calls"
	"github.com/podstep/podstep/agent/version"
	"github.com/podstep/podstep/probes"
)

// OTLP makes spans of calls and passes them on in batches. A pod is a resource, its story a
// trace, a call a span. The parent of a span is the call around it. A span has a link to a call
// on another goroutine that did not wait for it.
type OTLP struct {
	send  func([]*tracepb.ResourceSpans) error
	about *About
	files map[string]*agentpb.Step
	of    map[string]*tracepb.ResourceSpans // by uid
	order []*tracepb.ResourceSpans
	count int
	bytes int
	marks int64
	close func() error
}

// NewOTLP makes an exporter that passes batches of spans to send. close, if it is not nil, is
// called at the end.
func NewOTLP(about *About, send func([]*tracepb.ResourceSpans) error, close func() error) *OTLP {
	o := &OTLP{send: send, about: about, files: map[string]*agentpb.Step{}, of: map[string]*tracepb.ResourceSpans{}, close: close}
	for _, s := range about.Info.GetSteps() {
		o.files[s.Name] = s
	}
	return o
}

// A batch is passed on when it has batchSpans spans, or about batchBytes bytes. Collectors take
// 4 MiB in a message by default.
const (
	batchSpans = 512
	batchBytes = 1 << 20
)

// Names of podstep's own, where the semantic conventions have none.
const (
	keyStage       = "podstep.stage"
	keySync        = "podstep.sync"
	keyGoroutine   = "podstep.goroutine"
	keyProbe       = "podstep.probe"
	keyArg         = "podstep.arg."
	keyResult      = "podstep.result."
	keyHeld        = "podstep.held" // seconds
	keyBeginUnseen = "podstep.begin_unseen"
	keyEndUnseen   = "podstep.end_unseen"
	keyLink        = "podstep.link"
	keyHoldOn      = "podstep.hold.on"
	keyHoldReason  = "podstep.hold.reason"
	keyKubelet     = "podstep.kubelet.pid"
	eventHold      = "podstep.hold"
)

const scopeName = "github.com/podstep/podstep"

// Began does nothing: a span is sent as it ends.
func (o *OTLP) Began(*calls.Call) {}

// Ended makes the span of a call.
func (o *OTLP) Ended(c *calls.Call) error {
	s := &tracepb.Span{
		TraceId: o.traceID(c.Pod), SpanId: o.spanID(c.Pod, c.Span), Name: c.Step, Kind: tracepb.Span_SPAN_KIND_INTERNAL,
		StartTimeUnixNano: uint64(c.Begin.UnixNano()), EndTimeUnixNano: uint64(c.End.UnixNano()), Attributes: o.attributes(c),
	}
	if c.Span == 0 {
		s.SpanId = o.nextID(c.Pod, c.BeginMono, c.Step)
	}
	if c.Up != nil {
		s.ParentSpanId = o.spanID(c.Up.Pod, c.Up.Span)
	}
	if rpc := o.rpc(c); rpc != nil {
		s.Kind = tracepb.Span_SPAN_KIND_CLIENT
		s.Attributes = append(s.Attributes, rpc...)
	}
	if c.Error != "" {
		s.Status = &tracepb.Status{Code: tracepb.Status_STATUS_CODE_ERROR, Message: cut(c.Error)}
	}
	for _, l := range links(c) {
		s.Links = append(s.Links, &tracepb.Span_Link{TraceId: o.traceID(l.from.Pod), SpanId: o.spanID(l.from.Pod, l.from.Span), Attributes: attrs(text(keyLink, l.name))})
	}
	for i := range c.Holds {
		s.Events = append(s.Events, holdEvent(&c.Holds[i]))
	}
	for _, e := range c.Marks {
		if _, is := e.Sight(); !is {
			s.Events = append(s.Events, markEvent(e))
		}
	}
	return o.addSpan(c.Pod, s)
}

// Held makes a span of a hold on exit, since the span of its call is sent already.
func (o *OTLP) Held(c *calls.Call, h *calls.Hold) error {
	s := &tracepb.Span{
		TraceId: o.traceID(c.Pod), SpanId: o.nextID(c.Pod, h.Mono, "hold"), Name: "held at " + c.Step, Kind: tracepb.Span_SPAN_KIND_INTERNAL,
		StartTimeUnixNano: uint64(h.From.UnixNano()), EndTimeUnixNano: uint64(h.From.Add(h.Length).UnixNano()),
		Attributes: attrs(text(keyHoldOn, h.On), text(keyHoldReason, h.Reason), float(keyHeld, h.Length.Seconds())),
		Links:      []*tracepb.Span_Link{{TraceId: o.traceID(c.Pod), SpanId: o.spanID(c.Pod, c.Span), Attributes: attrs(text(keyLink, "held"))}},
	}
	if c.Up != nil && c.Up.Goes() {
		s.ParentSpanId = o.spanID(c.Up.Pod, c.Up.Span)
	}
	return o.addSpan(c.Pod, s)
}

// Marked makes a span without a length for an event about no call.
func (o *OTLP) Marked(e *probes.Event) error {
	if _, is := e.Sight(); is {
		return nil
	}
	at := uint64(e.Time.UnixNano())
	o.marks++
	s := &tracepb.Span{
		TraceId: o.traceID(e.Pod), SpanId: o.nextID(e.Pod, o.marks, string(e.Kind)), Name: markName(e), Kind: tracepb.Span_SPAN_KIND_INTERNAL,
		StartTimeUnixNano: at, EndTimeUnixNano: at, Attributes: fields(nil, keyArg, e.Fields),
	}
	if e.Error != "" {
		s.Status = &tracepb.Status{Code: tracepb.Status_STATUS_CODE_ERROR, Message: cut(e.Error)}
	}
	return o.addSpan(e.Pod, s)
}

// Close sends the spans that are left.
func (o *OTLP) Close() error {
	err := o.Flush()
	if o.close != nil {
		if closing := o.close(); err == nil {
			err = closing
		}
	}
	return err
}

// Flush sends the gathered spans.
func (o *OTLP) Flush() error {
	if o.count == 0 {
		return nil
	}
	batch := o.order
	o.order, o.count, o.bytes = nil, 0, 0
	clear(o.of)
	return o.send(batch)
}

func (o *OTLP) addSpan(pod *probes.Pod, s *tracepb.Span) error {
	uid := uidOf(pod)
	r := o.of[uid]
	if r == nil {
		r = &tracepb.ResourceSpans{
			Resource: o.resource(pod), SchemaUrl: semconv.SchemaURL,
			ScopeSpans: []*tracepb.ScopeSpans{{Scope: &commonpb.InstrumentationScope{Name: scopeName, Version: version.Own()}, SchemaUrl: semconv.SchemaURL}},
		}
		o.of[uid] = r
		o.order = append(o.order, r)
	}
	r.ScopeSpans[0].Spans = append(r.ScopeSpans[0].Spans, s)
	o.count++
	for _, a := range s.Attributes {
		o.bytes += 32 + len(a.Key) + len(a.Value.GetStringValue())
	}
	if o.bytes += 256; o.count < batchSpans && o.bytes < batchBytes {
		return nil
	}
	return o.Flush()
}

func (o *OTLP) resource(pod *probes.Pod) *resourcepb.Resource {
	i := o.about.Info
	all := attrs(text(string(semconv.ServiceNameKey), "kubelet"), text(string(semconv.ServiceVersionKey), i.GetKubeletVersion()), text(string(semconv.K8SNodeNameKey), i.GetNode()))
	if i.GetPid() != 0 {
		all = append(all, integer(keyKubelet, i.GetPid()))
	}
	if pod != nil {
		all = append(all, attrs(text(string(semconv.K8SPodNameKey), pod.Name), text(string(semconv.K8SNamespaceNameKey), pod.Namespace), text(string(semconv.K8SPodUIDKey), pod.UID))...)
	}
	return &resourcepb.Resource{Attributes: all}
}

func (o *OTLP) attributes(c *calls.Call) []*commonpb.KeyValue {
	out := attrs(text(keyStage, c.Stage), text(keyGoroutine, c.Goroutine), text(keyProbe, c.Probe))
	if c.Sync != 0 {
		out = append(out, integer(keySync, int64(c.Sync)))
	}
	if s := o.about.Catalogue.Step(c.Step); s != nil && s.Symbol != "" {
		out = append(out, text(string(semconv.CodeFunctionNameKey), s.Symbol))
	}
	if s := o.files[c.Step]; s.GetFile() != "" {
		out = append(out, text(string(semconv.CodeFilePathKey), s.File), integer(string(semconv.CodeLineNumberKey), int64(s.Line)))
	}
	out = fields(out, keyArg, c.Args)
	out = fields(out, keyResult, c.Results)
	if c.Held > 0 {
		out = append(out, float(keyHeld, c.Held.Seconds()))
	}
	if c.NoEnter {
		out = append(out, set(keyBeginUnseen))
	}
	if c.NoExit {
		out = append(out, set(keyEndUnseen))
	}
	return out
}

// grpcCode finds the code in the text of a gRPC error.
var grpcCode = regexp.MustCompile(`\bcode = ([A-Za-z]+)`)

// rpc returns the attributes of a call to the runtime; nil for others.
func (o *OTLP) rpc(c *calls.Call) []*commonpb.KeyValue {
	method, is := strings.CutPrefix(c.Step, "cri.")
	s := o.about.Catalogue.Step(c.Step)
	if !is || c.Stage != "cri" || s != nil && s.Report() {
		return nil
	}
	service := "runtime.v1.RuntimeService"
	if s != nil && strings.Contains(s.Symbol, "ImageService") {
		service = "runtime.v1.ImageService"
	}
	out := attrs(text(string(semconv.RPCSystemKey), semconv.RPCSystemGRPC.Value.AsString()), text(string(semconv.RPCServiceKey), service), text(string(semconv.RPCMethodKey), method))
	switch {
	case c.NoExit:
	case c.Error == "":
		out = append(out, integer(string(semconv.RPCGRPCStatusCodeKey), int64(codes.OK)))
	default:
		if m := grpcCode.FindStringSubmatch(c.Error); m != nil {
			if code, ok := codeNamed(m[1]); ok {
				out = append(out, integer(string(semconv.RPCGRPCStatusCodeKey), int64(code)), text(string(semconv.ErrorTypeKey), m[1]))
			}
		}
	}
	return out
}

func codeNamed(name string) (codes.Code, bool) {
	for c := codes.OK; c <= codes.Unauthenticated; c++ {
		if c.String() == name {
			return c, true
		}
	}
	return 0, false
}

// ours are fields for which the semantic conventions have a name.
var ours = map[string]string{
	"container":   string(semconv.K8SContainerNameKey),
	"containerID": string(semconv.ContainerIDKey),
	"image":       string(semconv.ContainerImageNameKey),
	"volume":      string(semconv.K8SVolumeNameKey),
}

// fields adds the fields of an event, in the order of their names.
func fields(out []*commonpb.KeyValue, prefix string, all map[string]any) []*commonpb.KeyValue {
	for _, name := range slices.Sorted(maps.Keys(all)) {
		v := all[name]
		if s, is := v.(string); is && ours[name] != "" && s != "" && !slices.ContainsFunc(out, func(a *commonpb.KeyValue) bool { return a.Key == ours[name] }) {
			out = append(out, text(ours[name], s))
			continue
		}
		out = append(out, value(prefix+name, v))
	}
	return out
}

func value(key string, v any) *commonpb.KeyValue {
	switch v := v.(type) {
	case bool:
		return &commonpb.KeyValue{Key: key, Value: &commonpb.AnyValue{Value: &commonpb.AnyValue_BoolValue{BoolValue: v}}}
	case int64:
		return integer(key, v)
	case float64:
		return float(key, v)
	case json.RawMessage:
		return text(key, string(v))
	case string:
		return text(key, v)
	}
	return text(key, fmt.Sprint(v))
}

func text(key, v string) *commonpb.KeyValue {
	return &commonpb.KeyValue{Key: key, Value: &commonpb.AnyValue{Value: &commonpb.AnyValue_StringValue{StringValue: cut(v)}}}
}

func integer(key string, v int64) *commonpb.KeyValue {
	return &commonpb.KeyValue{Key: key, Value: &commonpb.AnyValue{Value: &commonpb.AnyValue_IntValue{IntValue: v}}}
}

func float(key string, v float64) *commonpb.KeyValue {
	return &commonpb.KeyValue{Key: key, Value: &commonpb.AnyValue{Value: &commonpb.AnyValue_DoubleValue{DoubleValue: v}}}
}

func set(key string) *commonpb.KeyValue {
	return &commonpb.KeyValue{Key: key, Value: &commonpb.AnyValue{Value: &commonpb.AnyValue_BoolValue{BoolValue: true}}}
}

// attrs returns attributes without those that are empty texts.
func attrs(all ...*commonpb.KeyValue) []*commonpb.KeyValue {
	return slices.DeleteFunc(all, func(a *commonpb.KeyValue) bool {
		s, is := a.Value.Value.(*commonpb.AnyValue_StringValue)
		return is && s.StringValue == ""
	})
}

// mostText bounds a value, in bytes: stores of spans refuse larger ones.
const mostText = 16 << 10

func cut(s string) string {
	if len(s) <= mostText {
		return s
	}
	s = s[:mostText]
	for len(s) > 0 && !utf8.ValidString(s) {
		s = s[:len(s)-1]
	}
	return s
}

func holdEvent(h *calls.Hold) *tracepb.Span_Event {
	return &tracepb.Span_Event{
		Name: eventHold, TimeUnixNano: uint64(h.From.UnixNano()),
		Attributes: attrs(text(keyHoldOn, h.On), text(keyHoldReason, h.Reason), float(keyHeld, h.Length.Seconds())),
	}
}

func markEvent(e *probes.Event) *tracepb.Span_Event {
	out := &tracepb.Span_Event{Name: "podstep." + string(e.Kind), TimeUnixNano: uint64(e.Time.UnixNano()), Attributes: fields(nil, keyArg, e.Fields)}
	if e.Error != "" {
		out.Attributes = append(out.Attributes, text(string(semconv.ExceptionMessageKey), e.Error))
	}
	return out
}

func uidOf(pod *probes.Pod) string {
	switch {
	case pod == nil:
		return ""
	case pod.UID == "":
		return "/" + pod.NamespacedName()
	}
	return pod.UID
}

// Identifiers are computed from what they stand for. So the same story has the same ones
// whether it was sent as it happened or exported later.

func (o *OTLP) sum(pod *probes.Pod, more string) [sha256.Size]byte {
	i := o.about.Info
	return sha256.Sum256(fmt.Appendf(nil, "podstep\x00%s\x00%d\x00%d\x00%s\x00%s", i.GetNode(), i.GetPid(), i.GetStarted().AsTime().UnixNano(), uidOf(pod), more))
}

func (o *OTLP) traceID(pod *probes.Pod) []byte {
	s := o.sum(pod, "")
	return s[:16]
}

func (o *OTLP) spanID(pod *probes.Pod, span uint64) []byte {
	s := o.sum(pod, "span "+fmt.Sprint(span))
	return notZero(s[:8])
}

// nextID returns the id of something that has no number.
func (o *OTLP) nextID(pod *probes.Pod, at int64, what string) []byte {
	s := o.sum(pod, what+" "+fmt.Sprint(at))
	return notZero(s[:8])
}

// notZero makes sure that an id is not zero, which means none.
func notZero(id []byte) []byte {
	if binary.BigEndian.Uint64(id) == 0 {
		id[7] = 1
	}
	return id
}
