//go:build harmless

package harmless

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"sort"
	"strings"
	"testing"
	"text/tabwriter"

	"github.com/podstep/podstep/agent/host/hosttest"
	"github.com/podstep/podstep/probes"
)

// between are tested packages that have no step: they handle pods between woven functions.
var between = []string{
	kubernetes + "/pkg/kubelet/volumemanager/cache",
}

// Only names the environment variable with an expression. Packages that do not match it are not tested.
const Only = "PODSTEP_HARMLESS_ONLY"

// candidates returns the packages to be tested: all that are woven, and those of between.
func candidates(c *probes.Catalogue) []string {
	out := append([]string{}, between...)
	for p := range c.Packages() {
		out = append(out, p)
	}
	sort.Strings(out)
	only := regexp.MustCompile(os.Getenv(Only))
	return slices.DeleteFunc(out, func(p string) bool { return !only.MatchString(p) })
}

const (
	// retries is how often tests that differ run again, plain and woven.
	retries = 3
	// harmedBy is how many tries must differ for a test to be harmed: some of the kubelet's tests depend on the
	// machine's load.
	harmedBy = 2
)

func TestHarmless(t *testing.T) {
	s := newScratch(t)
	c := probes.MustLoad()
	if s.version != "" {
		c = c.In(s.version)
	}
	packages := s.addHooks(t, candidates(c))
	plain := s.plain()
	woven, counts := s.woven(t)
	tries := []try{{plain.run(t, packages, ""), woven.run(t, packages, "")}}
	first, seen := tries[0], readCounts(t, counts, packages)
	t.Log("\n" + table(c, packages, first, seen))
	checkCounts(t, c, seen, s.version != "")
	different := differing(first.plain, first.woven)
	for range retries {
		if len(different) == 0 {
			break
		}
		tries = append(tries, runAgain(t, plain, woven, packages, different))
	}
	for _, k := range first.plain.failed() {
		t.Logf("fails without weaving: %s", k)
	}
	judge(t, different, tries)
}

// try has the results of one run, plain and woven.
type try struct{ plain, woven results }

// against reports whether a try is evidence against weaving. A test that fails plain cannot be harmed.
func (r try) against(k key) bool {
	return r.plain.action(k) != "fail" && r.plain.action(k) != r.woven.action(k)
}

// runAgain runs the tests that differ once more, plain and woven.
func runAgain(t *testing.T, plain, woven way, packages []string, keys []key) try {
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

// patternOf returns a pattern for a package's tests among keys. Subtests run with the test that they are in. If the
// test program as a whole is among keys, all of its tests run.
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
		// Either the plain or the woven result of the first try differs. The one that passed has no output.
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
func readCounts(t *testing.T, dir string, packages []string) map[string]hosttest.Counts {
	t.Helper()
	out := map[string]hosttest.Counts{}
	for _, p := range packages {
		n, err := hosttest.Read(dir, p)
		must(t, err)
		out[p] = n
	}
	return out
}

// mayLack is the part of the steps, one in as many, that need not fit another version of Kubernetes.
const mayLack = 10

// checkCounts checks that the tested packages were woven, and not only those that the tests import; that the hook was
// called; and that the agent got its calls. other: they are of another version, which some steps may not fit.
func checkCounts(t *testing.T, c *probes.Catalogue, seen map[string]hosttest.Counts, other bool) {
	t.Helper()
	calls, steps, lacks := uint64(0), 0, 0
	for p, n := range seen {
		calls += sum(n)
		for _, s := range c.Packages()[p] {
			steps++
			if n.Woven[s.ID] {
				continue
			}
			lacks++
			if text := fmt.Sprintf("step %q is not woven into the tests of %s", s.Name, p); other {
				t.Log(text)
			} else {
				t.Error(text)
			}
		}
		if n.Panics > 0 {
			t.Errorf("the agent panicked %d times in the tests of %s", n.Panics, p)
		}
	}
	if lacks > steps/mayLack {
		t.Errorf("%d of %d steps are not woven", lacks, steps)
	}
	if calls == 0 {
		t.Error("no test called a woven function")
	}
}

// ownSteps returns the number of steps in a package, and how many of them its tests called.
func ownSteps(c *probes.Catalogue, pkg string, n hosttest.Counts) (all, called int) {
	for _, s := range c.Packages()[pkg] {
		all++
		if n.Calls[s.ID] > 0 {
			called++
		}
	}
	return all, called
}

// table returns the summary. For each package it has the steps and how many of them its tests called. Calls are
// counted over all steps.
func table(c *probes.Catalogue, packages []string, r try, seen map[string]hosttest.Counts) string {
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

func sum(n hosttest.Counts) (all uint64) {
	for _, c := range n.Calls {
		all += c
	}
	return all
}

// short returns an import path without the beginning that most of them share.
func short(pkg string) string { return strings.TrimPrefix(pkg, kubernetes+"/pkg/") }
