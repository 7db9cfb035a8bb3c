package probes

import (
	"slices"
	"strings"
)

// The parts of a step that may not fit a kubelet of another version than the catalogue's. A field and a result are named
// behind their prefix, such as field.pod.
const (
	PartFunction     = "function"
	PartPod          = "pod"
	PartQuiet        = "quiet"
	PartEndBackOff   = "endBackOff"
	PartSyncNow      = "syncNow"
	PartFieldPrefix  = "field."
	PartResultPrefix = "result."
)

// NeedsPart reports whether no step can do without the part. Without its pod a call would be in no story, or in another's.
func NeedsPart(part string) bool { return part == PartFunction || part == PartPod }

// withoutPart returns the step without a part that it does not need.
func (s Step) withoutPart(part string) Step {
	switch {
	case part == PartQuiet:
		s.Quiet = ""
	case part == PartEndBackOff:
		s.EndBackOff = ""
	case part == PartSyncNow:
		s.SyncNow = ""
	case strings.HasPrefix(part, PartFieldPrefix):
		s.Fields = withoutField(s.Fields, strings.TrimPrefix(part, PartFieldPrefix))
	case strings.HasPrefix(part, PartResultPrefix):
		s.Results = withoutField(s.Results, strings.TrimPrefix(part, PartResultPrefix))
	}
	return s
}

// WithoutParts returns the step without parts that it does not need.
func (s Step) WithoutParts(parts []string) Step {
	for _, part := range parts {
		s = s.withoutPart(part)
	}
	return s
}

func withoutField(of []Field, name string) []Field {
	return slices.DeleteFunc(slices.Clone(of), func(f Field) bool { return f.Name == name })
}

// Without returns the catalogue without parts that do not fit a kubelet, by the step's name. A step stays, even without a
// part that it needs: it keeps its number.
func (c *Catalogue) Without(parts map[string][]string) *Catalogue {
	if len(parts) == 0 {
		return c
	}
	out := c.clone()
	for i := range out.Steps {
		out.Steps[i] = out.Steps[i].WithoutParts(parts[out.Steps[i].Name])
	}
	return out
}

// ChangeExpressions returns a copy of the step in which each expression is what change makes of it.
func (s Step) ChangeExpressions(change func(part, expr string) string) Step {
	at := func(part string, expr *string) {
		if *expr != "" {
			*expr = change(part, *expr)
		}
	}
	s.Pod.Updates, s.Fields, s.Results = slices.Clone(s.Pod.Updates), slices.Clone(s.Fields), slices.Clone(s.Results)
	at(PartPod, &s.Pod.Expr)
	for i := range s.Pod.Updates {
		at(PartPod, &s.Pod.Updates[i].Expr)
	}
	for i := range s.Fields {
		at(PartFieldPrefix+s.Fields[i].Name, &s.Fields[i].Expr)
	}
	for i := range s.Results {
		at(PartResultPrefix+s.Results[i].Name, &s.Results[i].Expr)
	}
	at(PartQuiet, &s.Quiet)
	at(PartEndBackOff, &s.EndBackOff)
	at(PartSyncNow, &s.SyncNow)
	return s
}
