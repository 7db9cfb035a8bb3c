package kubelets

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// tree is a made-up process table, with the files that its processes see.
type tree struct {
	t   *testing.T
	dir string
}

func newTree(t *testing.T) *tree {
	tr := &tree{t, t.TempDir()}
	tr.write("proc/sys/kernel/osrelease", "6.1.0\n")
	return tr
}

func (tr *tree) proc() string { return filepath.Join(tr.dir, "proc") }

func (tr *tree) write(name, text string) {
	tr.t.Helper()
	file := filepath.Join(tr.dir, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		tr.t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		tr.t.Fatal(err)
	}
}

func (tr *tree) link(to, name string) {
	tr.t.Helper()
	file := filepath.Join(tr.dir, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		tr.t.Fatal(err)
	}
	if err := os.Symlink(to, file); err != nil {
		tr.t.Fatal(err)
	}
}

// made is a process of the tree.
type made struct {
	pid, parent, threads int
	machine              string // the folder of the tree that has the files it sees
	exe                  string // "" if we may not see it
	args                 []string
}

func (tr *tree) process(m made) {
	tr.t.Helper()
	dir := filepath.Join("proc", strconv.Itoa(m.pid))
	tr.write(filepath.Join(dir, "cmdline"), strings.Join(m.args, "\x00")+"\x00")
	comm := m.exe
	if comm == "" {
		comm = m.args[0]
	}
	if m.threads == 0 {
		m.threads = 12
	}
	tr.write(filepath.Join(dir, "stat"), fmt.Sprintf("%d (%.15s) S %d 1 1 0 -1 4194560 0 0 0 0 0 0 0 0 20 0 %d 0 %d 0 0\n",
		m.pid, filepath.Base(comm), m.parent, m.threads, 1000+m.pid))
	tr.write(filepath.Join(dir, "cgroup"), "0::/system.slice/kubelet.service\n")
	if m.machine == "" {
		m.machine = "host"
	}
	machine := filepath.Join(tr.dir, m.machine)
	if err := os.MkdirAll(machine, 0o755); err != nil {
		tr.t.Fatal(err)
	}
	tr.link(machine, filepath.Join(dir, "root"))
	tr.link("/opt/start", filepath.Join(dir, "cwd"))
	if m.exe != "" {
		tr.link(m.exe, filepath.Join(dir, "exe"))
	}
}

// find finds the kubelets of the tree. Their programs are only names, so problems and doubts about programs are
// allowed.
func (tr *tree) find() []Kubelet {
	tr.t.Helper()
	all, err := Find(tr.t.Context(), Options{Proc: tr.proc()})
	if err != nil {
		tr.t.Fatal(err)
	}
	for i := range all {
		all[i].Flags = nil
		all[i].Root = ""
		if all[i].Doubt == "" {
			tr.t.Errorf("kubelet %d has no program, and is not doubted", all[i].PID)
		}
		all[i].Doubt = ""
	}
	return all
}
