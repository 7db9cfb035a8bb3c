package version

import (
	"runtime/debug"
	"testing"
)

func TestRecorded(t *testing.T) {
	own, other := debug.Module{Path: module, Version: "v1.2.3"}, debug.Module{Path: "k8s.io/kubernetes", Version: "v1.36.3"}
	for name, c := range map[string]struct {
		build debug.BuildInfo
		want  string
	}{
		"podstep":              {debug.BuildInfo{Main: own, Deps: []*debug.Module{&other}}, "v1.2.3"},
		"another that has it":  {debug.BuildInfo{Main: other, Deps: []*debug.Module{&own}}, "v1.2.3"},
		"a test of podstep":    {debug.BuildInfo{Main: debug.Module{Path: module}}, unknown},
		"a program of the lab": {debug.BuildInfo{Main: debug.Module{Path: module + "/lab", Version: "v1.2.4"}, Deps: []*debug.Module{{Path: module, Version: "v0.0.0"}}}, "v1.2.4"},
		"another":              {debug.BuildInfo{Main: other}, unknown},
	} {
		if got := recorded(&c.build); got != c.want {
			t.Errorf("%s: the version is %q, want %q", name, got, c.want)
		}
	}
}

// TestStamped: the version that a release links in is the one.
func TestStamped(t *testing.T) {
	if Own() == "v9.8.7" {
		t.Fatal("it has this version before it is stamped")
	}
	stamped = "v9.8.7"
	defer func() { stamped = "" }()
	if got := Own(); got != "v9.8.7" {
		t.Errorf("the version is %q", got)
	}
}
