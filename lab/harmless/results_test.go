//go:build harmless

package harmless

import (
	"encoding/json"
	"fmt"
	"sort"
	"strings"
)

// key is a test. Without a name it is the package's test program as a whole.
type key struct{ pkg, test string }

func (k key) String() string {
	if k.test == "" {
		return k.pkg + " (the program)"
	}
	return k.pkg + " " + k.test
}

// result is how a test ended, and what it printed unless it passed.
type result struct {
	action  string
	elapsed float64
	output  strings.Builder
}

type results map[key]*result

// event is a line of `go test -json`.
type event struct {
	Action     string
	Package    string
	Test       string
	Elapsed    float64
	Output     string
	ImportPath string // of the compiler's output
}

// done reports whether the event is the result of a package.
func (e event) done() bool {
	return e.Test == "" && (e.Action == "pass" || e.Action == "fail" || e.Action == "skip")
}

// addLine adds a line of output to the results. ok is false if it is none.
func (res results) addLine(line []byte) (e event, ok bool) {
	if json.Unmarshal(line, &e) != nil {
		return e, false
	}
	if e.Action == "build-output" {
		// It has the form "path [path.test]" for a package that is built for the tests of that path.
		e.Package, _, _ = strings.Cut(strings.TrimSuffix(e.ImportPath, ".test"), " ")
	}
	r := res.at(key{e.Package, e.Test})
	switch e.Action {
	case "run":
		// If no other action follows, the program ended before the test did.
		r.action = "unfinished"
	case "output", "build-output":
		r.output.WriteString(e.Output)
	case "pass", "fail", "skip":
		r.action, r.elapsed = e.Action, e.Elapsed
		if e.Action == "pass" {
			r.output.Reset()
		}
	}
	return e, true
}

func (res results) at(k key) *result {
	if res[k] == nil {
		res[k] = &result{action: "none"}
	}
	return res[k]
}

// action returns how a test ended, "none" if it did not run.
func (res results) action(k key) string {
	if r := res[k]; r != nil {
		return r.action
	}
	return "none"
}

func (res results) output(pkg, test string) string {
	if r := res[key{pkg, test}]; r != nil {
		return r.output.String()
	}
	return ""
}

// tally counts the tests of a package, with their subtests.
type tally struct {
	tests, passed, failed, skipped int
	seconds                        float64
}

func (c tally) String() string {
	return fmt.Sprintf("%d\t%d\t%d\t%d\t%.0f s", c.tests, c.passed, c.failed, c.skipped, c.seconds)
}

func (res results) count(pkg string) (c tally) {
	for k, r := range res {
		switch {
		case k.pkg != pkg:
		case k.test == "":
			c.seconds = r.elapsed
		default:
			c.add(r.action)
		}
	}
	return c
}

func (c *tally) add(action string) {
	c.tests++
	switch action {
	case "pass":
		c.passed++
	case "skip":
		c.skipped++
	default: // it failed, or the program ended before it did
		c.failed++
	}
}

// failed returns the tests that did not pass.
func (res results) failed() (out []key) {
	for k, r := range res {
		if k.test != "" && (r.action == "fail" || r.action == "unfinished") {
			out = append(out, k)
		}
	}
	return sorted(out)
}

// differing returns the tests whose results differ. A test program is listed only if its tests do not show why.
func differing(a, b results) (out []key) {
	var programs []key
	explained := map[string]bool{}
	for k := range union(a, b) {
		switch {
		case a.action(k) == b.action(k):
		case k.test == "":
			programs = append(programs, k)
		default:
			out = append(out, k)
			explained[k.pkg] = true
		}
	}
	for _, k := range programs {
		if !explained[k.pkg] {
			out = append(out, k)
		}
	}
	return sorted(out)
}

func union(a, b results) map[key]bool {
	all := map[key]bool{}
	for k := range a {
		all[k] = true
	}
	for k := range b {
		all[k] = true
	}
	return all
}

func sorted(keys []key) []key {
	sort.Slice(keys, func(i, j int) bool { return keys[i].String() < keys[j].String() })
	return keys
}
