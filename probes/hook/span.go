package hook

import "unsafe"

// Span is one call of a woven function. A goroutine's innermost span hangs
// where runtime/pprof keeps the goroutine's labels: that is the one place which
// is local to a goroutine, costs a load to read, and is inherited by the
// goroutines it starts. So a goroutine that kills one of a pod's containers
// knows the span it was started from. A Span does not change once it is
// current, so goroutines may share it.
//
// As a gain, profiles of the kubelet carry the pod as a label.
type Span struct {
	// labels comes first: runtime/pprof reads a pointer to a Span as its own
	// label set, which is a slice of key and value.
	labels []Label
	prev   unsafe.Pointer
	// State is the handler's.
	State any
}

// Label is a profiler label, laid out as internal/runtime/pprof/label.Label.
type Label struct{ Key, Value string }

// labelKey marks a label set as ours, by the address of its bytes: a program
// that sets a label of the same name has other bytes.
var labelKey = string([]byte("podstep"))

// Labels makes the label set for spans of one pod; make it once a pod.
func Labels(value string) []Label { return []Label{{Key: labelKey, Value: value}} }

// NewSpan makes a span. labels must come from Labels.
func NewSpan(labels []Label, state any) *Span { return &Span{labels: labels, State: state} }

// Init is NewSpan for a Span that is part of what state points at.
func (s *Span) Init(labels []Label, state any) { s.labels, s.State = labels, state }

// pointer is the span as the runtime keeps it.
func (s *Span) pointer() unsafe.Pointer { return unsafe.Pointer(s) }

// Current is the innermost span of the calling goroutine, or nil.
func Current() *Span { return current(getLabels()) }

// current returns the span that a goroutine's labels are, or nil if they are not ours. Reading the slice is right
// for any label set; the rest is read only if it is ours.
func current(p unsafe.Pointer) *Span {
	if p == nil {
		return nil
	}
	labels := *(*[]Label)(p)
	if len(labels) == 0 || unsafe.StringData(labels[0].Key) != unsafe.StringData(labelKey) {
		return nil
	}
	return (*Span)(p)
}

//go:linkname setLabels runtime/pprof.runtime_setProfLabel
func setLabels(unsafe.Pointer)

//go:linkname getLabels runtime/pprof.runtime_getProfLabel
func getLabels() unsafe.Pointer
