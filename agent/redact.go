package agent

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

const (
	redacted = "<redacted>"
	// maxDocument bounds a document field, in bytes.
	maxDocument = 8 << 10
	// lastApplied holds a whole manifest, with what environment it sets.
	lastApplied = "kubectl.kubernetes.io/last-applied-configuration"
)

// messageField shows a CRI message without its secrets. The message itself is
// the kubelet's and is not touched.
func messageField(name string, m proto.Message) (field, bool) {
	if m == nil || !m.ProtoReflect().IsValid() {
		return field{}, false
	}
	b, err := protojson.Marshal(withoutSecrets(m))
	if err != nil {
		return field{}, false
	}
	return document(name, b), true
}

func document(name string, b []byte) field {
	if len(b) > maxDocument {
		b, _ = json.Marshal(map[string]any{"truncated": true, "bytes": len(b)})
	}
	return field{name: name, kind: jsonField, text: string(b)}
}

// withoutSecrets is a copy of m in which what may be secret is replaced. All
// that CRI calls credentials is; so are the values of environment variables,
// which is where Secrets end up, and manifests kept in annotations.
func withoutSecrets(m proto.Message) proto.Message {
	m = proto.Clone(m)
	switch m := m.(type) {
	case *runtimeapi.ContainerConfig:
		cleanContainer(m)
	case *runtimeapi.PodSandboxConfig:
		cleanAnnotations(m.Annotations)
	case *runtimeapi.CreateContainerRequest:
		if m.Config != nil {
			cleanContainer(m.Config)
		}
		if m.SandboxConfig != nil {
			cleanAnnotations(m.SandboxConfig.Annotations)
		}
	case *runtimeapi.RunPodSandboxRequest:
		if m.Config != nil {
			cleanAnnotations(m.Config.Annotations)
		}
	case *runtimeapi.PullImageRequest:
		m.Auth = cleanAuth(m.Auth)
		if m.SandboxConfig != nil {
			cleanAnnotations(m.SandboxConfig.Annotations)
		}
	case *runtimeapi.AuthConfig:
		return cleanAuth(m)
	case *runtimeapi.ImageSpec:
		cleanAnnotations(m.Annotations)
	case *runtimeapi.ExecSyncRequest:
		m.Cmd = scrubAll(m.Cmd)
	case *runtimeapi.ExecSyncResponse:
		m.Stdout, m.Stderr = nil, nil
	}
	return m
}

func cleanContainer(c *runtimeapi.ContainerConfig) {
	// The kubelet expands $(NAME) in a container's words to what the
	// environment says. Long values go first, since short ones may be part of
	// them, and all of that comes before words are cut short, which would leave
	// values that are not found.
	envs := slices.Clone(c.Envs)
	slices.SortFunc(envs, func(a, b *runtimeapi.KeyValue) int { return len(b.Value) - len(a.Value) })
	for _, e := range envs {
		hide(c.Command, string(e.Value))
		hide(c.Args, string(e.Value))
		e.Value = nil // the name alone is shown
	}
	c.Command, c.Args = scrubAll(c.Command), scrubAll(c.Args)
	cleanAnnotations(c.Annotations)
}

// hide replaces a value wherever it is in words. Values of a letter or two
// would be found everywhere, and hide nothing.
func hide(words []string, value string) {
	if len(value) < 3 {
		return
	}
	for i, w := range words {
		words[i] = strings.ReplaceAll(w, value, redacted)
	}
}

func cleanAnnotations(a map[string]string) {
	if _, ok := a[lastApplied]; ok {
		a[lastApplied] = redacted
	}
}

func cleanAuth(a *runtimeapi.AuthConfig) *runtimeapi.AuthConfig {
	if a == nil {
		return nil
	}
	return &runtimeapi.AuthConfig{Username: redacted, ServerAddress: a.ServerAddress}
}

// What looks like a credential in words that are otherwise for a person to
// read: user information in a URL, a bearer token, a value named like one.
var credential = regexp.MustCompile(`(?i)(://)[^/\s@]+@|(bearer\s+)[\w\-.~+/]+=*|((?:password|passwd|token|secret|api[_-]?key|authorization)["']?\s*[=:]\s*["']?)(?:(?:bearer|basic)\s+)?[^\s"',;&]+`)

// What the kubelet says of a command in a container that failed: the command,
// and what it printed.
var execError = regexp.MustCompile(`(?s)(command (?:timed out: )?)(?:'.*?'|".*?"|\[.*?\])( exited with -?\d+| timed out)(?:: .*)?`)

// scrub takes credentials out of a text, and what containers print.
func scrub(s string) string {
	if strings.Contains(s, "command ") {
		s = execError.ReplaceAllString(s, "${1}"+redacted+"${2}")
	}
	if !suspicious(s) {
		return s
	}
	return credential.ReplaceAllStringFunc(s, func(m string) string {
		g := credential.FindStringSubmatch(m)
		if g[1] != "" {
			return g[1] + redacted + "@"
		}
		return g[2] + g[3] + redacted
	})
}

// suspicious is a quick look that spares most texts the regular expression.
func suspicious(s string) bool {
	if strings.Contains(s, "://") && strings.Contains(s, "@") {
		return true
	}
	l := strings.ToLower(s)
	for _, w := range []string{"bearer", "passw", "token", "secret", "api_key", "api-key", "apikey", "authorization"} {
		if strings.Contains(l, w) {
			return true
		}
	}
	return false
}

// scrubAll takes credentials out of the words of a command. The word after a
// flag such as --password is one too.
func scrubAll(words []string) []string {
	out := make([]string, len(words))
	next := false
	for i, w := range words {
		out[i] = clip(scrub(w))
		if next && !strings.HasPrefix(w, "-") {
			out[i] = redacted
		}
		next = strings.HasPrefix(w, "-") && !strings.Contains(w, "=") && suspicious(w)
	}
	return out
}
