// Package export writes the calls of pods in forms that other tools open. Each form is one
// Format in the list of all of them. A new form is a file with its Exporter, and a line in that
// list. An exporter takes calls as they come. It keeps the calls that go on, and not those that
// it has written, so a recording may be as long as it likes.
//
// The exporters write what the events have: the agent has taken secrets out of them.
package export

import (
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/story/calls"
	"github.com/podstep/podstep/agent/wire"
	"github.com/podstep/podstep/probes"
)

// Exporter takes calls, and ends its output with Close. Close does not close the writer.
type Exporter interface {
	calls.Taker
	Close() error
}

// About says where calls come from.
type About struct {
	// Info is what the agent reported of itself.
	Info      *agentpb.InfoResponse
	Catalogue *probes.Catalogue
}

// Format is a form in which calls are written.
type Format struct {
	Name string
	// Text completes "it is written as ...".
	Text string
	// Binary says that the form is nothing for a terminal.
	Binary bool
	New    func(w io.Writer, about *About) Exporter
}

// Formats returns all forms.
func Formats() []Format {
	return []Format{
		{Name: "perfetto", Text: "a Perfetto trace, for ui.perfetto.dev and trace_processor", Binary: true, New: NewPerfetto},
		{Name: "otlp", Text: "OTLP as JSON, a line for some hundred spans, as the file receiver of an OpenTelemetry collector reads it", New: NewOTLPFile},
		{Name: "json", Text: "one call a line, for jq", New: NewJSON},
		{Name: "folded", Text: "folded stacks with microseconds, for flame graphs of where a pod's time went", New: NewFolded},
		{Name: "pprof", Text: "a profile of wall time, for go tool pprof", Binary: true, New: NewPprof},
	}
}

// Named returns the format of a name, or nil.
func Named(name string) *Format {
	all := Formats()
	if i := slices.IndexFunc(all, func(f Format) bool { return f.Name == name }); i >= 0 {
		return &all[i]
	}
	return nil
}

// Feed gives an exporter the events of the selected pods.
type Feed struct {
	pods   *agentpb.PodSelector
	all    bool
	stream *calls.Stream
	out    Exporter
	events uint64
}

// NewFeed feeds an exporter. A selector that names nothing means all pods and the
// node.
func NewFeed(pods *agentpb.PodSelector, about *About, out Exporter) *Feed {
	all := pods.GetName() == "" && pods.GetNamespace() == ""
	return &Feed{pods: pods, all: all, stream: calls.New(out, about.Catalogue), out: out}
}

// Add takes an event.
func (f *Feed) Add(e *probes.Event) error {
	if !f.all && e.Kind != probes.Drop && (e.Pod == nil || !f.pods.Selects(e.Pod.Namespace, e.Pod.Name)) {
		return nil
	}
	f.events++
	return f.stream.Add(e)
}

// Events reports how many events were taken.
func (f *Feed) Events() uint64 { return f.events }

// Close ends the calls that go on, and the exporter.
func (f *Feed) Close() error {
	if err := f.stream.Close(); err != nil {
		return err
	}
	return f.out.Close()
}

// Source returns batches until an error, which is io.EOF at the end.
type Source interface {
	Next() (*agentpb.Batch, error)
}

// SourceError is an error of the source. What came before it was exported.
type SourceError struct{ Err error }

func (e *SourceError) Error() string { return e.Err.Error() }
func (e *SourceError) Unwrap() error { return e.Err }

// Copy feeds all events of a source to f, and closes f. The error is a *SourceError if the
// source ended with another error than io.EOF. Even then the output is whole.
func Copy(ctx context.Context, from Source, about *About, f *Feed) error {
	decode := wire.NewDecoder(about.Info)
	for {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("interrupted: %w", err)
		}
		b, err := from.Next()
		if err != nil {
			if closing := f.Close(); closing != nil {
				return closing
			}
			if err == io.EOF {
				return nil
			}
			return &SourceError{err}
		}
		decode.AddPods(b.GetPods())
		for _, raw := range b.GetEvents() {
			e := decode.Event(raw)
			if err := f.Add(&e); err != nil {
				return err
			}
		}
	}
}
