package lines

import (
	"fmt"
	"io"
	"path"

	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/filter"
)

// Printer prints the events that were asked for.
type Printer struct {
	Out   io.Writer
	Lines Lines
	// Steps are globs; none means all.
	Steps  []string
	Filter *filter.Filter
}

// Add takes an event, if it was asked for. It always takes Drop events.
func (p *Printer) Add(e *probes.Event) error {
	if e.Kind != probes.Drop && (!p.shows(e) || !p.Filter.Match(e)) {
		return nil
	}
	return p.Lines.Add(e)
}

// Flush prints what Add took.
func (p *Printer) Flush() error {
	if _, err := p.Out.Write(p.Lines.Flush()); err != nil {
		return fmt.Errorf("print events: %w", err)
	}
	return nil
}

// shows reports whether the event's step was asked for. Events about no step always were.
func (p *Printer) shows(e *probes.Event) bool {
	if len(p.Steps) == 0 || e.Step == "" {
		return true
	}
	for _, g := range p.Steps {
		if ok, _ := path.Match(g, e.Step); ok {
			return true
		}
	}
	return false
}
