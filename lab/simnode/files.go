package simnode

import (
	"os"
	"path/filepath"
	"strings"

	"k8s.io/kubernetes/pkg/kubelet/container"
	"k8s.io/kubernetes/pkg/volume/util/hostutil"
	"k8s.io/kubernetes/pkg/volume/util/subpath"
	"k8s.io/mount-utils"
)

// mounter remembers mounts and mounts nothing. It does not even remember a tmpfs: the volume of a tmpfs is a plain
// directory, and must be removed as one.
type mounter struct {
	*mount.FakeMounter
}

const tmpfs = "tmpfs"

func (m *mounter) Mount(source, target, fstype string, options []string) error {
	return m.MountSensitive(source, target, fstype, options, nil)
}

func (m *mounter) MountSensitive(source, target, fstype string, options, sensitive []string) error {
	if fstype == tmpfs {
		return nil
	}
	return m.FakeMounter.MountSensitive(source, target, fstype, options, sensitive)
}

func (m *mounter) MountSensitiveWithoutSystemd(source, target, fstype string, options, sensitive []string) error {
	return m.MountSensitive(source, target, fstype, options, sensitive)
}

func (m *mounter) MountSensitiveWithoutSystemdWithMountFlags(source, target, fstype string, options, sensitive, _ []string) error {
	return m.MountSensitive(source, target, fstype, options, sensitive)
}

// hostUtil looks at the real files, but changes no mount.
type hostUtil struct {
	hostutil.HostUtils
}

func (hostUtil) MakeRShared(string) error { return nil }

// subpather gives a container the path itself. A kubelet would bind-mount the path, so that it cannot be exchanged.
type subpather struct {
	subpath.Interface
}

func (subpather) PrepareSafeSubpath(s subpath.Subpath) (string, func(), error) {
	return s.Path, func() {}, nil
}

func (subpather) CleanSubPaths(string, string) error { return nil }

// legacyLogs is where the kubelet puts links to logs, whatever its
// configuration says.
const legacyLogs = "/var/log/containers"

// system is the real operating system, but for legacyLogs.
type system struct {
	container.RealOS
	logs string
}

// moved returns path or, if path is in legacyLogs, its place below our own directory.
func (s system) moved(path string) string {
	if rest, ok := strings.CutPrefix(path, legacyLogs+"/"); ok {
		return filepath.Join(s.logs, rest)
	}
	return path
}

func (s system) Symlink(old, name string) error { return s.RealOS.Symlink(old, s.moved(name)) }

func (s system) Stat(path string) (os.FileInfo, error) { return s.RealOS.Stat(s.moved(path)) }

func (s system) Remove(path string) error { return s.RealOS.Remove(s.moved(path)) }

func (s system) Glob(pattern string) ([]string, error) { return s.RealOS.Glob(s.moved(pattern)) }
