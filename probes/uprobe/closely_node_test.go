//go:build node && linux

package uprobe

import "testing"

// TestLookClosely: in both forms of the program, calls of a step of a higher tier are seen while the probe looks closely, each time
// that it does, and cost nothing otherwise.
func TestLookClosely(t *testing.T) {
	path, err := buildToy()
	if err != nil {
		t.Fatal(err)
	}
	for name, forms := range map[string][]bool{"one link": nil, "one link a place": {false}} {
		t.Run(name, func(t *testing.T) {
			p, plan, table := planOf(t, openToy(t, path))
			r := runToy(t, path)
			probe, err := newProbe(p, plan, table, r.cmd.Process.Pid)
			if err != nil {
				t.Fatal(err)
			}
			probe.forms = forms
			if err := probe.Start(toyCatalogue(), r.seen); err != nil {
				t.Fatal(err)
			}
			defer func() {
				if err := probe.Stop(); err != nil {
					t.Error(err)
				}
			}()
			for i := range 3 {
				closely := i%2 == 1
				for range 2 { // the second time changes nothing
					if err := probe.LookClosely(t.Context(), closely); err != nil {
						t.Fatal(err)
					}
				}
				before := probe.Cost().Hits
				r.do("shapes")
				probe.ReadNow(t.Context())
				if hit := probe.Cost().Hits > before; hit != closely || (len(r.seen.lines) > 0) != closely {
					t.Errorf("round %d: the kernel is there: %v, and %d lines come", i, hit, len(r.seen.lines))
				}
				for range len(r.seen.lines) {
					switch got := <-r.seen.lines; got {
					case "enter toy.closer []", "exit toy.closer [false] <nil>", "exit toy.inside [false] <nil>", "enter toy.inside []", "enter toy.inside [] in toy.closer":
					default:
						t.Errorf("round %d: it sees %s", i, got)
					}
				}
			}
		})
	}
}
