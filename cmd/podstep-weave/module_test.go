package main

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

const someKubernetes = `module k8s.io/kubernetes

go 1.25.0

godebug default=go1.25

require (
	github.com/google/cadvisor v0.52.1
	k8s.io/api v0.0.0
	k8s.io/klog/v2 v2.130.1
	k8s.io/sample-controller v0.0.0
)

require github.com/x/y v1.0.0 // indirect

replace (
	github.com/x/y => github.com/z/y v1.0.1
	k8s.io/api => ./staging/src/k8s.io/api
	k8s.io/sample-controller => ./staging/src/k8s.io/sample-controller
)
`

const somePodstep = "module github.com/podstep/podstep\n\ngo 1.26.0\n"

func TestKubeletModule(t *testing.T) {
	mod, err := kubeletModule([]byte(someKubernetes), []byte(somePodstep), "v1.35.4", "/src/podstep")
	if err != nil {
		t.Fatal(err)
	}
	const want = `module github.com/podstep/podstep/lab/cmd/podstep-kubelet

go 1.26.0

godebug default=go1.25

require (
	github.com/google/cadvisor v0.52.1
	k8s.io/api v0.0.0
	k8s.io/klog/v2 v2.130.1
	github.com/x/y v1.0.0 // indirect
	k8s.io/kubernetes v1.35.4
	github.com/podstep/podstep v0.0.0
)

replace github.com/x/y => github.com/z/y v1.0.1

replace k8s.io/api => k8s.io/api v0.35.4

replace github.com/podstep/podstep => /src/podstep
`
	if string(mod) != want {
		t.Errorf("it is\n%s\nwant\n%s", mod, want)
	}
	if _, err := kubeletModule([]byte(someKubernetes), []byte(somePodstep), "1.35", "/src"); err == nil {
		t.Error("1.35 was taken for a release")
	}
	if _, err := kubeletModule([]byte("what is this"), []byte(somePodstep), "v1.35.4", "/src"); err == nil || !strings.Contains(err.Error(), "v1.35.4") {
		t.Errorf("a go.mod that cannot be read: %v", err)
	}
}

func TestLibraries(t *testing.T) {
	for version, want := range map[string]string{
		"v1.35.4": "v0.35.4", "v1.37.0-rc.1": "v0.37.0-rc.1", "v1.35": "", "1.35.4": "", "v2.35.4": "", "v1.35.4+k3s1": "", "": "", "v1.35.4 ": "",
	} {
		got, err := libraries(version)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("the libraries of %q are %q, %v, want %q", version, got, err, want)
		}
	}
}

func TestParseKubelet(t *testing.T) {
	for _, c := range []struct {
		args string
		want string // a part of the error
	}{
		{"--kubernetes v1.35.4 -o out", ""},
		{"-o out", "which version"},
		{"--kubernetes v1.35.4", "into which file"},
		{"--kubernetes 1.35.4 -o out", "no version of a release"},
		{"--kubernetes v1.35.4 -o out more", `"more" is not expected`},
		{"--nonsense", "nonsense"},
	} {
		o, err := parseKubelet(strings.Fields(c.args))
		switch {
		case c.want == "" && (err != nil || o.version != "v1.35.4" || !strings.HasSuffix(o.out, "/out")):
			t.Errorf("%s: %+v, %v", c.args, o, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: %v, want %q", c.args, err, c.want)
		}
	}
}

// TestBuildTags: a woven kubelet of another version has the tags of `make build`.
func TestBuildTags(t *testing.T) {
	text, err := os.ReadFile("../../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	tags := regexp.MustCompile(`(?m)^TAGS := (.+)$`).FindSubmatch(text)
	if tags == nil || string(tags[1])+",otherkubernetes" != buildTags {
		t.Errorf("the Makefile has the tags %q, and buildTags are %s", tags, buildTags)
	}
}
