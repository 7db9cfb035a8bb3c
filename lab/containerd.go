package lab

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// nowhere is the address to which every registry is mapped: a pull fails at once, and no name is looked up.
const nowhere = "http://127.0.0.1:1"

// containerdConfig is in the format of containerd 1, which containerd 2 reads as well.
const containerdConfig = `version = 2
root = %[1]q
state = %[2]q
temp = %[3]q
# zfs, btrfs and others only say that they are not there.
disabled_plugins = ["io.containerd.snapshotter.v1.aufs", "io.containerd.snapshotter.v1.btrfs", "io.containerd.snapshotter.v1.devmapper", "io.containerd.snapshotter.v1.zfs"]

[grpc]
  address = %[4]q

[plugins."io.containerd.internal.v1.opt"]
  path = %[5]q

# containerd 2 would serve plugins at the one fixed place of the machine.
[plugins."io.containerd.nri.v1.nri"]
  disable = true

[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = %[6]q
  # A profile that containerd loads stays in the kernel.
  disable_apparmor = true
  netns_mounts_under_state_dir = true
  restrict_oom_score_adj = %[7]t
  stream_server_address = "127.0.0.1"
  stream_server_port = "0"
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = %[8]q
    conf_dir = %[9]q
  [plugins."io.containerd.grpc.v1.cri".registry]
    config_path = %[10]q
  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = %[11]q
    default_runtime_name = "runc"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"
      [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
        BinaryName = %[12]q
        SystemdCgroup = false
`

// cniConfig gives pods no default route: they reach each other and the machine, and nothing else.
const cniConfig = `{
  "cniVersion": "0.4.0",
  "name": "podstep-lab",
  "plugins": [{
    "type": "bridge",
    "bridge": %q,
    "isGateway": false,
    "ipMasq": false,
    "hairpinMode": true,
    "ipam": {
      "type": "host-local",
      "dataDir": %q,
      "ranges": [[{"subnet": %q, "gateway": %q}]]
    }
  }]
}
`

const registryConfig = "server = %[1]q\n\n[host.%[1]q]\n  capabilities = [\"pull\", \"resolve\"]\n"

func (l *realNode) startRuntime(context.Context) error {
	dir := l.paths.containerd
	files := map[string]string{
		"containerd.toml": fmt.Sprintf(containerdConfig,
			filepath.Join(dir(), "root"), filepath.Join(dir(), "state"), l.paths.node("tmp"), l.paths.containerdSocket(), filepath.Join(dir(), "opt"),
			pauseImage, !mayLowerOOMScore(), l.programs.cni, l.paths.config("cni"), l.paths.config("registries"), l.snapshotter, l.programs.runc),
		"cni/10-podstep-lab.conflist":    fmt.Sprintf(cniConfig, l.names.bridge, l.paths.node("addresses"), l.subnet, hostAddress(l.subnet)),
		"registries/_default/hosts.toml": fmt.Sprintf(registryConfig, nowhere),
	}
	for name, text := range files {
		file := l.paths.config(name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return fmt.Errorf("configure containerd: %w", err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			return fmt.Errorf("configure containerd: %w", err)
		}
	}
	// containerd looks for its shim in PATH. So the directory of containerd comes first, whose shim has the same
	// version.
	path := "PATH=" + filepath.Dir(l.programs.containerd) + ":" + searchPath()
	return l.program("containerd", []string{path}, l.programs.containerd, "--config", l.paths.config("containerd.toml"))
}

// waitContainerd returns when containerd's CRI plugin answers.
func (l *realNode) waitContainerd(ctx context.Context) error {
	return poll(ctx, func(ctx context.Context) error {
		_, err := l.ctr(ctx, "plugins", "list", "id==cri")
		return err
	})
}

// ctr runs ctr against the lab's containerd.
func (l *realNode) ctr(ctx context.Context, args ...string) (string, error) {
	return run(ctx, l.programs.ctr, append([]string{"--address", l.paths.containerdSocket(), "--namespace", "k8s.io"}, args...)...)
}

// mayLowerOOMScore reports whether runc can give a container a lower oom_score_adj than ours. Without
// CAP_SYS_RESOURCE runc fails when it tries.
func mayLowerOOMScore() bool {
	status, err := os.ReadFile("/proc/thread-self/status")
	if err != nil {
		return false
	}
	_, rest, _ := strings.Cut(string(status), "CapEff:\t")
	hex, _, _ := strings.Cut(rest, "\n")
	caps, err := strconv.ParseUint(hex, 16, 64)
	return err == nil && caps&(1<<unix.CAP_SYS_RESOURCE) != 0
}

// chooseSnapshotter returns overlayfs unless dir is on an overlayfs, such as the root directory of a container: one
// overlayfs cannot be on another.
func chooseSnapshotter(dir string) (string, error) {
	var fs unix.Statfs_t
	if err := unix.Statfs(dir, &fs); err != nil {
		return "", fmt.Errorf("look at file system of %s: %w", dir, err)
	}
	if fs.Type == unix.OVERLAYFS_SUPER_MAGIC {
		return "native", nil
	}
	return "overlayfs", nil
}
