package main

import (
	"fmt"
	"regexp"
	"strings"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/semver"
)

const (
	kubernetesModule = "k8s.io/kubernetes"
	podstepModule    = "github.com/podstep/podstep"
	// kubeletPackage is the package of the woven kubelet. In the lab's module it is built of the lab's Kubernetes. For another
	// version it is a module of its own.
	kubeletPackage = podstepModule + "/lab/cmd/podstep-kubelet"
)

// release is the version of a release of Kubernetes.
var release = regexp.MustCompile(`^v1\.(\d+\.\d+(-[0-9A-Za-z.]+)?)$`)

// libraries returns the version that the libraries of a release of Kubernetes have as modules: those of v1.34.4 are v0.34.4.
func libraries(kubernetes string) (string, error) {
	m := release.FindStringSubmatch(kubernetes)
	if m == nil || !semver.IsValid(kubernetes) {
		return "", fmt.Errorf("%q is no version of a release of Kubernetes; write it like v1.35.4", kubernetes)
	}
	return "v0." + m[1], nil
}

// examples are libraries that show how to use the others. Their modules are not served for each version, and no kubelet needs them.
const examples = "k8s.io/sample-"

// kubeletModule returns the go.mod of a kubelet of a version: that of Kubernetes, whose libraries are directories beside it,
// with the modules that they are served as, and with podstep's source from a directory. The go command selects the other
// modules that both need. So they may be newer than those of the release.
func kubeletModule(kubernetesMod, podstepMod []byte, kubernetes, podstep string) ([]byte, error) {
	version, err := libraries(kubernetes)
	if err != nil {
		return nil, err
	}
	f, err := modfile.Parse("go.mod", kubernetesMod, nil)
	if err != nil {
		return nil, fmt.Errorf("read go.mod of Kubernetes %s: %w", kubernetes, err)
	}
	own, err := modfile.Parse("go.mod", podstepMod, nil)
	if err != nil {
		return nil, fmt.Errorf("read podstep's go.mod: %w", err)
	}
	out := &modfile.File{Syntax: &modfile.FileSyntax{}}
	var errs []error
	add := func(err error) {
		if err != nil {
			errs = append(errs, err)
		}
	}
	add(out.AddModuleStmt(kubeletPackage))
	add(out.AddGoStmt(newerGo(f, own)))
	// The release's settings of Go's runtime are those of its own go.mod.
	for _, g := range f.Godebug {
		add(out.AddGodebug(g.Key, g.Value))
	}
	for _, r := range f.Require {
		if !strings.HasPrefix(r.Mod.Path, examples) {
			out.AddNewRequire(r.Mod.Path, r.Mod.Version, r.Indirect)
		}
	}
	out.AddNewRequire(kubernetesModule, kubernetes, false)
	out.AddNewRequire(podstepModule, "v0.0.0", false)
	for _, r := range f.Replace {
		switch path := r.Old.Path; {
		case strings.HasPrefix(path, examples):
		case strings.HasPrefix(r.New.Path, "./staging/"):
			add(out.AddReplace(path, "", path, version))
		default:
			add(out.AddReplace(path, r.Old.Version, r.New.Path, r.New.Version))
		}
	}
	add(out.AddReplace(podstepModule, "", podstep, ""))
	for _, x := range f.Exclude {
		add(out.AddExclude(x.Mod.Path, x.Mod.Version))
	}
	if len(errs) > 0 {
		return nil, fmt.Errorf("make go.mod of a kubelet %s: %w", kubernetes, errs[0])
	}
	out.Cleanup()
	return modfile.Format(out.Syntax), nil
}

// newerGo returns the version of Go that both modules are content with.
func newerGo(a, b *modfile.File) string {
	version := func(f *modfile.File) string {
		if f.Go == nil {
			return "1.21"
		}
		return f.Go.Version
	}
	if semver.Compare("v"+version(a), "v"+version(b)) > 0 {
		return version(a)
	}
	return version(b)
}
