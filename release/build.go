package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
)

// completions are the shells for which podstep prints a script, and the names under which they look for it.
var completions = map[string]string{"bash": "podstep", "fish": "podstep.fish", "powershell": "podstep.ps1", "zsh": "_podstep"}

// build builds podstep for all targets, and lets podstep write its manual pages and completions.
func (r *release) build(ctx context.Context) error {
	tags, err := r.tags()
	if err != nil {
		return err
	}
	all := r.targets
	if !slices.Contains(all, host) {
		all = append(slices.Clone(all), host) // it writes the pages
	}
	for _, t := range all {
		fmt.Printf("build podstep for %s/%s\n", t.os, t.arch)
		if err := r.compile(ctx, t, tags); err != nil {
			return err
		}
	}
	return r.pages(ctx)
}

// tags returns the build tags that the Makefile has for podstep.
func (r *release) tags() (string, error) {
	text, err := r.read("Makefile")
	if err != nil {
		return "", err
	}
	m := regexp.MustCompile(`(?m)^TAGS := (\S+)$`).FindSubmatch(text)
	if m == nil {
		return "", fmt.Errorf("the Makefile has no line with TAGS")
	}
	return string(m[1]), nil
}

// compile builds podstep for a target. Nothing of this machine gets into it: no paths, no state of the clone, no flags of
// the person. The go command that builds it is of the version of this tool's, so that the tool's go.mod has the version.
func (r *release) compile(ctx context.Context, t target, tags string) error {
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false", "-tags", tags,
		"-ldflags", "-s -w -X github.com/podstep/podstep/agent/version.stamped=v"+r.version, "-o", r.program(t), "./cmd/podstep")
	cmd.Dir = r.repo
	cmd.Env = append(os.Environ(), "GOOS="+t.os, "GOARCH="+t.arch, "CGO_ENABLED=0", "GOAMD64=v1", "GOARM64=v8.0",
		"GOFLAGS=-mod=readonly", "GOEXPERIMENT=", "GODEBUG=", "GOWORK=off", "GOTOOLCHAIN="+runtime.Version())
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build podstep for %s/%s: %w\n%s", t.os, t.arch, err, out)
	}
	return nil
}

// pages lets podstep write its manual pages and completions.
func (r *release) pages(ctx context.Context) error {
	for _, dir := range []string{"man", "completions"} {
		if err := os.MkdirAll(filepath.Join(r.stage, dir), 0o755); err != nil {
			return fmt.Errorf("make a directory for pages: %w", err)
		}
	}
	if _, err := r.podstep(ctx, "docs", "--man", filepath.Join(r.stage, "man")); err != nil {
		return err
	}
	for shell, name := range completions {
		script, err := r.podstep(ctx, "completion", shell)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(r.stage, "completions", name), script, 0o644); err != nil {
			return fmt.Errorf("write the completion of %s: %w", shell, err)
		}
	}
	return nil
}

// podstep runs the podstep that was built for this machine, and returns what it prints.
func (r *release) podstep(ctx context.Context, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, r.program(host), args...)
	cmd.Env = append(os.Environ(), "SOURCE_DATE_EPOCH="+strconv.FormatInt(r.made.Unix(), 10), "LC_ALL=C")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("run podstep %v: %w: %s", args, err, stderr.String())
	}
	return out, nil
}
