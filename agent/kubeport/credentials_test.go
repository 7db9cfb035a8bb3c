package kubeport

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// inRoot is a root directory of another process, with the kubelet's files in it.
type inRoot struct {
	t   *testing.T
	dir string
}

func newRoot(t *testing.T) *inRoot { return &inRoot{t, t.TempDir()} }

func (r *inRoot) write(path, text string) {
	r.t.Helper()
	file := filepath.Join(r.dir, path)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		r.t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		r.t.Fatal(err)
	}
}

func (r *inRoot) link(path, target string) {
	r.t.Helper()
	file := filepath.Join(r.dir, path)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		r.t.Fatal(err)
	}
	if err := os.Symlink(target, file); err != nil {
		r.t.Fatal(err)
	}
}

// kubeconfig is a file with one cluster and one user.
func kubeconfig(cluster, user string) string {
	return fmt.Sprintf(`apiVersion: v1
kind: Config
current-context: c
contexts: [{name: c, context: {cluster: k, user: u}}]
clusters: [{name: k, cluster: {server: "https://10.0.0.1:6443"%s}}]
users: [{name: u, user: {%s}}]
`, cluster, user)
}

// TestWithinRoot: all files that a kubelet's kubeconfig names are read where the kubelet sees them, also through
// links whose targets begin at its root.
func TestWithinRoot(t *testing.T) {
	r := newRoot(t)
	r.write("etc/kubernetes/kubelet.conf", kubeconfig(", certificate-authority: pki/ca.crt",
		"client-certificate: /var/lib/kubelet/pki/current.pem, client-key: /var/lib/kubelet/pki/current.pem"))
	r.write("etc/kubernetes/pki/ca.crt", "the authority")
	r.link("var/lib/kubelet/pki/current.pem", "/var/lib/kubelet/pki/2026.pem")
	r.write("var/lib/kubelet/pki/2026.pem", "the certificate")
	config, from, err := Credentials(Candidates("", "", Kubeconfig{Path: "/etc/kubernetes/kubelet.conf", Root: r.dir}))
	if err != nil {
		t.Fatal(err)
	}
	if config == nil || config.Host != "https://10.0.0.1:6443" || string(config.CAData) != "the authority" ||
		string(config.CertData) != "the certificate" || string(config.KeyData) != "the certificate" || config.CertFile+config.CAFile != "" {
		t.Errorf("read %+v", config)
	}
	if from.Path != "/etc/kubernetes/kubelet.conf" {
		t.Errorf("from %+v", from)
	}
}

func TestCredentials(t *testing.T) {
	r := newRoot(t)
	r.write("named", kubeconfig("", "token: named"))
	r.write("other", kubeconfig(", certificate-authority: other.pem", "token: other"))
	r.write("kubelet", kubeconfig(", certificate-authority: ca.pem", "tokenFile: token"))
	r.write("admin", kubeconfig(", certificate-authority: bundle.pem", "token: admin"))
	r.write("exec", kubeconfig("", "exec: {apiVersion: client.authentication.k8s.io/v1, command: get-token, interactiveMode: Never}"))
	r.write("broken", "{")
	r.write("token", "kubelet")
	mine, others := selfSigned(t), selfSigned(t)
	r.write("ca.pem", mine.text)
	r.write("other.pem", others.text)
	r.write("bundle.pem", others.text+mine.text)
	at := func(name string) Kubeconfig { return Kubeconfig{Path: filepath.Join(r.dir, name)} }
	within := func(name string) Kubeconfig { return Kubeconfig{Path: "/" + name, Root: r.dir} }
	for _, c := range []struct {
		name       string
		candidates []Kubeconfig
		token, err string
	}{
		{"first that is there", []Kubeconfig{at("missing"), at("named"), at("kubelet")}, "named", ""},
		{"the kubelet's", []Kubeconfig{at("missing"), within("kubelet")}, "kubelet", ""},
		{"of another cluster", []Kubeconfig{at("other"), within("kubelet")}, "kubelet", ""},
		{"an authority in common", []Kubeconfig{at("admin"), within("kubelet")}, "admin", ""},
		{"none is there", []Kubeconfig{at("missing"), within("missing")}, "", ""},
		{"none at all", nil, "", ""},
		{"named, and not there", []Kubeconfig{{Path: "/missing", Named: true}}, "", "no such file"},
		{"broken, but there is another", []Kubeconfig{at("broken"), within("kubelet")}, "kubelet", ""},
		{"only a broken one", []Kubeconfig{at("broken")}, "", "read kubeconfig"},
		{"a program elsewhere", []Kubeconfig{within("exec")}, "", "logs in with a program"},
	} {
		t.Run(c.name, func(t *testing.T) {
			config, _, err := Credentials(c.candidates)
			if (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
				t.Errorf("error %v, want %q", err, c.err)
			}
			token := ""
			if config != nil {
				token = config.BearerToken
			}
			if token != c.token {
				t.Errorf("token %q, want %q", token, c.token)
			}
		})
	}
}

func TestCandidates(t *testing.T) {
	kubelet := Kubeconfig{Path: "/k", Root: "/proc/1/root"}
	for _, c := range []struct {
		named, environment string
		want               []Kubeconfig
	}{
		{"/n", "/e", []Kubeconfig{{Path: "/n", Named: true}}},
		{"", "/e:/f", []Kubeconfig{{Path: "/e"}, {Path: "/f"}, {Path: adminKubeconfig, Root: "/proc/1/root"}, {Path: adminKubeconfig}, kubelet}},
	} {
		if got := Candidates(c.named, c.environment, kubelet); fmt.Sprint(got) != fmt.Sprint(c.want) {
			t.Errorf("candidates %v, want %v", got, c.want)
		}
	}
}
