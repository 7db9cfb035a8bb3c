package weave

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/hook"
)

// otherVersion is a version that is not the catalogue's.
const otherVersion = "v1.35.4"

// TestMisfitOfOtherVersion: an expression that does not compile in another version is left out, and the program says so. All
// else is woven.
func TestMisfitOfOtherVersion(t *testing.T) {
	dir := toy(t)
	for _, expr := range []string{"nosuchvariable", "nosuchvariable.of(1) + 2", `"a" + 1`} {
		out, err := goToy(t, dir, []string{"TOY_EXPR=" + expr, "TOY_VERSION=" + otherVersion}, "build", "-o", "toy", ".")
		if err != nil {
			t.Fatalf("%s: %v\n%s", expr, err, out)
		}
		packages, err := Report(filepath.Join(dir, "toy"))
		if err != nil || len(packages) != 1 {
			t.Fatalf("report %v, %v", packages, err)
		}
		p := packages[0]
		if len(p.Misfits) != 1 || p.Misfits[0].Step != "nothing" || p.Misfits[0].Part != "field.f" || p.Misfits[0].Why == "" {
			t.Errorf("%s: left out are %+v", expr, p.Misfits)
		}
		if p.Kubernetes != otherVersion || len(p.Steps) != len(toyCatalogue("").Steps) {
			t.Errorf("of version %q %d steps are woven", p.Kubernetes, len(p.Steps))
		}
	}
}

// TestErrorOfOtherVersion: an error in the package's own code is no misfit.
func TestErrorOfOtherVersion(t *testing.T) {
	dir := toy(t)
	if err := os.WriteFile(filepath.Join(dir, "shapes", "broken.go"), []byte("package shapes\n\nvar Broken = nosuchvariable\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	out, err := goToy(t, dir, []string{"TOY_VERSION=" + otherVersion}, "build", "-o", "toy", ".")
	if err == nil || !strings.Contains(out, "broken.go:3") {
		t.Errorf("the build ends with %v:\n%s", err, out)
	}
}

// TestFunctionMissing: in another version a step whose function is not there is left out.
func TestFunctionMissing(t *testing.T) {
	text := []byte("package p\n\nfunc There() {}\n")
	w, err := Package(Target{Path: "p", Hash: "hash", Version: otherVersion, Steps: []*probes.Step{
		{Name: "gone", Symbol: "p.Gone"}, {Name: "there", Symbol: "p.There", ID: 1},
		{Name: "literal", Symbol: "p.There", Closure: "f", ID: 2},
	}}, []File{{"p.go", text}})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, m := range w.Misfits {
		names = append(names, m.Step+" "+m.Part)
	}
	if want := []string{"gone function", "literal function"}; !slices.Equal(names, want) {
		t.Errorf("left out are %q, want %q", names, want)
	}
	if len(w.Lines) != 1 || !strings.Contains(string(w.Glue), "there=1:") || strings.Contains(string(w.Glue), "gone=") {
		t.Errorf("woven are %v:\n%s", w.Lines, w.Glue)
	}
}

// TestFitting: a step lacks the parts that do not fit, and is left out if it needs one of them.
func TestFitting(t *testing.T) {
	step := func(name string) *probes.Step {
		return &probes.Step{Name: name, Quiet: "q", Fields: []probes.Field{{Name: "a", Expr: "a"}, {Name: "b", Expr: "b"}}, EndBackOff: "e", SyncNow: "s"}
	}
	target := Target{
		Steps: []*probes.Step{step("whole"), step("lost"), step("part")},
		Misfits: []hook.Misfit{
			{Step: "lost", Part: probes.PartPod}, {Step: "part", Part: probes.PartQuiet}, {Step: "part", Part: "field.a"}, {Step: "part", Part: probes.PartEndBackOff},
		},
	}
	got := target.fitting()
	if len(got) != 2 || got[0].Name != "whole" || len(got[0].Fields) != 2 || got[0].EndBackOff == "" {
		t.Fatalf("fitting are %+v", got)
	}
	if s := got[1]; len(s.Fields) != 1 || s.Fields[0].Name != "b" || s.EndBackOff != "" || s.Quiet != "" || s.SyncNow != "s" {
		t.Errorf("a part is %+v", s)
	}
	if len(target.Steps[2].Fields) != 2 {
		t.Error("the catalogue's step was changed")
	}
}

// TestNamed: errors name the expressions by their numbers.
func TestNamed(t *testing.T) {
	steps, parts := numbered([]*probes.Step{{Name: "a", Pod: probes.PodSource{Expr: "pod"}, Quiet: "q", Results: []probes.Field{{Name: "r", Expr: "x"}}}})
	if len(parts) != 3 || !strings.Contains(steps[0].Pod.Expr, "*/pod/*") {
		t.Fatalf("numbered are %+v, %+v", steps[0], parts)
	}
	got := named(parts, []byte("/w/podstep-expression-1:1:1: undefined: x\npodstep-expression-1:1:4: again\npodstep-expression-9:1:1: nothing\n"+
		"own.go:3:1: other\n/w/podstep-expression-2:1: not a bool\n"))
	want := []hook.Misfit{{Step: "a", Part: "result.r", Why: "undefined: x"}, {Step: "a", Part: probes.PartQuiet, Why: "not a bool"}}
	if !slices.Equal(got, want) {
		t.Errorf("named are %+v, want %+v", got, want)
	}
}

// TestRecord: what a package's record says can be read from the bytes of a program.
func TestRecord(t *testing.T) {
	target := Target{Path: "p", Hash: "h", Version: otherVersion}
	step := &probes.Step{Name: "a", ID: 3}
	misfits := []hook.Misfit{{Step: "b", Part: "function", Why: "not  there\nat all"}}
	record := target.record([]*probes.Step{step}, map[*probes.Step]bool{step: true}, map[*probes.Step]string{step: "sum"}, misfits)
	p, err := hook.ParseRecord(firstRecord([]byte(record + "other text\n")))
	if err != nil || p.Kubernetes != otherVersion || p.Steps["a"] != (hook.Step{ID: 3, Fails: true, Sum: "sum"}) ||
		len(p.Misfits) != 1 || p.Misfits[0].Why != "not there at all" {
		t.Errorf("it is %+v, %v", p, err)
	}
}
