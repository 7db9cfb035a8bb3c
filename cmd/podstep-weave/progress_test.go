package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestMain lets the test program stand in for podstep-weave as -toolexec.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "toolexec" {
		main()
	}
	os.Exit(m.Run())
}

func TestLine(t *testing.T) {
	p := newProgress()
	if p.begun() {
		t.Error("it has begun before any tool was called")
	}
	want := func(elapsed time.Duration, want string) {
		t.Helper()
		if got := p.line(elapsed); got != want {
			t.Errorf("the line is %q, want %q", got, want)
		}
	}
	p.add(entry{compiling, "a"})
	if !p.begun() {
		t.Error("it has not begun")
	}
	want(0, "0 packages compiled, 0s so far")
	p.add(entry{compiled, "a"})
	want(2*time.Second, "1 package compiled, 2s so far")

	// a was in the cache when the plan was made.
	p.plan = &plan{compile: map[string]int64{"b": 100, "c": 700, "x/prog": 100}, link: map[string]int64{"x/prog": 100}}
	want(3*time.Second, "1 of 4 packages compiled, 3s so far")
	p.add(entry{compiling, "b"})
	want(4*time.Second, "1 of 4 packages compiled, 4s so far")
	p.add(entry{compiled, "b"})
	want(20*time.Second, "2 of 4 packages compiled, 20s so far, about 3m0s to go")
	p.add(entry{compiled, "c"})
	p.add(entry{compiling, "b"}) // again, for a test of its package
	want(80*time.Second, "3 of 4 packages compiled, 1m20s so far, about 20s to go")
	p.add(entry{compiling, "x/prog"})
	p.add(entry{linking, "x/other"})
	want(81*time.Second, "3 of 4 packages compiled, 1m21s so far, about 20s to go")
	p.add(entry{linked, "x/other"})
	p.add(entry{compiled, "x/prog"})
	p.add(entry{linking, "x/prog"})
	want(90*time.Second, "linking prog, 1m30s so far, about 10s to go")
	p.add(entry{linked, "x/prog"})
	want(100*time.Second, "4 of 4 packages compiled, 1m40s so far")
	if got, want := p.summary(100*time.Second), "4 packages compiled, 2 programs linked, in 1m40s"; got != want {
		t.Errorf("the summary is %q, want %q", got, want)
	}
}

func TestReadPlan(t *testing.T) {
	const list = `
{"ImportPath": "unsafe", "Name": "unsafe", "Stale": true}
{"ImportPath": "cached", "Name": "cached"}
{"ImportPath": "lib", "Name": "lib", "Stale": true}
{"ImportPath": "x/prog", "Name": "main", "Stale": true}
{"ImportPath": "x/built", "Name": "main"}`
	p, err := readPlan(strings.NewReader(list), func(goPackage) int64 { return 1_000_000 })
	if err != nil {
		t.Fatal(err)
	}
	if len(p.compile) != 2 || p.compile["lib"] != 1_000_000+perPackage || p.compile["x/prog"] == 0 {
		t.Errorf("it compiles %v", p.compile)
	}
	all := 4.0 * (1_000_000 + perPackage)
	if want := int64(linkShare * all); len(p.link) != 1 || p.link["x/prog"] != want {
		t.Errorf("it links %v, want x/prog with %d", p.link, want)
	}
	if _, err := readPlan(strings.NewReader(`{"ImportPath": `), sourceBytes); err == nil {
		t.Error("half a list is a plan")
	}
}

func TestWithoutOutput(t *testing.T) {
	args := []string{"-toolexec=x toolexec", "-o", "bin/", "-ldflags", "-s -w", "-o=bin", "--o", "y", "-debug-trace=f", "./cmd/a", "-other"}
	want := []string{"-toolexec=x toolexec", "-ldflags", "-s -w", "./cmd/a", "-other"}
	if got := withoutOutput(args); !slices.Equal(got, want) {
		t.Errorf("it is %q, want %q", got, want)
	}
}

// TestToolLog: a line is read once all of it is there.
func TestToolLog(t *testing.T) {
	var text bytes.Buffer
	log := toolLog{from: &text}
	for _, c := range []struct {
		written string
		want    []entry
	}{
		{"", nil},
		{"compiling a/b\ncompi", []entry{{compiling, "a/b"}}},
		{"led a/b", nil},
		{"\nlinking p [p.test]\n", []entry{{compiled, "a/b"}, {linking, "p [p.test]"}}},
	} {
		text.WriteString(c.written)
		got, err := log.read()
		if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("after %q it reads %v, %v, want %v", c.written, got, err, c.want)
		}
	}
}

func TestDisplay(t *testing.T) {
	for _, c := range []struct {
		name  string
		width int
		want  string
	}{
		{"file", 0, "first line\nlast\ngo: downloading\ngo: half, rest\nlast\nend\n"},
		{"terminal", 40, "\rfirst line\rlast      \r    \rgo: downloading\ngo: half, rest\n\rlast\r    \rend\n"},
		{"narrow terminal", 6, "\rfirst\rlast \r    \rgo: downloading\ngo: half, rest\n\rlast\r    \rend\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var out strings.Builder
			d := &display{to: &out, width: func() int { return c.width }}
			write := func(text string) {
				if n, err := d.Write([]byte(text)); n != len(text) || err != nil {
					t.Errorf("Write(%q) = %d, %v", text, n, err)
				}
			}
			d.show("first line")
			d.show("last")
			write("go: downloading\ngo: half")
			d.show("not between the halves")
			write(", rest\n")
			d.show("last")
			d.end("end")
			if out.String() != c.want {
				t.Errorf("it wrote %q, want %q", out.String(), c.want)
			}
		})
	}
}

// TestBuild: a build by the real go command logs what it compiles and links. The plan that was
// made before names exactly that. When all is in the cache, nothing is logged and shown.
func TestBuild(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod": "module toy\ngo 1.26\n",
		// The time makes a package that no cache has.
		"lib/lib.go": "package lib\n\nconst Made = `" + time.Now().String() + "`\n",
		"main.go":    "package main\n\nimport \"toy/lib\"\n\nfunc main() { println(lib.Made) }\n",
	} {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
	t.Setenv("GOFLAGS", "-mod=mod")
	t.Setenv("GOWORK", "off")
	args := []string{"build", "-toolexec=" + self + " toolexec --marked", "-o", "toy", "."}
	p, err := askPlan(t.Context(), args)
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"toy", "toy/lib"} {
		if p.compile[path] <= perPackage {
			t.Errorf("the plan lacks %s: %v", path, p.compile)
		}
	}
	if len(p.link) != 1 {
		t.Errorf("the plan links %v", p.link)
	}

	made := built(t, args)
	for path := range p.compile {
		if !made.compiled[path] {
			t.Errorf("%s was planned and not compiled", path)
		}
	}
	if len(made.compiled) != len(p.compile) || !made.linked["toy"] || len(made.linking) > 0 {
		t.Errorf("compiled %v, linked %v, linking %v; planned %v", made.compiled, made.linked, made.linking, p.compile)
	}
	if again := built(t, args); again.begun() {
		t.Errorf("with all in the cache it compiled %v, linked %v", again.compiled, again.linked)
	}
}

// built runs the go command and returns what its tools logged.
func built(t *testing.T, args []string) *progress {
	t.Helper()
	file := filepath.Join(t.TempDir(), "tools")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("go", args...)
	cmd.Env = append(os.Environ(), toolLogVariable+"="+file)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	entries, err := (&toolLog{from: f}).read()
	if err != nil {
		t.Fatal(err)
	}
	p := newProgress()
	for _, e := range entries {
		p.add(e)
	}
	return p
}
