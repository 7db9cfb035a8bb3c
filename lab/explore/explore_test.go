package explore

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/podstep/podstep/agent/explain/causes"
	"github.com/podstep/podstep/lab/faults"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/words"
)

func fault(method, object string, n int, action faults.Action, always bool) Fault {
	return Fault{"create", faults.Op{Call: faults.Call{Side: faults.CRI, Method: method, Object: object}, N: n}, action, always}
}

func TestFaultsOf(t *testing.T) {
	start := faults.Call{Side: faults.CRI, Method: "StartContainer", Object: "app"}
	patch := faults.Call{Side: faults.API, Method: "patch pods/status"}
	all := faultsOf(&Lives[0], []faults.Op{{Call: patch, N: 1}, {Call: start, N: 1}, {Call: start, N: 2}, {Call: start, N: 3}, {Call: start, N: 1}})
	ids := map[string]bool{}
	for i, f := range all {
		if ids[f.ID()] {
			t.Errorf("%s is there twice", f.ID())
		}
		ids[f.ID()] = true
		if i > 0 && all[i-1].Op.Side == faults.API && f.Op.Side == faults.CRI {
			t.Errorf("%s comes after the API server's", f.ID())
		}
	}
	for id, want := range map[string]bool{
		"create/cri StartContainer app #1/hang/always":     true,
		"create/cri StartContainer app #2/Unknown/once":    true,
		"create/cri StartContainer app #2/Unknown/always":  false, // the first one's is the same
		"create/cri StartContainer app #3/Unknown/once":    false,
		"create/cri StartContainer app #1/wrong/once":      false, // its answer has no content
		"create/api patch pods/status #1/500/always":       true,
		"create/api patch pods/status #1/hang/once":        true,
		"create/api patch pods/status #1/hang/always":      false, // it hangs as long
		"create/api patch pods/status #1/late/once":        false,
		"create/api patch pods/status #1/Unavailable/once": false,
	} {
		if ids[id] != want {
			t.Errorf("%s: %v", id, ids[id])
		}
	}
}

func TestMixAndSample(t *testing.T) {
	a := []Fault{fault("a", "", 1, faults.Hang, false), fault("a", "", 2, faults.Hang, false), fault("a", "", 3, faults.Hang, false)}
	b := []Fault{fault("b", "", 1, faults.Hang, false)}
	mixed := mix([][]Fault{a, b})
	if len(mixed) != 4 || mixed[1] != b[0] || mixed[3] != a[2] {
		t.Errorf("mixed: %v", mixed)
	}
	if got := sample(mixed, 2); len(got) != 2 || got[0] == got[1] {
		t.Errorf("a sample of two: %v", got)
	}
	if got := sample(mixed, 9); len(got) != 4 {
		t.Errorf("a sample of nine: %v", got)
	}
}

// report returns a report with findings.
func report(findings ...causes.Finding) *causes.Report { return &causes.Report{Findings: findings} }

func finding(id string, sure causes.Confidence, evidence ...causes.Evidence) causes.Finding {
	return causes.Finding{Cause: causes.Named(id), Confidence: sure, Evidence: evidence}
}

func TestJudge(t *testing.T) {
	start := fault("StartContainer", "app", 1, faults.Unknown, true)
	marked := causes.Evidence{Text: words.Same("broken on purpose, mark-1")}
	other := causes.Evidence{Text: words.Same("broken on purpose, mark-2"), Where: probes.Text{En: "status", Zh: "状态"}}
	step := causes.Evidence{Step: "cri.StartContainer"}
	where := finding("where.inCall", causes.Certain, step)
	for name, c := range map[string]struct {
		report  *causes.Report
		fault   Fault
		stuck   bool
		want    Verdict
		certain bool
	}{
		"its error":                     {report(finding("start.runFailed", causes.Certain, marked)), start, true, Right, false},
		"the error of another":          {report(finding("start.runFailed", causes.Certain, other)), start, true, Wrong, true},
		"its call":                      {report(finding("general.callHangs", causes.Likely, step)), start, true, Right, false},
		"what stands for it":            {report(finding("start.startHangs", causes.Certain)), fault("StartContainer", "app", 1, faults.Hang, true), true, Right, false},
		"what stands for something":     {report(finding("start.startHangs", causes.Likely)), start, true, Wrong, false},
		"later":                         {report(finding("start.crashes", causes.Likely), finding("start.runFailed", causes.Likely, marked)), start, true, Partly, false},
		"later, and sure of the first":  {report(finding("start.crashes", causes.Certain), finding("start.runFailed", causes.Likely, marked)), start, true, Partly, true},
		"only possible":                 {report(finding("start.runFailed", causes.Possible, marked)), start, true, Partly, false},
		"something else, only possible": {report(finding("start.crashes", causes.Possible)), start, true, Unexplained, false},
		"nothing":                       {report(), start, true, Unexplained, false},
		"where it is":                   {&causes.Report{Whereabouts: &where}, start, true, Right, false},
		"not stuck":                     {report(), start, false, Fine, false},
		"not stuck, likely":             {report(finding("start.crashes", causes.Likely)), start, false, Fine, false},
		"not stuck, and an alarm":       {report(finding("start.crashes", causes.Certain)), start, false, Alarm, true},
		"not stuck, and a known fault":  {report(finding("start.runFailed", causes.Certain, marked)), start, false, Fine, false},
	} {
		got, certain := judge(c.fault, c.report, "mark-1", c.stuck)
		if got != c.want || certain != c.certain {
			t.Errorf("%s: %s, certain and wrong: %v", name, got, certain)
		}
	}
}

// TestStands: each line of the table is about calls that there are, and names causes that there are.
func TestStands(t *testing.T) {
	for _, s := range stands {
		for _, id := range s.causes {
			if causes.Named(id) == nil {
				t.Errorf("%s: there is no cause %s", s.call, id)
			}
		}
		for _, a := range strings.Fields(s.actions) {
			side, _, _ := strings.Cut(s.call, " ")
			if !slices.Contains(faults.Actions(faults.Side(side)), faults.Action(a)) {
				t.Errorf("%s: there is no action %s", s.call, a)
			}
		}
	}
}

// TestResultsGoOn: a line that was cut short is left out and gone; the others stay.
func TestResultsGoOn(t *testing.T) {
	path := filepath.Join(t.TempDir(), "results")
	if all, err := Read(path); err != nil || all != nil {
		t.Fatalf("a file that does not exist: %v, %v", all, err)
	}
	out, err := openResults(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	one := Result{ID: "a", Fault: fault("StartContainer", "app", 1, faults.Hang, true), Verdict: Right}
	if err := out.add(&one); err != nil {
		t.Fatal(err)
	}
	if _, err := out.file.WriteString(`{"id":"b","fau`); err != nil {
		t.Fatal(err)
	}
	if err := out.file.Close(); err != nil {
		t.Fatal(err)
	}
	all, err := Read(path)
	if err != nil || len(all) != 1 || all[0] != one {
		t.Fatalf("read: %v, %v", all, err)
	}
	if out, err = openResults(path, all); err != nil {
		t.Fatal(err)
	}
	if err := out.add(&one); err != nil {
		t.Fatal(err)
	}
	if err := out.file.Close(); err != nil {
		t.Fatal(err)
	}
	if all, err := Read(path); err != nil || len(all) != 2 {
		t.Errorf("read: %v, %v", all, err)
	}
	if err := os.WriteFile(path, []byte("nonsense\n{}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(path); err == nil || !strings.Contains(err.Error(), "line 1") {
		t.Errorf("nonsense is read: %v", err)
	}
}

// FuzzRead: whatever a file of results has, it is read or refused.
func FuzzRead(f *testing.F) {
	f.Add([]byte(`{"id":"a"}` + "\n"))
	f.Add([]byte("{\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		path := filepath.Join(t.TempDir(), "results")
		if err := os.WriteFile(path, text, 0o644); err != nil {
			t.Fatal(err)
		}
		if all, err := Read(path); err != nil && all != nil {
			t.Error("results and an error")
		}
	})
}

// TestPage: the page does not depend on the order of the results.
func TestPage(t *testing.T) {
	results := []Result{
		{ID: "create/b", Fault: fault("StartContainer", "app", 1, faults.Hang, true), Broken: 1, Stuck: true, Verdict: Unexplained},
		{ID: "create/a", Fault: fault("StopContainer", "app", 1, faults.Lost, false), Broken: 1, Stuck: true, Verdict: Right, Recovered: "no", First: Answer{ID: "start.runFailed", Confidence: causes.Certain}},
		{ID: "create/c", Fault: fault("ExecSync", "app", 1, faults.Lost, false), Verdict: Unbroken},
	}
	page := Page(results)
	slices.Reverse(results)
	if Page(results) != page {
		t.Error("the page depends on the order")
	}
	for _, part := range []string{
		"| all |  | 3 | 1 | 0 | 2 | 1 | 0 | 0 | 1 | 0 | 0 |",
		"| create | cri StopContainer app #1 | lost, once | `start.runFailed` (certain) | right |",
		"| create | cri StartContainer app #1 | hang, always | none | unexplained |",
	} {
		if !strings.Contains(page, part) {
			t.Errorf("the page lacks %q:\n%s", part, page)
		}
	}
}

// TestBreaks: calls to plugins are broken in the lives of pods that use them, and each in one of these alone.
func TestBreaks(t *testing.T) {
	plugin := func(method string) faults.Call { return faults.Call{Side: faults.Plugin, Method: method} }
	for _, c := range []struct {
		call  faults.Call
		lives []string
	}{
		{plugin("NodePublishVolume"), []string{"create-plugins", "next-plugins"}},
		{plugin("Allocate"), []string{"device"}},
		{plugin("ListAndWatch"), []string{"register-device"}},
		{faults.Call{Side: faults.Exec, Method: faults.GetCredentials, Object: "app"}, []string{"credentials"}},
		{faults.Call{Side: faults.API, Method: "get resourceclaims", Object: "device"}, []string{"create-plugins", "next-plugins"}},
		{faults.Call{Side: faults.CRI, Method: "RunPodSandbox"}, []string{"create", "end", "restart", "resize", "end-pulling", "kubelet-end", "kubelet-resize"}},
	} {
		var in []string
		for i := range Lives {
			if Lives[i].breaks(c.call) {
				in = append(in, Lives[i].Name)
			}
		}
		if !slices.Equal(in, c.lives) {
			t.Errorf("%s is broken in %v, not %v", c.call, in, c.lives)
		}
	}
}

func TestLivesAreDone(t *testing.T) {
	p := pod("a")
	for i := range Lives {
		l := &Lives[i]
		if l.change != nil {
			l.change(p.DeepCopy())
		}
		if l.done(p) {
			t.Errorf("%s is done before it began", l.Name)
		}
	}
	if !gone(nil) || ready(nil) || pulls(nil) {
		t.Error("a pod that is gone is not only gone")
	}
}

// TestWants: a text that begins with a life's name asks for this life alone.
func TestWants(t *testing.T) {
	for only, want := range map[string]int{"": len(Lives), "create/": 1, "create/cri Start": 1, "end": len(Lives), "/file ": len(Lives), "cri StartContainer": len(Lives), "nobody/": len(Lives)} {
		r := &Run{Options: Options{Only: only}}
		n := 0
		for i := range Lives {
			if r.wants(&Lives[i]) {
				n++
			}
		}
		if n != want {
			t.Errorf("%q wants %d lives, not %d", only, n, want)
		}
	}
}
