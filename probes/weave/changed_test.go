package weave

import (
	"slices"
	"testing"

	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/memory"
)

// TestChanged: in v1.37 the second result of pleg.cache's function is no bool any more.
func TestChanged(t *testing.T) {
	all := func(c *probes.Catalogue) (out []*probes.Step) {
		for i := range c.Steps {
			out = append(out, &c.Steps[i])
		}
		return out
	}
	c := probes.MustLoad()
	var names []string
	for _, m := range changed(all(c.In("v1.37.1")), "v1.37.1") {
		names = append(names, m.Step+" "+m.Part)
	}
	if !slices.Contains(names, "pleg.cache result.updated") {
		t.Errorf("changed are %q", names)
	}
	if m := changed(all(c), probes.KubernetesVersion); len(m) > 0 {
		t.Errorf("in the catalogue's own version %+v are changed", m)
	}
	if m := changed(all(c), "v1.99.0"); len(m) > 0 {
		t.Errorf("of a version without a table it is known that %+v are changed", m)
	}
}

func TestDiffers(t *testing.T) {
	form := func(k memory.Kind) memory.Value { return memory.Value{Form: &memory.Form{Kind: k}} }
	none := func(r memory.Reason) memory.Value { return memory.Value{None: r} }
	for _, c := range []struct {
		own, other memory.Value
		want       bool
	}{
		{form(memory.Bool), form(memory.Bool), false},
		{form(memory.Bool), form(memory.String), true},
		{form(memory.Bool), none(memory.Text), true},
		{form(memory.Bool), none(memory.Missing), false},
		{none(memory.Calls), none(memory.Text), false},
		{none(memory.Calls), form(memory.Bool), false},
	} {
		if got := differs(c.own, c.other); got != c.want {
			t.Errorf("%+v and %+v differ: %v", c.own, c.other, got)
		}
	}
}
