package cluster

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/podstep/podstep/agent/kubeapi"
)

func TestChanges(t *testing.T) {
	c := newChanges[v1.Pod](strings.NewReader(`
{"type":"ADDED","object":{"metadata":{"uid":"a","resourceVersion":"7"}}}
{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"9"}}}
{"type":"NEWER","object":{"metadata":{"resourceVersion":"10"}}}
{"type":"ERROR","object":{"code":410,"message":"too old"}}
`), "5")
	for i, want := range []struct {
		version string
		pod     bool
	}{{"7", true}, {"9", false}, {"10", false}} {
		_, p, err := c.next()
		if err != nil || (p != nil) != want.pod || c.version != want.version {
			t.Errorf("change %d: pod %v, version %s, error %v", i, p != nil, c.version, err)
		}
	}
	if _, _, err := c.next(); !kubeapi.IsCode(err, http.StatusGone) {
		t.Errorf("error %v is not that the version is too old", err)
	}
	if _, _, err := c.next(); !errors.Is(err, io.EOF) {
		t.Errorf("error %v at the end", err)
	}
}

// TestEndlessObject: an object without an end fails before it fills the memory; many objects do not.
func TestEndlessObject(t *testing.T) {
	endless := io.MultiReader(strings.NewReader(`{"type":"ADDED","object":{"x":"`), endless{})
	if _, _, err := newChanges[v1.Pod](endless, "1").next(); !errors.Is(err, kubeapi.ErrTooLarge) {
		t.Errorf("error %v, want that it is too large", err)
	}
	one := `{"type":"ADDED","object":{"metadata":{"name":"` + strings.Repeat("x", 1<<20) + `"}}}`
	c := newChanges[v1.Pod](strings.NewReader(strings.Repeat(one, 18)), "1")
	for i := range 18 {
		if _, _, err := c.next(); err != nil {
			t.Fatalf("object %d: %v", i, err)
		}
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

func FuzzChanges(f *testing.F) {
	f.Add([]byte(`{"type":"ADDED","object":{"metadata":{"uid":"a"}}}`))
	f.Add([]byte(`{"type":"ERROR","object":{"code":410}}{"type":"ERROR","object":1}`))
	f.Add([]byte(`{"type":"DELETED"}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		c := newChanges[v1.Pod](bytes.NewReader(text), "5")
		for range len(text) + 1 {
			kind, p, err := c.next()
			if err != nil {
				return
			}
			if p != nil && kind != "ADDED" && kind != "MODIFIED" && kind != "DELETED" {
				t.Errorf("a pod by a change of kind %q", kind)
			}
		}
		t.Error("there is no end")
	})
}
