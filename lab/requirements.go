package lab

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// programs are the programs of the machine that a lab uses, or another containerd that an option names.
type programs struct {
	containerd, ctr, runc, busybox, ip string
	cni                                string // directory of the CNI plugins
}

// searchPath returns where programs are looked for, also by containerd and the kubelet. Not everybody's PATH has
// sbin.
func searchPath() string {
	return strings.Trim(os.Getenv("PATH")+":/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", ":")
}

// cniDirs are where distributions put CNI plugins.
var cniDirs = []string{"/usr/lib/cni", "/opt/cni/bin", "/usr/libexec/cni"}

// requirements finds the programs that the lab needs. Its error names all that are missing. own is a containerd to
// use instead of the machine's, or empty.
func requirements(own string) (programs, error) {
	if os.Geteuid() != 0 {
		return programs{}, errors.New("a containerd lab needs root: run it with sudo")
	}
	var p programs
	var missing []string
	find := func(into *string, name string) {
		var ok bool
		if *into, ok = findProgram(name); !ok {
			missing = append(missing, name)
		}
	}
	if p.containerd = own; own == "" {
		find(&p.containerd, "containerd")
	}
	// A ctr needs a containerd of its own version, so the one beside own is preferred.
	if p.ctr = filepath.Join(filepath.Dir(own), "ctr"); own == "" || !hasAll(filepath.Dir(own), "ctr") {
		find(&p.ctr, "ctr")
	}
	find(&p.runc, "runc")
	find(&p.busybox, "busybox")
	find(&p.ip, "ip")
	for _, dir := range cniDirs {
		if hasAll(dir, "bridge", "host-local", "loopback") {
			p.cni = dir
			break
		}
	}
	if p.cni == "" {
		missing = append(missing, "CNI plugins (bridge, host-local, loopback)")
	}
	if len(missing) > 0 {
		return p, fmt.Errorf("not installed: %s: run `make node-deps`", strings.Join(missing, ", "))
	}
	return p, nil
}

func findProgram(name string) (string, bool) {
	for _, dir := range filepath.SplitList(searchPath()) {
		if path, err := exec.LookPath(filepath.Join(dir, name)); err == nil && filepath.IsAbs(path) {
			return path, true
		}
	}
	return "", false
}

func hasAll(dir string, names ...string) bool {
	for _, name := range names {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			return false
		}
	}
	return true
}
