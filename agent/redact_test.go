package agent

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	v1 "k8s.io/api/core/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/canary"
	"github.com/podstep/podstep/agent/reason"
	"github.com/podstep/podstep/probes"
)

const secret = "s3cr3t-value"

// TestMessagesAreRedacted: no message of a CRI call shows a secret, and the
// kubelet's own message keeps it.
func TestMessagesAreRedacted(t *testing.T) {
	container := &runtimeapi.ContainerConfig{
		Metadata: &runtimeapi.ContainerMetadata{Name: "app"},
		Envs:     []*runtimeapi.KeyValue{{Key: "PASSWORD", Value: []byte(secret)}},
		Command:  []string{"run", "--db=user:" + secret + "@host"},
		Args:     []string{"--password", secret},
	}
	annotations := map[string]string{"kubectl.kubernetes.io/last-applied-configuration": `{"env":"` + secret + `"}`}
	for name, m := range map[string]interface {
		String() string
	}{
		"container": container,
		"sandbox":   &runtimeapi.PodSandboxConfig{Annotations: annotations},
		"create":    &runtimeapi.CreateContainerRequest{Config: container, SandboxConfig: &runtimeapi.PodSandboxConfig{Annotations: annotations}},
		"auth":      &runtimeapi.AuthConfig{Password: secret, Auth: secret, IdentityToken: secret, RegistryToken: secret, Username: secret},
		"pull":      &runtimeapi.PullImageRequest{Auth: &runtimeapi.AuthConfig{Password: secret}},
		"exec":      &runtimeapi.ExecSyncRequest{Cmd: []string{"login", "--token=" + secret}},
		"output":    &runtimeapi.ExecSyncResponse{Stdout: []byte(secret), Stderr: []byte(secret)},
	} {
		f, ok := toField("request", m)
		if !ok || strings.Contains(f.Text, secret) || strings.Contains(f.Text, "czNjcjN0") {
			t.Errorf("%s shows %v, %s", name, ok, f.Text)
		}
		if !strings.Contains(m.String(), secret) {
			t.Errorf("%s: the kubelet's own message was changed: %s", name, m)
		}
	}
	f, _ := toField("request", container)
	for _, want := range []string{"PASSWORD", `"app"`} {
		if !strings.Contains(f.Text, want) {
			t.Errorf("the container shows no %s: %s", want, f.Text)
		}
	}
}

// TestValues: what cannot be shown is left out; what panics is caught.
func TestValues(t *testing.T) {
	type named string
	type number8 uint8
	var nilError *someError
	for _, c := range []struct {
		v    any
		want string
		ok   bool
	}{
		{named("x"), "x", true}, {errors.New("boom"), "boom", true}, {(*string)(nil), "", false}, {nil, "", false},
		{struct{ a int }{1}, "", false}, {nilError, "error that cannot be printed", true}, {[]string{"a", "--token", "b"}, `["a","--token","\u003credacted\u003e"]`, true},
		{named("--token abc1"), "--token <redacted>", true}, {map[string]string{"a": "b", "token": "x"}, `{"a":"b","token":"\u003credacted\u003e"}`, true},
		{"pull of https://u:p@r/x", "pull of https://<redacted>@r/x", true}, {[]named{"run", "x"}, `["run","\u003credacted\u003e"]`, true},
	} {
		f, ok := toField("f", c.v)
		if ok != c.ok || f.Text != c.want {
			t.Errorf("toField(%#v) = %q, %v; want %q, %v", c.v, f.Text, ok, c.want, c.ok)
		}
	}
	if f, ok := toField("f", number8(7)); !ok || f.Num != 7 {
		t.Errorf("a number of a named type is %v, %v", f, ok)
	}
}

// TestTextsAreUTF8: a text is one wherever it comes from and is cut, or the
// message that it is part of could not be sent.
func TestTextsAreUTF8(t *testing.T) {
	umlauts := strings.Repeat("ü", maxText)
	for _, c := range []struct{ name, in, want string }{
		{"short", "für", "für"},
		{"of raw bytes", "not \xff\xfe here", "not \uFFFD here"},
		{"cut between runes", umlauts, umlauts[:maxText] + "…"},
		{"cut in a rune", "x" + umlauts, "x" + umlauts[:maxText-2] + "…"},
		{"raw bytes where it is cut", strings.Repeat("x", maxText-1) + "\xff\xff", strings.Repeat("x", maxText-1) + "…"},
	} {
		if got := errorText(errors.New(c.in)); got != c.want {
			t.Errorf("%s: an error's text is %q, want %q", c.name, got, c.want)
		}
		for what, v := range map[string]any{"a text": c.in, "a word": []string{c.in}, "an error": errors.New(c.in)} {
			f, ok := toField("f", v)
			if b, err := proto.Marshal(messageOf(f)); !ok || err != nil {
				t.Errorf("%s: %s becomes %x, %v", c.name, what, b, err)
			}
		}
	}
}

// TestStateOfRawError: the state of a pod has whatever the runtime answers.
func TestStateOfRawError(t *testing.T) {
	r := newRig(t, Options{})
	p := newPod("default", "web")
	r.run(p).End(time.Now(), errors.New(strings.Repeat("no \xc3 network, ", maxText)), []any{false, "s1"})
	if b, err := proto.Marshal(r.stateOf(p)); err != nil {
		t.Errorf("the pod's state becomes %x, %v", b, err)
	}
}

type someError struct{ text string }

func (e *someError) Error() string { return e.text }

// leaks are texts with a canary in the places where secrets stand.
func leaks(c string) []string {
	return []string{
		"pull https://user:" + c + "@registry.example/x failed", "user:" + c + "@registry.example/app:1", "password=" + c, `{"auths":{"r":{"auth":"` + c + `"}}}`,
		"Authorization: Basic " + c, "command 'sh -c " + c + "' exited with 1: " + c, "mysql -p" + c, "https://h/x?X-Amz-Signature=" + c,
		`Exec lifecycle hook ([sh -c ` + c + `]) for Container "a" failed - error: x, message: "` + c + `"`, "-----BEGIN PRIVATE KEY-----\n" + c,
	}
}

type sprint string

func (s sprint) String() string { return string(s) }

// TestNothingLeaves: whatever a step shows, on its way in and out, and however it
// fails, what is a secret in it is in no event.
func TestNothingLeaves(t *testing.T) {
	r := newRig(t, Options{})
	set := canary.NewSet()
	c := set.Value("secret")
	p := newPod("default", "web")
	type named string
	for _, step := range r.c.Steps {
		for _, leak := range leaks(c) {
			for _, v := range []any{
				leak, named(leak), sprint(leak), &leak, errors.New(leak), []string{"run", leak}, []named{"run", named(leak)}, map[string]string{"a": leak, "token": c},
				&runtimeapi.ContainerConfig{Args: []string{leak}, Labels: map[string]string{"a": leak}, Annotations: map[string]string{"b": c}, WorkingDir: leak},
			} {
				in, out := valuesOf(&step, p, v)
				_ = r.call(step.Name, in, out, func() error { return errors.New(leak) })
			}
		}
	}
	r.Note("so " + leaks(c)[0])
	w, err := r.newWatcher(&agentpb.WatchRequest{Node: true})
	if err != nil {
		t.Fatal(err)
	}
	r.settle()
	if err := r.journal.watch(w, true); err != nil {
		t.Fatal(err)
	}
	defer r.journal.unwatch(w)
	events := w.history.all()
	if len(events) < 10*len(r.c.Steps) {
		t.Errorf("there are only %d events", len(events))
	}
	for _, k := range events {
		if found := set.Find(k.data); found != nil {
			t.Fatalf("an event shows %v", found)
		}
	}
}

// valuesOf are the values of a step, each of whose fields is v.
func valuesOf(step *probes.Step, p *v1.Pod, v any) (in, out []any) {
	switch step.Pod.Kind {
	case probes.PodNone, probes.PodInherit:
	case probes.PodUpdates:
		for range step.Pod.Updates {
			out = append(out, []*v1.Pod{p})
		}
	case probes.PodList, probes.PodObjects:
		in = append(in, []*v1.Pod{p})
	default:
		if step.Pod.Exit {
			out = append(out, p)
		} else {
			in = append(in, p)
		}
	}
	for range step.Fields {
		in = append(in, v)
	}
	for range step.Results {
		out = append(out, v)
	}
	return in, out
}

// TestAnswersAreCleaned: neither an answer nor an error of a request shows a secret; what the kubelet is given is as it was asked for.
func TestAnswersAreCleaned(t *testing.T) {
	set := canary.NewSet()
	c := set.Value("secret")
	leak := "password=" + c
	all := seesAll()
	all[0].Steps["pleg.relistpod"] = probes.Ability{Unseen: unheld.With("step", leak)}
	all[0].Steps["worker.turn"] = probes.Ability{Entry: true, Exit: true, NoHold: unheld.With("step", leak)}
	r := newRig(t, Options{Probes: all, Node: "user:" + c + "@node"})
	r.probes[0].State(agentpb.ProbeState_PROBE_RETRYING, unheld.With("step", leak))
	client, _ := r.serve()()
	p := newPod("default", "web")
	look := func(what string, m proto.Message, err error) {
		t.Helper()
		b, failed := proto.Marshal(m)
		if failed != nil {
			t.Fatal(failed)
		}
		if found := append(set.Find(b), set.FindString(fmt.Sprint(err))...); found != nil {
			t.Errorf("%s shows %v", what, found)
		}
	}
	b, err := client.AddBreakpoint(t.Context(), &agentpb.AddBreakpointRequest{
		Pods: sel(p), Step: "sync.pod", Action: &agentpb.AddBreakpointRequest_Fail{Fail: leak},
	})
	if err != nil {
		t.Fatal(err)
	}
	look("a breakpoint", b, nil)
	list, err := client.ListBreakpoints(t.Context(), &agentpb.ListBreakpointsRequest{})
	look("the list of breakpoints", list, err)
	info, err := client.Info(t.Context(), &agentpb.InfoRequest{})
	look("what the agent is", info, err)
	_, err = client.Hold(t.Context(), &agentpb.HoldRequest{Pods: &agentpb.PodSelector{Name: "[" + leak}})
	look("an error", nil, err)
	look("the problem of an error", reason.ProblemOf(err), nil)
	if status.Code(err) != codes.InvalidArgument || reason.CodeOf(err) != agentpb.Problem_BAD_POD_PATTERN {
		t.Errorf("the error is %v", err)
	}
	_, err = client.AddBreakpoint(t.Context(), &agentpb.AddBreakpointRequest{Step: "worker.turn"})
	look("the cause of a problem", reason.ProblemOf(err), err)
	if reason.ProblemOf(err).GetCause().GetCode() != agentpb.Problem_PROBE_CANNOT_HOLD {
		t.Errorf("the error is %v", err)
	}
	if err := r.sync(p, nil); err == nil || !strings.Contains(err.Error(), c) {
		t.Errorf("the step fails with %v", err)
	}
	for _, e := range r.events("web") {
		look("event "+e.Kind.String(), e, nil)
	}
	pods, err := client.Pods(t.Context(), &agentpb.PodsRequest{})
	look("the pods", pods, err)
}
