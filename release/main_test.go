package main

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestVersions: a release has a version that each kind of package has a form for.
func TestVersions(t *testing.T) {
	for version, want := range map[string]bool{
		"0.1.0": true, "10.20.30": true, "0.1.0-dev": true, "0.1.0-rc.1": true, "1.0.0-alpha.12": true,
		"": false, "v0.1.0": false, "0.1": false, "01.1.0": false, "0.1.0-rc1": false, "0.1.0-x.1": false, "0.1.0+a": false, "0.1.0 ": false, "../0.1.0": false,
	} {
		if got := versions.MatchString(version); got != want {
			t.Errorf("%q: %t", version, got)
		}
	}
	for version, want := range map[string]string{"0.1.0": "0.1.0", "0.1.0-rc.2": "0.1.0_rc2", "0.1.0-dev": "0.1.0_pre"} {
		if got := alpineVersion(version); got != want {
			t.Errorf("%s is %s for Alpine, want %s", version, got, want)
		}
	}
}

// TestNewRelease: the flag gives the version, or the chart does where there is no flag. SOURCE_DATE_EPOCH gives the time.
func TestNewRelease(t *testing.T) {
	t.Setenv("SOURCE_DATE_EPOCH", "1767323045")
	for flag, want := range map[string]string{"v1.2.3": "1.2.3", "1.2.3-rc.1": "1.2.3-rc.1"} {
		r, err := newRelease(t.Context(), "..", filepath.Join(t.TempDir(), "out"), flag)
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(r.stage)
		if r.version != want || !r.made.Equal(time.Unix(1767323045, 0)) {
			t.Errorf("%s: the version is %s, of %v", flag, r.version, r.made)
		}
	}
	if r, err := newRelease(t.Context(), "..", filepath.Join(t.TempDir(), "out"), "1.2"); err == nil {
		t.Errorf("1.2 is a version: %+v", r)
	}
	t.Setenv("SOURCE_DATE_EPOCH", "yesterday")
	if r, err := newRelease(t.Context(), "..", filepath.Join(t.TempDir(), "out"), "1.2.3"); err == nil {
		t.Errorf("yesterday is a time: %+v", r)
	}
}

// TestEmptied: a directory with other files than a release is left alone.
func TestEmptied(t *testing.T) {
	at := t.TempDir()
	mine := filepath.Join(at, "mine.txt")
	if err := os.WriteFile(mine, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := emptied(at); err == nil {
		t.Error("a directory with a file of mine was emptied")
	}
	if err := os.WriteFile(filepath.Join(at, sumsFile), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := emptied(at); err != nil {
		t.Error(err)
	}
	// What make deb made before, it may replace.
	if err := os.WriteFile(filepath.Join(at, "podstep_0.1.0-dev_linux_arm64.deb"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := emptied(at); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(at); err != nil || len(left) > 0 {
		t.Errorf("left are %v, %v", left, err)
	}
}

// TestTags: the release is built with the Makefile's tags.
func TestTags(t *testing.T) {
	r := &release{repo: ".."}
	if tags, err := r.tags(); err != nil || tags == "" {
		t.Errorf("the tags are %q, %v", tags, err)
	}
	if tags, err := (&release{repo: "testdata"}).tags(); err == nil {
		t.Errorf("without a Makefile the tags are %q", tags)
	}
}
