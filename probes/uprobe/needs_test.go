package uprobe

import (
	"errors"
	"strings"
	"testing"
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
		{"architecture", func(m *Machine) { m.Arch = "arm64" }, "this machine is arm64", ""},
		{"an old kernel", func(m *Machine) { m.Major, m.Minor = 5, 14 }, "Linux 5.14 is older than 5.15", "before Linux 6.6"},
		{"a kernel that does", func(m *Machine) { m.Major, m.Minor = 5, 15 }, "", "before Linux 6.6"},
		{"a very old kernel", func(m *Machine) { m.Major, m.Minor = 4, 19 }, "Linux 4.19 is older", "before Linux 6.6"},
		{"uprobes", func(m *Machine) { m.Uprobes = false }, "CONFIG_UPROBE_EVENTS", ""},
		{"capabilities", func(m *Machine) { m.Capabilities = 0 }, "podstep lacks CAP_BPF and CAP_PERFMON and CAP_SYS_PTRACE", ""},
		{"a capability", func(m *Machine) { m.Capabilities &^= 1 << capPerfmon }, "podstep lacks CAP_PERFMON", ""},
		{"the wide capability", func(m *Machine) { m.Capabilities = 1<<capSysAdmin | 1<<capSysPtrace }, "", ""},
		{"lockdown", func(m *Machine) { m.Lockdown = "confidentiality" }, "", "locked down"},
		{"some lockdown", func(m *Machine) { m.Lockdown = "integrity" }, "", ""},
	} {
		t.Run(x.name, func(t *testing.T) {
			m := whole
			x.change(&m)
			lacks, remarks := m.Lacks(), strings.Join(m.Remarks(), "; ")
			if len(lacks) > 1 || (len(lacks) == 1) != (x.lacks != "") || len(lacks) == 1 && (!strings.Contains(lacks[0].Why, x.lacks) || lacks[0].Todo == "") {
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
