package labtest

import (
	"archive/tar"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// PodstepImage is the name of the image of the built podstep on a lab's node.
const PodstepImage = "localhost/podstep:test"

// ImportPodstep brings an image of the built podstep onto the node, and returns its name. The image has what a release's
// has, and the libraries that a program needs which was built with cgo.
func (l *Lab) ImportPodstep() string {
	l.tb.Helper()
	file := filepath.Join(l.Dir, "podstep-image.tar")
	WritePodstepImage(l.tb, Bin(l.tb, "podstep"), runtime.GOARCH, file)
	cmd := exec.CommandContext(l.Context(), "ctr", "--address", l.State.Containerd, "--namespace", "k8s.io", "images", "import", file)
	if out, err := cmd.CombinedOutput(); err != nil {
		l.tb.Fatalf("import the image of podstep: %v: %s", err, out)
	}
	return PodstepImage
}

// WritePodstepImage writes the image of a podstep, built for an architecture, to a file that ctr imports.
func WritePodstepImage(tb testing.TB, program, arch, file string) {
	tb.Helper()
	if err := writePodstepImage(program, arch, file); err != nil {
		tb.Fatalf("make an image of podstep: %v", err)
	}
}

func writePodstepImage(program, arch, file string) error {
	files := map[string]string{"usr/bin/podstep": program}
	// A static program has no libraries, and ldd fails. It also fails for another machine's program.
	out, _ := exec.Command("ldd", program).Output()
	for _, path := range libraries.FindAllString(string(out), -1) {
		files[strings.TrimPrefix(path, "/")] = path
	}
	layer, err := layerOf(files)
	if err != nil {
		return err
	}
	img, err := mutate.AppendLayers(empty.Image, layer)
	if err != nil {
		return err
	}
	config, err := img.ConfigFile()
	if err != nil {
		return err
	}
	config = config.DeepCopy()
	config.OS, config.Architecture = "linux", arch
	config.Config = v1.Config{Entrypoint: []string{"podstep"}, Env: []string{"PATH=/usr/bin"}, WorkingDir: "/"}
	if img, err = mutate.ConfigFile(img, config); err != nil {
		return err
	}
	tag, err := name.NewTag(PodstepImage)
	if err != nil {
		return err
	}
	return tarball.WriteToFile(file, tag, img)
}

// libraries finds the paths in the output of ldd.
var libraries = regexp.MustCompile(`/\S+`)

// layerOf makes a layer of programs and libraries, by their paths in the image.
func layerOf(files map[string]string) (v1.Layer, error) {
	var text bytes.Buffer
	w := tar.NewWriter(&text)
	if err := w.WriteHeader(&tar.Header{Name: "tmp/", Typeflag: tar.TypeDir, Mode: 0o1777}); err != nil {
		return nil, err
	}
	for path, from := range files {
		content, err := os.ReadFile(from)
		if err != nil {
			return nil, err
		}
		if err := w.WriteHeader(&tar.Header{Name: path, Typeflag: tar.TypeReg, Mode: 0o755, Size: int64(len(content))}); err != nil {
			return nil, fmt.Errorf("write %s: %w", path, err)
		}
		if _, err := w.Write(content); err != nil {
			return nil, fmt.Errorf("write %s: %w", path, err)
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(text.Bytes())), nil })
}
