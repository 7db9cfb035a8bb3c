package main

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// imageRepository is the name of the image until somebody pushes it to a registry: that of a node's own images.
const imageRepository = "localhost/podstep"

// image makes a tar of an OCI image layout: podstep alone, on nothing, for each kind of Linux machine. ctr images import,
// skopeo, crane and podman load read it.
func (r *release) image() error {
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, t := range r.linux() {
		img, err := r.imageOf(t)
		if err != nil {
			return fmt.Errorf("make the image for %s: %w", t.arch, err)
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: img, Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: t.os, Architecture: t.arch}}})
	}
	dir := filepath.Join(r.stage, "image")
	at, err := layout.Write(dir, empty.Index)
	if err != nil {
		return fmt.Errorf("make the image's layout: %w", err)
	}
	name := imageRepository + ":" + r.version
	err = at.AppendIndex(index, layout.WithAnnotations(map[string]string{
		"io.containerd.image.name": name, "org.opencontainers.image.ref.name": name,
	}))
	if err != nil {
		return fmt.Errorf("make the image's layout: %w", err)
	}
	entries, err := entriesIn(dir, ".")
	if err != nil {
		return err
	}
	return r.create(r.imageName(), func(f *os.File) error { return writeTar(f, entries, r.made) })
}

func (r *release) imageName() string { return r.fileName("image.tar") }

// imageOf returns the image for a target: one layer, with podstep and a directory for temporary files.
func (r *release) imageOf(t target) (v1.Image, error) {
	program, err := os.ReadFile(r.program(t))
	if err != nil {
		return nil, err
	}
	var files bytes.Buffer
	err = writeTar(&files, []entry{{"tmp/", 0o777 | fs.ModeSticky, nil}, {"usr/", 0o755, nil}, {"usr/bin/", 0o755, nil}, {"usr/bin/podstep", 0o755, program}}, r.made)
	if err != nil {
		return nil, err
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(files.Bytes())), nil },
		tarball.WithMediaType(types.OCILayer))
	if err != nil {
		return nil, err
	}
	base := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	img, err := mutate.Append(base, mutate.Addendum{Layer: layer, MediaType: types.OCILayer, History: v1.History{Created: v1.Time{Time: r.made}, CreatedBy: "podstep's release tool"}})
	if err != nil {
		return nil, err
	}
	config, err := img.ConfigFile()
	if err != nil {
		return nil, err
	}
	config = config.DeepCopy()
	config.OS, config.Architecture, config.Created = t.os, t.arch, v1.Time{Time: r.made}
	config.Config = v1.Config{
		Entrypoint: []string{"podstep"}, Env: []string{"PATH=/usr/bin"}, WorkingDir: "/",
		Labels: map[string]string{
			"org.opencontainers.image.title": "podstep", "org.opencontainers.image.version": r.version, "org.opencontainers.image.source": homepage,
			"org.opencontainers.image.licenses": "Apache-2.0", "org.opencontainers.image.description": summary,
		},
	}
	return mutate.ConfigFile(img, config)
}
