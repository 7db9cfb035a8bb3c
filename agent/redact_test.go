package agent

import (
	"errors"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
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
	annotations := map[string]string{lastApplied: `{"env":"` + secret + `"}`}
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
		if !ok || strings.Contains(f.text, secret) || strings.Contains(f.text, "czNjcjN0") {
			t.Errorf("%s shows %v, %s", name, ok, f.text)
		}
		if !strings.Contains(m.String(), secret) {
			t.Errorf("%s: the kubelet's own message was changed: %s", name, m)
		}
	}
	f, _ := toField("request", container)
	for _, want := range []string{"PASSWORD", `"app"`} {
		if !strings.Contains(f.text, want) {
			t.Errorf("the container shows no %s: %s", want, f.text)
		}
	}
}

func TestScrub(t *testing.T) {
	for in, want := range map[string]string{
		"pull https://user:pw@registry/x failed":                      "pull https://<redacted>@registry/x failed",
		"Authorization: Bearer abc.def-123":                           "Authorization: <redacted>",
		"got bearer abc.def-123 from it":                              "got bearer <redacted> from it",
		`password="hunter2" given`:                                    `password="<redacted>" given`,
		"command 'sh -c echo x' exited with 1: the output":            "command <redacted> exited with 1",
		"command 'sh -c echo x' exited with -1: out":                  "command <redacted> exited with -1",
		`command timed out: "echo x" timed out after 1s`:              "command timed out: <redacted> timed out after 1s",
		"nothing to see":                                              "nothing to see",
		"secret \"db\" not found":                                     "secret \"db\" not found",
		"MountVolume.SetUp failed: object \"default\"/\"token\" gone": "MountVolume.SetUp failed: object \"default\"/\"token\" gone",
	} {
		if got := scrub(in); got != want {
			t.Errorf("scrub(%q)\n   = %q\nwant %q", in, got, want)
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
	} {
		f, ok := toField("f", c.v)
		if ok != c.ok || f.text != c.want {
			t.Errorf("toField(%#v) = %q, %v; want %q, %v", c.v, f.text, ok, c.want, c.ok)
		}
	}
	if f, ok := toField("f", number8(7)); !ok || f.num != 7 {
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
			if b, err := proto.Marshal(f.proto()); !ok || err != nil {
				t.Errorf("%s: %s becomes %x, %v", c.name, what, b, err)
			}
		}
	}
}

// TestStateOfRawError: pods are told of whatever the runtime says.
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

// TestContainerWords: what the kubelet has expanded into a container's words
// is taken out again.
func TestContainerWords(t *testing.T) {
	long := strings.Repeat("long-secret-", maxText)
	for _, c := range []struct {
		name         string
		values, args []string
		want         []string
	}{
		{"alone", []string{"hunter2"}, []string{"run", "hunter2"}, []string{"run", redacted}},
		{"in a word", []string{"hunter2"}, []string{"--key=hunter2,x"}, []string{"--key=" + redacted + ",x"}},
		{"part of another", []string{"hunter", "hunter2-and-more"}, []string{"hunter2-and-more"}, []string{redacted}},
		{"longer than a word is shown", []string{long}, []string{"<" + long + ">"}, []string{"<" + redacted + ">"}},
		{"empty", []string{""}, []string{"run"}, []string{"run"}},
	} {
		config := &runtimeapi.ContainerConfig{Args: c.args, Command: c.args}
		for _, v := range c.values {
			config.Envs = append(config.Envs, &runtimeapi.KeyValue{Key: "K", Value: []byte(v)})
		}
		got := withoutSecrets(config).(*runtimeapi.ContainerConfig)
		for _, words := range [][]string{got.Args, got.Command} {
			if strings.Join(words, " ") != strings.Join(c.want, " ") {
				t.Errorf("%s: the words are %q, want %q", c.name, words, c.want)
			}
		}
		for i, e := range got.Envs {
			if len(e.Value) > 0 || e.Key != "K" {
				t.Errorf("%s: variable %d is %v", c.name, i, e)
			}
			if string(config.Envs[i].Value) != c.values[i] {
				t.Errorf("%s: the kubelet's own value was changed", c.name)
			}
		}
	}
}
