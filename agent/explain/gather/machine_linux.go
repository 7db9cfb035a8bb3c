package gather

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"regexp"
	"strconv"
	"strings"
	"sync"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	"sigs.k8s.io/yaml"

	"github.com/podstep/podstep/agent/explain/evidence"
	"github.com/podstep/podstep/probes/kubelets"
)

// Machine is this machine as a source: what it has of the pod apart from the pod's story.
type Machine struct{ Near *Nearby }

// Names names the source.
func (*Machine) Names() (evidence.Source, string) { return evidence.Node, "machine" }

// Look looks at files alone, and at nothing below a mount point: a file system that hangs would hold it up.
func (m *Machine) Look(ctx context.Context, of *Subject) func(*evidence.Snapshot) {
	ctx, cancel := early(ctx)
	defer cancel()
	source, what := m.Names()
	k, err := m.Near.kubelet(ctx, of)
	if err != nil {
		return missedNear(source, what, err)
	}
	if of.Kubelet.UID == "" {
		own := *of
		own.Kubelet.UID = uidInRuntime(ctx, k, of)
		of = &own
	}
	l := &machine{ctx: ctx, of: of, k: k}
	l.part.s.Machine = &evidence.Machine{}
	l.dirs = sync.OnceValue(func() runtimeDirs { return dirsOf(ctx, k) })
	asked := map[string]func(){"disks": l.disks, "manifests": l.manifests, "CNI": l.cni, "runtime's process": l.runtimeProcess}
	if of.Kubelet.UID != "" {
		asked["mounts"], asked["volume directories"], asked["cgroup"] = l.mounts, l.volumeDirs, l.cgroup
		asked["checkpoints"], asked["processes"] = l.checkpoints, l.programs
	}
	for _, name := range within(ctx, asked) {
		l.part.missed(evidence.Node, name, context.DeadlineExceeded)
	}
	if len(l.part.s.Origins) == 0 {
		l.part.put(func(s *evidence.Snapshot) { s.Machine, s.Unseen = nil, oneOf(s.Unseen, what) })
	}
	return l.part.give()
}

// uidInRuntime returns the UID of a pod of which only the name is known, because the API server does not answer: the newest sandbox of
// that name has it. It is empty if there is none.
func uidInRuntime(ctx context.Context, k *kubelets.Kubelet, of *Subject) (uid string) {
	conn, err := dialRuntime(ctx, k)
	if err != nil {
		return ""
	}
	defer conn.Close()
	c := &cri{of: of}
	l, err := runtimeapi.NewRuntimeServiceClient(conn).ListPodSandbox(ctx, &runtimeapi.ListPodSandboxRequest{Filter: &runtimeapi.PodSandboxFilter{LabelSelector: c.labels()}})
	if err != nil {
		return ""
	}
	newest := int64(-1)
	for _, b := range l.GetItems() {
		if b.GetCreatedAt() > newest {
			newest, uid = b.GetCreatedAt(), b.GetLabels()[labelUID]
		}
	}
	if !plainUID.MatchString(uid) {
		return "" // it becomes part of a path
	}
	return uid
}

// plainUID matches a UID as the API server and the kubelet make them.
var plainUID = regexp.MustCompile(`^[0-9a-f-]{32,36}$`)

// machine is one look at the machine.
type machine struct {
	ctx  context.Context
	of   *Subject
	k    *kubelets.Kubelet
	dirs func() runtimeDirs
	part part
}

// saw notes what there is of something, or why it cannot be seen. "There is no such file" is an
// answer, too.
func (m *machine) saw(what string, err error, change func(*evidence.Machine)) {
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		m.part.missed(evidence.Node, what, err)
		return
	}
	m.part.saw(evidence.Node, what, func(s *evidence.Snapshot) { change(s.Machine) })
}

// podDir returns the pod's directory as the kubelet sees it.
func (m *machine) podDir() string { return path.Join(m.k.RootDir, "pods", m.of.Kubelet.UID) }

// maxMounts bounds how many mount points and how many directories are kept.
const maxMounts = 200

// mounts notes the mount points below the pod's directory, as the kubelet sees them.
func (m *machine) mounts() {
	var all []evidence.Mount
	f, err := os.Open("/proc/" + strconv.Itoa(m.k.PID) + "/mountinfo")
	if err == nil {
		defer f.Close()
		all, err = parseMounts(io.LimitReader(f, maxMountInfo), m.podDir())
	}
	m.saw("mounts", err, func(s *evidence.Machine) { s.Mounts = all })
}

// volumeDirs notes what is left of the pod's volumes, as plugin/name.
func (m *machine) volumeDirs() {
	var out []string
	var failed error
	for _, kind := range []string{"volumes", "volumeDevices"} {
		dir := path.Join(m.podDir(), kind)
		plugins, err := m.k.ReadDir(dir)
		if err != nil && !quiet(err) {
			failed = err
		}
		for _, p := range plugins {
			names, err := m.k.ReadDir(path.Join(dir, p.Name()))
			if err != nil && !quiet(err) {
				failed = err
			}
			for _, n := range names {
				if len(out) < maxMounts {
					out = append(out, message(p.Name()+"/"+n.Name()))
				}
			}
		}
	}
	m.saw("volume directories", failed, func(s *evidence.Machine) { s.VolumeDirs = out })
}

// checkpoints notes what the kubelet's checkpoints have of the pod. One that is not there says nothing: this kubelet has no such
// file, or its manager has nothing to remember.
func (m *machine) checkpoints() {
	var failed error
	out := &evidence.Checkpoints{}
	out.HostIDs, failed = m.hostIDs()
	for i := range checkpoints {
		c := &checkpoints[i]
		text, err := readCheckpoint(m.k, path.Join(m.k.RootDir, c.file))
		if err == nil {
			err = c.parseCheckpoint(text, m.of.Kubelet.UID, out)
		}
		if err != nil && !quiet(err) {
			failed = err
		}
	}
	if failed != nil {
		m.part.missed(evidence.Node, "checkpoints", failed) // the others are seen
	}
	m.saw("checkpoints", nil, func(s *evidence.Machine) { s.Checkpoints = out })
}

// hostIDs returns the first of the node's user IDs as which the pod's processes run in their own user namespace; 0: they have none.
func (m *machine) hostIDs() (uint32, error) {
	text, err := readCheckpoint(m.k, path.Join(m.podDir(), "userns"))
	if err != nil {
		if quiet(err) {
			err = nil
		}
		return 0, err
	}
	return parseUserNamespace(text)
}

// usualRoots are the places where runtimes keep images and containers.
var usualRoots = []string{"/var/lib/containerd", "/var/lib/containers", "/var/lib/docker"}

// disks notes the disks of the kubelet and of the runtime.
func (m *machine) disks() {
	var out []evidence.Disk
	var failed error
	roots := usualRoots
	if own := m.dirs().Root; own != "" {
		roots = []string{own}
	}
	for _, dir := range append([]string{m.k.RootDir}, roots...) {
		st, err := m.k.Disk(dir)
		if err != nil {
			if !quiet(err) {
				failed = err
			}
			continue
		}
		size := uint64(max(st.Bsize, 0))
		out = append(out, evidence.Disk{Path: message(dir), Bytes: st.Blocks * size, Free: st.Bavail * size, Inodes: st.Files, FreeInodes: st.Ffree})
	}
	if len(out) > 0 {
		failed = nil
	}
	m.saw("disks", failed, func(s *evidence.Machine) { s.Disks = out })
}

// usualCNI is the directory in which runtimes look for network configurations.
const usualCNI = "/etc/cni/net.d"

// cni notes the names of the runtime's network configurations.
func (m *machine) cni() {
	dir := m.dirs().CNI
	if dir == "" {
		dir = usualCNI
	}
	out := []string{}
	entries, err := m.k.ReadDir(dir)
	for _, e := range entries {
		switch path.Ext(e.Name()) {
		case ".conf", ".conflist", ".json":
			out = append(out, message(e.Name()))
		}
	}
	m.saw("CNI", err, func(s *evidence.Machine) { s.CNI = out })
}

const (
	// maxManifest bounds a static pod's file, in bytes. maxManifests bounds how many files are looked at.
	maxManifest  = 1 << 20
	maxManifests = 200
)

// manifests notes the files of static pods that name the pod.
func (m *machine) manifests() {
	dir := m.k.StaticPods
	if dir == "" {
		return
	}
	var out []string
	files := []string{dir}
	entries, err := m.k.ReadDir(dir)
	if err == nil {
		files = nil
		for _, e := range entries[:min(len(entries), maxManifests)] {
			if !strings.HasPrefix(e.Name(), ".") {
				files = append(files, path.Join(dir, e.Name()))
			}
		}
	}
	for _, file := range files {
		if m.isOf(file) {
			out = append(out, message(file))
		}
	}
	m.saw("manifests", err, func(s *evidence.Machine) { s.Manifests = out })
}

// isOf reports whether a file is the pod's manifest. The name that the kubelet gives a static
// pod ends with the node's name.
func (m *machine) isOf(file string) bool {
	f, err := m.k.Open(file)
	if err != nil {
		return false
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxManifest))
	if err != nil {
		return false
	}
	name, namespace := manifestName(b)
	return name != "" && namespace == m.of.Name.Namespace && (name == m.of.Name.Name || name+"-"+m.k.Node == m.of.Name.Name)
}

// manifestName returns the name and namespace of the pod in a manifest.
func manifestName(text []byte) (name, namespace string) {
	var pod struct {
		Metadata struct{ Name, Namespace string }
	}
	if yaml.Unmarshal(text, &pod) != nil {
		return "", ""
	}
	if namespace = pod.Metadata.Namespace; namespace == "" {
		namespace = "default"
	}
	return pod.Metadata.Name, namespace
}
