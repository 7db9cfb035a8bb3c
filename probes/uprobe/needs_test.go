package uprobe

import (
	"errors"
	"strings"
	"testing"

	"github.com/podstep/podstep/probes/words"
)

// TestNeeds: each thing that a machine lacks is named, and an error of the kernel with it.
func TestNeeds(t *testing.T) {
	all := uint64(1<<capBPF | 1<<capPerfmon | 1<<capSysPtrace)
	whole := Machine{Arch: "amd64", Major: 6, Minor: 6, Capabilities: all, Uprobes: true, Lockdown: "none"}
	for _, x := range []struct {
		name    string
		change  func(*Machine)
		lacks   string
		remarks string
	}{
		{"nothing", func(*Machine) {}, "", ""},
		{"another architecture", func(m *Machine) { m.Arch = "arm64" }, "", ""},
		{"an unknown architecture", func(m *Machine) { m.Arch = "riscv64" }, "this machine is riscv64", ""},
		{"an old kernel", func(m *Machine) { m.Major, m.Minor = 5, 14 }, "Linux 5.14 is older than 5.15", ""},
		{"a kernel that does", func(m *Machine) { m.Major, m.Minor = 5, 15 }, "", ""},
		{"a very old kernel", func(m *Machine) { m.Major, m.Minor = 4, 19 }, "Linux 4.19 is older", ""},
		{"a program that does not run", func(m *Machine) { m.Kernel = &Kernel{Program: &lacking{runsAtPlace, errors.New("invalid argument")}} }, "runs it at a place of a process (uprobes): invalid argument", ""},
		{"a link that shows one thread", func(m *Machine) { m.Kernel = &Kernel{OneLink: &lacking{onEachThread, errors.New("0 of 10")}} }, "", "each place has a link of its own"},
		{"an old kernel that does all", func(m *Machine) { m.Major, m.Minor, m.Kernel = 4, 18, &Kernel{} }, "", ""},
		{"uprobes", func(m *Machine) { m.Uprobes = false }, "CONFIG_UPROBE_EVENTS", ""},
		{"capabilities", func(m *Machine) { m.Capabilities = 0 }, "podstep lacks CAP_BPF and CAP_PERFMON and CAP_SYS_PTRACE", ""},
		{"a capability", func(m *Machine) { m.Capabilities &^= 1 << capPerfmon }, "podstep lacks CAP_PERFMON", ""},
		{"the wide capability", func(m *Machine) { m.Capabilities = 1<<capSysAdmin | 1<<capSysPtrace }, "", ""},
		{"a PID namespace of its own", func(m *Machine) { m.OwnPIDs = true }, "", "no pod can be held inside the kubelet"},
		{"lockdown", func(m *Machine) { m.Lockdown = "confidentiality" }, "", "locked down"},
		{"some lockdown", func(m *Machine) { m.Lockdown = "integrity" }, "", ""},
	} {
		t.Run(x.name, func(t *testing.T) {
			m := whole
			x.change(&m)
			lacks, remarks := m.Lacks(), words.Joined(words.Same("; "), m.Remarks()...).En
			if len(lacks) > 1 || (len(lacks) == 1) != (x.lacks != "") || len(lacks) == 1 && (!strings.Contains(lacks[0].Why.En, x.lacks) || lacks[0].Todo.Zh == "") {
				t.Errorf("it lacks %+v, want %q", lacks, x.lacks)
			}
			if !strings.Contains(remarks, x.remarks) || (remarks == "") != (x.remarks == "") {
				t.Errorf("remarks are %q, want %q", remarks, x.remarks)
			}
			refused := errors.New("operation not permitted")
			err := m.explain(refused)
			if !errors.Is(err, refused) || !strings.Contains(err.Error(), x.lacks) {
				t.Errorf("the error is %v", err)
			}
		})
	}
}
