package dap

import (
	"strings"
	"testing"

	"github.com/google/go-dap"

	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/source"
)

// TestFiles: each step's function stands in its file at the lines that it has in the kubelet's own, so that a line of a
// frame and a line of a breakpoint mean the same in a checkout.
func TestFiles(t *testing.T) {
	texts := map[string][]string{}
	for _, f := range files() {
		texts[f.path()] = strings.Split(f.text(), "\n")
	}
	seen := 0
	for _, step := range probes.MustLoad().Steps {
		e, ok := source.Of(step.Name)
		if !ok {
			continue
		}
		seen++
		f := files()[e.Module+"/"+e.File]
		all := texts[f.path()]
		for i, line := range e.Lines {
			if all[e.Line-1+i] != line {
				t.Fatalf("%s: line %d of %s is %q, want %q", step.Name, e.Line+i, f.path(), all[e.Line-1+i], line)
			}
		}
		if p, ok := f.nearest(e.Func, func(s string) bool { return s == step.Name }); !ok || p.line != e.Func {
			t.Errorf("%s begins at line %d, and the place is %+v", step.Name, e.Func, p)
		}
	}
	if seen < 100 || len(texts) < 20 {
		t.Errorf("only %d steps in %d files", seen, len(texts))
	}
}

func TestFileOf(t *testing.T) {
	for path, want := range map[string]string{
		"k8s.io/kubernetes@v1.36.3/pkg/kubelet/kubelet.go":                      "pkg/kubelet/kubelet.go",
		"/go/pkg/mod/k8s.io/kubernetes@v1.35.0/pkg/kubelet/kubelet.go":          "pkg/kubelet/kubelet.go",
		"/home/me/src/kubernetes/pkg/kubelet/kubelet.go":                        "pkg/kubelet/kubelet.go",
		`C:\src\kubernetes\pkg\kubelet\kubelet.go`:                              "pkg/kubelet/kubelet.go",
		"/home/me/kubernetes/staging/src/k8s.io/cri-client/pkg/remote_image.go": "pkg/remote_image.go",
		"/home/me/other/pkg/remote_image.go":                                    "",
		"kubelet.go":                                                            "",
		"":                                                                      "",
	} {
		f, err := fileOf(&dap.Source{Path: path})
		got := ""
		if err == nil {
			got = f.file
		}
		if got != want {
			t.Errorf("%q is %q (%v), want %q", path, got, err, want)
		}
	}
	for _, s := range allSources() {
		if f, err := fileOf(&dap.Source{SourceReference: s.SourceReference}); err != nil || f.path() != s.Path {
			t.Errorf("the number %d is not that of %s", s.SourceReference, s.Path)
		}
	}
}
