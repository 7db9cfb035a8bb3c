package probes

import (
	"strings"
	"testing"
)

func TestLoad(t *testing.T) {
	c, err := Load()
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Stages) < 20 || len(c.Steps) < 160 {
		t.Errorf("%d stages and %d steps; some are missing", len(c.Stages), len(c.Steps))
	}
	for i := range c.Steps {
		s := &c.Steps[i]
		if s.ID != i || c.Step(s.Name) != s {
			t.Errorf("step %q is not found where it is", s.Name)
		}
		if w := len([]rune(s.Title.En)); w > 44 {
			t.Errorf("step %q: title is %d columns wide, lists have room for 44", s.Name, w)
		}
	}
}

func TestParseSymbol(t *testing.T) {
	for symbol, want := range map[string]Func{
		"k8s.io/kubernetes/pkg/kubelet.(*Kubelet).SyncPod": {"k8s.io/kubernetes/pkg/kubelet", "Kubelet", true, "SyncPod"},
		"k8s.io/kubernetes/pkg/kubelet.handleProbeSync":    {"k8s.io/kubernetes/pkg/kubelet", "", false, "handleProbeSync"},
		"gopkg.in/yaml.v3/x.T.M":                           {"gopkg.in/yaml.v3/x", "T", false, "M"},
	} {
		got, err := ParseSymbol(symbol)
		if err != nil || got != want {
			t.Errorf("ParseSymbol(%q) = %+v, %v; want %+v", symbol, got, err, want)
		}
	}
	for _, bad := range []string{"", "pkg", "a/b", "a/b.", "a/b.(*).F", "a/b.T.f.g"} {
		if f, err := ParseSymbol(bad); err == nil {
			t.Errorf("ParseSymbol(%q) = %+v, want an error", bad, f)
		}
	}
}

// TestOutside: a step that a source reports has nothing of a function, and any other step has no source.
func TestOutside(t *testing.T) {
	c := MustLoad()
	seen := map[Witness]int{}
	for i := range c.Steps {
		s := &c.Steps[i]
		seen[s.Seen]++
		stage := s.Stage == "cluster" || s.Stage == "reported"
		if s.Report() != stage {
			t.Errorf("step %q of stage %s is reported by %q", s.Name, s.Stage, s.Seen)
		}
		if !s.Outside() {
			continue
		}
		if ok, why := new(Binary).Has(s); ok || !strings.Contains(why, "not a function of the kubelet") {
			t.Errorf("a kubelet has %q: %v, %q", s.Name, ok, why)
		}
	}
	if seen[ByAPI] == 0 || seen[ByKubelet] == 0 || seen[ByRuntime] == 0 || seen[ByCall] == 0 || len(seen) != 5 {
		t.Errorf("steps by who reports them: %v", seen)
	}
	for path, steps := range c.Packages() {
		for _, s := range steps {
			if s.Outside() {
				t.Errorf("%s is to be woven into %q", s.Name, path)
			}
		}
	}
}

// TestOutsideIsChecked: a step that a source reports cannot be one of a function too.
func TestOutsideIsChecked(t *testing.T) {
	c := MustLoad()
	for name, change := range map[string]func(*Step){
		"nothing":       func(*Step) {},
		"a symbol":      func(s *Step) { s.Symbol = "a/b.F" },
		"an expression": func(s *Step) { s.Fields = []Field{{Name: "node", Expr: "pod.Name"}} },
		"a method":      func(s *Step) { s.CRI = "RuntimeService.Version" },
		"a path":        func(s *Step) { s.Fields = []Field{{Name: "node", CRI: "node"}} },
		"a pod's":       func(s *Step) { s.Pod.Expr = "pod" },
		"quiet":         func(s *Step) { s.Quiet = "true" },
		"a hold":        func(s *Step) { s.Hold.Enter = HoldYes },
		"a result":      func(s *Step) { s.Results = []Field{{Name: "x"}} },
		"nobody's":      func(s *Step) { s.Seen = "oracle" },
		"about no pod":  func(s *Step) { s.Pod.Kind = PodNone },
		"only a name":   func(s *Step) { s.Seen = "" },
	} {
		s := *c.Step("cluster.bound")
		change(&s)
		if problems := s.problems(c); (len(problems) == 0) != (name == "nothing") {
			t.Errorf("%s: %v", name, problems)
		}
	}
}

func TestJoinChinese(t *testing.T) {
	for text, want := range map[string]string{
		"交给 Pod 的 函数， 再来 x":      "交给 Pod 的函数，再来 x",
		"清单、 API server （来源） of": "清单、API server（来源）of",
		"事件 “Started” 之后":        "事件“Started”之后",
		" a b ":                  " a b ",
	} {
		if got := joinChinese(text); got != want {
			t.Errorf("joinChinese(%q) = %q, want %q", text, got, want)
		}
	}
}

// TestPackageHash: words for people do not change what is woven; expressions do.
func TestPackageHash(t *testing.T) {
	c := *MustLoad()
	const pkg = "k8s.io/kubernetes/pkg/kubelet"
	was := c.PackageHash(pkg)
	c.Steps = append([]Step(nil), c.Steps...)
	i := c.Step("sync.pod").ID
	c.Steps[i].Title.En, c.Steps[i].Text.Zh = "other", "别的"
	if c.PackageHash(pkg) != was {
		t.Error("the hash changed with a title")
	}
	c.Steps[i].Fields = append([]Field{{Name: "more", Expr: "pod.Name"}}, c.Steps[i].Fields...)
	if c.PackageHash(pkg) == was {
		t.Error("the hash did not change with a field")
	}
	if strings.Contains(was, " ") {
		t.Error("the hash must be one word of a record")
	}
}

func TestSameMinor(t *testing.T) {
	for version, want := range map[string]bool{
		KubernetesVersion: true, "v1.36.0-alpha.1": true, "v1.36": true, "v1.35.3": false, "v1.3.6": false, "of unknown version": false, "": false,
	} {
		if got := SameMinor(version); got != want {
			t.Errorf("SameMinor(%q) = %t", version, got)
		}
	}
}
