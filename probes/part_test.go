package probes

import (
	"slices"
	"testing"
)

// TestWithout: what does not fit a kubelet is left out of its catalogue, and the steps keep their numbers.
func TestWithout(t *testing.T) {
	c := MustLoad()
	before := c.Step("rt.compute")
	part := PartResultPrefix + before.Results[0].Name
	out := c.Without(map[string][]string{"rt.compute": {part}, "image.pull": {PartEndBackOff, PartFunction}, "boot.klrun": {PartSyncNow}})
	after := out.Step("rt.compute")
	if len(after.Results) != len(before.Results)-1 || slices.ContainsFunc(after.Results, func(f Field) bool { return f.Name == before.Results[0].Name }) {
		t.Errorf("the results are %+v", after.Results)
	}
	if after.ID != before.ID || len(out.Steps) != len(c.Steps) || &out.Steps[after.ID] != after {
		t.Error("the steps do not have the numbers that they had")
	}
	if c.Step("image.pull").EndBackOff == "" || out.Step("image.pull").EndBackOff != "" {
		t.Error("image.pull has what ends a back-off after it was left out, or the catalogue was changed")
	}
	if c.Step("boot.klrun").SyncNow == "" || out.Step("boot.klrun").SyncNow != "" {
		t.Error("boot.klrun has what syncs a pod after it was left out, or the catalogue was changed")
	}
	if c.Without(nil) != c {
		t.Error("without nothing it is another catalogue")
	}
}

// TestChangeExpressions: each expression of each step is changed, and the catalogue is not.
func TestChangeExpressions(t *testing.T) {
	for _, s := range MustLoad().Steps {
		if s.Outside() {
			continue
		}
		n := 0
		changed := s.ChangeExpressions(func(part, expr string) string {
			n++
			if part == "" || expr == "" {
				t.Errorf("%s: part %q has expression %q", s.Name, part, expr)
			}
			return "changed"
		})
		want := len(s.Pod.Updates) + len(s.Fields) + len(s.Results)
		for _, expr := range []string{s.Pod.Expr, s.Quiet, s.EndBackOff, s.SyncNow} {
			if expr != "" {
				want++
			}
		}
		if n != want {
			t.Errorf("%s: %d expressions are changed, want %d", s.Name, n, want)
		}
		for _, f := range slices.Concat(changed.Fields, changed.Results) {
			if f.Expr != "changed" {
				t.Errorf("%s: %s stays %s", s.Name, f.Name, f.Expr)
			}
		}
	}
	for _, s := range MustLoad().Steps {
		if slices.ContainsFunc(s.Fields, func(f Field) bool { return f.Expr == "changed" }) {
			t.Fatalf("%s of the catalogue was changed", s.Name)
		}
	}
}

func TestNeedsPart(t *testing.T) {
	for part, want := range map[string]bool{
		PartFunction: true, PartPod: true, PartQuiet: false, PartEndBackOff: false, PartSyncNow: false, "field.pod": false, "result.pod": false,
	} {
		if NeedsPart(part) != want {
			t.Errorf("a step needs %s: %v", part, !want)
		}
	}
}
