package values

import (
	"errors"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	v1 "k8s.io/api/core/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/wire"
	"github.com/podstep/podstep/probes"
)

// messageOf returns a field as a message.
func messageOf(f wire.Field) *agentpb.Field { return Fields(f.AppendTo(nil)).Protos()[0] }

// TestTake compares the fields that Take writes with those of fieldOf.
func TestTake(t *testing.T) {
	long := strings.Repeat("long ", 200)
	for _, v := range []any{
		"", "text", "token=abc", long, true, false, 0, 7, -7, int64(9), time.Second, 1.5, v1.PodRunning, []string{"a", "b"}, &long, nil, struct{}{},
	} {
		names := Names([]probes.Field{{Name: "before"}, {Name: "it"}, {Name: "after"}})
		var w Fields
		for i, v := range []any{"x", v, "y"} {
			w = w.Take(&names[i], v)
		}
		var want []*agentpb.Field
		for i, v := range []any{"x", v, "y"} {
			if f, ok := fieldOf(names[i].String(), v); ok {
				want = append(want, messageOf(f))
			}
		}
		got := w.Protos()
		if !proto.Equal(&agentpb.Event{Fields: got}, &agentpb.Event{Fields: want}) {
			t.Errorf("of %#v is written %v, want %v", v, got, want)
		}
		for _, f := range want {
			if is, was := wire.Lookup(w, f.Name).String(), f.GetText()+f.GetJson(); is != was {
				t.Errorf("of %#v field %s is read as %q, want %q", v, f.Name, is, was)
			}
			if is := wire.Lookup(w, f.Name).Flag(); is != f.GetFlag() {
				t.Errorf("of %#v field %s is read as %v", v, f.Name, is)
			}
		}
		if wire.Lookup(w, "none").Found() {
			t.Errorf("of %#v a field is found that is not there", v)
		}
	}
}

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
		f, ok := fieldOf("request", m)
		if !ok || strings.Contains(f.Text, secret) || strings.Contains(f.Text, "czNjcjN0") {
			t.Errorf("%s shows %v, %s", name, ok, f.Text)
		}
		if !strings.Contains(m.String(), secret) {
			t.Errorf("%s: the kubelet's own message was changed: %s", name, m)
		}
	}
	f, _ := fieldOf("request", container)
	for _, want := range []string{"PASSWORD", `"app"`} {
		if !strings.Contains(f.Text, want) {
			t.Errorf("the container shows no %s: %s", want, f.Text)
		}
	}
}

// TestValues: a value that cannot be shown is left out; a panic is caught.
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
		f, ok := fieldOf("f", c.v)
		if ok != c.ok || f.Text != c.want {
			t.Errorf("fieldOf(%#v) = %q, %v; want %q, %v", c.v, f.Text, ok, c.want, c.ok)
		}
	}
	if f, ok := fieldOf("f", number8(7)); !ok || f.Num != 7 {
		t.Errorf("a number of a named type is %v, %v", f, ok)
	}
}

// TestTextsAreUTF8: every text is valid UTF-8, wherever it comes from and wherever it is cut. Otherwise its message
// could not be sent.
func TestTextsAreUTF8(t *testing.T) {
	umlauts := strings.Repeat("ü", maxText)
	for _, c := range []struct{ name, in, want string }{
		{"short", "für", "für"},
		{"of raw bytes", "not \xff\xfe here", "not \uFFFD here"},
		{"cut between runes", umlauts, umlauts[:maxText] + "…"},
		{"cut in a rune", "x" + umlauts, "x" + umlauts[:maxText-2] + "…"},
		{"raw bytes where it is cut", strings.Repeat("x", maxText-1) + "\xff\xff", strings.Repeat("x", maxText-1) + "…"},
	} {
		if got := Error(errors.New(c.in)); got != c.want {
			t.Errorf("%s: an error's text is %q, want %q", c.name, got, c.want)
		}
		for what, v := range map[string]any{"a text": c.in, "a word": []string{c.in}, "an error": errors.New(c.in)} {
			f, ok := fieldOf("f", v)
			if b, err := proto.Marshal(messageOf(f)); !ok || err != nil {
				t.Errorf("%s: %s becomes %x, %v", c.name, what, b, err)
			}
		}
	}
}

type someError struct{ text string }

func (e *someError) Error() string { return e.text }

// A list of values of several types is shown by the form that the program has, and never costs the event.
func TestForm(t *testing.T) {
	t.Cleanup(func() { SetForm(nil) })
	list := []any{"a", 1}
	for name, test := range map[string]struct {
		form Form
		want string
	}{
		"no form":   {nil, ""},
		"a form":    {func(v any) (any, bool) { return map[string]any{"n": len(v.([]any))}, true }, `{"n":2}`},
		"not known": {func(any) (any, bool) { return nil, false }, ""},
		"panics":    {func(any) (any, bool) { panic("no") }, ""},
		"too large": {func(any) (any, bool) { return strings.Repeat("x", maxDocument), true }, `{"bytes":8194,"truncated":true}`},
	} {
		SetForm(test.form)
		f, ok := fieldOf("it", list)
		if ok != (test.want != "") || ok && messageOf(f).GetJson() != test.want {
			t.Errorf("%s: %v, %v", name, messageOf(f), ok)
		}
	}
}
