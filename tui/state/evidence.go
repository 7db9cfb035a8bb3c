package state

import (
	"slices"
	"strings"
	"time"

	"github.com/podstep/podstep/agent/story/history"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/words"
	"github.com/podstep/podstep/tui/screen"
)

// evidence fills in which probes saw a call, if several did, and which values none of them reads.
func (s *State) evidence(c *history.Call, ref int, v *view, d *screen.Detail) {
	first, ok := s.h.Event(c.Enter)
	if !ok {
		return
	}
	saw := []string{first.Probe}
	more := s.sights(c, ref, v)
	for i := range more {
		saw = append(saw, more[i].Probe)
	}
	d.Missing = s.missing(c.Span.Step, v, saw)
	if len(more) > 0 {
		d.Sights = append([]screen.Sight{{Probe: words.Clean(first.Probe), Began: d.Began, Took: d.Took, Error: d.Error}}, more...)
	}
}

// sights returns how probes other than the first saw a call, each with the values in which it differs from the
// first.
func (s *State) sights(c *history.Call, ref int, v *view) (out []screen.Sight) {
	args, results := texts(c.Args), texts(c.Results)
	for _, pos := range s.h.Sights(ref, v.at) {
		e, ok := s.h.Event(pos)
		side, is := e.Sight()
		if !ok || !is {
			continue
		}
		name := words.Clean(e.Probe)
		i := slices.IndexFunc(out, func(x screen.Sight) bool { return x.Probe == name })
		if i < 0 {
			i = len(out)
			out = append(out, screen.Sight{Probe: name})
		}
		x, known := &out[i], args
		if side == string(probes.Exit) {
			known = results
			x.Took, x.Error = max(0, time.Duration(e.DurationNs)), words.Clean(e.Error)
		} else {
			x.Began = e.Time
		}
		for _, value := range valuesOf(s.fieldsOf(c, side), e.Fields) {
			if text, same := known[value.Name]; value.Name != fieldSeen && !(same && text == value.Text) {
				x.Values = append(x.Values, value)
			}
		}
	}
	return out
}

// fieldSeen is the field of an event that says which end of a call was seen.
const fieldSeen = "seen"

// fieldsOf returns the catalogue's fields of one side of a call.
func (s *State) fieldsOf(c *history.Call, side string) []probes.Field {
	switch about := c.Step.About; {
	case about == nil:
		return nil
	case side == string(probes.Exit):
		return about.Results
	default:
		return about.Fields
	}
}

// texts returns values as they are shown, by name.
func texts(values map[string]any) map[string]string {
	out := map[string]string{}
	for _, v := range valuesOf(nil, values) {
		out[v.Name] = v.Text
	}
	return out
}

// missing names the values of a step that none of its probes reads. saw lists the probes that saw the call; nil
// stands for all that see the step.
func (s *State) missing(id history.StepID, v *view, saw []string) string {
	about := s.h.Step(id).About
	if about == nil {
		return ""
	}
	var readers []history.Reach
	var names []string
	for _, r := range v.s.h.EpochBefore(v.at).Reaches(id, v.at) {
		if name := r.Probe.GetName(); saw == nil || slices.Contains(saw, name) {
			readers, names = append(readers, r), append(names, words.Clean(name))
		}
	}
	if len(readers) == 0 {
		return ""
	}
	unread := append(s.unread(about.Fields, readers, words.Text("its arguments", "参数"), false),
		s.unread(about.Results, readers, words.Text("its results", "结果"), true)...)
	if len(unread) == 0 {
		return ""
	}
	and := s.lang.In(words.Text(", ", "、"))
	return s.lang.Inf(words.Text("%s; not by %s", "%s；%s 读不到"), strings.Join(unread, and), strings.Join(names, and))
}

// unread returns the names of the fields that no reader reads, or their common name if that is all of them.
func (s *State) unread(fields []probes.Field, readers []history.Reach, all probes.Text, results bool) (out []string) {
	for _, f := range fields {
		if !slices.ContainsFunc(readers, func(r history.Reach) bool {
			reads := r.Ability.GetArguments()
			if results {
				reads = r.Ability.GetResults()
			}
			return reads && !slices.Contains(r.Ability.GetMissing(), f.Name)
		}) {
			out = append(out, f.Name)
		}
	}
	if len(out) > 1 && len(out) == len(fields) {
		return []string{s.lang.In(all)}
	}
	return out
}
