package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestPackageScripts: the packages' scripts, as dpkg and rpm call them, ask systemd for what they should, and remove empty
// directories alone. systemctl is the test's own here; it fails to start podstep, as on a node without a kubelet.
func TestPackageScripts(t *testing.T) {
	const reload, restart, stop, disable = "daemon-reload", "try-restart podstep.service", "stop podstep.service", "--quiet disable podstep.service"
	for _, c := range []struct {
		script, argument string
		calls            []string
	}{
		{"postinst.sh", "configure", []string{reload, restart}},
		{"postinst.sh", "1", []string{reload, restart}},
		{"prerm.sh", "upgrade", nil},
		{"prerm.sh", "1", nil},
		{"prerm.sh", "remove", []string{stop, disable}},
		{"prerm.sh", "0", []string{stop, disable}},
		{"postrm.sh", "upgrade", nil},
		{"postrm.sh", "1", nil},
		{"postrm.sh", "remove", []string{reload}},
		{"postrm.sh", "purge", []string{reload}},
		{"postrm.sh", "0", []string{reload}},
	} {
		name := c.script + " " + c.argument
		m := newMachine(t)
		if got := m.run(t, c.script, c.argument); strings.Join(got, "; ") != strings.Join(c.calls, "; ") {
			t.Errorf("%s calls systemctl for %q, want %q", name, got, c.calls)
		}
		_, err := os.Stat(m.path("run/podstep/attach/empty"))
		if removed := os.IsNotExist(err); removed != (c.script == "postrm.sh" && len(c.calls) > 0) {
			t.Errorf("%s: the empty directory is removed: %t", name, removed)
		}
		for file, stays := range map[string]bool{"0000000000-20261125T031200Z.podstep": c.argument != "purge", "mine.txt": true} {
			if _, err := os.Stat(m.path("var/lib/podstep/record/" + file)); (err == nil) != stays {
				t.Errorf("%s: %s of the record directory: %v", name, file, err)
			}
		}
		if _, err := os.Stat(m.path("run/podstep/agent.sock")); err != nil {
			t.Errorf("%s: what a podstep still needs is removed: %v", name, err)
		}
	}
}

// machine is a directory that stands for a machine with systemd.
type machine string

func (m machine) path(name string) string { return filepath.Join(string(m), name) }

// newMachine returns a machine on which podstep has left an empty directory, and another podstep has a file.
func newMachine(t *testing.T) machine {
	t.Helper()
	m := machine(t.TempDir())
	for _, dir := range []string{"bin", "run/systemd/system", "run/podstep/attach/empty", "var/lib/podstep/record"} {
		if err := os.MkdirAll(m.path(dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	systemctl := "#!/bin/sh\necho \"$@\" >>" + m.path("calls") + "\n[ \"$1\" != try-restart ]\n"
	for name, text := range map[string]string{"bin/systemctl": systemctl, "run/podstep/agent.sock": "", "calls": "", "var/lib/podstep/record/0000000000-20261125T031200Z.podstep": "", "var/lib/podstep/record/mine.txt": ""} {
		if err := os.WriteFile(m.path(name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return m
}

// run runs a script on the machine, and returns the calls of systemctl.
func (m machine) run(t *testing.T, script, argument string) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("packaging", script))
	if err != nil {
		t.Fatal(err)
	}
	here := strings.NewReplacer("/run/", m.path("run")+"/", "/var/lib/", m.path("var/lib")+"/").Replace(string(text))
	cmd := exec.Command("sh", "-c", here, script, argument)
	cmd.Env = []string{"PATH=" + m.path("bin") + ":" + os.Getenv("PATH")}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%s %s: %v: %s", script, argument, err, out)
	}
	calls, err := os.ReadFile(m.path("calls"))
	if err != nil {
		t.Fatal(err)
	}
	return strings.FieldsFunc(string(calls), func(r rune) bool { return r == '\n' })
}
