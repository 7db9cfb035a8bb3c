package lab

import (
	"archive/tar"
	"io"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
)

func TestImage(t *testing.T) {
	img, err := image("arm64", func(w *tar.Writer) error {
		return busyboxFiles(w, []byte("program"), []string{"busybox", "sh"})
	}, v1.Config{Cmd: []string{"sh"}})
	if err != nil {
		t.Fatal(err)
	}
	config, err := img.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	if config.OS != "linux" || config.Architecture != "arm64" || config.Config.Cmd[0] != "sh" {
		t.Errorf("the image is for %s/%s and runs %v", config.OS, config.Architecture, config.Config.Cmd)
	}
	layer := mutate.Extract(img)
	defer layer.Close()
	files := map[string]*tar.Header{}
	for r := tar.NewReader(layer); ; {
		h, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		files[h.Name] = h
	}
	if h := files["bin/busybox"]; h == nil || h.Typeflag != tar.TypeReg || h.Mode != 0o755 {
		t.Errorf("bin/busybox is %+v", h)
	}
	if h := files["bin/sh"]; h == nil || h.Linkname != "busybox" {
		t.Errorf("bin/sh is %+v", h)
	}
	if h := files["tmp"]; h == nil || h.Mode != 0o1777 {
		t.Errorf("tmp is %+v", h)
	}
	if files["etc/passwd"] == nil {
		t.Error("there is no etc/passwd")
	}
}
