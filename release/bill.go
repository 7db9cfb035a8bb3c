package main

import (
	"cmp"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"fmt"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/CycloneDX/cyclonedx-go"
	"github.com/google/uuid"
)

// bills writes a bill of material for each target's program, in CycloneDX's form: the modules that the linker put in.
func (r *release) bills() error {
	for _, t := range r.targets {
		info, err := buildinfo.ReadFile(r.program(t))
		if err != nil {
			return fmt.Errorf("read what podstep for %s was built of: %w", t, err)
		}
		sum, err := sumOf(r.program(t))
		if err != nil {
			return err
		}
		bill := r.bill(t, info, sum)
		err = r.create(r.fileName(t.String()+".cdx.json"), func(f *os.File) error {
			return cyclonedx.NewBOMEncoder(f, cyclonedx.BOMFileFormatJSON).SetPretty(true).EncodeVersion(bill, cyclonedx.SpecVersion1_6)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// bill returns the bill of a program with the given SHA-256.
func (r *release) bill(t target, info *debug.BuildInfo, sum string) *cyclonedx.BOM {
	podstep := cyclonedx.Component{
		BOMRef: moduleURL(info.Main.Path, "v"+r.version), Type: cyclonedx.ComponentTypeApplication, Name: info.Main.Path, Version: "v" + r.version,
		PackageURL: moduleURL(info.Main.Path, "v"+r.version), Description: "podstep for " + t.os + "/" + t.arch,
		Hashes:   &[]cyclonedx.Hash{{Algorithm: cyclonedx.HashAlgoSHA256, Value: sum}},
		Licenses: &cyclonedx.Licenses{{License: &cyclonedx.License{ID: "Apache-2.0"}}},
	}
	goVersion := strings.TrimPrefix(info.GoVersion, "go")
	parts := []cyclonedx.Component{{
		BOMRef: moduleURL("stdlib", goVersion), Type: cyclonedx.ComponentTypeLibrary, Name: "stdlib", Version: goVersion, PackageURL: moduleURL("stdlib", goVersion),
	}}
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		parts = append(parts, cyclonedx.Component{
			BOMRef: moduleURL(m.Path, m.Version), Type: cyclonedx.ComponentTypeLibrary, Name: m.Path, Version: m.Version, PackageURL: moduleURL(m.Path, m.Version),
			Properties: &[]cyclonedx.Property{{Name: "go:sum", Value: m.Sum}},
		})
	}
	slices.SortFunc(parts, func(a, b cyclonedx.Component) int { return cmp.Compare(a.BOMRef, b.BOMRef) })
	refs := make([]string, len(parts))
	for i, part := range parts {
		refs[i] = part.BOMRef
	}
	bom := cyclonedx.NewBOM()
	// The number names this bill among all: it follows from the program, so that it is the same when it is made again.
	bom.SerialNumber = uuid.NewSHA1(uuid.NameSpaceURL, []byte(podstep.BOMRef+"#"+sum)).URN()
	bom.Metadata = &cyclonedx.Metadata{Timestamp: r.made.Format(time.RFC3339), Component: &podstep, Properties: buildSettings(info)}
	bom.Components = &parts
	bom.Dependencies = &[]cyclonedx.Dependency{{Ref: podstep.BOMRef, Dependencies: &refs}}
	return bom
}

// buildSettings returns what the go command recorded of the build: the system, the tags, and so on.
func buildSettings(info *debug.BuildInfo) *[]cyclonedx.Property {
	all := make([]cyclonedx.Property, 0, len(info.Settings))
	for _, s := range info.Settings {
		all = append(all, cyclonedx.Property{Name: "go:build:" + s.Key, Value: s.Value})
	}
	return &all
}

// moduleURL returns the package URL of a Go module.
func moduleURL(path, version string) string {
	return "pkg:golang/" + path + "@" + strings.ReplaceAll(version, "+", "%2B")
}

// sumOf returns the SHA-256 of a file, in hexadecimal.
func sumOf(path string) (string, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("sum up a file: %w", err)
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:]), nil
}
