package labtest

import "github.com/podstep/podstep/probes"

// Parents maps each call to the call in which it happened.
type Parents map[uint64]uint64

// ParentsIn returns the calls of a story.
func ParentsIn(story []probes.Event) Parents {
	out := Parents{}
	for _, e := range story {
		if e.Kind == probes.Enter {
			out[e.Span] = e.Parent
		}
	}
	return out
}

func (p Parents) within(call, outer uint64) bool {
	for up := p[call]; up != 0; up = p[up] {
		if up == outer {
			return true
		}
	}
	return false
}

// Inside reports whether a pod that was held in one call is held in a call inside it now.
func Inside(from, to probes.Event, p Parents) bool { return p.within(to.Span, from.Span) }

// Disjoint reports whether a pod that was held in one call is held in another one now that is not inside it.
func Disjoint(from, to probes.Event, p Parents) bool {
	return from.Span != to.Span && !p.within(to.Span, from.Span)
}

// Around reports whether a pod that was held in one call is held in a call around it now.
func Around(from, to probes.Event, p Parents) bool { return p.within(from.Span, to.Span) }
