package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"google.golang.org/grpc"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/canary"
	"github.com/podstep/podstep/agent/client"
	"github.com/podstep/podstep/agent/kubeapi/apitest"
)

// sweep is a machine with secrets wherever podstep mcp could find some: in its environment, in the paths that it is
// started with, in the kubeconfig, in the objects of the API server.
type sweep struct {
	set *canary.Set
	dir string
	api *apitest.Server

	mu    sync.Mutex
	asked []string // the requests that came to the agent
	flags mcpFlags
	app   *app
}

func newSweep(t *testing.T) *sweep {
	t.Helper()
	s := &sweep{set: canary.NewSet()}
	top, err := os.MkdirTemp("", "p") // a socket's path must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(top) })
	s.dir = filepath.Join(top, s.set.Value("directory"))
	for _, d := range []string{s.dir, s.path("home"), s.path("tmp"), s.path("work")} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(s.path("work"))
	for name, value := range map[string]string{
		"HOME": s.path("home"), "TMPDIR": s.path("tmp"), "USER": s.set.Value("USER"), "HOSTNAME": s.set.Value("HOSTNAME"), "API_TOKEN": s.set.Value("API_TOKEN"),
		"AWS_SECRET_ACCESS_KEY": s.set.Value("AWS key"), "PASSWORD": s.set.Value("PASSWORD"), "ANYTHING": s.set.Hard("ANYTHING"), "LANG": s.set.Value("LANG"),
		"PODSTEP_SOCKET": s.path("other.sock"), "KUBECONFIG": s.path("config"),
	} {
		t.Setenv(name, value)
	}
	s.api = apitest.Start(t, s.objects())
	s.writeConfig(t, func(*api.Config) {})
	s.app = &app{where: (&where{}).with(client.At(s.path("a.sock")))}
	return s
}

func (s *sweep) path(name string) string { return filepath.Join(s.dir, name) }

// objects are those of the API server: a pod that waits, with secrets in all places, and an event about it.
func (s *sweep) objects() http.Handler {
	at := metav1.NewTime(time.Now().Add(-time.Hour))
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "default", Name: "leaky", UID: "u-leaky", CreationTimestamp: at,
			Annotations: map[string]string{"example.com/note": s.set.Value("annotation")}, Labels: map[string]string{"password": s.set.Value("label")},
		},
		Spec: corev1.PodSpec{NodeName: "node-1", Containers: []corev1.Container{{
			Name: "app", Image: "robot:" + s.set.Value("image user") + "@registry.example/app", Command: []string{"run", s.set.Value("command")}, Args: []string{s.set.Value("argument")},
			Env: []corev1.EnvVar{{Name: "A", Value: s.set.Value("env of a container")}},
		}}},
		Status: corev1.PodStatus{
			Phase: corev1.PodPending, Message: "password=" + s.set.Value("status"), StartTime: &at,
			ContainerStatuses: []corev1.ContainerStatus{{Name: "app", Image: "app", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{
				Reason: "ErrImagePull", Message: `failed to pull: Authorization: Bearer ` + s.set.Value("bearer") + ` unauthorized`,
			}}}},
		},
	}
	event := corev1.Event{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "e"}, InvolvedObject: corev1.ObjectReference{Kind: "Pod", Namespace: "default", Name: "leaky", UID: "u-leaky"},
		Type: "Warning", Reason: "Failed", Message: "Failed to pull: https://robot:" + s.set.Value("registry password") + "@registry.example/v2/?token=" + s.set.Value("query"), LastTimestamp: at, Count: 3,
	}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-1", Annotations: map[string]string{"a": s.set.Value("node annotation")}}}
	return apitest.Objects{
		"api/v1/pods": &corev1.PodList{Items: []corev1.Pod{*pod}}, "api/v1/namespaces/default/pods": &corev1.PodList{Items: []corev1.Pod{*pod}},
		"api/v1/namespaces/default/pods/leaky": pod, "api/v1/namespaces/default/events": &corev1.EventList{Items: []corev1.Event{event}},
		"api/v1/events": &corev1.EventList{Items: []corev1.Event{event}}, "api/v1/nodes": &corev1.NodeList{Items: []corev1.Node{*node}}, "api/v1/nodes/node-1": node,
	}
}

// writeConfig writes a kubeconfig in which each name and credential is a secret.
func (s *sweep) writeConfig(t *testing.T, change func(*api.Config)) {
	t.Helper()
	c := api.NewConfig()
	user, cluster, name := s.set.Value("user"), s.set.Value("cluster"), s.set.Value("context")
	c.Clusters[cluster] = &api.Cluster{Server: s.api.URL}
	c.AuthInfos[user] = &api.AuthInfo{Token: s.set.Value("token")}
	c.Contexts[name] = &api.Context{Cluster: cluster, AuthInfo: user, Namespace: "default"}
	c.CurrentContext = name
	change(c)
	if err := clientcmd.WriteToFile(*c, s.path("config")); err != nil {
		t.Fatal(err)
	}
}

// serveAgent serves an agent that keeps the names of the requests.
func (s *sweep) serveAgent(t *testing.T, a agentpb.AgentServer) (stop func()) {
	t.Helper()
	l, err := net.Listen("unix", s.app.socketOrDefault())
	if err != nil {
		t.Fatal(err)
	}
	keep := func(method string) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.asked = append(s.asked, path.Base(method))
	}
	server := grpc.NewServer(
		grpc.UnaryInterceptor(func(ctx context.Context, r any, info *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
			keep(info.FullMethod)
			return handle(ctx, r)
		}),
		grpc.StreamInterceptor(func(srv any, stream grpc.ServerStream, info *grpc.StreamServerInfo, handle grpc.StreamHandler) error {
			keep(info.FullMethod)
			return handle(srv, stream)
		}))
	agentpb.RegisterAgentServer(server, a)
	go func() { _ = server.Serve(l) }()
	t.Cleanup(server.Stop)
	return server.Stop
}

// curious are what an assistant may give as any text: names of pods that are there, and what could be read if podstep took
// it for something else.
var curious = []string{
	"leaky", "default/leaky", "web", "slow", "cri.*", "creation", "err", "rec.podstep", "node/node-1", "deployment/web",
	"/proc/self/environ", "../config", "~/.kube/config", "$KUBECONFIG", "${API_TOKEN}", "{{.Env}}", "file:///etc/passwd", "-o=json", "--kubeconfig", "\x00", "@config", "a' or 'b",
}

// calls are the arguments with which a tool is asked: each of its texts is each of curious, with the other arguments that
// make sense.
func calls(t *testing.T, tool *sdk.Tool, texts []string) (out []map[string]any) {
	t.Helper()
	var schema jsonschema.Schema
	raw, err := json.Marshal(tool.InputSchema)
	if err != nil || json.Unmarshal(raw, &schema) != nil {
		t.Fatalf("the schema of %s: %v", tool.Name, err)
	}
	plain := map[string]map[string]any{"compare": {"a": "web", "b": "web"}, "hold": {"pod": "web"}, "step": {"pod": "web"}, "continue": {"pod": "web"}}[tool.Name]
	out = append(out, plain)
	for name, p := range schema.Properties {
		for _, text := range texts {
			args := map[string]any{}
			for k, v := range plain {
				args[k] = v
			}
			switch p.Type {
			case "string":
				args[name] = text
			case "boolean":
				args[name] = true
			case "integer":
				args[name] = 1
			default:
				args[name] = []string{text}
			}
			if out = append(out, args); p.Type == "boolean" || p.Type == "integer" {
				break
			}
		}
	}
	return out
}

// askAll asks everything that the server lists, and looks for secrets in all that it answers. It returns how many calls of
// each tool were answered without an error.
func (s *sweep) askAll(t *testing.T, state string, texts []string) map[string]int {
	t.Helper()
	a := newAssistant(t, s.app, &s.flags)
	answered := map[string]int{}
	s.look(t, state, "the handshake", a.InitializeResult())
	tools, err := a.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	s.look(t, state, "the list of tools", tools)
	for _, tool := range tools.Tools {
		answered[tool.Name] = 0
		for _, args := range calls(t, tool, texts) {
			r := a.call(t, tool.Name, args)
			textOf(t, r)
			s.look(t, state, fmt.Sprint(tool.Name, " ", args), r)
			if !r.IsError {
				answered[tool.Name]++
			}
		}
	}
	s.askRest(t, a, state, texts)
	return answered
}

// askRest asks for all prompts and resources.
func (s *sweep) askRest(t *testing.T, a *assistant, state string, texts []string) {
	t.Helper()
	prompts, err := a.ListPrompts(t.Context(), nil)
	if err != nil || len(prompts.Prompts) != 2 {
		t.Fatalf("%v, %v", prompts, err)
	}
	resources, err := a.ListResources(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	templates, err := a.ListResourceTemplates(t.Context(), nil)
	if err != nil || len(templates.ResourceTemplates) == 0 {
		t.Fatalf("%v, %v", templates, err)
	}
	s.look(t, state, "the lists", []any{prompts, resources, templates})
	for _, text := range texts {
		for _, p := range prompts.Prompts {
			args := map[string]string{}
			for _, x := range p.Arguments {
				args[x.Name] = text
			}
			r, err := a.GetPrompt(t.Context(), &sdk.GetPromptParams{Name: p.Name, Arguments: args})
			s.look(t, state, p.Name+" "+text, r, err)
		}
		for _, x := range templates.ResourceTemplates {
			r, err := a.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: strings.ReplaceAll(x.URITemplate, "{id}", text)})
			s.look(t, state, x.Name+" "+text, r, err)
		}
		r, err := a.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: "file://" + text})
		s.look(t, state, text, r, err)
	}
}

// look looks for secrets in what the server shows.
func (s *sweep) look(t *testing.T, state, of string, shown ...any) {
	t.Helper()
	for _, v := range shown {
		if err, is := v.(error); is {
			v = err.Error()
		}
		raw, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		text := string(raw)
		for _, found := range s.set.FindString(text) {
			t.Errorf("%s: %s shows %v", state, of, found)
		}
		if at := strings.TrimPrefix(s.api.URL, "http://"); strings.Contains(text, at) {
			t.Errorf("%s: %s shows the API server's address: %s", state, of, text)
		}
		if strings.Contains(text, "root:x:") || strings.Contains(text, "runtime/debug") {
			t.Errorf("%s: %s shows what is in a file, or a stack: %s", state, of, text)
		}
	}
}

// TestNothingOfThisMachine asks all tools, prompts and resources that the server lists, in any way, with sources that
// answer and sources that fail in each way. Nothing shows a path, the environment, the kubeconfig or a secret. The agent
// gets requests that read, and the API server GETs.
func TestNothingOfThisMachine(t *testing.T) {
	s := newSweep(t)
	states := []struct {
		name string
		make func() (done func())
		none []string // the tools that cannot answer then
	}{
		{"all answer", func() func() { return s.serveAgent(t, &oncallAgent{newFakeAgent()}) }, nil},
		{"there is no agent", func() func() { return func() {} }, []string{"pods", "trace", "compare"}},
		{"the socket is a file", func() func() {
			if err := os.WriteFile(s.app.socketOrDefault(), nil, 0o600); err != nil {
				t.Fatal(err)
			}
			return func() { os.Remove(s.app.socketOrDefault()) }
		}, []string{"pods", "trace", "compare"}},
		{"the API server refuses", func() func() {
			for _, p := range []string{"/api/v1/pods", "/api/v1/namespaces/default/pods/leaky", "/api/v1/namespaces/default/events", "/api/v1/nodes"} {
				s.api.Refuse(p, http.StatusForbidden)
			}
			return s.serveAgent(t, &oncallAgent{newFakeAgent()})
		}, nil},
		{"nobody is at the API server's address", func() func() {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			l.Close()
			s.writeConfig(t, func(c *api.Config) { c.Clusters[s.set.Value("cluster")].Server = "https://" + l.Addr().String() })
			return func() {}
		}, []string{"pods", "trace", "compare", "why"}},
		{"the server has a name that is not found", func() func() {
			s.writeConfig(t, func(c *api.Config) {
				c.Clusters[s.set.Value("cluster")].Server = "https://" + s.set.Value("host") + ".invalid:6443"
			})
			return func() {}
		}, []string{"pods", "trace", "compare", "why"}},
		{"the certificate is not there", func() func() {
			s.writeConfig(t, func(c *api.Config) {
				c.Clusters[s.set.Value("cluster")].CertificateAuthority = s.path(s.set.Value("certificate"))
			})
			return func() {}
		}, []string{"pods", "trace", "compare", "why"}},
		{"the program that logs in fails", func() func() {
			s.writeConfig(t, func(c *api.Config) {
				c.AuthInfos[s.set.Value("user")] = &api.AuthInfo{Exec: &api.ExecConfig{
					APIVersion: "client.authentication.k8s.io/v1", InteractiveMode: api.NeverExecInteractiveMode, Command: s.path(s.set.Value("program")), Args: []string{s.set.Value("argument of exec")},
					Env: []api.ExecEnvVar{{Name: "A", Value: s.set.Value("env of exec")}},
				}}
			})
			return func() {}
		}, []string{"pods", "trace", "compare", "why"}},
		{"the kubeconfig is damaged", func() func() {
			if err := os.WriteFile(s.path("config"), []byte("token: "+s.set.Value("rest")+"\n\t}"), 0o600); err != nil {
				t.Fatal(err)
			}
			return func() {}
		}, []string{"pods", "trace", "compare", "why"}},
	}
	texts := curious
	for _, x := range states {
		done := x.make()
		for tool, n := range s.askAll(t, x.name, texts) {
			if (n == 0) != slices.Contains(x.none, tool) {
				t.Errorf("%s: %d calls of %s are answered", x.name, n, tool)
			}
		}
		done()
		texts = curious[:3] // what fails does not depend on what is asked
	}
	reads := []string{"Info", "Watch", "Pods", "Stats", "ListHolds", "ListBreakpoints"}
	for _, name := range s.asked {
		if !slices.Contains(reads, name) {
			t.Errorf("the agent was asked to %s", name)
		}
	}
	for _, r := range s.api.Requests() {
		if r.Method != http.MethodGet {
			t.Errorf("the API server got %s", r)
		}
	}
	if len(s.asked) == 0 || len(s.api.Requests()) == 0 {
		t.Error("no source was asked")
	}
}

// TestNothingOfHolds is TestNothingOfThisMachine for a server that holds pods.
func TestNothingOfHolds(t *testing.T) {
	s := newSweep(t)
	s.flags.holds = true
	stop := s.serveAgent(t, newHoldingAgent())
	for tool, n := range s.askAll(t, "holding", curious[:6]) {
		if n == 0 && tool != "continue" { // it comes before hold, so that no pod is held yet
			t.Errorf("no call of %s is answered", tool)
		}
	}
	stop()
	s.askAll(t, "the agent is gone", curious[:3])
}

// TestNothingOfRecordings is TestNothingOfThisMachine for recordings: they are known by their names, also when one is gone.
func TestNothingOfRecordings(t *testing.T) {
	s := newSweep(t)
	s.app = &app{where: &where{}}
	raw, err := os.ReadFile(filepath.Join(testsDir, wovenFile))
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string][]byte{"rec.podstep": raw, "cut.podstep": raw[:len(raw)*2/3]} {
		if err := os.WriteFile(s.path(name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s.flags.files = []string{s.path("rec.podstep"), "../cut.podstep"}
	for tool, n := range s.askAll(t, "recordings", curious[5:14]) {
		if (n == 0) != (tool == "doctor") {
			t.Errorf("%d calls of %s are answered", n, tool)
		}
	}
	a := newAssistant(t, s.app, &s.flags)
	cut := a.call(t, "pods", map[string]any{"recording": "cut.podstep"})
	if text := textOf(t, cut); !strings.Contains(text, `"unseen":["trace the rest of cut.podstep: failed: `) {
		t.Errorf("a recording that breaks off does not say so: %.600s", text)
	}
	if err := os.Remove(s.path("rec.podstep")); err != nil {
		t.Fatal(err)
	}
	gone := a.call(t, "why", nil)
	s.look(t, "a recording is gone", "why", gone)
	if !gone.IsError || !strings.Contains(textOf(t, gone), "rec.podstep") {
		t.Errorf("a recording is gone: %s", textOf(t, gone))
	}
}

// testsDir is where the tests were started.
var testsDir, _ = os.Getwd()
