package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/validate"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"helm.sh/helm/v3/pkg/chart/loader"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/yaml"
)

// TestImage: the image is a valid layout, with podstep for both kinds of machine.
func TestImage(t *testing.T) {
	heads, texts := unpack(t, strings.NewReader(published(t, "podstep_0.9.0-rc.1_image.tar")))
	at := t.TempDir()
	for name := range heads {
		path := filepath.Join(at, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(texts[name]), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	top, err := layout.ImageIndexFromPath(at)
	if err != nil {
		t.Fatal(err)
	}
	if err := validate.Index(top); err != nil {
		t.Error(err)
	}
	manifest, err := top.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	if len(manifest.Manifests) != 1 || manifest.Manifests[0].Annotations["io.containerd.image.name"] != "localhost/podstep:0.9.0-rc.1" {
		t.Fatalf("the layout has %+v", manifest.Manifests)
	}
	index, err := top.ImageIndex(manifest.Manifests[0].Digest)
	if err != nil {
		t.Fatal(err)
	}
	images, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	var arches []string
	for _, m := range images.Manifests {
		arches = append(arches, m.Platform.Architecture)
		img, err := index.Image(m.Digest)
		if err != nil {
			t.Fatal(err)
		}
		checkImage(t, img, m.Platform)
	}
	if !slices.Equal(arches, []string{"amd64", "arm64"}) {
		t.Errorf("there are images for %v", arches)
	}
}

func checkImage(t *testing.T, img v1.Image, platform *v1.Platform) {
	t.Helper()
	config, err := img.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	if config.OS != platform.OS || config.Architecture != platform.Architecture || !config.Created.Equal(madeAt) || !slices.Equal(config.Config.Entrypoint, []string{"podstep"}) {
		t.Errorf("the image for %v is %+v", platform, config)
	}
	layers, err := img.Layers()
	if err != nil || len(layers) != 1 {
		t.Fatalf("there are %d layers: %v", len(layers), err)
	}
	files, err := layers[0].Uncompressed()
	if err != nil {
		t.Fatal(err)
	}
	defer files.Close()
	heads, _ := unpack(t, files)
	checkModes(t, heads, map[string]string{"tmp/": "dtrwxrwxrwx", "usr/bin/": "drwxr-xr-x", "usr/bin/podstep": "-rwxr-xr-x"})
}

// TestBills: the bills are valid by CycloneDX's own schema, and name each module of a program.
func TestBills(t *testing.T) {
	schema := cyclonedxSchema(t)
	validBill := func(name string, text []byte) {
		t.Helper()
		bill, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(bill); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, target := range targets {
		name := "podstep_0.9.0-rc.1_" + target.String() + ".cdx.json"
		validBill(name, []byte(published(t, name)))
	}

	// The test itself is of many modules.
	info, ok := debug.ReadBuildInfo()
	if !ok || len(info.Deps) < 10 {
		t.Fatal("the test does not know its modules")
	}
	info.Main.Path = "github.com/podstep/podstep"
	bill := packed(t).bill(target{"linux", "amd64"}, info, strings.Repeat("0123456789abcdef", 4))
	text, err := json.Marshal(bill)
	if err != nil {
		t.Fatal(err)
	}
	validBill("the bill of the test", text)
	for _, m := range info.Deps {
		if m.Replace == nil && !strings.Contains(string(text), `"purl":"pkg:golang/`+m.Path+`@`+strings.ReplaceAll(m.Version, "+", "%2B")+`"`) {
			t.Errorf("the bill has not %s %s", m.Path, m.Version)
		}
	}
	if len(*bill.Components) != len(info.Deps)+1 {
		t.Errorf("there are %d components of %d modules and Go", len(*bill.Components), len(info.Deps))
	}
}

// cyclonedxSchema returns the schema that CycloneDX's module has.
func cyclonedxSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/CycloneDX/cyclonedx-go").Output()
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.UseLoader(jsonschema.SchemeURLLoader{"http": schemas(strings.TrimSpace(string(out)))})
	schema, err := c.Compile("http://cyclonedx.org/schema/bom-1.6.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

// schemas loads schemas of cyclonedx.org from the module's directory.
type schemas string

func (dir schemas) Load(url string) (any, error) {
	name := filepath.Base(url)
	if name == "jsf-0.82.schema.json" {
		name = "jsf-0.82.schemax.json" // as the module has it
	}
	f, err := os.Open(filepath.Join(string(dir), "schema", name))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return jsonschema.UnmarshalJSON(f)
}

// krewPlugin has the fields of sigs.k8s.io/krew/pkg/index.Plugin; its module cannot be had from a module proxy.
type krewPlugin struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		Version, ShortDescription, Description, Caveats, Homepage string
		Platforms                                                 []struct {
			URI, Sha256 string
			Selector    *metav1.LabelSelector
			Files       []struct{ From, To string }
			Bin         string
		}
	}
}

// TestKrew: the manifest keeps the rules of krew's own validation, and each system that krew knows gets the archive that is
// for it, with the files that the manifest names.
func TestKrew(t *testing.T) {
	var p krewPlugin
	if err := yaml.UnmarshalStrict([]byte(published(t, "krew.yaml")), &p); err != nil {
		t.Fatal(err)
	}
	if p.APIVersion != "krew.googlecontainertools.github.com/v1alpha2" || p.Kind != "Plugin" || p.Name != "podstep" || p.Spec.Version != "v0.9.0-rc.1" {
		t.Errorf("the manifest is of %s %s %s %s", p.APIVersion, p.Kind, p.Name, p.Spec.Version)
	}
	if s := p.Spec.ShortDescription; s == "" || strings.ContainsAny(s, "\r\n") || len(s) > 80 || strings.HasSuffix(s, ".") {
		t.Errorf("the short description is %q", s)
	}
	for _, target := range targets {
		var matching []int
		for i, platform := range p.Spec.Platforms {
			selector, err := metav1.LabelSelectorAsSelector(platform.Selector)
			if err != nil {
				t.Fatal(err)
			}
			if selector.Matches(labels.Set{"os": target.os, "arch": target.arch}) {
				matching = append(matching, i)
			}
		}
		if len(matching) != 1 {
			t.Fatalf("%d platforms match %s", len(matching), target)
		}
		platform := p.Spec.Platforms[matching[0]]
		name := packed(t).archiveName(target)
		sum, err := sumOf(filepath.Join(packed(t).out, name))
		if err != nil {
			t.Fatal(err)
		}
		if platform.Sha256 != sum || platform.URI != downloads+"/v0.9.0-rc.1/"+name || platform.Bin != programName(target) {
			t.Errorf("%s gets %+v", target, platform)
		}
		entries, err := packed(t).archived(target)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range platform.Files {
			if !slices.ContainsFunc(entries, func(e entry) bool { return e.name == f.From }) || f.To != "." {
				t.Errorf("%s has no %s", name, f.From)
			}
		}
	}
}

// TestFormulaAndExpression: Homebrew's formula and Nix's expression name the archives of their systems with their sums. What
// Ruby and Nix say of them is looked at by hand (docs/release.md).
func TestFormulaAndExpression(t *testing.T) {
	for name, form := range map[string]*regexp.Regexp{
		"podstep.rb":  regexp.MustCompile(`url "(\S+)"\n\s+sha256 "(\S+)"`),
		"podstep.nix": regexp.MustCompile(`url = "(\S+)";\n\s+sha256 = "(\S+)";`),
	} {
		got := map[string]string{}
		for _, m := range form.FindAllStringSubmatch(published(t, name), -1) {
			got[m[1]] = m[2]
		}
		for _, target := range targets {
			archive := packed(t).archiveName(target)
			sum, err := sumOf(filepath.Join(packed(t).out, archive))
			if err != nil {
				t.Fatal(err)
			}
			if url := downloads + "/v0.9.0-rc.1/" + archive; target.os != "windows" && got[url] != sum {
				t.Errorf("%s has the sum %q of %s, want %s", name, got[url], archive, sum)
			}
		}
		if len(got) != 4 {
			t.Errorf("%s names %v", name, got)
		}
	}
}

// TestReleasedChart: the chart and the plain YAML have the version of the release everywhere.
func TestReleasedChart(t *testing.T) {
	text := published(t, "podstep-0.9.0-rc.1.tgz")
	if c, err := loader.LoadArchive(strings.NewReader(text)); err != nil || c.Name() != "podstep" || c.AppVersion() != "0.9.0-rc.1" {
		t.Errorf("Helm does not load the chart: %v", err)
	}
	heads, texts := unpack(t, uncompressed(t, text))
	checkModes(t, heads, map[string]string{
		"podstep/Chart.yaml": "-rw-r--r--", "podstep/values.yaml": "-rw-r--r--", "podstep/values.schema.json": "-rw-r--r--",
		"podstep/templates/access.yaml": "-rw-r--r--", "podstep/templates/daemonset.yaml": "-rw-r--r--", "podstep/templates/NOTES.txt": "-rw-r--r--",
	})
	if meta := texts["podstep/Chart.yaml"]; !strings.Contains(meta, "\nversion: 0.9.0-rc.1\nappVersion: 0.9.0-rc.1\n") {
		t.Errorf("Chart.yaml is\n%s", meta)
	}
	plain := published(t, "podstep-0.9.0-rc.1.yaml")
	if !strings.Contains(plain, `image: "localhost/podstep:0.9.0-rc.1"`) || strings.Contains(plain, sourceVersion(t)) {
		t.Errorf("the plain YAML is\n%s", plain)
	}
}

// sourceVersion returns the version that the chart has in the sources.
func sourceVersion(t *testing.T) string {
	t.Helper()
	v, err := chartVersion("..")
	if err != nil {
		t.Fatal(err)
	}
	return v
}
