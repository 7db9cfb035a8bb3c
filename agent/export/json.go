package export

import (
	"io"
	"time"

	"github.com/podstep/podstep/agent/story/calls"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/words"
)

// JSON writes one call a line, as it ends. For an event about no call it writes the line that
// podstep trace -o json prints.
type JSON struct{ w io.Writer }

// NewJSON makes an exporter to JSON lines.
func NewJSON(w io.Writer, _ *About) Exporter { return &JSON{w} }

// callJSON is a call as programs get it. Its members have the same names as those of an event.
type callJSON struct {
	Kind       string         `json:"kind"`
	Time       time.Time      `json:"time"`
	DurationNs int64          `json:"durationNs"`
	HeldNs     int64          `json:"heldNs,omitempty"`
	Stage      string         `json:"stage"`
	Step       string         `json:"step"`
	Pod        *probes.Pod    `json:"pod,omitempty"`
	Span       uint64         `json:"span,omitempty"`
	Parent     uint64         `json:"parent,omitempty"`
	Caller     uint64         `json:"caller,omitempty"`
	AskedBy    uint64         `json:"askedBy,omitempty"`
	Sync       uint32         `json:"sync"`
	Goroutine  string         `json:"goroutine,omitempty"`
	Args       map[string]any `json:"args,omitempty"`
	Results    map[string]any `json:"results,omitempty"`
	Error      string         `json:"error,omitempty"`
	Holds      []holdJSON     `json:"holds,omitempty"`
	Marks      []markJSON     `json:"marks,omitempty"`
	// BeginUnseen and EndUnseen mark calls of which the recording has only a part.
	BeginUnseen bool   `json:"beginUnseen,omitempty"`
	EndUnseen   bool   `json:"endUnseen,omitempty"`
	Probe       string `json:"probe,omitempty"`
}

type holdJSON struct {
	On         string    `json:"on,omitempty"`
	Time       time.Time `json:"time"`
	DurationNs int64     `json:"durationNs,omitempty"`
	Reason     string    `json:"reason,omitempty"`
}

type markJSON struct {
	Kind   probes.Kind    `json:"kind"`
	Time   time.Time      `json:"time"`
	Fields map[string]any `json:"fields,omitempty"`
	Error  string         `json:"error,omitempty"`
}

func span(r *calls.Ref) uint64 {
	if r == nil {
		return 0
	}
	return r.Span
}

// Began does nothing: a call is written as it ends.
func (j *JSON) Began(*calls.Call) {}

// Ended writes a call.
func (j *JSON) Ended(c *calls.Call) error {
	out := callJSON{
		Kind: "call", Time: c.Begin, DurationNs: int64(c.Took()), HeldNs: int64(c.Held), Stage: c.Stage, Step: c.Step, Pod: c.Pod,
		Span: c.Span, Caller: span(c.Caller), AskedBy: span(c.Asked), Sync: c.Sync, Goroutine: c.Goroutine,
		Args: c.Args, Results: c.Results, Error: c.Error, BeginUnseen: c.NoEnter, EndUnseen: c.NoExit, Probe: c.Probe,
	}
	if c.Up != nil {
		out.Parent = c.Up.Span
	}
	for i := range c.Holds {
		out.Holds = append(out.Holds, asJSON(&c.Holds[i]))
	}
	for _, e := range c.Marks {
		out.Marks = append(out.Marks, markJSON{e.Kind, e.Time, e.Fields, e.Error})
	}
	return j.write(&out)
}

func asJSON(h *calls.Hold) holdJSON {
	return holdJSON{On: h.On, Time: h.From, DurationNs: int64(h.Length), Reason: h.Reason}
}

// Held writes a hold on exit, which comes after its call.
func (j *JSON) Held(c *calls.Call, h *calls.Hold) error {
	return j.write(&callJSON{Kind: "hold", Time: h.From, DurationNs: int64(h.Length), HeldNs: int64(h.Length), Stage: c.Stage, Step: c.Step, Pod: c.Pod,
		Span: c.Span, Sync: c.Sync, Goroutine: c.Goroutine, Holds: []holdJSON{asJSON(h)}, Probe: c.Probe})
}

// Marked writes an event about no call.
func (j *JSON) Marked(e *probes.Event) error { return j.write(e) }

func (j *JSON) write(v any) error {
	text, err := words.JSON(v, "")
	if err != nil {
		return err
	}
	_, err = j.w.Write(text)
	return err
}

// Close does nothing: every line is written already.
func (j *JSON) Close() error { return nil }
