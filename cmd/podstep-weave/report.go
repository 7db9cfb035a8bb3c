package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/hook"
	"github.com/podstep/podstep/probes/weave"
)

func report(file string) {
	packages, err := weave.Report(file)
	if err != nil {
		fail(1, fmt.Sprintf("podstep-weave: %v\n", err))
	}
	if len(packages) == 0 {
		fail(1, fmt.Sprintf("podstep-weave: nothing was woven into %s\n", file))
	}
	fmt.Print(reportOf(packages, catalogue()))
}

// reportOf returns what was woven into a program, and for a kubelet of another version than the catalogue's what was not.
func reportOf(packages []hook.Package, c *probes.Catalogue) string {
	var b strings.Builder
	version, steps, woven := "", 0, map[string]bool{}
	var misfits []hook.Misfit
	for _, p := range packages {
		names := slices.Sorted(maps.Keys(p.Steps))
		steps, woven[p.Path] = steps+len(names), true
		misfits = append(misfits, p.Misfits...)
		if p.Kubernetes != "" {
			version = p.Kubernetes
		}
		fmt.Fprintf(&b, "%s  %s\n    %s\n", p.Path, p.Hash, strings.Join(names, " "))
	}
	sum := fmt.Sprintf("%s in %s", count(steps, "step"), count(len(packages), "package"))
	if version == "" {
		return b.String() + sum + "\n"
	}
	of := c.In(version).Packages()
	for _, path := range slices.Sorted(maps.Keys(of)) {
		for _, s := range of[path] {
			if !woven[path] {
				misfits = append(misfits, hook.Misfit{Step: s.Name, Part: probes.PartFunction, Why: "this kubelet has no package " + path})
			}
		}
	}
	lost, values := 0, 0
	for _, m := range misfits {
		if probes.NeedsPart(m.Part) {
			lost++
			fmt.Fprintf(&b, "without %s: %s: %s\n", m.Step, m.Part, m.Why)
		} else {
			values++
			fmt.Fprintf(&b, "%s without %s: %s\n", m.Step, m.Part, m.Why)
		}
	}
	return b.String() + fmt.Sprintf("%s of Kubernetes %s; left out: %s, and %s of others\n", sum, version, count(lost, "step"), count(values, "value"))
}
