package weave

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// heapLine matches what the compiler prints, with -m, of a thing that it puts on the heap.
var heapLine = regexp.MustCompile(`(?m)^(?:.*/)?(shapes\.go:\d+):\d+: (moved to heap: .*|.* escapes to heap)`)

// TestEscape: nothing in a woven function goes to the heap that did not before.
// That would cost memory even while the step is off.
func TestEscape(t *testing.T) {
	dir := toy(t)
	heap := func(build func(args ...string) (string, error)) map[string]int {
		out, err := build("build", "-gcflags=toy/shapes=-m", "-o", "toy", ".")
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		lines := map[string]int{}
		for _, m := range heapLine.FindAllStringSubmatch(out, -1) {
			lines[m[1]+": "+m[2]]++
		}
		if len(lines) == 0 {
			t.Fatalf("the compiler says nothing of the heap:\n%s", out)
		}
		return lines
	}
	plain := heap(func(args ...string) (string, error) { return runGo(t, dir, nil, args...) })
	woven := heap(func(args ...string) (string, error) { return goToy(t, dir, nil, args...) })
	for line, n := range woven {
		if n > plain[line] {
			t.Errorf("only woven: %s", line)
		}
	}
}

// TestOlderWeaver: a package that was woven for another way of calling the hook
// does not link with this hook.
func TestOlderWeaver(t *testing.T) {
	for name, links := range map[string]bool{"Register": false, "RegisterPackage": true} {
		dir := toy(t)
		for file, text := range map[string]string{
			"glue.s": "",
			"glue.go": `package shapes

import _ "unsafe"

//go:linkname podstepRegister ` + HookPackage + "." + name + `
func podstepRegister(record string)

func init() { podstepRegister("podstep:woven toy/shapes hash\n") }
`,
		} {
			if err := os.WriteFile(filepath.Join(dir, "shapes", file), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		out, err := runGo(t, dir, nil, "build", "-o", "toy", ".")
		if links != (err == nil) {
			t.Errorf("with hook.%s: %v\n%s", name, err, out)
		}
		if missing := HookPackage + "." + name + " not defined"; !links && !strings.Contains(out, missing) {
			t.Errorf("the linker does not say %q:\n%s", missing, out)
		}
	}
}

// TestCheckedPointers: woven code also runs with the race detector. Its builds check how the hook and its callers
// use unsafe pointers.
func TestCheckedPointers(t *testing.T) {
	out, err := goToy(t, toy(t), nil, "run", "-race", ".")
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	want, err := os.ReadFile("testdata/run.golden")
	if err != nil {
		t.Fatal(err)
	}
	// The allocations of the race detector do not count.
	if calls, _, _ := strings.Cut(string(want), "allocations when on:"); !strings.HasPrefix(out, calls) {
		t.Errorf("with the race detector the toy prints:\n%s", out)
	}
}
