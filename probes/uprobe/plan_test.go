//go:build linux

package uprobe

import (
	"slices"
	"strings"
	"testing"

	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/inside/reading"
	"github.com/podstep/podstep/probes/memory"
	"github.com/podstep/podstep/probes/reasons"
)

// TestPlan: the steps that can be seen in a program are planned, and the others have a reason.
func TestPlan(t *testing.T) {
	p, plan, _ := toyPlan(t)
	var seen []string
	for _, s := range plan.steps {
		seen = append(seen, s.Name)
	}
	if got, want := strings.Join(seen, " "), "toy.add toy.loop toy.begin toy.complete toy.sync toy.mount toy.panics toy.grows toy.closer toy.inside"; got != want {
		t.Errorf("seen are %s, want %s", got, want)
	}
	for name, want := range map[string]string{
		"toy.turn":    "the compiler inlined the function literal",
		"toy.never":   "its code cannot be read: it does not return",
		"toy.nothing": "its code cannot be read: it does nothing",
		"toy.missing": "no such function in this kubelet",
		"toy.idle":    "shown only with what happens in it, which is looked at on request: podstep attach --tier 2",
	} {
		if got := plan.unseen[name].Text().En; got != want {
			t.Errorf("%s is not seen because %q, want %q", name, got, want)
		}
	}
	if _, is := plan.unseen["toy.reported"]; is || len(plan.unseen) != 5 {
		t.Errorf("not seen are %v", plan.unseen)
	}
	for i, at := range plan.places {
		if f, _ := p.functions.Find(at.at); f.Name != at.step.Symbol {
			t.Errorf("place %d of %s is in %s", i, at.step.Symbol, f.Name)
		}
	}
	if len(plan.starts) == 0 {
		t.Error("no place is known at which goroutines begin")
	}
}

// TestAbilities: fields that cannot be read are missing, and a turn is made from other calls.
func TestAbilities(t *testing.T) {
	_, plan, _ := toyPlan(t)
	can := (&Probe{plan: plan, table: &memory.Table{}}).Abilities(toyCatalogue(), Holds{})
	mount, turn, reported := can.At("toy.mount"), can.At("toy.turn"), can.At("toy.reported")
	if !mount.Entry || !mount.Exit || !slices.Equal(mount.Missing, []string{"secret"}) {
		t.Errorf("of toy.mount it sees %+v", mount)
	}
	if !turn.Entry || !turn.Exit || !slices.Equal(turn.Missing, []string{"terminal"}) {
		t.Errorf("of toy.turn it sees %+v", turn)
	}
	if reported.Sees() || reported.Unseen.Text().En != "it is not a function of the kubelet" {
		t.Errorf("of toy.reported it sees %+v", reported)
	}
	if mount.HoldEnter || mount.NoHold.Code != reasons.NotAllowed.Reason().Code {
		t.Errorf("holds at toy.mount are %+v", mount)
	}
}

// TestBeginsElsewhere: if the function with which a worker begins is not seen, because it has other arguments than in the table, its
// goroutine is known by it all the same, and pods can be held. In a kubelet without that function they cannot.
func TestBeginsElsewhere(t *testing.T) {
	p, _, _ := toyPlan(t)
	for name, x := range map[string]struct {
		symbol string
		want   bool
	}{"other arguments": {"(*podWorkers).podWorkerLoop", true}, "gone": {"(*podWorkers).gone", false}} {
		c := toyCatalogue()
		c.Steps[indexOf(c, "toy.mount")].Hold.Enter = probes.HoldYes
		loop := &c.Steps[indexOf(c, "toy.loop")]
		loop.Symbol = toyPackage + x.symbol
		f, _ := p.Code(toyPackage + "(*podWorkers).podWorkerLoop")
		_, plan, table := planIn(t, p, c, toyTable+shapeLine(loop.Name, shapeOf(f.Line, 8)))
		if _, unseen := plan.unseen[loop.Name]; !unseen {
			t.Fatalf("%s: it is seen", name)
		}
		all := (&Probe{plan: plan, table: table}).Abilities(c, Holds{Allowed: true})
		can := all.At("toy.mount")
		if can.HoldEnter != x.want || x.want != can.NoHold.IsZero() {
			t.Errorf("%s: of toy.mount it can %+v", name, can)
		}
	}
}

// TestNearHoldsNothing: with the table of another minor version nobody is held, whoever allows it.
func TestNearHoldsNothing(t *testing.T) {
	_, plan, _ := toyPlan(t)
	for near, want := range map[bool]bool{false: true, true: false} {
		p := &Probe{plan: plan, table: &memory.Table{Version: "v1.37.1", Near: near}}
		all := p.Abilities(toyCatalogue(), Holds{Allowed: true})
		can := all.At("toy.mount")
		if can.NoHold.IsZero() != want || p.NoHold().IsZero() != want || !can.Entry {
			t.Errorf("near: %v: of toy.mount it can %+v", near, can)
		}
	}
}

// TestSpecs: a form becomes the readSpec by which the program in the kernel reads it.
func TestSpecs(t *testing.T) {
	for _, x := range []struct {
		name, arch string
		form       *memory.Form
		exit       bool
		want       reading.Read
		ok         bool
	}{
		{"none", "amd64", nil, false, reading.Read{}, false},
		{"argument", "amd64", &memory.Form{Kind: memory.Bool, AMD64: memory.Place{In: memory.Register, At: 3}}, false, reading.Read{In: reading.InRegister, At: 3}, true},
		{"argument at the exit", "amd64", &memory.Form{Kind: memory.Int64, AMD64: memory.Place{In: memory.Register, At: 3}}, true, reading.Read{In: reading.InEntry, At: 3}, true},
		{"result", "amd64", &memory.Form{Kind: memory.Interface, AMD64: memory.Place{In: memory.Result, At: 1}}, true, reading.Read{In: reading.InRegister, At: 1, Kind: reading.KindError}, true},
		{"stack", "amd64", &memory.Form{Kind: memory.Time, AMD64: memory.Place{In: memory.Stack, At: 24}}, false, reading.Read{In: reading.InStack, At: 24, Kind: reading.KindTime}, true},
		{
			"in a register on arm64 alone", "arm64", &memory.Form{Kind: memory.Bool, AMD64: memory.Place{In: memory.Stack, At: 24}, ARM64: memory.Place{In: memory.Register, At: 12}}, false,
			reading.Read{In: reading.InRegister, At: 12}, true,
		},
		{
			"member", "amd64", &memory.Form{Kind: memory.String, Zero: true, AMD64: memory.Place{In: memory.Element}, Hops: []memory.Hop{{Offset: 96}, {Offset: -8}}}, false,
			reading.Read{In: reading.InElement, Kind: reading.KindText, Hops: 2, Zero: 1, Hop: [reading.MaxHops]int32{96, -8}}, true,
		},
		{"far", "amd64", &memory.Form{Kind: memory.String, Hops: make([]memory.Hop, reading.MaxHops+1)}, false, reading.Read{}, false},
	} {
		t.Run(x.name, func(t *testing.T) {
			got, ok := specOf(x.form, x.arch, x.exit)
			if ok != x.ok || ok && got != x.want {
				t.Errorf("it is read by %+v (%v), want %+v (%v)", got, ok, x.want, x.ok)
			}
		})
	}
}

// TestGoroutineLayout: an unknown version of Go is refused.
func TestGoroutineLayout(t *testing.T) {
	for _, known := range []string{"go1.22.12", "go1.26.8", "go1.27rc1"} {
		if _, err := goroutineLayout(known); err != nil {
			t.Error(err)
		}
	}
	for _, not := range []string{"", "go1.2", "go1.99.1", "devel"} {
		if _, err := goroutineLayout(not); err == nil {
			t.Errorf("how %q keeps goroutines is known", not)
		}
	}
}

// TestTables: the program in the kernel can read all values of the catalogue's tables.
func TestTables(t *testing.T) {
	for _, version := range memory.Minors() {
		table, err := memory.For(version + ".0")
		if err != nil {
			t.Fatal(err)
		}
		table.All(func(step string, side memory.Side, name string, v memory.Value) {
			if v.Form == nil {
				return
			}
			for arch := range memory.Registers {
				if _, ok := specOf(v.Form, arch, side == memory.Exit || side == memory.Error); !ok {
					t.Errorf("%s: %s %s %s takes more than %d hops", version, step, side, name, reading.MaxHops)
				}
			}
		})
	}
	c := probes.MustLoad()
	for _, s := range c.Steps {
		r := reader{table: mustTable(t), step: &step{Step: &s}}
		if n := max(len(r.enter().reads), len(r.exit().reads)); n > reading.MaxValues {
			t.Errorf("%s has %d values, more than %d", s.Name, n, reading.MaxValues)
		}
	}
}

func mustTable(t *testing.T) *memory.Table {
	t.Helper()
	table, err := memory.For(probes.KubernetesVersion)
	if err != nil {
		t.Fatal(err)
	}
	return table
}
