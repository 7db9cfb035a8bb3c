package main

import (
	"context"

	"github.com/podstep/podstep/agent/bundle"
	"github.com/podstep/podstep/agent/explain/causes"
	"github.com/podstep/podstep/agent/explain/evidence"
	"github.com/podstep/podstep/agent/explain/gather"
	"github.com/podstep/podstep/agent/version"
)

// writeBundle writes what was found out about a pod, with the files that the sources have.
func (a *app) writeBundle(ctx context.Context, path string, from gather.From, s *evidence.Snapshot) error {
	b := &bundle.Bundle{Podstep: version.Own(), Snapshot: s, Files: from.Files(ctx, s)}
	if err := b.Write(path); err != nil {
		return err
	}
	had := 0
	for _, f := range b.Files {
		if f.Why == "" {
			had++
		}
	}
	a.printf("%s has the evidence: the snapshot and %d of %d further files. README.txt in it lists them; read it before you send the bundle", path, had, len(b.Files))
	return nil
}

// explainBundle answers from the evidence in a bundle.
func (a *app) explainBundle(f *whyFlags) error {
	if f.watch || f.logs || f.recorded() {
		return usagef("--bundle without a POD explains what FILE has; leave out --watch, --logs, --trace and --log")
	}
	b, err := bundle.Read(f.bundle)
	if err != nil {
		return err
	}
	return a.printAnswer(&oneAnswer{Report: causes.Explain(b.Snapshot), columns: f.columns}, f)
}
