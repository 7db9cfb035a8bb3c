package weave

import (
	"bytes"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/podstep/podstep/probes"
)

var update = flag.Bool("update", false, "write golden files anew")

// TestMain lets the test program stand in for podstep-weave as -toolexec.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "toolexec" {
		args := os.Args[2:]
		marked := args[0] == "--marked"
		if marked {
			args = args[1:]
		}
		load := func() *probes.Catalogue { return toyCatalogue(os.Getenv("TOY_EXPR")) }
		os.Exit(Toolexec(load, marked, args[0], args[1:]))
	}
	os.Exit(m.Run())
}

// toyCatalogue has a step for each shape. expr, if given, is a field of one of them.
func toyCatalogue(expr string) *probes.Catalogue {
	c := &probes.Catalogue{}
	add := func(name, symbol, closure string, in, out []string, quiet string) {
		s := probes.Step{ID: len(c.Steps), Name: name, Symbol: "toy/shapes." + symbol, Closure: closure, Quiet: quiet}
		s.Pod.Kind = probes.PodNone
		for _, e := range in {
			s.Fields = append(s.Fields, probes.Field{Name: "f", Expr: e})
		}
		for _, e := range out {
			s.Results = append(s.Results, probes.Field{Name: "r", Expr: e})
		}
		c.Steps = append(c.Steps, s)
	}
	none := []string(nil)
	add("nothing", "Nothing", "", none, none, "")
	add("noResultNames", "NoResultNames", "", []string{"a", "b"}, []string{"podstepR0"}, "podstepR0 == 0")
	add("oneBareResult", "OneBareResult", "", []string{"a"}, none, "")
	add("namedResults", "NamedResults", "", []string{"a"}, []string{"sum"}, "")
	add("blankResults", "BlankResults", "", []string{"a"}, []string{"podstepR0", "podstepR1", "ok"}, "")
	add("sharedNames", "SharedNames", "", none, []string{"a", "b"}, "")
	add("oneLine", "OneLine", "", []string{"a"}, []string{"podstepR0"}, "")
	add("variadic", "Variadic", "", []string{"format", "len(args)"}, []string{"podstepR0"}, "")
	add("pointer", "(*T).Pointer", "", []string{"t.name", "suffix"}, []string{"podstepR0"}, "")
	add("value", "T.Value", "", none, []string{"podstepR0"}, "")
	add("generic", "(*G).Generic", "", []string{"p"}, []string{"old"}, "")
	add("genericFunc", "GenericFunc", "", []string{"a"}, []string{"podstepR0"}, "")
	add("oddLayout", "OddLayout", "", []string{"a", "b"}, []string{"podstepR0"}, "")
	add("assigned", "Assigned", "send", []string{"n"}, []string{"podstepR0"}, "")
	add("called", "Called", "err", none, none, "")
	add("declared", "Declared", "work", none, []string{"podstepR0"}, "")
	add("returned", "Returned", "return", []string{"n"}, []string{"podstepR0"}, "")
	add("panics", "Panics", "", []string{"why"}, []string{"n"}, "")
	add("recovers", "Recovers", "", none, []string{"n"}, "")
	add("inLoop", "InLoop", "", []string{"n"}, []string{"sum"}, "")
	add("nilField", "NilField", "", []string{"t.name"}, []string{"podstepR0"}, "")
	add("spins", "Spins", "", []string{"n"}, none, "")
	add("line", "Line", "", none, none, "")
	add("skipped", "Skipped", "", []string{"a"}, []string{"podstepR0"}, "")
	c.Steps[len(c.Steps)-1].Skip = true
	add("backsOff", "BacksOff", "", []string{"key"}, []string{"waits"}, "")
	c.Steps[len(c.Steps)-1].EndBackOff = "func() (bool, int64) { return *left > 0, *left }"
	if expr != "" {
		c.Steps[0].Fields = []probes.Field{{Name: "f", Expr: expr}}
	}
	return c
}

func steps(c *probes.Catalogue) (out []*probes.Step) {
	for i := range c.Steps {
		out = append(out, &c.Steps[i])
	}
	return out
}

// TestGolden shows the source that weaving gives, shape by shape.
func TestGolden(t *testing.T) {
	text, err := os.ReadFile("testdata/toy/shapes/shapes.go")
	if err != nil {
		t.Fatal(err)
	}
	w, err := Package(Target{Path: "toy/shapes", Hash: "hash", Steps: steps(toyCatalogue(""))}, []File{{"/src/shapes.go", text}})
	if err != nil {
		t.Fatal(err)
	}
	woven := w.Files["/src/shapes.go"]
	golden(t, "testdata/shapes.golden", append(append(woven, "\n// ---- glue ----\n"...), w.Glue...))
	if got, want := bytes.Count(woven, []byte("\n")), bytes.Count(text, []byte("\n"))+1; got != want {
		t.Errorf("woven text has %d lines, want %d: a line directive and nothing else", got, want)
	}
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(name, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs; go test -update writes it anew. Got:\n%s", name, got)
	}
}

func TestMissing(t *testing.T) {
	text := []byte("package p\n\nfunc F() { f := func() {}; g := func() {}; g = func() {}; f(); g() }\n")
	for _, c := range []struct{ symbol, closure, want string }{
		{"p.Gone", "", "no function p.Gone"},
		{"p.(*T).F", "", "no function p.(*T).F"},
		{"p.F", "gone", "0 function literals are assigned to gone, want 1"},
		{"p.F", "g", "2 function literals are assigned to g, want 1"},
		{"p.F", "return", "0 function literals are returned, want 1"},
	} {
		s := &probes.Step{Name: "the.step", Symbol: c.symbol, Closure: c.closure}
		_, err := Package(Target{Path: "p", Hash: "hash", Steps: []*probes.Step{s}}, []File{{"p.go", text}})
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "the.step") {
			t.Errorf("%s %s: %v, want the step's name and %q", c.symbol, c.closure, err, c.want)
		}
	}
}

// toy makes the toy module in a folder of its own.
func toy(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	for from, to := range map[string]string{
		"testdata/toy/go.mod.txt": "go.mod", "testdata/toy/main.go.txt": "main.go", "testdata/toy/shapes/shapes.go": "shapes/shapes.go",
	} {
		b, err := os.ReadFile(from)
		if err != nil {
			t.Fatal(err)
		}
		if to == "go.mod" {
			b = append(b, "\nreplace github.com/podstep/podstep => "+root+"\n"...)
		}
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, to)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, to), b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// goToy runs the go command in the toy's folder, weaving.
func goToy(t *testing.T, dir string, env []string, args ...string) (string, error) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c, version := toyCatalogue(""), ""
	for _, e := range env {
		if v, ok := strings.CutPrefix(e, "TOY_EXPR="); ok {
			c = toyCatalogue(v)
		}
		if v, ok := strings.CutPrefix(e, "TOY_VERSION="); ok {
			version = v
		}
	}
	goArgs, err := Command(c, version, self, args)
	if err != nil {
		t.Fatal(err)
	}
	return runGo(t, dir, env, goArgs...)
}

func runGo(t *testing.T, dir string, env []string, args ...string) (string, error) {
	t.Helper()
	cmd := exec.Command("go", args...)
	cmd.Dir = dir
	cmd.Env = append(append(os.Environ(), "GOFLAGS=-mod=mod", "GOWORK=off"), env...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// TestRun weaves the toy with the real go command and runs it: the results are
// those of the unwoven program, and the hook gets each call.
func TestRun(t *testing.T) {
	dir := toy(t)
	out, err := goToy(t, dir, nil, "run", ".")
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	golden(t, "testdata/run.golden", []byte(out))
	_, rest, _ := strings.Cut(out, "# off\n")
	off, on, _ := strings.Cut(rest, "# on\n")
	var results []string
	for _, line := range strings.Split(on, "\n") {
		if !strings.HasPrefix(line, "enter ") && !strings.HasPrefix(line, "leave ") {
			results = append(results, line)
		}
	}
	// The last call but one is made to fail when the hook is on.
	want := strings.Split(strings.Replace(off, "shadowed", "injected", 1), "\n")
	for i, line := range want[:len(want)-1] {
		if results[i] != line {
			t.Errorf("with the hook on line %d is %q, off it is %q", i, results[i], line)
		}
	}
}

// TestFlags: any flag of the compiler passes through, and the caller's
// -gcflags hold for woven packages too.
func TestFlags(t *testing.T) {
	dir := toy(t)
	for _, args := range [][]string{
		{"build", "-gcflags=all=-N -l", "-o", "toy1"},
		{"build", "-trimpath", "-ldflags=-s -w", "-o", "toy2"},
		{"build", "-gcflags", "toy/shapes=-m", "-o", "toy3"},
		{"vet", "./..."},
	} {
		out, err := goToy(t, dir, nil, args...)
		if err != nil {
			t.Errorf("go %v: %v\n%s", args, err, out)
		}
		if args[1] == "-gcflags" && !strings.Contains(out, "can inline") {
			t.Errorf("the caller's -gcflags did not reach the woven package:\n%s", out)
		}
		if args[0] != "build" {
			continue
		}
		packages, err := Report(filepath.Join(dir, args[len(args)-1]))
		if err != nil || len(packages) != 1 || len(packages[0].Steps) != len(toyCatalogue("").Steps) {
			t.Errorf("go %v: report %v, %v", args, packages, err)
		}
	}
	if _, err := Command(toyCatalogue(""), "", "self", []string{"build", "-toolexec=x"}); err == nil {
		t.Error("a second -toolexec was taken")
	}
}

// TestToolexecAlone: `go build -toolexec` without our flags weaves too.
func TestToolexecAlone(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := toy(t)
	if out, err := runGo(t, dir, nil, "build", "-toolexec="+self+" toolexec", "-o", "toy", "."); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if packages, err := Report(filepath.Join(dir, "toy")); err != nil || len(packages) != 1 {
		t.Errorf("report %v, %v", packages, err)
	}
}

// TestMisfit: an expression that does not fit the function fails the build
// with the name of the step.
func TestMisfit(t *testing.T) {
	out, err := goToy(t, toy(t), []string{"TOY_EXPR=nosuchvariable"}, "build", "-o", "toy", ".")
	if err == nil {
		t.Fatal("the build passed")
	}
	for _, want := range []string{`step "nothing" does not fit`, "toy/shapes.Nothing", "undefined: nosuchvariable"} {
		if !strings.Contains(out, want) {
			t.Errorf("output lacks %q:\n%s", want, out)
		}
	}
}

// TestCache: the build cache keeps woven packages, they are made anew when the catalogue changes, and the cache of
// other builds is left alone.
func TestCache(t *testing.T) {
	dir := toy(t)
	compiled := func(expr string, weave bool) string {
		var out string
		var err error
		if weave {
			out, err = goToy(t, dir, []string{"TOY_EXPR=" + expr}, "build", "-v", "-o", "toy", ".")
		} else {
			out, err = runGo(t, dir, nil, "build", "-v", "-o", "plain", ".")
		}
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return strings.Join(strings.Fields(out), " ")
	}
	compiled("", false)
	compiled("", true)
	if again := compiled("", true); again != "" {
		t.Errorf("the same again compiled %q", again)
	}
	if plain := compiled("", false); plain != "" {
		t.Errorf("a plain build after a woven one compiled %q", plain)
	}
	if changed := compiled("1", true); changed != "toy/shapes toy" {
		t.Errorf("with another catalogue it compiled %q, want what is woven and what depends on it", changed)
	}
}
