package labtest

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"google.golang.org/protobuf/proto"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/canary"
)

// Canaries are pods with known secrets in all places where a pod may have secrets. An agent must send none of these.
type Canaries struct {
	*canary.Set
	Pods []*corev1.Pod

	l      *Lab
	prefix string
}

// NewCanaries creates the Secrets and ConfigMaps that the pods need, until the test ends, and makes the pods' objects
// without creating them. Names begin with prefix.
func NewCanaries(tb testing.TB, l *Lab, prefix string) *Canaries {
	tb.Helper()
	c := &Canaries{Set: canary.NewSet(), l: l, prefix: prefix}
	c.vault(tb)
	c.Pods = []*corev1.Pod{c.talker(), c.probed(), c.hooked(), c.pulled(), c.misnamed()}
	return c
}

// CreateAll creates the pods.
func (c *Canaries) CreateAll(tb testing.TB) {
	tb.Helper()
	for _, p := range c.Pods {
		c.l.Create(p)
	}
}

// Name returns the full name of one of the pods: talker, probed, hooked, pulled, misnamed.
func (c *Canaries) Name(pod string) string { return c.prefix + "-" + pod }

// vault creates the objects from which the pods have their secrets.
func (c *Canaries) vault(tb testing.TB) {
	tb.Helper()
	ctx, core := c.l.Context(), c.l.Client.CoreV1()
	config := map[string]any{"auths": map[string]any{"registry.invalid": map[string]string{
		"username": c.Value("registry user"), "password": c.Value("registry password"),
		"auth": base64.StdEncoding.EncodeToString([]byte(c.Value("registry user") + ":" + c.Value("registry password"))),
	}}}
	text, err := json.Marshal(config)
	if err != nil {
		tb.Fatal(err)
	}
	secrets := []*corev1.Secret{
		{ObjectMeta: metav1.ObjectMeta{Name: c.Name("vault")}, StringData: map[string]string{"FROM_SECRET": c.Hard("envFrom Secret"), "FILE": c.Hard("Secret volume"), "ONE": c.Value("env Secret key")}},
		{ObjectMeta: metav1.ObjectMeta{Name: c.Name("registry")}, Type: corev1.SecretTypeDockerConfigJson, Data: map[string][]byte{corev1.DockerConfigJsonKey: text}},
	}
	for _, s := range secrets {
		if _, err := core.Secrets("default").Create(ctx, s, metav1.CreateOptions{}); err != nil {
			tb.Fatal(err)
		}
		tb.Cleanup(func() { _ = core.Secrets("default").Delete(c.l.Context(), s.Name, metav1.DeleteOptions{}) })
	}
	m := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: c.Name("config")}, Data: map[string]string{"FROM_CONFIG": c.Hard("envFrom ConfigMap")}}
	if _, err := core.ConfigMaps("default").Create(ctx, m, metav1.CreateOptions{}); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = core.ConfigMaps("default").Delete(c.l.Context(), m.Name, metav1.DeleteOptions{}) })
}

// pod makes a pod with secrets in the places that all these pods have in common.
func (c *Canaries) pod(name, script string, args ...string) *corev1.Pod {
	p := BusyboxPod(c.Name(name), script)
	p.Annotations = map[string]string{
		"kubectl.kubernetes.io/last-applied-configuration": fmt.Sprintf(`{"spec":{"containers":[{"env":[{"name":"A","value":%q}]}]}}`, c.Value("last applied")),
		"meta.helm.sh/release-notes":                       c.Value("helm annotation"),
		"kapp.k14s.io/original":                            c.Hard("kapp annotation"),
		"argocd.argoproj.io/tracking-id":                   c.Value("argo annotation"),
		"objectset.rio.cattle.io/applied":                  base64.StdEncoding.EncodeToString([]byte(c.Value("rancher annotation"))),
		"example.com/note":                                 c.Value("annotation"),
	}
	p.Labels = map[string]string{"token": c.Value("label")}
	p.Spec.HostAliases = []corev1.HostAlias{{IP: "127.0.0.9", Hostnames: []string{c.Value("host alias")}}}
	p.Spec.ImagePullSecrets = []corev1.LocalObjectReference{{Name: c.Name("registry")}}
	app := &p.Spec.Containers[0]
	app.Args = append([]string{"$(PLAIN)", "--password", "$(FROM_SECRET)", "--key=$(ONE)", "-p" + c.Value("joined option"), "-p", c.Value("option"), "--user", "u:" + c.Value("user option"), c.Value("argument")}, args...)
	app.Env = []corev1.EnvVar{
		{Name: "PLAIN", Value: c.Hard("env")}, {Name: "LONG", Value: strings.Repeat(c.Value("long env"), 100)},
		{Name: "ONE", ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: c.Name("vault")}, Key: "ONE"}}},
	}
	app.EnvFrom = []corev1.EnvFromSource{
		{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: c.Name("vault")}}},
		{ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: c.Name("config")}}},
	}
	expires := int64(600)
	p.Spec.Volumes = []corev1.Volume{
		{Name: "vault", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: c.Name("vault")}}},
		{Name: "token", VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{
			{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{Path: "token", ExpirationSeconds: &expires}},
		}}}},
	}
	app.VolumeMounts = []corev1.VolumeMount{{Name: "vault", MountPath: "/vault"}, {Name: "token", MountPath: "/token"}}
	return p
}

// printing returns a script that prints all the secrets that it can find, to a redirection such as >&2.
func (c *Canaries) printing(name, to string) string {
	return "echo " + c.Value(name) + " $PLAIN $FROM_SECRET $FROM_CONFIG $ONE" + to + "; cat /vault/FILE" + to + "; cat /token/token" + to + "; "
}

// talker is a pod that prints its secrets and dies.
func (c *Canaries) talker() *corev1.Pod {
	return c.pod("talker", c.printing("log", "")+c.printing("termination message", " >> /dev/termination-log")+"exit 1")
}

// probed is a pod with health probes that fail in each way, with secrets in the requests and the answers.
func (c *Canaries) probed() *corev1.Pod {
	// A redirection to another host, with a secret in its body, is a ProbeWarning.
	body := c.Value("body of a probe's answer")
	answer := fmt.Sprintf(`printf "HTTP/1.1 302 Found\r\nLocation: http://other.example/\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s"`, len(body), body)
	p := c.pod("probed", "while true; do "+answer+" | nc -l -p 8080; done")
	http := func(name string, port int) *corev1.Probe {
		return &corev1.Probe{PeriodSeconds: 1, FailureThreshold: 100, ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{
			Path: "/?token=" + c.Value(name+" query"), Port: intstr.FromInt(port),
			HTTPHeaders: []corev1.HTTPHeader{{Name: "Authorization", Value: "Bearer " + c.Value(name+" header")}, {Name: "X-Note", Value: c.Value(name + " other header")}},
		}}}
	}
	exec := func(name, end string) *corev1.Probe {
		return &corev1.Probe{PeriodSeconds: 1, FailureThreshold: 100, ProbeHandler: corev1.ProbeHandler{Exec: &corev1.ExecAction{
			Command: []string{"sh", "-c", c.printing(name+" command", "") + c.printing(name+" command", " >&2") + end, "-p" + c.Value(name+" option")},
		}}}
	}
	more := func(name string, readiness, liveness *corev1.Probe) {
		extra := *p.Spec.Containers[0].DeepCopy()
		extra.Name, extra.Command = name, []string{"sh", "-c", Sleep}
		extra.ReadinessProbe, extra.LivenessProbe = readiness, liveness
		p.Spec.Containers = append(p.Spec.Containers, extra)
	}
	p.Spec.Containers[0].ReadinessProbe = http("redirected probe", 8080)
	more("exec", exec("failing probe", "exit 1"), exec("slow probe", "sleep 30"))
	more("refused", http("refused probe", 8099), exec("lying probe", `echo "command $PLAIN"; echo "dial tcp $PLAIN"; exit 1`))
	return p
}

// hooked is a pod with hooks that fail.
func (c *Canaries) hooked() *corev1.Pod {
	p := c.pod("hooked", Sleep)
	script := func(name string) []string {
		return []string{"sh", "-c", c.printing(name, "") + c.printing(name, " >&2") + "exit 1", "-p" + c.Value(name+" option"), c.Value(name + " argument")}
	}
	p.Spec.Containers[0].Lifecycle = &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{Exec: &corev1.ExecAction{Command: script("preStop command")}}}
	after := *p.Spec.Containers[0].DeepCopy()
	after.Name = "after"
	after.Lifecycle = &corev1.Lifecycle{
		PostStart: &corev1.LifecycleHandler{Exec: &corev1.ExecAction{Command: script("postStart command")}},
		PreStop: &corev1.LifecycleHandler{HTTPGet: &corev1.HTTPGetAction{
			Path: "/" + c.Value("preStop path"), Port: intstr.FromInt(8099),
			HTTPHeaders: []corev1.HTTPHeader{{Name: "Authorization", Value: "Basic " + c.Value("preStop header")}, {Name: "X-Note", Value: c.Value("preStop other header")}},
		}},
	}
	p.Spec.Containers = append(p.Spec.Containers, after)
	return p
}

// pulled is a pod with an image that cannot be pulled, not even in a simulation, from a registry that wants a
// password.
func (c *Canaries) pulled() *corev1.Pod {
	p := c.pod("pulled", Sleep)
	p.Spec.Containers[0].Image = "registry.invalid/no-such:1"
	return p
}

// misnamed is a pod with credentials in the names of its images.
func (c *Canaries) misnamed() *corev1.Pod {
	p := c.pod("misnamed", Sleep)
	url := *p.Spec.Containers[0].DeepCopy()
	url.Name, url.Image = "url", "https://robot:"+c.Value("password in an image's URL")+"@registry.invalid/app:1"
	p.Spec.Containers[0].Image = "robot:" + c.Value("password in an image's name") + "@registry.invalid/app:1"
	p.Spec.Containers = append(p.Spec.Containers, url)
	return p
}

// Tokens is the beginning of the tokens of service accounts. Tests cannot know these tokens beforehand.
const Tokens = "eyJhbGciOi"

// Silent checks that a text has no canary.
func (c *Canaries) Silent(tb testing.TB, where, text string) {
	tb.Helper()
	if text == "" {
		tb.Errorf("%s says nothing at all", where)
	}
	c.report(tb, where, c.FindString(text))
	if i := strings.Index(text, Tokens); i >= 0 {
		tb.Errorf("%s shows a token: %.300q", where, text[max(0, i-150):])
	}
}

func (c *Canaries) report(tb testing.TB, where string, found []canary.Found) {
	tb.Helper()
	for _, f := range found {
		tb.Errorf("%s shows %s", where, f)
	}
}

// SilentAgent checks all that the agent of a lab sends: the bytes of all events that it remembers, and its answers.
// It returns how many events there were.
func (c *Canaries) SilentAgent(tb testing.TB, l *Lab) (events int) {
	tb.Helper()
	w, err := l.Agent().Watch(l.Context(), &agentpb.WatchRequest{OnlyHistory: true, Node: true})
	if err != nil {
		tb.Fatal(err)
	}
	var found []canary.Found
	for {
		b, err := w.NextRaw()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			tb.Fatal(err)
		}
		more, err := c.FindBatch(b)
		if err != nil {
			tb.Fatal(err)
		}
		found, events = append(found, more...), events+len(b.Events)
	}
	seen := map[string]bool{}
	c.report(tb, "the recorder", slices.DeleteFunc(found, func(f canary.Found) bool {
		again := seen[f.Name]
		seen[f.Name] = true
		return again
	}))
	c.answers(tb, l)
	return events
}

// answers checks the agent's answers.
func (c *Canaries) answers(tb testing.TB, l *Lab) {
	tb.Helper()
	agent, ctx := l.Agent(), l.Context()
	look := func(what string, m proto.Message, err error) {
		tb.Helper()
		if err != nil {
			tb.Fatal(err)
		}
		b, err := proto.Marshal(m)
		if err != nil {
			tb.Fatal(err)
		}
		c.report(tb, what, c.Find(b))
	}
	info, err := agent.AgentClient.Info(ctx, &agentpb.InfoRequest{})
	look("what the agent is", info, err)
	pods, err := agent.AgentClient.Pods(ctx, &agentpb.PodsRequest{})
	look("the pods", pods, err)
	stats, err := agent.AgentClient.Stats(ctx, &agentpb.StatsRequest{})
	look("the statistics", stats, err)
	holds, err := agent.AgentClient.ListHolds(ctx, &agentpb.ListHoldsRequest{})
	look("the holds", holds, err)
	points, err := agent.AgentClient.ListBreakpoints(ctx, &agentpb.ListBreakpointsRequest{})
	look("the breakpoints", points, err)
}

// SilentTrace checks a trace file.
func (c *Canaries) SilentTrace(tb testing.TB, path string) {
	tb.Helper()
	found, events, err := c.FindTrace(path)
	if err != nil {
		tb.Fatal(err)
	}
	if events == 0 {
		tb.Errorf("trace file %s has no events", path)
	}
	c.report(tb, "the trace file", found)
}
