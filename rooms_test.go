package podstep

import (
	"slices"
	"strings"
	"testing"
)

// room is a part of the house: the packages at and below some paths.
type room struct {
	name string
	// at are paths of packages, each with all below it that no other room has.
	at []string
	// uses are the rooms from which its packages import; packages of one room import each other freely.
	uses []string
}

// rooms are all of the house, from the ground up: a room uses only rooms that stand before it. What a package is for
// stands in its package comment, and docs/architecture.md draws the rooms.
var rooms = []room{
	{name: "catalogue", at: []string{"probes"}},
	{name: "hook", at: []string{"probes/hook", "probes/weave"}, uses: []string{"catalogue"}},
	{name: "secrets", at: []string{"agent/redact"}},
	{name: "scrape", at: []string{"agent/scrape"}},
	{name: "inside", at: []string{"probes/inside"}, uses: []string{"catalogue", "secrets"}},
	{name: "probe", at: []string{"probes/companion", "probes/cri", "probes/uprobe", "probes/delve"}, uses: []string{"catalogue", "secrets", "inside"}},
	{name: "event", at: []string{"agent/agentpb", "agent/wire", "agent/reason", "agent/peer", "agent/version", "agent/trace", "agent/canary"}, uses: []string{"catalogue"}},
	{name: "api", at: []string{"agent/kubeapi", "agent/kubeport"}, uses: []string{"catalogue", "secrets", "event"}},
	{name: "log", at: []string{"agent/logstory", "agent/nodelog"}, uses: []string{"catalogue", "secrets", "event", "api"}},
	{name: "story", at: []string{"agent/story"}, uses: []string{"catalogue", "event"}},
	{name: "whatif", at: []string{"agent/whatif"}, uses: []string{"catalogue", "event"}},
	{name: "client", at: []string{"agent/client", "agent/export", "agent/alert"}, uses: []string{"catalogue", "event", "story"}},
	{name: "far", at: []string{"agent/far"}, uses: []string{"catalogue", "event", "api", "client"}},
	{name: "why", at: []string{"agent/explain", "agent/bundle"}, uses: []string{"catalogue", "secrets", "event", "api", "log", "story", "client"}},
	{name: "mcp", at: []string{"agent/mcp"}, uses: []string{"catalogue", "secrets", "event", "why"}},
	{name: "pods", at: []string{"agent/pods", "agent/values"}, uses: []string{"catalogue", "secrets", "hook", "event"}},
	{name: "journal", at: []string{"agent/journal"}, uses: []string{"catalogue", "hook", "event", "story", "pods"}},
	{name: "server", at: []string{"agent/server"}, uses: []string{"catalogue", "secrets", "hook", "event", "pods"}},
	{name: "breakpoints", at: []string{"agent/breakpoints"}, uses: []string{"catalogue", "hook", "event", "pods", "server"}},
	{name: "holding", at: []string{"agent/holding"}, uses: []string{"catalogue", "event", "pods", "server"}},
	{name: "agent", at: []string{"agent", "agent/callsite", "agent/host"}, uses: []string{"catalogue", "hook", "event", "story", "pods", "journal", "server", "breakpoints", "holding"}},
	{name: "attach", at: []string{"agent/attach"}, uses: []string{"catalogue", "secrets", "scrape", "inside", "probe", "event", "api", "log", "server", "agent"}},
	{name: "walk", at: []string{"docs/tours", "tui/tours"}, uses: []string{"catalogue"}},
	{name: "editor", at: []string{"agent/dap"}, uses: []string{"catalogue", "event", "story", "client", "why"}},
	{name: "labstate", at: []string{"agent/labstate"}},
	{name: "screen", at: []string{"tui", "docs/pictures"}, uses: []string{"catalogue", "secrets", "event", "api", "story", "client", "why", "walk", "labstate"}},
	{name: "command", at: []string{"cmd"}, uses: []string{"catalogue", "scrape", "hook", "inside", "probe", "event", "api", "log", "story", "client", "far", "why", "mcp", "attach", "walk", "editor", "screen", "labstate", "whatif"}},
	{name: "release", at: []string{"release"}},
	{name: "plugins", at: []string{"lab/credentials", "lab/csidriver", "lab/deviceplugin", "lab/dradriver", "lab/plugin"}},
	{name: "explore", at: []string{"lab/explore", "lab/faults", "lab/filefaults"}, uses: []string{"plugins", "catalogue", "event", "api", "client", "why"}},
	{name: "lab", at: []string{"lab"}, uses: []string{"catalogue", "secrets", "hook", "whatif", "api", "client", "agent", "plugins", "explore", "labstate"}},
	{name: "test", at: []string{"agent/labtest", "lab/soak", "lab/stuck", "lab/vm", "lab/harmless"}, uses: []string{"catalogue", "event", "api", "log", "client", "why", "labstate"}},
}

// forTests are packages that tests import, and programs never.
var forTests = []string{
	"agent/agenttest", "agent/canary", "agent/kubeapi/apitest", "agent/trace/tracetest", "agent/wire/eventtest", "agent/attach/probetest", "agent/host/hosttest", "agent/labtest", "lab/harmless", "lab/soak", "lab/stuck", "lab/vm",
	"probes/clock/clocktest", "probes/delve/rescue/victim", "probes/inside/toy", "tui/tuitest",
}

// anyModule stands for all but the standard library.
const anyModule = "*"

// never are the dependencies, direct or not, that a package must not get, each with its reason: a path names the package
// and all beneath it. What the order of the rooms rules out by itself is not among them.
var never = []struct{ from, to, why string }{
	{"probes/hook", anyModule, "it is linked into the kubelet's innermost functions, and woven packages of the kubelet would come to import each other through it"},
	{"probes", "k8s.io", "the catalogue is data about the kubelet, not code of it"},
	{"probes/memory", "k8s.io", "it is about the types of kubelets of any version, and links none of them"},
	{"probes/kubelets", "k8s.io", "doctor and attach start in milliseconds, beside kubelets of any version"},
	{"probes/cri/takeover", "google.golang.org/grpc", "what outlives a killed podstep starts at once and is small"},
	{"probes/cri/relayproc", "k8s.io", "what stands in the path is small"},
	{"probes/cri/relay", "k8s.io", "it carries methods that no version of the CRI has yet"},
	{"probes/cri/relay", "probes", "it carries any gRPC connection and knows nothing of pods"},
	{"agent/mcp", "agent/client", "it only looks, and a client of an agent could hold pods"},
	{"agent/mcp", "agent/explain/gather", "what is asked, and with which credentials, is not an assistant's to choose"},
	{"agent", "agent/trace", "the agent keeps its recent story in memory; files are for clients"},
	{"agent/kubeapi", "k8s.io/client-go/kubernetes", "podstep starts in milliseconds; a clientset brings code for every kind of object"},
	{"agent/client", "k8s.io", "it speaks to an agent by any connection; package far makes those that go through an API server"},
	{"agent/far", "k8s.io/client-go/kubernetes", "podstep starts in milliseconds; a clientset brings code for every kind of object"},
	{"agent/attach/cluster", "k8s.io/client-go/kubernetes", "podstep starts in milliseconds; a clientset brings code for every kind of object"},
	{"agent/dap", "github.com/go-delve", "the agent has the debugger; an adapter asks it"},
	{"cmd/podstep", "k8s.io/client-go/kubernetes", "podstep starts in milliseconds; a clientset brings code for every kind of object"},
	{"lab/faults", "k8s.io/kubernetes", "it knows the kubelet by its calls alone"},
	{"lab/simcri", "k8s.io/kubernetes", "a runtime knows the kubelet by its calls alone"},
	{"tui/tours", "agent", "a tour is a text with places in it"},
	{"tui/state", "agent/client", "the state is the same for an agent and for a file"},
	{"tui/state", "charm.land", "the state knows no terminal"},
	{"tui/view", "agent/client", "a view draws what the state worked out"},
	{"tui/plain", "charm.land", "plain lines have no colours, glyphs or layout"},
}

// TestRooms checks that each package is in a room and imports from no room that the list does not allow it.
func TestRooms(t *testing.T) {
	used := map[string]bool{}
	for path, p := range list(t) {
		if len(p.GoFiles) == 0 {
			continue
		}
		from := roomOf(path)
		if from == nil {
			t.Errorf("%s is in no room", path)
			continue
		}
		for _, to := range ours(p.Imports) {
			if slices.Contains(forTests, testPackageOf(to)) && !slices.Contains(forTests, testPackageOf(path)) {
				t.Errorf("%s imports %s, which is for tests", path, to)
			}
			target := roomOf(to)
			switch {
			case target == nil || target == from:
			case slices.Contains(from.uses, target.name):
				used[from.name+" "+target.name] = true
			default:
				t.Errorf("%s imports %s: the room %q does not use the room %q", path, to, from.name, target.name)
			}
		}
	}
	for i, r := range rooms {
		for _, to := range r.uses {
			if !slices.ContainsFunc(rooms[:i], func(before room) bool { return before.name == to }) {
				t.Errorf("the room %q uses %q, which does not stand before it", r.name, to)
			}
			if !used[r.name+" "+to] {
				t.Errorf("no package of the room %q imports from %q any more: take it out of the list", r.name, to)
			}
		}
	}
}

// roomOf returns the room with the longest path that has the package, or nil.
func roomOf(path string) *room {
	var best *room
	longest := -1
	for i := range rooms {
		for _, at := range rooms[i].at {
			if within(path, at) && len(at) > longest {
				best, longest = &rooms[i], len(at)
			}
		}
	}
	return best
}

// testPackageOf returns the entry of forTests that has the package, or "".
func testPackageOf(path string) string {
	for _, p := range forTests {
		if within(path, p) {
			return p
		}
	}
	return ""
}

// TestNever checks that no package depends, by whatever way, on what it must not.
func TestNever(t *testing.T) {
	all := list(t)
	for _, rule := range never {
		l, ok := all[rule.from]
		if !ok {
			t.Errorf("there is no package %s: its rule has no use", rule.from)
		}
		for _, dep := range l.Deps {
			if within(strings.TrimPrefix(dep, module+"/"), rule.to) {
				t.Errorf("%s depends on %s: %s", rule.from, dep, rule.why)
			}
		}
	}
}

// TestWithin checks that a rule names a package, all beneath it, and nothing else.
func TestWithin(t *testing.T) {
	for _, c := range []struct {
		dep, to string
		want    bool
	}{
		{"lab", "lab", true},
		{"lab/simcri", "lab", true},
		{"labels", "lab", false},
		{"k8s.io/kubernetes/pkg/kubelet", "k8s.io/kubernetes", true},
		{"k8s.io/kubernetes", "k8s.io", true},
		{"k8s.io/kubernetes", anyModule, true},
		{"net/http", anyModule, false},
		{"probes", anyModule, true},
	} {
		if got := within(c.dep, c.to); got != c.want {
			t.Errorf("within(%s, %s) = %t", c.dep, c.to, got)
		}
	}
}

// within reports whether a rule's target names the package.
func within(dep, to string) bool {
	if to == anyModule {
		first, _, _ := strings.Cut(dep, "/")
		return strings.Contains(first, ".") || roomOf(dep) != nil
	}
	return dep == to || strings.HasPrefix(dep, to+"/")
}

// ours returns those of import paths that are packages of this repository, without the module's path.
func ours(paths []string) (out []string) {
	for _, path := range paths {
		if own, ok := strings.CutPrefix(path, module+"/"); ok {
			out = append(out, own)
		}
	}
	return out
}

// TestPackageComments checks that each package says what it is for.
func TestPackageComments(t *testing.T) {
	for path, p := range list(t) {
		if p.Doc == "" && len(p.GoFiles) > 0 {
			t.Errorf("package %s does not say what it is for", path)
		}
	}
}
