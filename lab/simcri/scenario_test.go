package simcri

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

func writeFile(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func readFile(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestScenarioErrors(t *testing.T) {
	for _, c := range []struct{ text, message string }{
		{"nodes: {}", "line 1: field nodes not found"},
		{"node:\n  latency: -1", "node.latency is a factor"},
		{"node:\n  pullSpeed: quick", `line 2: "quick" is not an amount of bytes`},
		{"node:\n  calls:\n    RunPod: 1s", `line 3: the CRI has no call "RunPod"`},
		{"node:\n  calls:\n    Status: later", `line 3: "later" is not a time`},
		{"rules:\n- pod: a\n  sets: {}", "line 3: field sets not found"},
		{"rules:\n- pod: a", "a rule needs `set`"},
		{"rules:\n- pod: a\n  set:\n    exit: 1\n    exits: 2", `line 5: there is no "exits"`},
		{"rules:\n- pod: a\n  set:\n    exit: many", `line 4: exit: "many" is not CODE`},
		{"rules:\n- container: a\n  set:\n    pull: hang", "line 4: pull is said of whole pods"},
		{"rules:\n- set:\n    log: [a]", "line 3: log has one value"},
		{"images:\n- size: 1", "an entry of images has no name"},
		{"images:\n- name: a\n  size: -5", `line 3: "-5" is not an amount`},
		{"node: {}\n---\nnode: {}", "one YAML document"},
		{"node: [", "line 1"},
	} {
		_, err := ParseScenario([]byte(c.text))
		if err == nil || !strings.Contains(err.Error(), c.message) {
			t.Errorf("%q: %v; want it to say %q", c.text, err, c.message)
		}
	}
}

// TestRules: rules apply in their order, then the pod's annotations, then the container's.
func TestRules(t *testing.T) {
	sc, err := ParseScenario([]byte(`
rules:
- {pod: "shop/*", set: {exit: 1, log: shop}}
- {pod: "db-?", container: app, set: {exit: 2}}
- {image: "*/nginx:*", set: {exit: 3}}
`))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		pod              podName
		container, image string
		annotations      map[string]string
		exit             int32
		log              string
	}{
		{podName{"default", "web"}, "app", "busybox", nil, 0, ""},
		{podName{"shop", "web"}, "app", "busybox", nil, 1, "shop"},
		{podName{"shop", "db-0"}, "app", "busybox", nil, 2, "shop"},
		{podName{"shop", "db-0"}, "", "", nil, 1, "shop"},
		{podName{"shop", "db-10"}, "app", "docker.io/library/nginx:1", nil, 3, "shop"},
		{podName{"shop", "db-0"}, "app", "busybox", map[string]string{Prefix + "exit": "4", "other/exit": "9"}, 4, "shop"},
		{podName{"shop", "db-0"}, "app", "busybox", map[string]string{Prefix + "exit": "4", Prefix + "app.exit": "5", Prefix + "zoo.exit": "6"}, 5, "shop"},
	} {
		b, err := sc.behaviourOf(c.pod, c.container, c.image, c.annotations)
		if err != nil || b.exit != c.exit || b.log != c.log {
			t.Errorf("%+v: exit %d, log %q, %v", c, b.exit, b.log, err)
		}
	}
}

func TestNodeOfScenario(t *testing.T) {
	n := start(t, "node: {networkReady: false, runtimeReady: true, latency: 0}")
	st, err := n.Status(n.ctx, &runtimeapi.StatusRequest{Verbose: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range st.Status.Conditions {
		if c.Status != (c.Type == runtimeapi.RuntimeReady) || (c.Reason == "") != c.Status {
			t.Errorf("%v", c)
		}
	}
	if !strings.Contains(st.Info["info"], "podNetwork") {
		t.Errorf("%v", st.Info)
	}
	_, err = n.RunPodSandbox(n.ctx, &runtimeapi.RunPodSandboxRequest{Config: n.pod("web", nil)})
	wantCode(t, err, codes.Unknown, "cni plugin not initialized")
	host := n.pod("host", nil)
	host.Linux.SecurityContext.NamespaceOptions.Network = runtimeapi.NamespaceMode_NODE
	n.run(host)
}

func TestLatency(t *testing.T) {
	sc, err := ParseScenario([]byte("node:\n  latency: 0.5\n  calls: {Status: 3s}"))
	if err != nil {
		t.Fatal(err)
	}
	for call, want := range map[string]time.Duration{"RunPodSandbox": 40 * time.Millisecond, "Status": 3 * time.Second, "Version": quick / 2} {
		if got := sc.latency(call); got != want {
			t.Errorf("%s takes %v, want %v", call, got, want)
		}
	}
	for call := range latencies {
		if !isCall(call) {
			t.Errorf("there is no call %s", call)
		}
	}
}

// TestScenarioIsReadAgain: the file is read again when the kubelet asks for the runtime's status. A bad file changes
// nothing.
func TestScenarioIsReadAgain(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "scenario.yaml")
	writeFile(t, file, "node: {latency: 0}")
	s, err := Listen(Options{Socket: filepath.Join(dir, "s"), Root: dir, ScenarioFile: file})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	networkReady := func() bool {
		st, err := s.Status(t.Context(), &runtimeapi.StatusRequest{})
		if err != nil {
			t.Fatal(err)
		}
		return st.Status.Conditions[1].Status
	}
	if !networkReady() {
		t.Error("the network is not ready")
	}
	writeFile(t, file, "node: {networkReady: false}")
	if networkReady() {
		t.Error("the change is not seen")
	}
	writeFile(t, file, "node: {networkReady: maybe}")
	if networkReady() {
		t.Error("a bad file changed something")
	}
	writeFile(t, file, "bad")
	if _, err := Listen(Options{Socket: filepath.Join(dir, "s2"), Root: dir, ScenarioFile: file}); err == nil {
		t.Error("a bad scenario is accepted at the start")
	}
}

func TestMatch(t *testing.T) {
	for _, c := range []struct {
		pattern, name string
		want          bool
	}{
		{"*", "", true}, {"", "", true}, {"", "a", false}, {"a*", "abc", true}, {"*c", "abc", true}, {"a*c*e", "abcde", true},
		{"a?c", "abc", true}, {"a?c", "ac", false}, {"*/nginx:*", "docker.io/library/nginx:1", true}, {"a*b", "acd", false}, {"**", "x", true},
	} {
		if match(c.pattern, c.name) != c.want {
			t.Errorf("match(%q, %q) is not %v", c.pattern, c.name, c.want)
		}
	}
}

func FuzzParseScenario(f *testing.F) {
	f.Add([]byte("node: {latency: 0, calls: {Status: 1s}}\nimages: [{name: a, size: 1Mi}]\nrules:\n- {pod: a/*, set: {exit: 1, term: 5s}}\n"))
	f.Add([]byte("rules: [{set: {http-status: /a=200}}]"))
	f.Fuzz(func(t *testing.T, data []byte) {
		sc, err := ParseScenario(data)
		if err != nil {
			return
		}
		if _, err := sc.behaviourOf(podName{"a", "b"}, "c", "d", nil); err != nil {
			t.Errorf("a rule that was accepted does not apply: %v", err)
		}
	})
}

func FuzzAnnotation(f *testing.F) {
	for _, s := range settings {
		f.Add(s.Name, "1")
		f.Add("app."+s.Name, "5s")
	}
	f.Fuzz(func(t *testing.T, name, value string) {
		_, read := readAnnotations(map[string]string{Prefix + name: value})
		_, applied := (&Scenario{}).behaviourOf(podName{}, "app", "", map[string]string{Prefix + name: value})
		if (read == nil) != (applied == nil) {
			t.Errorf("%v, but %v", read, applied)
		}
	})
}
