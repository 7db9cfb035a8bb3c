package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/podstep/podstep/probes/weave"
)

// buildTags are those of `make build`, and one that leaves out of the kubelet's program what is of one version only.
const buildTags = "grpcnotrace,kustomize_disable_go_plugin_support,otherkubernetes"

// kubeletOptions are what `podstep-weave kubelet` is asked for.
type kubeletOptions struct{ version, out string }

// parseKubelet reads the arguments of `podstep-weave kubelet`.
func parseKubelet(args []string) (o kubeletOptions, err error) {
	flags := flag.NewFlagSet("kubelet", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.StringVar(&o.version, "kubernetes", "", "")
	flags.StringVar(&o.out, "o", "", "")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	switch {
	case flags.NArg() > 0:
		return o, fmt.Errorf("%q is not expected here", flags.Arg(0))
	case o.version == "":
		return o, errors.New("which version? e.g. --kubernetes v1.35.4")
	}
	if _, err := libraries(o.version); err != nil {
		return o, err
	}
	if o.out == "" {
		return o, errors.New("into which file? e.g. -o bin/podstep-kubelet-" + o.version)
	}
	o.out, err = filepath.Abs(o.out)
	return o, err
}

// kubelet builds a woven kubelet of another version than podstep's own, in a module that it makes for that. It is called in
// podstep's source.
func kubelet(o kubeletOptions) error {
	podstep, err := goOutput("list", "-m", "-f", "{{.Dir}}", podstepModule)
	if err != nil {
		return fmt.Errorf("find podstep's source: %w; run this in podstep's source", err)
	}
	if _, err := goOutput("mod", "download", kubernetesModule+"@"+o.version); err != nil {
		return fmt.Errorf("download Kubernetes %s: %w", o.version, err)
	}
	kubernetes, err := goOutput("list", "-m", "-f", "{{.Dir}}", kubernetesModule+"@"+o.version)
	if err != nil {
		return fmt.Errorf("find the source of Kubernetes %s: %w", o.version, err)
	}
	dir, err := os.MkdirTemp("", "podstep-kubelet")
	if err != nil {
		return fmt.Errorf("make directory for the module: %w", err)
	}
	defer os.RemoveAll(dir)
	if err := writeModule(dir, o.version, kubernetes, podstep); err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find own program: %w", err)
	}
	args, err := weave.Command(catalogue(), o.version, self, []string{"build",
		"-mod=mod", "-tags", buildTags, "-ldflags", "-X k8s.io/component-base/version.gitVersion=" + o.version, "-o", o.out, "."})
	if err != nil {
		return err
	}
	if err := os.Chdir(dir); err != nil {
		return fmt.Errorf("enter the module: %w", err)
	}
	if err := os.Setenv("GOWORK", "off"); err != nil {
		return err
	}
	if err := grantMemory(); err != nil {
		return fmt.Errorf("grant memory to compilers: %w", err)
	}
	return build(args)
}

// writeModule writes a module whose only package is the woven kubelet: the lab's files, with modules of that version.
func writeModule(dir, version, kubernetes, podstep string) error {
	mods := [2][]byte{}
	var sums [][]byte
	for i, of := range []string{kubernetes, podstep} {
		var err error
		if mods[i], err = os.ReadFile(filepath.Join(of, "go.mod")); err != nil {
			return fmt.Errorf("read modules: %w", err)
		}
		sum, err := os.ReadFile(filepath.Join(of, "go.sum"))
		if err != nil {
			return fmt.Errorf("read sums of modules: %w", err)
		}
		sums = append(sums, sum)
	}
	mod, err := kubeletModule(mods[0], mods[1], version, podstep)
	if err != nil {
		return err
	}
	files := map[string][]byte{"go.mod": mod, "go.sum": bytes.Join(sums, nil)}
	names, err := filepath.Glob(filepath.Join(podstep, strings.TrimPrefix(kubeletPackage, podstepModule), "*.go"))
	if err != nil || len(names) == 0 {
		return fmt.Errorf("%s has no source of podstep-kubelet", podstep)
	}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		if files[filepath.Base(name)], err = os.ReadFile(name); err != nil {
			return fmt.Errorf("read the kubelet's program: %w", err)
		}
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil {
			return fmt.Errorf("write the kubelet's module: %w", err)
		}
	}
	return nil
}

// goOutput runs the go command, and returns what it prints. Its errors are the go command's own.
func goOutput(args ...string) (string, error) {
	cmd := exec.Command("go", args...)
	cmd.Env = append(os.Environ(), "GOWORK=off")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("go %s: %w: %s", args[0], err, strings.TrimSpace(stderr.String()))
	}
	return strings.TrimSpace(string(out)), nil
}
