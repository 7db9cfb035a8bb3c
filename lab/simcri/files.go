package simcri

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// files are the files that a container sees: the volumes that the kubelet made, through the container's mounts, and a
// directory of the container's own for everything else. No name can lead out of them. A mount that is not in the
// kubelet's directory for the pod, such as a hostPath, belongs to the machine: it is read, and never written.
type files struct {
	root   string
	once   sync.Once // to make root
	err    error
	locked bool // root is read-only
	given  map[string]string
	mounts []mount
}

type mount struct {
	path, host string
	readOnly   bool
}

func newFiles(root string, pod *runtimeapi.PodSandboxConfig, config *runtimeapi.ContainerConfig) *files {
	f := &files{root: root, locked: config.GetLinux().GetSecurityContext().GetReadonlyRootfs(), given: map[string]string{
		"/etc/hostname":    pod.GetHostname() + "\n",
		"/etc/resolv.conf": resolvConf(pod.GetDnsConfig()),
	}}
	for name, value := range pod.GetLinux().GetSysctls() {
		f.given["/proc/sys/"+strings.ReplaceAll(name, ".", "/")] = value + "\n"
	}
	own := "/pods/" + pod.GetMetadata().GetUid() + "/"
	for _, m := range config.GetMounts() {
		if m.GetHostPath() == "" { // an image's
			continue
		}
		ours := strings.Contains(m.GetHostPath(), own)
		f.mounts = append(f.mounts, mount{path.Clean("/" + m.GetContainerPath()), m.GetHostPath(), m.GetReadonly() || !ours})
	}
	slices.SortStableFunc(f.mounts, func(a, b mount) int { return len(b.path) - len(a.path) }) // the innermost first
	return f
}

func resolvConf(dns *runtimeapi.DNSConfig) string {
	var b strings.Builder
	if s := dns.GetSearches(); len(s) > 0 {
		b.WriteString("search " + strings.Join(s, " ") + "\n")
	}
	for _, n := range dns.GetServers() {
		b.WriteString("nameserver " + n + "\n")
	}
	if o := dns.GetOptions(); len(o) > 0 {
		b.WriteString("options " + strings.Join(o, " ") + "\n")
	}
	return b.String()
}

// place is where a name leads: to a path below a directory, or to a single file.
type place struct {
	dir      string
	name     string
	readOnly bool
}

func (f *files) place(name string) place {
	for _, m := range f.mounts {
		rest, in := strings.CutPrefix(name, strings.TrimSuffix(m.path, "/"))
		if !in || rest != "" && rest[0] != '/' {
			continue
		}
		if info, err := os.Stat(m.host); err == nil && !info.IsDir() {
			return place{filepath.Dir(m.host), filepath.Base(m.host), m.readOnly}
		}
		return place{m.host, local(rest), m.readOnly}
	}
	return place{f.root, local(name), f.locked}
}

func local(name string) string {
	if name = strings.Trim(name, "/"); name == "" {
		return "."
	}
	return name
}

// in opens the directory of a name and calls do with it. os.Root keeps links from leading out of the directory.
func (f *files) in(name string, do func(r *os.Root, name string) error) error {
	p := f.place(name)
	if p.dir == f.root {
		if err := f.makeRoot(); err != nil {
			return err
		}
	}
	r, err := os.OpenRoot(p.dir)
	if err != nil {
		return err
	}
	defer r.Close()
	return do(r, p.name)
}

// change is in for a write. It refuses names that are read-only.
func (f *files) change(name string, do func(r *os.Root, name string) error) error {
	if f.place(name).readOnly {
		return syscall.EROFS
	}
	return f.in(name, do)
}

// imageDirs are directories that every image has.
var imageDirs = []string{"bin", "dev", "etc", "home", "mnt", "opt", "root", "run", "srv", "tmp", "usr/bin", "usr/share", "var/lib", "var/log", "var/run", "var/tmp"}

// makeRoot makes the container's own directory when it is first used.
func (f *files) makeRoot() error {
	f.once.Do(func() {
		for _, dir := range imageDirs {
			f.err = errors.Join(f.err, os.MkdirAll(filepath.Join(f.root, dir), 0o755))
		}
	})
	return f.err
}

func (f *files) remove() error { return os.RemoveAll(f.root) }

// Open opens a file to be read.
func (f *files) Open(name string) (io.ReadCloser, error) {
	var file *os.File
	err := f.in(name, func(r *os.Root, name string) (err error) {
		file, err = r.Open(name)
		return err
	})
	if text, ok := f.given[name]; ok && errors.Is(err, fs.ErrNotExist) {
		return io.NopCloser(strings.NewReader(text)), nil
	}
	if err != nil {
		return nil, err
	}
	if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() {
		file.Close()
		return nil, errors.Join(err, errors.New("is no regular file"))
	}
	return file, nil
}

// Create opens a file for writing.
func (f *files) Create(name string, appending bool) (io.WriteCloser, error) {
	flags := os.O_WRONLY | os.O_CREATE | os.O_TRUNC
	if appending {
		flags = os.O_WRONLY | os.O_CREATE | os.O_APPEND
	}
	var file *os.File
	err := f.change(name, func(r *os.Root, name string) (err error) {
		if info, err := r.Stat(name); err == nil && !info.Mode().IsRegular() {
			return errors.New("is no regular file")
		}
		file, err = r.OpenFile(name, flags, 0o644)
		return err
	})
	return file, err
}

// Stat returns information about a file or directory.
func (f *files) Stat(name string) (fs.FileInfo, error) {
	var info fs.FileInfo
	err := f.in(name, func(r *os.Root, name string) (err error) {
		info, err = r.Stat(name)
		return err
	})
	if errors.Is(err, fs.ErrNotExist) && f.given[name] != "" {
		return os.Stat(os.DevNull)
	}
	return info, err
}

// List returns the names in a directory.
func (f *files) List(name string) ([]string, error) {
	var names []string
	err := f.in(name, func(r *os.Root, name string) error {
		entries, err := fs.ReadDir(r.FS(), name)
		for _, e := range entries {
			names = append(names, e.Name())
		}
		return err
	})
	for _, m := range f.mounts {
		if dir, base := path.Split(m.path); path.Clean(dir) == name {
			names = append(names, base)
		}
	}
	slices.Sort(names)
	return slices.Compact(names), err
}

// Mkdir makes a directory.
func (f *files) Mkdir(name string) error {
	return f.change(name, func(r *os.Root, name string) error { return r.Mkdir(name, 0o755) })
}

// Remove removes a file or a directory. Mounts stay.
func (f *files) Remove(name string) error {
	if slices.ContainsFunc(f.mounts, func(m mount) bool { return m.path == name }) {
		return errors.New("device or resource busy")
	}
	return f.change(name, func(r *os.Root, name string) error { return r.RemoveAll(name) })
}
