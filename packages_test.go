package podstep

// pkg is a package of ours.
type pkg struct {
	path string
	// imports are the packages of ours that its code, without tests, imports.
	imports []string
	// forTests: tests import it, programs never.
	forTests bool
}

func code(path string, imports ...string) pkg { return pkg{path: path, imports: imports} }

func tests(path string, imports ...string) pkg {
	return pkg{path: path, imports: imports, forTests: true}
}

// packages are all packages of ours, from the ground up: each imports only those
// that stand before it, and exactly those that it names here. A new package is
// added behind the last one that it imports, and to the table in
// docs/architecture.md at the same place.
var packages = []pkg{
	// The catalogue, and the probes that see its steps. They know no agent.
	code("probes/hook"),
	code("probes/pclntab"),
	code("probes", "probes/pclntab"),
	code("probes/reasons", "probes"),
	code("probes/words", "probes"),
	code("probes/filter", "probes"),
	code("probes/kubelets", "probes"),
	code("probes/source"),
	code("probes/memory", "probes"),
	code("probes/uprobe/goproc"),
	code("probes/uprobe/gocode", "probes/pclntab"),
	code("probes/uprobe/callers", "probes", "probes/pclntab"),
	code("probes/uprobe", "probes", "probes/memory", "probes/pclntab", "probes/reasons", "probes/uprobe/callers", "probes/uprobe/gocode", "probes/uprobe/goproc"),
	code("probes/uprobe/insidedoc", "probes", "probes/memory"),
	code("probes/stepsdoc", "probes", "probes/memory"),
	code("probes/weave", "probes", "probes/hook"),
	code("probes/source/gen", "probes", "probes/source", "probes/weave"),
	code("probes/memory/gen", "probes", "probes/memory", "probes/weave"),
	code("probes/cri", "probes", "probes/reasons"),
	code("probes/companion"),
	code("probes/cri/takeover", "probes/companion"),
	code("probes/cri/relay"),
	code("probes/cri/relayproc", "probes/companion", "probes/cri/relay", "probes/cri/takeover", "probes/kubelets"),
	code("probes/uprobe/park", "probes/pclntab", "probes/uprobe/gocode", "probes/uprobe/goproc"),
	code("probes/uprobe/holdproc", "probes/companion", "probes/kubelets", "probes/uprobe/park"),
	code("probes/delve", "probes/companion", "probes/kubelets", "probes/memory", "probes/pclntab", "probes/uprobe", "probes/uprobe/holdproc", "probes/uprobe/park"),
	tests("probes/uprobe/toy"),

	// The protocol, and what agent and clients both know of events.
	code("agent/agentpb"),
	code("agent/peer"),
	code("agent/version"),
	code("agent/kubeapi", "agent/version"),
	code("agent/kubeport", "probes/kubelets"),
	code("agent/redact"),
	code("agent/reason", "agent/agentpb", "probes"),
	code("agent/wire", "agent/agentpb", "probes", "probes/reasons"),
	code("agent/trace", "agent/agentpb", "agent/wire"),
	tests("agent/trace/tracetest", "agent/agentpb", "agent/trace"),
	tests("agent/canary", "agent/agentpb", "agent/trace"),

	// What the events of pods come to.
	code("agent/story/history", "agent/agentpb", "agent/wire", "probes", "probes/words"),
	code("agent/story/life", "agent/agentpb", "agent/story/history", "agent/wire", "probes"),
	code("agent/story/outline", "agent/agentpb", "agent/story/history", "agent/story/life", "probes", "probes/words"),
	code("agent/story/calls", "probes"),
	code("agent/story/expected", "agent/story/history", "agent/story/life", "agent/story/outline", "agent/wire", "probes"),
	code("agent/story/critical", "agent/story/history", "agent/story/outline"),
	code("agent/story/wording", "agent/agentpb", "agent/reason", "agent/story/history", "agent/story/outline", "agent/wire", "probes", "probes/words"),
	code("agent/story/compare", "agent/agentpb", "agent/story/critical", "agent/story/history", "agent/story/life", "agent/story/outline", "agent/wire", "probes", "probes/words"),
	code("agent/export", "agent/agentpb", "agent/story/calls", "agent/version", "agent/wire", "probes", "probes/words"),
	code("agent/export/collector", "agent/version"),
	code("agent/explain/evidence"),
	code("agent/explain", "agent/explain/evidence", "agent/story/history", "agent/story/life", "probes", "probes/words"),
	code("agent/explain/known"),
	code("agent/explain/causes", "agent/explain/evidence", "agent/explain/known", "probes", "probes/words"),
	code("agent/explain/causesdoc", "agent/explain/causes"),

	// The agent, and the two that host it.
	code("agent/pods", "agent/agentpb", "agent/reason", "probes", "probes/hook"),
	code("agent/values", "agent/agentpb", "agent/redact", "agent/wire", "probes", "probes/hook"),
	code("agent/callsite", "probes"),
	code("agent/server", "agent/agentpb", "agent/peer", "agent/reason", "agent/redact", "agent/wire", "probes/hook"),
	code("agent", "agent/agentpb", "agent/callsite", "agent/pods", "agent/reason", "agent/server", "agent/story/history", "agent/story/life", "agent/values", "agent/wire", "probes", "probes/hook"),
	code("agent/host", "agent", "agent/server", "agent/version", "probes", "probes/hook", "probes/reasons"),
	tests("agent/host/harmless"),
	tests("agent/host/harmless/attach", "agent", "agent/version", "probes", "probes/hook"),
	code("agent/attach/cluster", "agent/kubeapi", "agent/kubeport", "agent/redact", "probes"),
	code("agent/attach/metrics", "agent", "agent/agentpb", "agent/version", "probes/cri/relayproc"),
	code("agent/attach", "agent", "agent/agentpb", "agent/attach/cluster", "agent/attach/metrics", "agent/kubeport", "agent/redact", "agent/server", "agent/version", "probes", "probes/cri", "probes/cri/relay", "probes/cri/relayproc", "probes/cri/takeover", "probes/delve", "probes/kubelets", "probes/reasons", "probes/uprobe", "probes/uprobe/holdproc", "probes/uprobe/park"),
	tests("agent/attach/probetest", "agent", "agent/attach", "probes"),

	// Its clients.
	code("agent/client", "agent/agentpb", "agent/peer", "agent/reason", "agent/wire", "probes"),
	code("agent/explain/gather", "agent/agentpb", "agent/client", "agent/explain", "agent/explain/evidence", "agent/kubeapi", "agent/kubeport", "agent/redact", "agent/story/history", "agent/story/life", "agent/trace", "probes", "probes/kubelets", "probes/words"),

	// The lab: a node for one person.
	code("agent/lab/cgroups"),
	code("agent/lab/pressure"),
	code("agent/lab/simcri/ash"),
	code("agent/lab/simcri", "agent/lab/simcri/ash"),
	code("agent/lab/simnode", "agent/host", "agent/lab/pressure", "probes", "probes/hook"),
	code("agent/lab", "agent/host", "agent/lab/cgroups", "agent/lab/pressure", "probes"),
	code("agent/lab/component", "agent/lab/cgroups", "agent/lab/simcri", "agent/lab/simnode"),
	tests("agent/lab/labtest", "agent/agentpb", "agent/canary", "agent/client", "agent/lab", "agent/peer", "probes", "probes/source"),
	tests("agent/lab/versions"),
	tests("agent/lab/stuck", "agent/explain/causes", "agent/explain/evidence", "agent/explain/gather", "agent/kubeapi", "agent/lab/labtest"),
	tests("agent/lab/soak"),
	tests("agent/lab/vm"),

	// The screen, and the lines that take its place.
	code("docs/tours"),
	code("tui/tours", "docs/tours", "probes"),
	code("tui/tours/gen", "probes", "tui/tours"),
	code("tui/cluster", "agent/kubeapi", "probes", "tui/tours"),
	code("tui/screen", "agent/story/life", "probes", "probes/words"),
	code("tui/find"),
	code("tui/marks", "agent/reason", "probes"),
	code("tui/settings", "agent/reason", "probes", "probes/words", "tui/screen"),
	code("tui/state", "agent/agentpb", "agent/explain", "agent/explain/causes", "agent/explain/evidence", "agent/reason", "agent/story/compare", "agent/story/critical", "agent/story/expected", "agent/story/history", "agent/story/life", "agent/story/outline", "agent/story/wording", "agent/wire", "probes", "probes/filter", "probes/source", "probes/words", "tui/find", "tui/screen"),
	code("tui/session", "agent/agentpb", "agent/client", "agent/reason", "agent/trace", "agent/wire", "tui/screen"),
	code("tui/plain", "agent/agentpb", "agent/reason", "agent/wire", "probes", "probes/words", "tui/screen", "tui/session"),
	code("tui/view", "agent/story/life", "probes", "probes/words", "tui/screen"),
	code("tui/ask", "tui/screen", "tui/view"),
	code("tui/compare", "agent/story/compare", "probes", "probes/words", "tui/ask", "tui/screen", "tui/view"),
	code("tui/walk", "agent/agentpb", "agent/reason", "agent/wire", "probes", "probes/words", "tui/ask", "tui/cluster", "tui/screen", "tui/session", "tui/tours"),
	code("docs/pictures/gen"),
	code("tui/about", "agent/explain/evidence", "agent/redact", "probes", "probes/words", "tui/ask"),
	code("tui/stack", "agent/agentpb", "agent/reason", "agent/story/wording", "agent/wire", "probes", "probes/source", "probes/words", "tui/ask", "tui/screen", "tui/session", "tui/view"),
	code("tui", "agent/agentpb", "agent/explain/causes", "agent/explain/evidence", "agent/reason", "agent/story/life", "agent/wire", "docs/pictures/gen", "probes", "probes/filter", "probes/words", "tui/about", "tui/ask", "tui/compare", "tui/find", "tui/marks", "tui/screen", "tui/session", "tui/settings", "tui/stack", "tui/state", "tui/tours", "tui/view", "tui/walk"),
	code("tui/keysdoc", "tui"),
	tests("tui/tuitest"),
	code("docs/pictures"),
	code("docs/sentences", "probes"),

	// The programs.
	code("cmd/podstep-weave", "probes", "probes/weave"),
	code("cmd/podstep-kubelet", "agent/client", "agent/host"),
	code("cmd/podstep-lab", "agent/lab", "agent/lab/component"),
	code("cmd/podstep/lines", "agent/reason", "probes", "probes/filter", "probes/words"),
	code("cmd/podstep/tracing", "agent/agentpb", "agent/client", "agent/export", "agent/export/collector", "agent/trace", "agent/version", "cmd/podstep/lines", "probes"),
	code("cmd/podstep/node", "agent/attach", "agent/attach/metrics", "probes/cri/relayproc", "probes/cri/takeover", "probes/delve", "probes/kubelets", "probes/reasons", "probes/uprobe/holdproc", "probes/uprobe/park", "probes/words"),
	code("cmd/podstep/reach", "agent/agentpb", "agent/client", "agent/wire", "probes", "probes/kubelets", "probes/uprobe", "probes/words"),
	code("cmd/podstep", "agent/agentpb", "agent/client", "agent/explain/causes", "agent/explain/evidence", "agent/explain/gather", "agent/export", "agent/export/collector", "agent/kubeapi", "agent/reason", "agent/story/compare", "agent/trace", "agent/version", "agent/wire", "cmd/podstep/lines", "cmd/podstep/node", "cmd/podstep/reach", "cmd/podstep/tracing", "probes", "probes/filter", "probes/words", "tui", "tui/cluster", "tui/plain", "tui/session", "tui/settings", "tui/tours"),
}

// anyModule stands for all but the standard library.
const anyModule = "*"

// never are the dependencies, direct or not, that a package must not get, each
// with its reason: a path names the package and all beneath it. What the order
// of packages rules out by itself is not among them.
var never = []struct{ from, to, why string }{
	{"probes/hook", anyModule, "it is linked into the kubelet's innermost functions, and woven packages of the kubelet would come to import each other through it"},
	{"probes", "k8s.io", "the catalogue is data about the kubelet, not code of it"},
	{"probes/memory", "k8s.io", "it is about the types of kubelets of any version, and links none of them"},
	{"probes/kubelets", "k8s.io", "doctor and attach start in milliseconds, beside kubelets of any version"},
	{"probes/cri", "k8s.io/kubernetes", "a call is the same for kubelets of other versions"},
	{"probes/cri/takeover", "google.golang.org/grpc", "what outlives a killed podstep starts at once and is small"},
	{"probes/cri/relayproc", "k8s.io", "what stands in the path is small"},
	{"probes/cri/relay", "k8s.io", "it carries methods that no version of the CRI has yet"},
	{"probes/cri/relay", "probes", "it carries any gRPC connection and knows nothing of pods"},
	{"agent/redact", "k8s.io/kubernetes", "the agent is hosted by podstep attach too, beside kubelets of other versions"},
	{"agent", "agent/trace", "the agent keeps its recent story in memory; files are for clients"},
	{"agent", "k8s.io/kubernetes", "the agent is hosted by podstep attach too, beside kubelets of other versions"},
	{"agent/host", "k8s.io/kubernetes", "it starts the agent in any process that sees steps"},
	{"agent/kubeapi", "k8s.io/client-go/kubernetes", "podstep starts in milliseconds; a clientset brings code for every kind of object"},
	{"agent/attach/cluster", "k8s.io/client-go/kubernetes", "podstep starts in milliseconds; a clientset brings code for every kind of object"},
	{"agent/lab/simcri", "k8s.io/kubernetes", "a runtime knows the kubelet by its calls alone"},
	{"tui/tours", "agent", "a tour is a text with places in it"},
	{"tui/state", "agent/client", "the state is the same for an agent and for a file"},
	{"tui/state", "charm.land", "the state knows no terminal"},
	{"tui/view", "agent/client", "a view draws what the state worked out"},
	{"tui/plain", "charm.land", "plain lines have no colours, glyphs or layout"},
	{"tui", "agent/lab", "the UI shows any node, not only a lab's"},
	{"tui", "k8s.io/kubernetes", "podstep starts in milliseconds"},
	{"cmd/podstep", "agent/lab", "podstep starts in milliseconds; the lab links a whole control plane"},
	{"cmd/podstep", "k8s.io/kubernetes", "podstep starts in milliseconds, and works with kubelets of other versions"},
}
