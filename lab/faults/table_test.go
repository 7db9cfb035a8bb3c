package faults

import (
	"slices"
	"testing"
)

func runtimeOp(method string) Call { return Call{Side: CRI, Method: method} }

func TestStrike(t *testing.T) {
	for _, c := range []struct {
		name   string
		rule   *Rule
		broken []bool // the first, second and third call of StartContainer
	}{
		{"no rule", nil, []bool{false, false, false}},
		{"the first", &Rule{Call: runtimeOp("StartContainer"), From: 1}, []bool{true, false, false}},
		{"the second", &Rule{Call: runtimeOp("StartContainer"), From: 2}, []bool{false, true, false}},
		{"from the second", &Rule{Call: runtimeOp("StartContainer"), From: 2, Always: true}, []bool{false, true, true}},
		{"another call", &Rule{Call: runtimeOp("StopContainer"), From: 1, Always: true}, []bool{false, false, false}},
		{"another object", &Rule{Call: Call{CRI, "StartContainer", "app"}, From: 1}, []bool{false, false, false}},
	} {
		table := NewTable()
		table.Watch("a", c.rule)
		table.Watch("b", nil)
		var broken []bool
		n := 0
		for i := range 3 {
			rule, _ := table.strike("a", runtimeOp("StartContainer"))
			if broken = append(broken, rule != nil); rule != nil {
				n++
			}
			if other, _ := table.strike("b", runtimeOp("StartContainer")); other != nil {
				t.Errorf("%s: the %d. call about another pod is broken", c.name, i+1)
			}
		}
		if !slices.Equal(broken, c.broken) {
			t.Errorf("%s: %v, not %v", c.name, broken, c.broken)
		}
		if got, first := table.Broken("a"); got != n || first.IsZero() != (n == 0) {
			t.Errorf("%s: %d calls are counted as broken since %v, not %d", c.name, got, first, n)
		}
		if seen := table.Seen("a"); len(seen) != 3 || seen[2] != (Op{runtimeOp("StartContainer"), 3}) {
			t.Errorf("%s: seen is %v", c.name, seen)
		}
	}
}

// TestForget: what hangs for a pod goes on when the pod is forgotten, and its ids are not known any more.
func TestForget(t *testing.T) {
	table := NewTable()
	table.Watch("a", &Rule{Call: runtimeOp("StartContainer"), From: 1, Action: Hang})
	table.Learn("a", "uid")
	_, lifted := table.strike("a", runtimeOp("StartContainer"))
	select {
	case <-lifted:
		t.Fatal("the rule is lifted before its time")
	default:
	}
	table.Forget("a")
	<-lifted
	if got := table.whose("uid"); got != (about{}) {
		t.Errorf("the uid still belongs to %v", got)
	}
	if rule, _ := table.strike("a", runtimeOp("StartContainer")); rule != nil || table.Seen("a") != nil {
		t.Error("the pod is still watched")
	}
}

// TestSeenIsBounded: a pod that is looked at for ever does not fill the memory.
func TestSeenIsBounded(t *testing.T) {
	table := NewTable()
	table.Watch("a", nil)
	for range 2 * maxSeen {
		table.strike("a", runtimeOp("ContainerStatus"))
	}
	if n := len(table.Seen("a")); n != maxSeen {
		t.Errorf("%d calls are kept, not %d", n, maxSeen)
	}
}

func TestActionsFit(t *testing.T) {
	for _, side := range []Side{CRI, API, Plugin} {
		for _, a := range Actions(side) {
			if a != Wrong && !Fits(Call{Side: side, Method: "x"}, a) {
				t.Errorf("%s does not fit %s", a, side)
			}
		}
	}
	if Fits(runtimeOp("StartContainer"), Wrong) || !Fits(runtimeOp("ContainerStatus"), Wrong) {
		t.Error("an answer without content cannot be wrong, and a status can")
	}
}
