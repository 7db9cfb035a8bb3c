package probes

import (
	"bytes"
	"debug/elf"
	"os"
	"strings"
	"testing"
)

func TestReadBuild(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, path string
		want       Build
		version    string
	}{
		{"as released", buildFake(t, "-trimpath", "-ldflags=-s -w "+stampFlag), Build{Kubelet: true, Kubernetes: true}, "v1.36.3"},
		{"without a version", buildFake(t), Build{Kubelet: true, Kubernetes: true}, ""},
		{"not a kubelet", self, Build{Woven: true}, ""},
	} {
		program, err := os.ReadFile(c.path)
		if err != nil {
			t.Fatal(err)
		}
		r, size := bytes.NewReader(program), int64(len(program))
		if b, err := ReadBuild(r, size); err != nil || *b != c.want {
			t.Errorf("%s: %+v, %v; want %+v", c.name, b, err, c.want)
		}
		if v, err := ReadVersion(r, size); err != nil || v != c.version {
			t.Errorf("%s: version %q, %v; want %q", c.name, v, err, c.version)
		}
	}
}

func TestReadBuildErrors(t *testing.T) {
	text := []byte("#!/bin/sh\necho no kubelet here, only a shell script\n")
	for _, c := range []struct {
		size int64
		want string
	}{
		{int64(len(text)), "not an ELF program"},
		{maxProgram + 1, "is no kubelet"},
	} {
		if _, err := ReadBuild(bytes.NewReader(text), c.size); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error %v lacks %q", err, c.want)
		}
		if _, err := ReadVersion(bytes.NewReader(text), c.size); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error %v lacks %q", err, c.want)
		}
	}
}

// TestInsaneSection: a section is not read if it claims to be larger than any program, or is compressed.
func TestInsaneSection(t *testing.T) {
	for _, s := range []*elf.Section{
		{SectionHeader: elf.SectionHeader{Size: maxProgram + 1}},
		{SectionHeader: elf.SectionHeader{Size: 10, Flags: elf.SHF_COMPRESSED}},
	} {
		if sane(s) {
			t.Errorf("%+v would be read", s.SectionHeader)
		}
	}
}
