// Package podstep holds the tests of the house as a whole: which package may
// import which, and that each says what it is for.
package podstep

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"strings"
	"testing"
)

const module = "github.com/podstep/podstep"

// arrows forbid imports, direct or not, each for a reason.
var arrows = []struct{ from, to, why string }{
	{"probes/hook", "", "it is linked into the kubelet's innermost functions: the standard library only"},
	{"probes", "", "the catalogue is the leaf that everything else is built on"},
	{"probes/weave", "agent/", "the weaver runs once for each package of a build and must start at once; of the hook it needs the constants only"},
	{"agent", "agent/client", "the agent serves clients and knows none"},
	{"agent/redact", "agent", "it knows values, wherever they go"},
	{"agent/redact", "agent/", "it knows values, wherever they go"},
	{"agent/redact", "k8s.io/kubernetes/", "the agent is hosted by podstep attach too, beside kubelets of other versions"},
	{"agent", "agent/canary", "canaries are for tests"},
	{"cmd/podstep", "agent/canary", "canaries are for tests"},
	{"agent", "agent/lab", "the agent runs in production kubelets, the lab is for one person's node"},
	{"agent", "cmd/", "programs are put together from libraries, not the other way round"},
	{"agent/client", "agent/lab", "a client reaches any agent, not only a lab's"},
	{"cmd/podstep", "agent/lab", "podstep starts in milliseconds; the lab links a whole control plane"},
	{"cmd/podstep", "k8s.io/kubernetes/", "podstep starts in milliseconds, and works with kubelets of other versions"},
	{"agent", "k8s.io/kubernetes/", "the agent is hosted by podstep attach too, beside kubelets of other versions"},
	{"probes", "k8s.io/", "the catalogue is data about the kubelet, not code of it"},
	{"probes/cri", "agent", "it knows the calls, whoever tells of them"},
	{"probes/cri", "k8s.io/kubernetes/", "a call is the same for kubelets of other versions"},
	{"probes/filter", "agent/", "a filter is about events, wherever they come from"},
	{"probes/cri/relay", "", "it carries any gRPC connection and knows nothing of pods"},
	{"probes/cri/relay", "k8s.io/", "it carries methods that no version of the CRI has yet"},
	{"probes/cri/takeover", "agent/", "it moves connections, whatever goes over them"},
	{"probes/cri/takeover", "probes/cri/relay", "it moves connections, whoever relays them"},
	{"probes/cri/takeover", "google.golang.org/grpc", "what outlives a killed podstep starts at once and is small"},
	{"probes/kubelets", "agent/", "who runs here is asked before there is an agent"},
	{"probes/kubelets", "k8s.io/", "doctor and attach start in milliseconds, beside kubelets of any version"},
	{"probes/source", "agent/", "the kubelet's source is data beside the catalogue"},
	{"agent", "agent/trace", "the agent keeps its recent story in memory; files are for clients"},
	{"agent/wire", "agent/client", "reading an event needs no connection"},
	{"agent/trace", "agent/client", "a trace file is read where there is no agent"},
	{"agent/host", "k8s.io/kubernetes/", "it starts the agent in any process that sees steps"},
	{"agent/lab/simcri", "k8s.io/kubernetes/", "a runtime knows the kubelet by its calls alone"},
	{"agent/attach/cluster", "agent", "it says what the cluster says, whoever is told"},
	{"agent/attach/cluster", "k8s.io/client-go/kubernetes", "podstep starts in milliseconds; a clientset brings code for every kind of object"},
	{"tui", "agent/lab", "the UI shows any node, not only a lab's"},
	{"tui", "k8s.io/kubernetes/", "podstep starts in milliseconds"},
	{"tui/state", "agent/client", "the state is the same for an agent and for a file"},
	{"tui/state", "charm.land/", "the state knows no terminal"},
	{"tui/view", "agent/client", "a view draws what the state worked out"},
	{"tui/plain", "tui/view", "plain lines have no colours, glyphs or layout"},
	{"docs/tours", "agent/", "a tour is a text with places in it"},
	{"docs/tours", "tui", "a tour is a text with places in it"},
	{"probes/hook", "k8s.io/", "woven packages of the kubelet would come to import each other through it"},
}

type listed struct {
	ImportPath string
	Doc        string
	Deps       []string
	GoFiles    []string
}

// list asks the go command about our packages.
func list(t *testing.T) map[string]listed {
	t.Helper()
	out, err := exec.Command("go", "list", "-json=ImportPath,Doc,Deps,GoFiles", "./...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	all := map[string]listed{}
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		err := d.Decode(&p)
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		all[strings.TrimPrefix(p.ImportPath, module+"/")] = p
	}
}

func TestArrows(t *testing.T) {
	all := list(t)
	for _, a := range arrows {
		p, ok := all[a.from]
		if !ok {
			t.Errorf("there is no package %s: its rule has no use", a.from)
			continue
		}
		for _, dep := range p.Deps {
			own, ours := strings.CutPrefix(dep, module+"/")
			if forbidden(a.to, dep, own, ours) {
				t.Errorf("%s depends on %s: %s", a.from, dep, a.why)
			}
		}
	}
}

// forbidden tells whether a rule's target names the package: "" is all of ours,
// a path of ours is that package, one with a slash behind is all beneath. A
// path that begins with a host is another's.
func forbidden(to, dep, own string, ours bool) bool {
	if first, _, _ := strings.Cut(to, "/"); strings.Contains(first, ".") {
		return strings.HasPrefix(dep, to)
	}
	return ours && (to == "" || own == to || (strings.HasSuffix(to, "/") && strings.HasPrefix(own, to)))
}

// TestHookIsStandardLibraryOnly: beyond the arrows, the hook may not even use another module.
func TestHookIsStandardLibraryOnly(t *testing.T) {
	for _, dep := range list(t)["probes/hook"].Deps {
		if first, _, _ := strings.Cut(dep, "/"); strings.Contains(first, ".") {
			t.Errorf("probes/hook depends on %s", dep)
		}
	}
}

func TestPackageComments(t *testing.T) {
	for path, p := range list(t) {
		if p.Doc == "" && len(p.GoFiles) > 0 {
			t.Errorf("package %s does not say what it is for", path)
		}
	}
}
