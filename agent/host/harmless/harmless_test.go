//go:build harmless

package harmless

import (
	"fmt"
	"regexp"
	"sort"
	"strings"
	"testing"
	"text/tabwriter"

	"github.com/podstep/podstep/agent/host/harmless/attach"
	"github.com/podstep/podstep/probes"
)

// between are tested packages without a step: they see the pods that woven
// ones handle.
var between = []string{
	kubernetes + "/pkg/kubelet/volumemanager/cache",
}

// candidates are the packages to be tested: all that are woven.
func candidates(c *probes.Catalogue) []string {
	out := append([]string{}, between...)
	for p := range c.Packages() {
		out = append(out, p)
	}
	sort.Strings(out)
	return out
}

const (
	// retries is how often tests that differ run again, both ways.
	retries = 3
	// harmedBy is in how many tries a test must differ to be harmed: some of
	// the kubelet's tests depend on the machine's load.
	harmedBy = 2
)

func TestHarmless(t *testing.T) {
	s := newScratch(t)
	c := probes.MustLoad()
	packages := s.addHooks(t, candidates(c))
	plain := s.plain()
	woven, counts := s.woven(t)
	tries := []try{{plain.run(t, packages, ""), woven.run(t, packages, "")}}
	first, seen := tries[0], readCounts(t, counts, packages)
	t.Log("\n" + table(c, packages, first, seen))
	checkCounts(t, c, seen)
	different := differing(first.plain, first.woven)
	for range retries {
		if len(different) == 0 {
			break
		}
		tries = append(tries, again(t, plain, woven, packages, different))
	}
	for _, k := range first.plain.failed() {
		t.Logf("fails without weaving: %s", k)
	}
	judge(t, different, tries)
}

// try is one run, both ways.
type try struct{ plain, woven results }

// against reports whether a try speaks against weaving: a test that fails plain
// cannot be harmed.
func (r try) against(k key) bool {
	return r.plain.action(k) != "fail" && r.plain.action(k) != r.woven.action(k)
}

// again runs the tests that differ once more, both ways.
func again(t *testing.T, plain, woven way, packages []string, keys []key) try {
	t.Helper()
	r := try{results{}, results{}}
	for _, p := range packages {
		pattern, some := patternOf(p, keys)
		if !some {
			continue
		}
		r.plain.add(plain.run(t, []string{p}, pattern))
		r.woven.add(woven.run(t, []string{p}, pattern))
	}
	return r
}

func (res results) add(more results) {
	for k, r := range more {
		res[k] = r
	}
}

// patternOf matches a package's tests among keys: subtests run with the test
// that they are in, and for a test program all of its tests do.
func patternOf(pkg string, keys []key) (pattern string, some bool) {
	var names []string
	seen := map[string]bool{}
	for _, k := range keys {
		if k.pkg != pkg {
			continue
		}
		if k.test == "" {
			return "", true
		}
		name, _, _ := strings.Cut(k.test, "/")
		if !seen[name] {
			seen[name] = true
			names = append(names, regexp.QuoteMeta(name))
		}
	}
	return "^(" + strings.Join(names, "|") + ")$", len(names) > 0
}

// judge reports what became of each test that differed in the first try.
func judge(t *testing.T, different []key, tries []try) {
	t.Helper()
	harmed := 0
	for _, k := range different {
		n := 0
		var story []string
		for _, r := range tries {
			story = append(story, r.plain.action(k)+"/"+r.woven.action(k))
			if r.against(k) {
				n++
			}
		}
		text := fmt.Sprintf("%s: plain/woven %s", k, strings.Join(story, " "))
		// The first try differs in one or the other; what passed has no output.
		text += "\n" + tail(tries[0].plain.output(k.pkg, k.test)+tries[0].woven.output(k.pkg, k.test), 40)
		if n < harmedBy {
			t.Logf("differs by chance: %s", text)
			continue
		}
		harmed++
		t.Errorf("harmed: %s", text)
	}
	t.Logf("%d tests differ in the first try, %d are harmed", len(different), harmed)
}

// readCounts reads what the hook saw, by package.
func readCounts(t *testing.T, dir string, packages []string) map[string]attach.Counts {
	t.Helper()
	out := map[string]attach.Counts{}
	for _, p := range packages {
		n, err := attach.Read(dir, p)
		must(t, err)
		out[p] = n
	}
	return out
}

// checkCounts holds that the tested packages were woven, and not only those that
// the tests import; that the hook was called; and that the agent came through.
func checkCounts(t *testing.T, c *probes.Catalogue, seen map[string]attach.Counts) {
	t.Helper()
	calls := uint64(0)
	for p, n := range seen {
		calls += sum(n)
		for _, s := range c.Packages()[p] {
			if !n.Woven[s.ID] {
				t.Errorf("step %q is not woven into the tests of %s", s.Name, p)
			}
		}
		if n.Panics > 0 {
			t.Errorf("the agent panicked %d times in the tests of %s", n.Panics, p)
		}
	}
	if calls == 0 {
		t.Error("no test called a woven function")
	}
}

// ownSteps counts the steps in a package, and those that its tests called.
func ownSteps(c *probes.Catalogue, pkg string, n attach.Counts) (all, called int) {
	for _, s := range c.Packages()[pkg] {
		all++
		if n.Calls[s.ID] > 0 {
			called++
		}
	}
	return all, called
}

// table is the summary: of the steps in a package it says how many its tests
// called, and calls are those of all steps.
func table(c *probes.Catalogue, packages []string, r try, seen map[string]attach.Counts) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "package\tplain: tests\tpassed\tfailed\tskipped\ttime\twoven: tests\tpassed\tfailed\tskipped\ttime\tsteps\tcalls\tnil values\t")
	for _, p := range packages {
		n := seen[p]
		all, called := ownSteps(c, p, n)
		fmt.Fprintf(w, "%s\t%s\t%s\t%d/%d\t%d\t%d\t\n", short(p), r.plain.count(p), r.woven.count(p), called, all, sum(n), n.Faults)
	}
	w.Flush()
	return b.String()
}

func sum(n attach.Counts) (all uint64) {
	for _, c := range n.Calls {
		all += c
	}
	return all
}

// short is an import path without what most of them share.
func short(pkg string) string { return strings.TrimPrefix(pkg, kubernetes+"/pkg/") }
