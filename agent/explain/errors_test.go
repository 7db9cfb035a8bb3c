package explain

import (
	"strings"
	"testing"

	"github.com/podstep/podstep/probes/words"
)

// kubeletErrors are errors of turns, as the kubelet puts them together.
var kubeletErrors = []struct{ err, text, brief string }{
	{`failed to "StartContainer" for "app" with CreateContainerConfigError: "configmap \"nope\" not found"`,
		`app: its configuration cannot be made (CreateContainerConfigError): configmap "nope" not found`, "no configmap nope"},
	{`failed to "StartContainer" for "app" with CreateContainerConfigError: "container has runAsNonRoot and image will run as root (pod: \"web_default(12)\", container: app)"`,
		"app: its configuration cannot be made (CreateContainerConfigError): container has runAsNonRoot and image will run as root", "may not run as root"},
	{`failed to "StartContainer" for "app" with ImagePullBackOff: "Back-off pulling image \"a:1\": ErrImagePull: rpc error: code = NotFound desc = failed to resolve reference \"a:1\": a:1: not found"`,
		"app: its image cannot be pulled, and the kubelet waits before it tries again (ImagePullBackOff): a:1: not found", "image pull failed"},
	{`failed to "CreatePodSandbox" for "web_default(12)" with CreatePodSandboxError: "Failed to create sandbox: rpc error\n"`,
		`its sandbox cannot be created (CreatePodSandboxError): Failed to create sandbox: rpc error`, "sandbox failed"},
	{`[failed to "StartContainer" for "a" with NewReason, failed to "StartContainer" for "b" with ErrImagePull: "x"]`, "a: NewReason", "NewReason"},
	{"unmounted volumes=[c d], unattached volumes=[]: context deadline exceeded", "volumes are not mounted: c d", "not mounted: c d"},
	{"network is not ready: container runtime network not ready", "the node's pod network is not ready", "network not ready"},
	{"something\x1b else", `something\x1b else`, `something\x1b else`},
}

func TestCauseOf(t *testing.T) {
	for _, c := range kubeletErrors {
		p := causeOf(c.err)
		if got := p.Text(words.English); got != c.text {
			t.Errorf("%s\nis %s\nwant %s", c.err, got, c.text)
		}
		if got := p.Brief(words.English); got != c.brief {
			t.Errorf("%s\nis briefly %s, want %s", c.err, got, c.brief)
		}
	}
}

// FuzzCauseOf: the texts of an error have all their arguments and nothing that a terminal would
// act on, whatever a runtime puts into the error.
func FuzzCauseOf(f *testing.F) {
	for _, c := range kubeletErrors {
		f.Add(c.err)
	}
	f.Fuzz(func(t *testing.T, err string) {
		finding := Finding{Phrase: causeOf(err)}
		whole(t, &finding)
		if strings.TrimSpace(err) != "" && finding.Text(words.English) == "" {
			t.Errorf("%q comes to nothing", err)
		}
	})
}
