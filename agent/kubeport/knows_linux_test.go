package kubeport

import (
	"os"
	"path/filepath"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/podstep/podstep/probes/kubelets"
)

// TestKnowsCluster: two configurations show whether they are of one cluster only if both name their authorities.
func TestKnowsCluster(t *testing.T) {
	dir := t.TempDir()
	for name, cluster := range map[string]string{"with": "{server: 'https://a', certificate-authority-data: YQ==}", "without": "{server: 'https://a'}"} {
		text := "apiVersion: v1\nkind: Config\ncurrent-context: c\ncontexts: [{name: c, context: {cluster: k, user: u}}]\nusers: [{name: u, user: {token: t}}]\nclusters: [{name: k, cluster: " + cluster + "}]\n"
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	api := &rest.Config{TLSClientConfig: rest.TLSClientConfig{CAData: []byte("a")}}
	for _, x := range []struct {
		own  string
		api  *rest.Config
		want bool
	}{
		{"with", api, true}, {"without", api, false}, {"with", &rest.Config{}, false}, {"none", api, false}, {"", api, false}, {"with", nil, false},
	} {
		k := &kubelets.Kubelet{Root: "/"}
		if x.own != "" {
			k.Kubeconfig = filepath.Join(dir, x.own)
		}
		if got := KnowsCluster(k, x.api); got != x.want {
			t.Errorf("%q and %v: it is known: %v", x.own, x.api, got)
		}
	}
}
