package past

import (
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/podstep/podstep/agent/agentpb"
)

// tables translate the numbers of one agent's steps, goroutines and probes to those of the recording. A nil table leaves
// them as they are.
type tables struct{ steps, goroutines, probes []uint32 }

// tableMaker makes the tables of several agents. Those of one version of podstep have the same numbers.
type tableMaker struct {
	steps      []*agentpb.Step
	goroutines []string
	probes     []*agentpb.Probe
}

// add returns the tables of an agent, and a copy of what it reports about itself, with the recording's numbers.
func (m *tableMaker) add(info *agentpb.InfoResponse) (t tables, out *agentpb.InfoResponse) {
	out = proto.Clone(info).(*agentpb.InfoResponse)
	if m.steps == nil {
		m.steps, m.goroutines, m.probes = slices.Clone(out.Steps), slices.Clone(out.Goroutines), slices.Clone(out.Probes)
		return t, out
	}
	for _, p := range out.Probes {
		t.probes = append(t.probes, number(&m.probes, p, func(k *agentpb.Probe) bool { return k.GetName() == p.GetName() }))
	}
	for _, s := range out.Steps {
		for _, a := range s.Abilities {
			a.Probe = translate(t.probes, a.Probe)
		}
		t.steps = append(t.steps, number(&m.steps, s, func(k *agentpb.Step) bool { return k.GetName() == s.GetName() }))
	}
	for _, g := range out.Goroutines {
		t.goroutines = append(t.goroutines, number(&m.goroutines, g, func(k string) bool { return k == g }))
	}
	out.Steps, out.Probes = placed(t.steps, out.Steps), placed(t.probes, out.Probes)
	for _, list := range []*[]uint32{&t.steps, &t.goroutines, &t.probes} {
		if isIdentity(*list) {
			*list = nil
		}
	}
	return t, out
}

// complete fills in what an agent does not have and another has.
func (m *tableMaker) complete(info *agentpb.InfoResponse) {
	info.Steps, info.Probes, info.Goroutines = filled(info.Steps, m.steps), filled(info.Probes, m.probes), m.goroutines
}

// number returns the place of a thing in a list, to which it is added if it is not there.
func number[T any](in *[]T, add T, is func(T) bool) uint32 {
	i := slices.IndexFunc(*in, is)
	if i < 0 {
		i = len(*in)
		*in = append(*in, add)
	}
	return uint32(i)
}

// placed returns things at their places. A place that none has is zero.
func placed[T any](places []uint32, things []T) (out []T) {
	for i, at := range places {
		for int(at) >= len(out) {
			var none T
			out = append(out, none)
		}
		out[at] = things[i]
	}
	return out
}

// filled returns things with those of another list in places that are empty.
func filled[T comparable](things, others []T) []T {
	var none T
	out := slices.Clone(others)
	for i, t := range things {
		if t != none {
			out[i] = t
		}
	}
	return out
}

func isIdentity(table []uint32) bool {
	for i, to := range table {
		if int(to) != i {
			return false
		}
	}
	return true
}

// translate returns the recording's number for an agent's. A number that no table has stays.
func translate(table []uint32, n uint32) uint32 {
	if int64(n) < int64(len(table)) {
		return table[n]
	}
	return n
}
