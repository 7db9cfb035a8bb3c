package main

import (
	"os"
	"path/filepath"
	"testing"
)

func TestMachine(t *testing.T) {
	root := t.TempDir()
	for name, text := range map[string]string{
		"proc/sys/kernel/osrelease":         "6.1.0\n",
		"proc/17/comm":                      "podstep-kubelet\n",
		"proc/18/comm":                      "bash\n",
		"proc/self/comm":                    "kubelet\n",
		"sys/fs/cgroup/cgroup.controllers":  "cpu memory\n",
		"usr/sbin/runc":                     "",
		"opt/cni/bin/bridge":                "",
		"home/me/bin/containerd/not-a-file": "",
	} {
		file := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	stdout, err := os.Create(filepath.Join(root, "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer stdout.Close()
	env := map[string]string{"PATH": "/home/me/bin:relative:"}
	m := machine{root: root, uid: 7, stdout: stdout, getenv: func(k string) string { return env[k] }}
	want := map[string]string{
		"root": "warn no, uid 7", "kernel": "ok Linux 6.1.0", "cgroup": "ok version 2",
		"kubelets": "ok podstep-kubelet (pid 17)", "containerd": "warn not found", "runc": "ok /usr/sbin/runc",
		"busybox": "warn not found", "cni": "ok plugins in /opt/cni/bin", "terminal": "ok stdout is none; podstep prints plain lines",
	}
	for _, c := range m.checks() {
		if got := c.Status + " " + c.Text; got != want[c.Name] {
			t.Errorf("%s: %s, want %s", c.Name, got, want[c.Name])
		}
		if (c.Todo == "") != (c.Status == "ok") {
			t.Errorf("%s is %s with todo %q", c.Name, c.Status, c.Todo)
		}
		delete(want, c.Name)
	}
	for name := range want {
		t.Errorf("%s is not checked", name)
	}
}
