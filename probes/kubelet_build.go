package probes

import (
	"debug/buildinfo"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"path"
	"runtime/debug"
)

// Build is what the build information of a program says about the kubelet in it. It is quick to read, while
// ReadBinary reads every function.
type Build struct {
	// Kubelet: it is the kubelet's own command.
	Kubelet bool
	// Kubernetes: Kubernetes is linked into it, and perhaps a kubelet, as in k3s.
	Kubernetes bool
	// Woven: podstep is linked into it too.
	Woven bool
}

// maxProgram is larger than any kubelet. A larger program is not read, whatever it says of its sections.
const maxProgram = 1 << 30

// ReadBuild reads the build information of a program of that size.
func ReadBuild(r io.ReaderAt, size int64) (*Build, error) {
	file, info, err := openBuild(r, size)
	if err != nil {
		return nil, fmt.Errorf("read build information: %w", err)
	}
	defer file.Close()
	b := &Build{Kubernetes: linked(info, "k8s.io/kubernetes"), Woven: linked(info, "github.com/podstep/podstep")}
	b.Kubelet = b.Kubernetes && (path.Base(info.Path) == "kubelet" || path.Base(info.Path) == "podstep-kubelet")
	return b, nil
}

// ReadVersion reads the version of Kubernetes in a program of that size. It returns "" if the program does not
// state it. It may have to search all of the program's data.
func ReadVersion(r io.ReaderAt, size int64) (string, error) {
	file, info, err := openBuild(r, size)
	if err != nil {
		return "", fmt.Errorf("read version: %w", err)
	}
	defer file.Close()
	if !sane(file.Section(".rodata")) {
		return "", errors.New("read version: its data is compressed, or larger than itself")
	}
	return kubernetesVersion(info, file), nil
}

func openBuild(r io.ReaderAt, size int64) (*elf.File, *debug.BuildInfo, error) {
	if size > maxProgram {
		return nil, nil, fmt.Errorf("a program of %d bytes is no kubelet", size)
	}
	file, err := elf.NewFile(r)
	if err != nil {
		return nil, nil, notELF(err)
	}
	info, err := buildinfo.Read(r)
	if err != nil {
		_ = file.Close()
		return nil, nil, errors.New("not a Go program")
	}
	return file, info, nil
}

// linked reports whether a module is the program's own or one it depends on.
func linked(info *debug.BuildInfo, module string) bool {
	if info.Main.Path == module {
		return true
	}
	for _, dep := range info.Deps {
		if dep.Path == module {
			return true
		}
	}
	return false
}

// sane reports whether a section can be read whole. No Go linker compresses read-only data, and a compressed
// section could unpack to any size.
func sane(s *elf.Section) bool {
	return s == nil || s.Flags&elf.SHF_COMPRESSED == 0 && s.Size <= maxProgram
}
