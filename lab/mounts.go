package lab

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// unshareMounts gives the calling thread mounts of its own. Mounts that the machine makes later still appear there;
// ours do not appear on the machine.
func unshareMounts() error {
	if err := unix.Unshare(unix.CLONE_FS | unix.CLONE_NEWNS); err != nil {
		return fmt.Errorf("unshare: %w", err)
	}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_SLAVE, ""); err != nil {
		return fmt.Errorf("separate mounts: %w", err)
	}
	// Volumes with mount propagation need shared mounts, as systemd makes them.
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_SHARED, ""); err != nil {
		return fmt.Errorf("share mounts: %w", err)
	}
	return nil
}

// fixedDirs are the directories that containerd, its shims, libcni and the kubelet use whatever their configuration
// says: parent, then name. They lie below the node's directories, or where below the lab's logs logs says.
var fixedDirs = []struct{ parent, name, logs string }{
	{"/run", "containerd", ""},               // sockets of the shims
	{"/var/lib", "cni", ""},                  // what libcni remembers of each pod
	{"/var/lib", "kubelet", ""},              // sockets of device plugins
	{"/var/log", "containers", "containers"}, // links to the logs of containers
	{"/var/log", "kubernetes", "."},          // the logs of the components, which the kubelet serves
}

// furnish mounts places below the lab's directory over the machine's fixed places that the node would write to. The
// calling thread must have mounts of its own.
func furnish(p paths) error {
	byParent := map[string]map[string]string{}
	for _, d := range fixedDirs {
		source := p.node("dirs", d.parent, d.name)
		if d.logs != "" {
			source = p.at("logs", d.logs)
		}
		if err := os.MkdirAll(source, 0o755); err != nil {
			return err
		}
		if byParent[d.parent] == nil {
			byParent[d.parent] = map[string]string{}
		}
		byParent[d.parent][d.name] = source
	}
	for parent, sources := range byParent {
		if err := cover(parent, sources); err != nil {
			return fmt.Errorf("cover %s: %w", parent, err)
		}
	}
	return coverSettings(p)
}

// cover mounts sources over the directories of those names in parent. It makes nothing in the machine's own parent.
func cover(parent string, sources map[string]string) error {
	parent, err := filepath.EvalSymlinks(parent)
	if err != nil {
		return err
	}
	var handles []int
	defer func() {
		for _, fd := range handles {
			unix.Close(fd)
		}
	}()
	open := func(path string) (string, error) {
		fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
		if err != nil {
			return "", fmt.Errorf("open %s: %w", path, err)
		}
		handles = append(handles, fd)
		return fmt.Sprintf("/proc/thread-self/fd/%d", fd), nil
	}
	// Sources are opened first, because a source may be below the parent that is about to be covered.
	missing := false
	for name, source := range sources {
		if sources[name], err = open(source); err != nil {
			return err
		}
		info, err := os.Lstat(filepath.Join(parent, name))
		missing = missing || err != nil || !info.IsDir()
	}
	if missing {
		// A directory to mount on is missing. It is made in a copy of the parent.
		if err := copyParent(parent, sources, open); err != nil {
			return err
		}
	}
	for name, source := range sources {
		if err := bind(source, filepath.Join(parent, name)); err != nil {
			return err
		}
	}
	return nil
}

// copyParent mounts a new directory over parent. It has everything that parent has, and an empty directory for each
// of the names.
func copyParent(parent string, names map[string]string, open func(string) (string, error)) error {
	entries, err := os.ReadDir(parent)
	if err != nil {
		return err
	}
	old, err := open(parent)
	if err != nil {
		return err
	}
	if err := unix.Mount("podstep-lab", parent, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=0755"); err != nil {
		return fmt.Errorf("mount: %w", err)
	}
	for name := range names {
		if err := os.Mkdir(filepath.Join(parent, name), 0o755); err != nil {
			return err
		}
	}
	for _, e := range entries {
		if _, ours := names[e.Name()]; ours {
			continue
		}
		from, to := filepath.Join(old, e.Name()), filepath.Join(parent, e.Name())
		err := copyEntry(from, to, e.Type())
		// Other programs make and remove files in /run.
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

func copyEntry(from, to string, kind fs.FileMode) error {
	switch {
	case kind&fs.ModeSymlink != 0:
		target, err := os.Readlink(from)
		if err != nil {
			return err
		}
		return os.Symlink(target, to)
	case kind.IsDir():
		if err := os.Mkdir(to, 0o755); err != nil {
			return err
		}
	default:
		if err := os.WriteFile(to, nil, 0o644); err != nil {
			return err
		}
	}
	return bind(from, to)
}

func bind(from, to string) error {
	if err := unix.Mount(from, to, "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
		return &fs.PathError{Op: "bind", Path: to, Err: err}
	}
	return nil
}

// settings are the kernel settings that a kubelet writes when it starts. They are the whole machine's. So the lab's
// kubelet gets files to write to instead, with the machine's values in them, and nothing has to be restored, however
// the lab ends.
var settings = []string{
	"/proc/sys/vm/overcommit_memory",
	"/proc/sys/vm/panic_on_oom",
	"/proc/sys/kernel/panic",
	"/proc/sys/kernel/panic_on_oops",
	"/proc/sys/kernel/keys/root_maxkeys",
	"/proc/sys/kernel/keys/root_maxbytes",
}

func coverSettings(p paths) error {
	for _, setting := range settings {
		value, err := os.ReadFile(setting)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return fmt.Errorf("read kernel setting: %w", err)
		}
		file := p.node("dirs", setting)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(file, value, 0o644); err != nil {
			return err
		}
		if err := bind(file, setting); err != nil {
			return fmt.Errorf("cover kernel setting: %w", err)
		}
	}
	return nil
}
