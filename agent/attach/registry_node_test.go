//go:build node

package attach_test

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/podstep/podstep/agent/labtest"
)

// slowRegistry serves one image, and holds back the end of its last layer.
type slowRegistry struct {
	t     *testing.T
	image string // its name
	img   v1.Image
	asked chan struct{} // closed when somebody waits for the layer
	once  sync.Once
	free  chan struct{} // closed when the layer may come to its end
}

// startRegistry serves the lab's image with one more layer, on a port of 127.0.0.1, and configures the lab's runtime
// for it.
func startRegistry(t *testing.T, l *labtest.Lab) *slowRegistry {
	t.Helper()
	r := &slowRegistry{t: t, asked: make(chan struct{}), free: make(chan struct{})}
	tag, err := name.NewTag(labtest.Image)
	if err != nil {
		t.Fatal(err)
	}
	base, err := tarball.ImageFromPath(filepath.Join(l.Dir, "node", "images.tar"), &tag)
	if err != nil {
		t.Fatal(err)
	}
	// An empty archive, with random digits behind it so that it is another layer each time.
	layer := append(make([]byte, 1024), fmt.Appendf(nil, "%d", rand.Int64())...)
	if r.img, err = mutate.AppendLayers(base, static.NewLayer(append(layer, make([]byte, 1<<20)...), types.DockerUncompressedLayer)); err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(r)
	t.Cleanup(func() { s.CloseClientConnections(); s.Close() })
	host := strings.TrimPrefix(s.URL, "http://")
	r.image = host + "/slow:1"
	config := filepath.Join(l.Dir, "config", "registries", host)
	if err := os.Mkdir(config, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(config) })
	if err := os.WriteFile(filepath.Join(config, "hosts.toml"), fmt.Appendf(nil, "server = %q\n", s.URL), 0o644); err != nil {
		t.Fatal(err)
	}
	return r
}

// ServeHTTP answers what a pull asks for: the manifest, and the blobs in it.
func (r *slowRegistry) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	manifest, err := r.img.RawManifest()
	if err != nil {
		r.t.Error(err)
	}
	what := q.URL.Path[strings.LastIndexByte(q.URL.Path, '/')+1:]
	if strings.Contains(q.URL.Path, "/manifests/") {
		digest, _ := r.img.Digest()
		w.Header().Set("Content-Type", string(types.DockerManifestSchema2))
		w.Header().Set("Docker-Content-Digest", digest.String())
		http.ServeContent(w, q, "", time.Time{}, bytes.NewReader(manifest))
		return
	}
	if text, err := r.img.RawConfigFile(); err == nil {
		if id, _ := r.img.ConfigName(); id.String() == what {
			_, _ = w.Write(text)
			return
		}
	}
	layers, err := r.img.Layers()
	if err != nil {
		r.t.Error(err)
	}
	for i, layer := range layers {
		if id, _ := layer.Digest(); id.String() == what {
			r.serve(w, q, layer, i == len(layers)-1)
			return
		}
	}
	http.NotFound(w, q)
}

// serve sends a layer. It sends a slow one a byte now and then, so that nobody gives it up.
func (r *slowRegistry) serve(w http.ResponseWriter, q *http.Request, layer v1.Layer, slow bool) {
	size, err := layer.Size()
	if err != nil {
		r.t.Error(err)
	}
	in, err := layer.Compressed()
	if err != nil {
		r.t.Error(err)
		return
	}
	defer in.Close()
	w.Header().Set("Content-Length", fmt.Sprint(size))
	for slow && q.Method == http.MethodGet {
		r.once.Do(func() { close(r.asked) })
		_, _ = io.CopyN(w, in, 1)
		_ = http.NewResponseController(w).Flush()
		select {
		case <-time.After(time.Second):
			continue
		case <-q.Context().Done():
			return
		case <-r.free:
		}
		break
	}
	_, _ = io.Copy(w, in)
}
