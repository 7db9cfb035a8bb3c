//go:build chart

package main

import (
	"flag"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"helm.sh/helm/v3/pkg/lint"
	"helm.sh/helm/v3/pkg/lint/support"
	appsv1 "k8s.io/api/apps/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"
)

var update = flag.Bool("update", false, "write the plain YAML again")

// plainHead stands above the chart's output in the plain YAML.
const plainHead = "# Made of the chart in " + chartDir + " by go test -tags chart -run TestChart -update, in release. Do not edit.\n" +
	"#\n#   kubectl apply -f daemonset.yaml\n#\n"

// render returns the DaemonSet that Helm makes of the chart, with these values over the default ones, and what says who
// may use podstep.
func render(values map[string]any) (daemonSet, access string, err error) {
	c, err := loader.LoadDir(filepath.Join("..", chartDir))
	if err != nil {
		return "", "", err
	}
	all, err := chartutil.ToRenderValues(c, values, chartutil.ReleaseOptions{Name: "podstep", Namespace: "kube-system", Revision: 1, IsInstall: true}, chartutil.DefaultCapabilities)
	if err != nil {
		return "", "", err
	}
	files, err := engine.Render(c, all)
	return files["podstep/templates/daemonset.yaml"], files["podstep/templates/access.yaml"], err
}

// TestChart: Helm finds nothing wrong with the chart, and its output with the default values is the plain YAML.
func TestChart(t *testing.T) {
	for _, m := range lint.All(filepath.Join("..", chartDir), nil, "kube-system", true).Messages {
		if m.Severity > support.InfoSev {
			t.Errorf("helm lint: %v", m)
		}
	}
	text, access, err := render(nil)
	if err != nil {
		t.Fatal(err)
	}
	text = plainHead + text + "---\n" + access
	plain := filepath.Join("..", plainFile)
	if *update {
		if err := os.WriteFile(plain, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	have, err := os.ReadFile(plain)
	if err != nil {
		t.Fatal(err)
	}
	if string(have) != text {
		t.Errorf("%s is not what the chart makes: run go test -tags chart -run TestChart -update, in release", plainFile)
	}
}

// TestChartValues: each value has its effect on the DaemonSet.
func TestChartValues(t *testing.T) {
	const tokens = "--without-token=look --token-namespace=kube-system"
	const record = "--record-dir=/var/lib/podstep/record --keep=1GiB"
	for name, c := range map[string]struct {
		values map[string]any
		args   string
		mounts string
		image  string
	}{
		"default":    {nil, "--no-tui --metrics=127.0.0.1:9090 " + record + " --passive --read-only " + tokens, "/run/podstep /var/lib/podstep/record", "localhost/podstep:" + sourceVersion(t)},
		"with calls": {map[string]any{"passive": false}, "--no-tui --metrics=127.0.0.1:9090 " + record + " --read-only " + tokens, "/run/podstep /var/lib/podstep/record /sys/fs/cgroup", "localhost/podstep:" + sourceVersion(t)},
		"holds": {map[string]any{"allowHolds": true, "extraArgs": []any{"--tier=2"}}, "--no-tui --metrics=127.0.0.1:9090 " + record + " --passive --allow-holds " + tokens + " --tier=2", "/run/podstep /var/lib/podstep/record",
			"localhost/podstep:" + sourceVersion(t)},
		"no record": {map[string]any{"record": map[string]any{"dir": ""}}, "--no-tui --metrics=127.0.0.1:9090 --passive --read-only " + tokens, "/run/podstep", "localhost/podstep:" + sourceVersion(t)},
		"image and metrics": {map[string]any{"image": map[string]any{"repository": "mirror.example/podstep", "tag": "v9"}, "metrics": map[string]any{"port": 9099}},
			"--no-tui --metrics=127.0.0.1:9099 " + record + " --passive --read-only " + tokens, "/run/podstep /var/lib/podstep/record", "mirror.example/podstep:v9"},
	} {
		text, _, err := render(c.values)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var set appsv1.DaemonSet
		if err := yaml.UnmarshalStrict([]byte(text), &set); err != nil {
			t.Errorf("%s: %v\n%s", name, err, text)
			continue
		}
		container := set.Spec.Template.Spec.Containers[0]
		var mounts []string
		for _, m := range container.VolumeMounts {
			mounts = append(mounts, m.MountPath)
		}
		if got := strings.Join(container.Args, " "); got != c.args {
			t.Errorf("%s: the arguments are %s, want %s", name, got, c.args)
		}
		if got := strings.Join(mounts, " "); got != c.mounts || len(set.Spec.Template.Spec.Volumes) != len(mounts) {
			t.Errorf("%s: mounted are %s, want %s", name, got, c.mounts)
		}
		if container.Image != c.image {
			t.Errorf("%s: the image is %s, want %s", name, container.Image, c.image)
		}
	}
}

// TestChartAccess: the subjects of the values are bound to the roles.
func TestChartAccess(t *testing.T) {
	oncall := []any{map[string]any{"kind": "Group", "name": "oncall"}}
	_, text, err := render(map[string]any{"access": map[string]any{"hold": oncall}})
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[string]int{}
	for _, part := range strings.Split(text, "---\n") {
		var object struct {
			Kind     string
			Subjects []rbacv1.Subject
		}
		if err := yaml.Unmarshal([]byte(part), &object); err != nil {
			t.Fatalf("%v\n%s", err, part)
		}
		kinds[object.Kind]++
		if bound := strings.HasSuffix(object.Kind, "Binding"); bound && (len(object.Subjects) != 1 || object.Subjects[0].Name != "oncall") {
			t.Errorf("%s is for %v", object.Kind, object.Subjects)
		}
	}
	want := map[string]int{"ServiceAccount": 2, "Role": 2, "ClusterRole": 1, "RoleBinding": 1, "ClusterRoleBinding": 1}
	if !maps.Equal(kinds, want) {
		t.Errorf("made are %v, want %v", kinds, want)
	}
}

// TestChartSchema: the schema refuses values that have no effect, or a wrong one.
func TestChartSchema(t *testing.T) {
	for name, values := range map[string]map[string]any{
		"a name that no value has": {"allowHold": true},
		"a text for a switch":      {"passive": "no"},
		"no port":                  {"metrics": map[string]any{"port": 0}},
		"no size":                  {"record": map[string]any{"keep": "much"}},
		"no subject":               {"access": map[string]any{"hold": []any{"oncall"}}},
		"no right":                 {"access": map[string]any{"withoutToken": "all"}},
		"no repository":            {"image": map[string]any{"repository": ""}},
		"an argument, no flag":     {"extraArgs": []any{"attach"}},
	} {
		if _, _, err := render(values); err == nil || !strings.Contains(err.Error(), "schema") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
