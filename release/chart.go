package main

import (
	"bytes"
	"fmt"
	"os"
	"path"
	"path/filepath"

	"sigs.k8s.io/yaml"
)

// chartDir has the Helm chart; plainFile is what it makes of its default values, for people without Helm.
const (
	chartDir  = "release/chart/podstep"
	plainFile = "docs/examples/attach/daemonset.yaml"
)

// chartVersion returns the version of the chart in the repository: the one that is being worked on.
func chartVersion(repo string) (string, error) {
	text, err := os.ReadFile(filepath.Join(repo, chartDir, "Chart.yaml"))
	if err != nil {
		return "", fmt.Errorf("read the chart: %w", err)
	}
	var meta struct{ Version, AppVersion string }
	if err := yaml.Unmarshal(text, &meta); err != nil {
		return "", fmt.Errorf("read Chart.yaml: %w", err)
	}
	if meta.Version == "" || meta.Version != meta.AppVersion {
		return "", fmt.Errorf("the chart has version %q and appVersion %q: they must be one", meta.Version, meta.AppVersion)
	}
	return meta.Version, nil
}

// chart packs the chart as Helm does, and the plain YAML. Both name the version of the release in place of the one that
// they have in the repository.
func (r *release) chart() error {
	entries, err := entriesIn(r.repo, chartDir)
	if err != nil {
		return err
	}
	for i, e := range entries {
		name, err := filepath.Rel(filepath.FromSlash(path.Dir(chartDir)), filepath.FromSlash(e.name))
		if err != nil {
			return fmt.Errorf("pack the chart: %w", err)
		}
		entries[i].name = filepath.ToSlash(name)
		if path.Base(e.name) == "Chart.yaml" {
			entries[i].data = r.released(e.data)
		}
	}
	if err := r.create("podstep-"+r.version+".tgz", func(f *os.File) error { return writeTarGz(f, entries, r.made) }); err != nil {
		return err
	}
	plain, err := r.read(plainFile)
	if err != nil {
		return err
	}
	if !bytes.Contains(plain, []byte(imageRepository+":"+r.source)) {
		return fmt.Errorf("%s has not the version of the chart, %s: run go test -run TestChart -update", plainFile, r.source)
	}
	return r.write("podstep-"+r.version+".yaml", r.released(plain))
}

// released puts the version of the release where a text has that of the repository.
func (r *release) released(text []byte) []byte {
	return bytes.ReplaceAll(text, []byte(r.source), []byte(r.version))
}
