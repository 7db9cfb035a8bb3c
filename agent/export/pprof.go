package export

import (
	"io"
	"strings"

	"github.com/google/pprof/profile"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/story/calls"
)

// Pprof writes a profile of wall time: a sample for each stack, pod and turn of the pod's worker.
type Pprof struct {
	*stacks
	w       io.Writer
	profile *profile.Profile
	files   map[string]*agentpb.Step
	places  map[string]*profile.Location
	samples map[sampleKey]*profile.Sample
	began   int64
	last    int64
}

// sampleKey is what the times of one sample have in common.
type sampleKey struct {
	stack string
	sync  uint32
}

// mostSamples bounds the samples. If there are so many, those of further turns are put together, without the label
// sync.
const mostSamples = 100_000

// NewPprof makes an exporter to profiles as go tool pprof reads them.
func NewPprof(w io.Writer, about *About) Exporter {
	p := &Pprof{
		w: w, files: map[string]*agentpb.Step{}, places: map[string]*profile.Location{}, samples: map[sampleKey]*profile.Sample{},
		profile: &profile.Profile{SampleType: []*profile.ValueType{{Type: "wall", Unit: "nanoseconds"}}, DefaultSampleType: "wall"},
	}
	for _, s := range about.Info.GetSteps() {
		p.files[s.Name] = s
	}
	p.stacks = newStacks(about, p.count)
	return p
}

// Began notes when the profile begins.
func (p *Pprof) Began(c *calls.Call) {
	p.noteTime(c)
	p.stacks.Began(c)
}

// Ended notes when the profile ends.
func (p *Pprof) Ended(c *calls.Call) error {
	p.noteTime(c)
	p.last = max(p.last, c.End.UnixNano())
	return p.stacks.Ended(c)
}

func (p *Pprof) noteTime(c *calls.Call) {
	if at := c.Begin.UnixNano(); p.began == 0 || at < p.began {
		p.began = at
	}
}

func (p *Pprof) count(of stack) {
	frames := p.frames(of)
	key := sampleKey{strings.Join(frames, "\x00"), of.sync}
	s := p.samples[key]
	if s == nil && len(p.samples) >= mostSamples {
		key.sync = 0
		s = p.samples[key]
	}
	if s == nil {
		s = p.sample(of, frames[1:], key.sync)
		p.samples[key] = s
	}
	s.Value[0] += int64(of.took)
}

// sample makes a sample. Its frames are those of the steps: the pod is a label.
func (p *Pprof) sample(of stack, frames []string, sync uint32) *profile.Sample {
	s := &profile.Sample{Value: []int64{0}, Label: map[string][]string{}}
	for i := len(frames) - 1; i >= 0; i-- { // the innermost first
		s.Location = append(s.Location, p.place(frames[i]))
	}
	if of.pod != nil {
		s.Label["pod"], s.Label["namespace"] = []string{of.pod.Name}, []string{of.pod.Namespace}
	}
	if sync != 0 {
		s.NumLabel = map[string][]int64{"sync": {int64(sync)}}
	}
	p.profile.Sample = append(p.profile.Sample, s)
	return s
}

// place returns the location of a frame: the kubelet's function, as far as it is known.
func (p *Pprof) place(name string) *profile.Location {
	if l := p.places[name]; l != nil {
		return l
	}
	f := &profile.Function{ID: uint64(len(p.places) + 1), Name: name, SystemName: name}
	line := int64(0)
	if s := p.about.Catalogue.Step(name); s != nil && s.Symbol != "" {
		f.SystemName = s.Symbol
	}
	if s := p.files[name]; s.GetFile() != "" {
		f.Filename, f.StartLine, line = s.File, int64(s.Line), int64(s.Line)
	}
	l := &profile.Location{ID: f.ID, Line: []profile.Line{{Function: f, Line: line}}}
	p.places[name] = l
	p.profile.Function = append(p.profile.Function, f)
	p.profile.Location = append(p.profile.Location, l)
	return l
}

// Close writes the profile, packed with gzip.
func (p *Pprof) Close() error {
	p.profile.TimeNanos, p.profile.DurationNanos = p.began, max(0, p.last-p.began)
	return p.profile.Write(p.w)
}
