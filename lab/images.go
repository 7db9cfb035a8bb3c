package lab

import (
	"archive/tar"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"github.com/podstep/podstep/agent/labstate"
)

// The images of a lab are made from a busybox, the machine's own; nothing is ever pulled.
const (
	busyboxImage = labstate.Image
	pauseImage   = "podstep.local/pause:1" // of every sandbox
)

func (l *realNode) imagesFile() string { return l.paths.node("images.tar") }

func (l *realNode) buildImages(ctx context.Context) error {
	applets, err := run(ctx, l.programs.busybox, "--list")
	if err != nil {
		return fmt.Errorf("list what busybox can do: %w", err)
	}
	return Busybox{l.programs.busybox, runtime.GOARCH, strings.Fields(applets)}.WriteImages(l.imagesFile())
}

// Busybox is a busybox of which a lab makes its images.
type Busybox struct {
	Program string   // the path
	Arch    string   // its architecture, as Go names it
	Applets []string // the names of its commands
}

// WriteImages writes a tar file with every image of a lab.
func (b Busybox) WriteImages(file string) error {
	program, err := os.ReadFile(b.Program)
	if err != nil {
		return fmt.Errorf("read busybox: %w", err)
	}
	if bytes.Contains(program[:min(len(program), 4096)], []byte("ld-linux")) {
		return fmt.Errorf("%s is dynamically linked, so it cannot be an image by itself: run `make node-deps`, which installs busybox-static", b.Program)
	}
	full, err := image(b.Arch, func(w *tar.Writer) error { return busyboxFiles(w, program, b.Applets) }, v1.Config{
		Env: []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"},
		Cmd: []string{"sh"},
	})
	if err != nil {
		return fmt.Errorf("build image %s: %w", busyboxImage, err)
	}
	pause, err := image(b.Arch, func(w *tar.Writer) error { return busyboxFiles(w, program, []string{"sleep"}) }, v1.Config{
		Entrypoint: []string{"/bin/sleep", "infinity"},
	})
	if err != nil {
		return fmt.Errorf("build image %s: %w", pauseImage, err)
	}
	images := map[name.Reference]v1.Image{}
	for ref, img := range map[string]v1.Image{busyboxImage: full, pauseImage: pause} {
		tag, err := name.NewTag(ref)
		if err != nil {
			return fmt.Errorf("name image %s: %w", ref, err)
		}
		images[tag] = img
	}
	f, err := os.Create(file)
	if err != nil {
		return fmt.Errorf("write images: %w", err)
	}
	defer f.Close()
	if err := tarball.MultiRefWrite(images, f); err != nil {
		return fmt.Errorf("write images: %w", err)
	}
	return f.Close()
}

// image returns an image for an architecture, with one layer, whose content files writes.
func image(arch string, files func(*tar.Writer) error, config v1.Config) (v1.Image, error) {
	var content bytes.Buffer
	w := tar.NewWriter(&content)
	if err := files(w); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(content.Bytes())), nil
	}, tarball.WithCompressionLevel(1))
	if err != nil {
		return nil, err
	}
	img, err := mutate.AppendLayers(empty.Image, layer)
	if err != nil {
		return nil, err
	}
	whole, err := img.ConfigFile()
	if err != nil {
		return nil, err
	}
	whole = whole.DeepCopy()
	whole.OS, whole.Architecture, whole.Config = "linux", arch, config
	return mutate.ConfigFile(img, whole)
}

// busyboxFiles writes a root directory in which busybox goes by the names of applets.
func busyboxFiles(w *tar.Writer, program []byte, applets []string) error {
	for _, dir := range []struct {
		name string
		mode int64
	}{
		{"bin/", 0o755}, {"dev/", 0o755}, {"etc/", 0o755}, {"home/", 0o755}, {"proc/", 0o755}, {"root/", 0o700}, {"sys/", 0o755},
		{"tmp/", 0o1777}, {"usr/", 0o755}, {"usr/bin/", 0o755}, {"usr/sbin/", 0o755}, {"var/", 0o755}, {"var/www/", 0o755},
	} {
		if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: dir.name, Mode: dir.mode}); err != nil {
			return err
		}
	}
	for _, f := range []struct {
		name string
		mode int64
		text []byte
	}{
		{"bin/busybox", 0o755, program},
		{"etc/passwd", 0o644, []byte("root:x:0:0:root:/root:/bin/sh\nwww-data:x:33:33:www-data:/var/www:/bin/false\nnobody:x:65534:65534:nobody:/home:/bin/false\n")},
		{"etc/group", 0o644, []byte("root:x:0:\nwww-data:x:33:\nnobody:x:65534:\n")},
	} {
		if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: f.name, Mode: f.mode, Size: int64(len(f.text))}); err != nil {
			return err
		}
		if _, err := w.Write(f.text); err != nil {
			return err
		}
	}
	links := map[string]string{"usr/bin/env": "../../bin/busybox"}
	for _, applet := range applets {
		if applet != "busybox" {
			links[filepath.Join("bin", applet)] = "busybox"
		}
	}
	for link, target := range links {
		if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeSymlink, Name: link, Linkname: target, Mode: 0o777}); err != nil {
			return err
		}
	}
	return nil
}

func (l *realNode) importImages(ctx context.Context) error {
	if _, err := l.ctr(ctx, "images", "import", "--snapshotter", l.snapshotter, l.imagesFile()); err != nil {
		return fmt.Errorf("import images: %w", err)
	}
	return nil
}
