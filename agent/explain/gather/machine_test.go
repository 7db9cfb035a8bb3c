package gather

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/podstep/podstep/agent/explain/evidence"
)

const someMounts = `115 43 0:42 / /var/lib/kubelet/pods/u1/volumes/kubernetes.io~projected/kube-api-access-hmhnk rw,relatime shared:24 - tmpfs tmpfs rw,size=24684084k
116 43 0:43 / /var/lib/kubelet/pods/u1/volumes/kubernetes.io~nfs/with\040space rw,relatime - nfs4 10.0.0.7:/a\134b rw
117 43 0:44 / /var/lib/kubelet/pods/u12/volumes/x rw - tmpfs tmpfs rw
118 43 0:45 / /var/lib rw - ext4 /dev/sda1
nonsense - tmpfs
119 43 - -
`

func TestParseMounts(t *testing.T) {
	got, err := parseMounts(strings.NewReader(someMounts), "/var/lib/kubelet/pods/u1")
	want := []evidence.Mount{
		{Path: "/var/lib/kubelet/pods/u1/volumes/kubernetes.io~projected/kube-api-access-hmhnk", Type: "tmpfs", Source: "tmpfs"},
		{Path: "/var/lib/kubelet/pods/u1/volumes/kubernetes.io~nfs/with space", Type: "nfs4", Source: `10.0.0.7:/a\b`},
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v", got, err)
	}
}

func FuzzMounts(f *testing.F) {
	f.Add([]byte(someMounts))
	f.Fuzz(func(t *testing.T, b []byte) {
		got, _ := parseMounts(bytes.NewReader(b), "/var/lib/kubelet/pods/u1")
		for _, m := range got {
			if strings.ContainsAny(m.Path+m.Type+m.Source, "\x1b\n") || len(got) > maxMounts {
				t.Errorf("mount %+v", m)
			}
		}
	})
}

func TestParseStat(t *testing.T) {
	for text, want := range map[string]evidence.Process{
		"7 (sleep) D 1 7 7 0":       {PID: 7, Name: "sleep", State: "D", Parent: 1},
		"8 (a) (b) S) R 7 8 8 0\n":  {PID: 8, Name: "a) (b) S", State: "R", Parent: 7},
		"":                          {},
		"9 sleep D 1":               {},
		"9 )( D 1":                  {},
		"(x) D 1":                   {},
		"9 (x) DD 1 2":              {},
		"9 (x\x1b[31m) D\x1b 1 2 3": {},
	} {
		got, ok := parseStat(text)
		if ok != (want.PID != 0) || ok && got != want {
			t.Errorf("%q is %+v, %v", text, got, ok)
		}
	}
}

func FuzzStat(f *testing.F) {
	f.Add("7 (sleep) D 1 7 7 0")
	f.Fuzz(func(t *testing.T, text string) {
		if p, ok := parseStat(text); ok && strings.ContainsAny(p.Name+p.State, "\x1b\n") {
			t.Errorf("%+v", p)
		}
	})
}

func TestCgroupNames(t *testing.T) {
	const uid = "8b315e6a-65b2"
	for root, want := range map[string][]string{
		"":     {"/kubepods/pod8b315e6a-65b2", "/kubepods/burstable/pod8b315e6a-65b2", "/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod8b315e6a_65b2.slice"},
		"/lab": {"/lab/kubepods/besteffort/pod8b315e6a-65b2", "/lab.slice/lab-kubepods.slice/lab-kubepods-burstable.slice/lab-kubepods-burstable-pod8b315e6a_65b2.slice"},
		"/a/b": {"/a.slice/a-b.slice/a-b-kubepods.slice/a-b-kubepods-pod8b315e6a_65b2.slice"},
	} {
		got := cgroupNames(root, uid)
		for _, w := range want {
			if !slices.Contains(got, w) {
				t.Errorf("root %q: no %s in %q", root, w, got)
			}
		}
	}
}

// TestReadCgroup: in the unified hierarchy, the counter of the pod's own cgroup has all. In the
// older hierarchies, each container's cgroup has its own.
func TestReadCgroup(t *testing.T) {
	for _, c := range []struct{ name, file, own, below string }{
		{"unified", "memory.events", "low 0\noom 3\noom_kill 2\n", "oom_kill 2\n"},
		{"older", "memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 0\n", "oom_kill_disable 0\noom_kill 2\n"},
	} {
		dir := t.TempDir()
		for name, text := range map[string]string{
			c.file: c.own, "app/" + c.file: c.below, "cgroup.procs": "", "app/cgroup.procs": "12\n13\nx\n-1\n",
		} {
			file := filepath.Join(dir, name)
			if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if pids, kills := readCgroup(dir); !slices.Equal(pids, []int{12, 13}) || kills != 2 {
			t.Errorf("%s: processes %v, %d kills", c.name, pids, kills)
		}
	}
}

func TestManifestName(t *testing.T) {
	for text, want := range map[string]string{
		"apiVersion: v1\nkind: Pod\nmetadata: {name: etcd, namespace: kube-system}\n": "kube-system/etcd",
		`{"metadata":{"name":"web"}}`: "default/web",
		"[1, 2]":                      "/",
		"\x00":                        "/",
	} {
		if name, namespace := manifestName([]byte(text)); namespace+"/"+name != want {
			t.Errorf("%q is %s/%s", text, namespace, name)
		}
	}
}
