package main

import (
	"io"
	"path/filepath"
	"slices"
	"testing"
)

// TestLabArguments: the given flags are handed on to podstep-lab, and no others.
func TestLabArguments(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	a := &app{name: "podstep", out: io.Discard, err: io.Discard, where: &where{}}
	for _, c := range []struct {
		given, want []string
	}{
		{[]string{"--tour", "dra"}, []string{"--devices=1"}},
		{[]string{"--tour", "dra", "--devices", "2"}, []string{"--devices=2"}},
		{[]string{"--tour", "creation"}, nil},
		{nil, nil},
		{[]string{"--runtime", "containerd", "--restart-kubelet"}, []string{"--runtime=containerd", "--restart-kubelet=true"}},
		{[]string{"--scenario", "x.yaml", "--port", "7", "--lang", "zh"}, []string{"--scenario=x.yaml", "--port=7"}},
	} {
		cmd := a.lab()
		if err := cmd.ParseFlags(c.given); err != nil {
			t.Fatal(err)
		}
		var f labFlags
		tour := cmd.Flags().Lookup("tour").Value.String()
		needs, err := (&uiFlags{tour: tour}).needsDevices()
		if err != nil {
			t.Fatal(err)
		}
		got, dir, err := f.arguments(cmd.Flags(), needs)
		if err != nil {
			t.Fatal(err)
		}
		if want := append([]string{"--dir", dir}, c.want...); !slices.Equal(got, want) || !filepath.IsAbs(dir) {
			t.Errorf("%q gives %q, want %q", c.given, got, want)
		}
	}
}
